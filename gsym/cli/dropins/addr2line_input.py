"""Opens the input of `gsym-addr2line`: a reader, and properties of the binary."""

from __future__ import annotations

import os

from gsym.containers.recognition import recognise_file
from gsym.errors import GsymError
from gsym.modules.binary_lookup import BinarySearch, find_gsym

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.containers.object_file import ObjectFile
    from gsym.reading.reader import Reader


class Input:
    """An open file."""

    def __init__(self, reader: Reader | None, notes: tuple[str, ...]) -> None:
        self.reader = reader  # its reader; None if it contains no function
        # messages about files that were not used, or may be of another build
        self.notes = notes
        self.is_64 = True  # whether addresses have 64 bits
        # start and end of the sections that addresses are relative to; None for
        # link-time addresses
        self.sections: list[tuple[int, int]] | None = None


def open_input(path: str, section: str | None, *, read_ahead: bool) -> Input:
    """Open the file at *path*."""
    kind = _check(path)
    found = find_gsym(path, BinarySearch(read_ahead=read_ahead, partial=True))
    notes = tuple(filter(None, (*found.notes, found.unsure)))
    opened = Input(found.reader, notes)
    if kind == "object":
        _read_binary(opened, path, section)
    elif section is not None:
        raise GsymError(
            f"cannot find section {section}: give the binary instead", path=path
        )
    return opened


def _check(path: str) -> str:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        raise GsymError(f"'{path}': No such file") from None
    if os.path.isdir(path):
        if path.rstrip(os.sep).endswith(".dSYM"):
            return "bundle"
        raise GsymError(f"Warning: '{path}' is a directory")
    if not os.path.isfile(path):
        raise GsymError(f"Warning: '{path}' is not an ordinary file")
    if not status.st_size:
        raise GsymError("file is empty", path=path)
    kind = recognise_file(path)
    if kind == "archive":
        raise GsymError("cannot get addresses from archive", path=path)
    if not kind:
        raise GsymError("file format not recognized", path=path)
    return kind


def _read_binary(opened: Input, path: str, section: str | None) -> None:
    from gsym.containers.fat import open_slice

    with open_slice(path) as binary:
        opened.is_64 = binary.is_64
        if section is not None:
            opened.sections = [_section(binary, section)]
        elif binary.is_relocatable:
            # In addr2line, each of its sections starts at 0.
            opened.sections = [(start, end) for _, start, end in binary.placements]


def _section(binary: ObjectFile, name: str) -> tuple[int, int]:
    found = binary.code_range(os.fsencode(name))
    if found is None:
        raise GsymError(f"cannot find section {name}", path=binary.path)
    return found
