"""Modules that a confined process has converted: what it says of them is checked.

Their GSYM files were written by our own engine, in a process that may have become
somebody else's. Such a one could tell of anything in a file that is sound; so it is
enough that each record is whole, which the engine sees in no time, and that lookups
hold out against any bytes.
"""

from __future__ import annotations

import os
import stat

from gsym.conversion.identity import ModuleIdentity
from gsym.errors import FormatError, GsymError
from gsym.records import NamedTuple
from gsym.store.modules import Quality

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from gsym.store.directory import Store
    from gsym.store.modules import Entry, ModuleKey
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
