"""`.gnu_debuglink`: the name of a debug file and the CRC-32 of all its bytes."""

from __future__ import annotations

import os

from gsym.records import NamedTuple
from gsym.sources.debug_directories import mirrored_paths
from gsym.sources.mapped_file import give_back

__all__ = ["DebugLink", "crc32", "debug_link_paths", "read_debug_link"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.sources.object_file import ObjectFile


class DebugLink(NamedTuple):
    """What the section says: a file name without folder, and a checksum."""

    name: str
    crc: int


_CRC_SIZE = 4
_CHUNK_SIZE = 4 << 20


def read_debug_link(binary: ObjectFile) -> DebugLink | None:
    """The debug link of *binary*; None where it has none, or one that names no file.

    Raises:
        FormatError: The section reaches past the file or cannot be inflated.
    """
    section = binary.section(b".gnu_debuglink")
    if section is None:
        return None
    name, _, _ = bytes(section).partition(b"\0")
    crc_offset = (len(name) + _CRC_SIZE) & -_CRC_SIZE  # behind the NUL, aligned
    crc = bytes(section[crc_offset : crc_offset + _CRC_SIZE])
    if len(crc) < _CRC_SIZE or name in {b"", b".", b".."} or b"/" in name:
        return None
    number = int.from_bytes(crc, "big" if binary.big_endian else "little")
    return DebugLink(os.fsdecode(name), number)


def debug_link_paths(
    name: str, binary: str, directories: Sequence[str]
) -> Iterator[str]:
    """Where a debug file *name* may stand: beside the binary, then in *directories*.

    Args:
        name: As the debug link has it.
        binary: Path of the binary; where it is a link, its target counts as well.
        directories: Those of installed debug files.
    """
    paths = (binary, os.path.realpath(binary))
    folders = dict.fromkeys(map(os.path.dirname, paths))
    for folder in folders:
        yield os.path.join(folder, name)
        yield os.path.join(folder, ".debug", name)
    for folder in dict.fromkeys(map(os.path.abspath, folders)):
        yield from mirrored_paths(folder, name, directories)


def crc32(data: memoryview) -> int:
    """The checksum of a whole mapped file, whose pages are given back."""
    import zlib

    crc = 0
    for start in range(0, len(data), _CHUNK_SIZE):
        crc = zlib.crc32(data[start : start + _CHUNK_SIZE], crc)
        give_back(data, start, _CHUNK_SIZE)
    return crc
