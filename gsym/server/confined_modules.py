"""Modules that a confined process converted: described, checked, published.

Their GSYM files were written by our engine, in a process that may have been taken over.
Such a process could also put any content into a valid file; so it is enough that each
record is complete, which the engine checks fast, and that lookups withstand any bytes.

For a file that was fetched, the process reads that file only. For one in a folder that
the operator named, it reports which files it was not allowed to read, and is run again
with those that are object files or archives: paths in a debug file do not give access
to other files.
"""

from __future__ import annotations

import os
import stat
import sys

from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.identity import ModuleIdentity
from gsym.errors import (
    EmptyError,
    FormatError,
    GsymError,
    MissingDebugInfoError,
    UuidMismatchError,
)
from gsym.records import NamedTuple
from gsym.server.confined_process import run_confined
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.modules import ModuleKey, Quality

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from gsym.server.confinement import ChildLimits
    from gsym.store.modules import Entry
    from gsym.store.publication import Publication


class DescribedModule(NamedTuple):
    """A module as a confined process left it; its files are where they should be.

    Attributes:
        member: Which of the files that it was given the module is from.
        path: Its GSYM file.
        identity: The module.
        uuid: Its whole identifier.
        quality: How much the GSYM file knows.
        originals: Files to keep with it, by kind.
        missing: As `Entry.missing`.
    """

    member: int
    path: str
    identity: ModuleIdentity
    uuid: bytes
    quality: Quality
    originals: dict[str, str]
    missing: tuple[str, ...]


_ORIGINALS = {"sym", "debuginfo"}


def describe(entry: Entry, member: int = 0) -> dict[str, Any]:
    """A module of a store as JSON can have it; runs in the confined process.

    Args:
        entry: The module.
        member: Which file it is from.
    """
    return {
        "member": member,
        "path": entry.path,
        "identity": list(entry.identity),
        "uuid": entry.uuid.hex(),
        "quality": list(entry.quality),
        "originals": entry.originals,
        "missing": entry.missing,
    }


def read_descriptions(rows: Any, folder: str) -> list[DescribedModule]:
    """The modules of an answer, which anybody may have written.

    Args:
        rows: As `describe` makes them.
        folder: Of the process: their files must be there.

    Raises:
        FormatError: They are something else.
    """
    try:
        modules = [
            DescribedModule(
                int(row["member"]),
                str(row["path"]),
                ModuleIdentity(*map(str, row["identity"])),
                bytes.fromhex(row["uuid"]),
                Quality(*map(int, row["quality"])),
                {str(kind): str(path) for kind, path in row["originals"].items()},
                tuple(map(str, row["missing"])),
            )
            for row in rows
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"it was converted to something else: {error!r}") from None
    for module in modules:
        files = [module.path, *module.originals.values()]
        is_sound = all(is_file_in(path, folder) for path in files)
        if not is_sound or not _ORIGINALS.issuperset(module.originals):
            raise FormatError("it was converted to something else")
    return modules


def publish_described(
    store: Store,
    modules: Sequence[DescribedModule],
    *,
    source: str,
    keys: Sequence[ModuleKey | None],
) -> list[Publication]:
    """Put modules into a store, once all of them are known to be sound.

    Args:
        store: The store.
        modules: The modules.
        source: Where they are from.
        keys: What else each is asked for by.

    Raises:
        GsymError: A GSYM file is that of another module, or damaged. Nothing has been
            published then.
        OSError: The store cannot be written to.
    """
    for module in modules:
        _check(module)
    try:
        return [
            store.publish(
                module.path,
                module.identity,
                uuid=module.uuid,
                quality=module.quality,
                source=source,
                originals=module.originals,
                key=key,
                missing=module.missing,
            )
            for module, key in zip(modules, keys, strict=True)
        ]
    except ValueError as error:
        raise FormatError(str(error)) from None


def _check(module: DescribedModule) -> None:
    import gsym.reading.reader
    from gsym.reading.record_check import check_records

    with gsym.reading.reader.open(module.path) as reader:
        if not module.uuid.startswith(reader.uuid):
            raise GsymError("the GSYM file is of another module")
        check_records(reader)


def is_file_in(path: str, folder: str) -> bool:
    """Whether *path* is a regular file below *folder*, with no link on the way out."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return stat.S_ISREG(status.st_mode) and real.startswith(root + os.sep)


_COMPANION_KINDS = frozenset({"object", "fat", "archive"})
# A debug link leads to a debug file, which names split units or the file of dwz.
_MOST_RUNS = 4
_MOST_REFUSED = 50_000  # files in an answer, whose size is limited


class ConfinedAdder:
    """Puts files into stores as `add_file` does, which a confined process runs.

    Args:
        limits: Of the process.
        most_inflated: Bytes that a compressed file may hold.
    """

    def __init__(self, limits: ChildLimits, most_inflated: int) -> None:
        self._limits = limits
        self._most_inflated = most_inflated

    def __call__(
        self,
        store: Store,
        path: str,
        *,
        key: ModuleKey,
        identity: ModuleIdentity,
        source: str,
    ) -> Publication:
        """Put the module of a file into a store.

        Args:
            store: The store.
            path: The file. It and what lies beside it can be read.
            key: The module that it has to be.
            identity: What is known better than the file tells.
            source: Where the file is from.

        Raises:
            ConfinedError: Reading it takes too much.
            GsymError: As for `add_file`.
            OSError: As for `add_file`.
        """
        place = os.path.abspath(path)
        member = bundle_member(place)
        beside = [os.path.dirname(place)]
        companions: list[str] = []
        is_local = source == path  # else a source names where it fetched the file
        if is_local:  # and may be a link
            beside += [os.path.realpath(place), os.path.realpath(member)]
        runs = 0
        while True:
            runs += 1
            with store.temporary_folder() as folder:
                arguments = {
                    "path": place,
                    "key": list(key),
                    "identity": list(identity),
                    "store": os.path.join(folder, "store"),
                    "most_inflated": self._most_inflated,
                }
                answer = run_confined(
                    *("add", arguments, folder, self._limits),
                    inputs=[member],
                    companions=companions,
                    readable=beside,
                )
                found = _companions(answer.get("refused")) if is_local else []
                if runs < _MOST_RUNS and not set(companions).issuperset(found):
                    companions = [*{*companions, *found}]
                    continue
                modules = _modules(answer, folder, path)
                (published,) = publish_described(
                    store, modules, source=source, keys=[key]
                )
                return published


def _modules(answer: dict[str, Any], folder: str, path: str) -> list[DescribedModule]:
    """The module that the process has made of a file."""
    if "mismatch" in answer:
        raise UuidMismatchError(str(answer["mismatch"]), path=path)
    if "failure" in answer:
        raise FormatError(str(answer["failure"]))
    modules = read_descriptions(answer.get("modules"), folder)
    if len(modules) != 1:
        raise FormatError("it was converted to something else")
    return modules


def _companions(refused: object) -> list[str]:
    """The files that a process needs, of those that it was not allowed to read."""
    paths = refused if isinstance(refused, list) else []
    return [each for each in paths if isinstance(each, str) and _is_companion(each)]


def _is_companion(path: str) -> bool:
    try:
        # Files of the kernel have no valid size, and may be endless.
        is_kept = not os.path.realpath(path).startswith(("/proc/", "/sys/", "/dev/"))
        is_file = os.path.isabs(path) and is_kept and os.path.isfile(path)
        return is_file and recognise_file(path) in _COMPANION_KINDS
    except (OSError, ValueError):
        return False


def add_alone(
    path: str, key: list[str], identity: list[str], store: str, most_inflated: int
) -> dict[str, Any]:
    """Convert a file into a store of its own; runs in the confined process.

    Returns:
        `modules`: the one that the store has; or `mismatch` or `failure`: the reason
        why there is none. `refused`: files that the process is not allowed to read.
    """
    opened: dict[str, None] = {}

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            opened[arguments[0]] = None

    sys.addaudithook(note)
    answer: dict[str, Any]
    try:
        published = add_file(
            Store(store),
            path,
            key=ModuleKey(*key),
            identity=ModuleIdentity(*identity),
            most_inflated=most_inflated,
        )
        answer = {"modules": [describe(published.entry)]}
    except UuidMismatchError as error:
        answer = {"mismatch": error.reason}
    except (EmptyError, MissingDebugInfoError) as error:
        answer = {"failure": error.reason}
    return {**answer, "refused": _refused(opened)}


def _refused(paths: Iterable[str]) -> list[str]:
    """The files among *paths* that this process is not allowed to read."""
    found: list[str] = []
    for path in list(paths):
        if len(found) < _MOST_REFUSED and os.path.isfile(path):
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            except PermissionError:
                found.append(path)
            except OSError:
                pass
    return found
