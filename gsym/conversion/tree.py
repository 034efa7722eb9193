"""The files below a folder, and which of them are inputs of a conversion."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from gsym.containers.fat import open_slice
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import is_bundle
from gsym.conversion.inputs import INPUTS
from gsym.errors import EmptyError, GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

_PROGRAM_SUFFIXES = (".exe", ".dll", ".sys")


def files_below(
    folder: str, passed_over: str = "", seen: set[tuple[int, int]] | None = None
) -> Iterator[tuple[str, int]]:
    """Path and size of each file below a folder, by name; a bundle is one file.

    Links to folders are not followed, and a file with several names is yielded once.
    Absolute paths in *passed_over* and files in *seen*, by device and inode, are left
    out; those yielded are added to it. Folders that cannot be read come last.
    """
    seen, unread = set() if seen is None else seen, list[OSError]()
    for place, folders, names in os.walk(folder, onerror=unread.append):
        bundles = {name for name in folders if is_bundle(f"{place}/{name}")}
        folders[:] = sorted(
            name
            for name in {*folders} - bundles
            if os.path.join(os.path.abspath(place), name) != passed_over
        )
        for name in (*sorted(bundles), *sorted(names)):
            path = os.path.join(place, name)
            with suppress(OSError):
                status = os.stat(path)
                mark = (status.st_dev, status.st_ino)
                is_file = stat.S_ISREG(status.st_mode) or name in bundles
                if is_file and mark not in seen:
                    seen.add(mark)
                    yield path, status.st_size
    yield from ((error.filename, 0) for error in unread)


def linked_below(folder: str) -> Iterator[str]:
    """Paths of programs, libraries, kernel modules and symbol files below a folder.

    Objects that are still to be linked, archives of these and GSYM files are left out,
    and PDBs beside their programs, whose conversions read them.
    """
    is_empty = True
    for path, _ in files_below(folder):
        try:
            is_wanted = os.path.isdir(path) or _is_linked(path)
        except (OSError, GsymError):
            is_wanted = True  # its conversion says why it fails
        if is_wanted:
            is_empty = False
            yield path
    if is_empty:
        reason = "a folder without programs, libraries and symbol files"
        raise EmptyError(reason, path=folder)


def _is_linked(path: str) -> bool:
    kind = recognise_file(path)
    if kind == "pdb":
        stem = os.path.splitext(path)[0]
        return not any(os.path.exists(stem + each) for each in _PROGRAM_SUFFIXES)
    return kind != "gsym" and has_modules(path, kind)


def has_modules(path: str, kind: str) -> bool:
    """Whether a file has modules: inputs of a linker have none, but kernel modules."""
    if kind != "object" or path.endswith((".ko", ".ko.debug")):
        return kind in INPUTS and kind != "archive"
    return not open_slice(path).is_relocatable
