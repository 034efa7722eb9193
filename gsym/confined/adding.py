"""Checks and publishes modules that a confined process converted.

The GSYM files were written by our engine, but in a process that may have been
compromised. Such a process could put any content into a valid file; so it is enough
that each record is complete, which the engine checks fast, and that lookups withstand
any bytes.

For a fetched file, the process can read only that file. For a file in a folder that the
operator named, it reports which files it was not allowed to read, and is run again with
those that are object files or archives: paths in a debug file do not give access to
other files.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import gsym.reading.reader
from gsym.confined.confinement import ChildLimits
from gsym.confined.process import run_confined
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.errors import EmptyError, FormatError, UuidMismatchError
from gsym.modules.key import ModuleKey, compare
from gsym.store.adding import add_file
from gsym.store.directory import Store
from gsym.store.entries import Entry, Quality
from gsym.store.layout import GSYM_FILE
from gsym.store.packages import companion_options
from gsym.store.publication import Publication

_ORIGINALS = {"sym", "debuginfo", "executable"}


def describe(entry: Entry) -> dict[str, Any]:
    """A module of a store as JSON values; runs in the confined process."""
    return {
        "path": entry.path,
        "identity": list(entry.identity),
        "uuid": entry.uuid.hex(),
        "quality": list(entry.quality),
        "originals": entry.originals,
        "missing": entry.missing,
        "wanted": entry.wanted,
    }


def read_descriptions(rows: Any, folder: str) -> list[Entry]:
    """Modules in an answer, which is untrusted; one without functions has no path."""
    try:
        modules = [
            Entry(
                str(row["path"]),
                ModuleKey(*map(str, row["identity"])),
                bytes.fromhex(row["uuid"]),
                Quality(*map(int, row["quality"])),
                originals={
                    str(kind): str(each) for kind, each in row["originals"].items()
                },
                missing=tuple(map(str, row["missing"])),
                wanted=tuple(map(str, row["wanted"])),
            )
            for row in rows
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"the conversion had an invalid result: {error!r}") from None
    for module in modules:
        files = [module.path] if module.path else []
        files += module.originals.values()
        is_sound = all(is_file_in(path, folder) for path in files)
        is_sound &= bool(files) and _ORIGINALS.issuperset(module.originals)
        if not is_sound:
            raise FormatError("the conversion had an invalid result")
    return modules


def read_description(answer: Mapping[str, Any], folder: str) -> Entry:
    """The one module in an answer, as by `read_descriptions`."""
    modules = read_descriptions(answer.get("modules"), folder)
    if len(modules) != 1:
        raise FormatError("the conversion had an invalid result")
    return modules[0]


def publish_described(
    store: Store,
    modules: Sequence[Entry],
    *,
    source: str,
    keys: Sequence[ModuleKey | None],
    may_replace: bool = True,
) -> list[Publication | None]:
    """Check all modules, then publish them in a store.

    *keys* are a further key for each. With *may_replace* better ones replace modules of
    the store.

    Returns:
        The outcome for each module; None for an executable without functions whose
        debug file the store does not have.

    Raises:
        GsymError: A GSYM file is damaged or belongs to another module. Nothing was
            published.
    """
    from gsym.reading.record_check import check_records

    for module in modules:
        if module.path:
            with gsym.reading.reader.open(module.path) as reader:
                found = reader.module_like(module.identity)
                if (fit := compare(module.identity, found)).is_refused:
                    raise UuidMismatchError(f"the GSYM file is not of it: {fit.reason}")
                check_records(reader)
    try:
        done: dict[int, Publication] = {}
        # Executables last, as they join the modules of debug files.
        for number in sorted(
            range(len(modules)), key=lambda each: not modules[each].path
        ):
            module = modules[number]
            with suppress(EmptyError):
                done[number] = store.publish(
                    module.path,
                    module.identity,
                    uuid=module.uuid,
                    quality=module.quality,
                    source=source,
                    originals=module.originals,
                    key=keys[number],
                    missing=module.missing,
                    wanted=module.wanted,
                    may_replace=may_replace,
                )
    except ValueError as error:
        raise FormatError(str(error)) from None
    return [done.get(number) for number in range(len(modules))]


def publish_one(
    store: Store,
    module: Entry,
    *,
    source: str,
    key: ModuleKey | None = None,
    may_replace: bool = True,
) -> Publication:
    """Publish one module, which has a GSYM file, as `publish_described` does.

    Raises:
        GsymError: As for `publish_described`; or it has none.
    """
    (published,) = publish_described(
        store, [module], source=source, keys=[key], may_replace=may_replace
    )
    if published is None:
        raise FormatError("the conversion had an invalid result")
    return published


def is_file_in(path: str, folder: str) -> bool:
    """Whether *path* is a regular file below *folder*, also with links resolved."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return stat.S_ISREG(status.st_mode) and real.startswith(root + os.sep)


class Delivery(Store):
    """Takes the place of a store in the confined process.

    The server publishes what is in it: it needs no links, no locks and no order.
    """

    def _prepare(self) -> None:
        os.makedirs(self.path, exist_ok=True)

    def _publish(
        self,
        entry: Entry,
        originals: Mapping[str, str],
        key: ModuleKey | None,  # noqa: ARG002 - for the store of the server
        *,
        may_replace: bool,  # noqa: ARG002
    ) -> Publication:
        """Move the files into a folder of their own."""
        folder = mkdtemp(dir=self.path)

        def moved(path: str, name: str) -> str:
            target = os.path.join(folder, name)
            os.rename(path, target)
            return target

        kept = {kind: moved(path, kind) for kind, path in originals.items()}
        path = moved(entry.path, GSYM_FILE) if entry.path else ""
        return Publication(entry._replace(path=path, originals=kept), "added")

    @contextmanager
    def temporary_folder(self) -> Iterator[str]:
        """A new folder in the store, removed at the end of the block."""
        self._prepare()
        with TemporaryDirectory(dir=self.path) as folder:
            yield folder


_COMPANION_KINDS = frozenset({"object", "fat", "archive"})
# A debug link names a debug file, which names split units or a supplementary file.
_MAX_RUNS = 4
_MAX_REFUSED = 50_000  # files in an answer, whose size is limited


class ConfinedAdder:
    """Runs `add_file` in a confined process."""

    def __init__(self, limits: ChildLimits, most_inflated: int) -> None:
        self._limits = limits
        self._most_inflated = most_inflated

    def __call__(
        self,
        store: Store,
        path: str,
        *,
        key: ModuleKey,
        identity: ModuleKey,
        source: str,
        **options: Any,
    ) -> Publication:
        """Add the module of a file to a store.

        The process can read the folder of the file. *key* is the module that it must
        contain; *identity* overrides that in the file. *options* are as of `add_file`.

        Raises:
            ConfinedError: The process was stopped or failed.
            GsymError: As for `add_file`.
        """
        full_path = os.path.abspath(path)
        member = bundle_member(full_path)
        readable = [os.path.dirname(full_path)]
        companions: list[str] = []
        is_local = source == path  # else *source* is where the file was fetched
        if is_local:  # may be a link
            readable += [os.path.realpath(full_path), os.path.realpath(member)]
        runs = 0
        while True:
            runs += 1
            with store.temporary_folder() as folder:
                arguments = {
                    "path": full_path,
                    "key": list(key),
                    "identity": list(identity),
                    "store": os.path.join(folder, "store"),
                    "most_inflated": self._most_inflated,
                    **options,
                }
                answer = run_confined(
                    *("add", arguments, folder, self._limits),
                    inputs=[member],
                    companions=companions,
                    readable=readable,
                )
                refused = answer.get("refused") if is_local else None
                paths = refused if isinstance(refused, list) else []
                found = [each for each in paths if _is_companion(each)]
                if runs < _MAX_RUNS and not set(companions).issuperset(found):
                    companions = [*{*companions, *found}]
                    continue
                if "mismatch" in answer:
                    raise UuidMismatchError(str(answer["mismatch"]), path=path)
                if "failure" in answer:
                    raise FormatError(str(answer["failure"]))
                module = read_description(answer, folder)
                return publish_one(store, module, source=source, key=key)


def _is_companion(path: object) -> bool:
    """Whether a file that the process was not allowed to read is a debug file."""
    if not isinstance(path, str):
        return False
    try:
        # Files of the kernel have no valid size, and may have no end.
        is_kept = not os.path.realpath(path).startswith(("/proc/", "/sys/", "/dev/"))
        is_file = os.path.isabs(path) and is_kept and os.path.isfile(path)
        return is_file and recognise_file(path) in _COMPANION_KINDS
    except (OSError, ValueError):
        return False


def add_alone(
    path: str,
    key: list[str],
    identity: list[str],
    store: str,
    most_inflated: int,
    **options: Any,
) -> dict[str, Any]:
    """Convert a file for the server to publish; runs in the confined process.

    Returns:
        `modules` with the one in the store; or `mismatch` or `failure` with the
        reason. `refused`: files that the process is not allowed to read.
    """
    opened: dict[str, None] = {}

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            opened[arguments[0]] = None

    sys.addaudithook(note)
    answer: dict[str, Any]
    try:
        published = add_file(
            Delivery(store),
            path,
            key=ModuleKey(*key),
            identity=ModuleKey(*identity),
            most_inflated=most_inflated,
            **options,
            **companion_options(path),
        )
        answer = {"modules": [describe(published.entry)]}
    except UuidMismatchError as error:
        answer = {"mismatch": error.reason}
    except EmptyError as error:
        answer = {"failure": error.reason}
    return {**answer, "refused": _refused(opened)}


def _refused(paths: Iterable[str]) -> list[str]:
    """The files among *paths* that this process is not allowed to read."""
    found: list[str] = []
    for path in list(paths):
        if len(found) < _MAX_REFUSED and os.path.isfile(path):
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
            except PermissionError:
                found.append(path)
            except OSError:
                pass
    return found
