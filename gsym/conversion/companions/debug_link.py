"""Where separate debug files are: debug directories, .gnu_debuglink, build ids."""

from __future__ import annotations

import os

from gsym.containers.mapped_file import give_back
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.containers.object_file import ObjectFile


DEBUG_DIRECTORIES = ("/usr/lib/debug",)


def build_id_paths(build_id: bytes, directories: Sequence[str]) -> Iterator[str]:
    """Where the debug file of a build stands, in each of *directories*."""
    digits = build_id.hex()
    if len(build_id) > 1:
        for directory in directories:
            name = os.path.join(".build-id", digits[:2], f"{digits[2:]}.debug")
            yield os.path.join(directory, name)


def mirrored_paths(folder: str, name: str, directories: Sequence[str]) -> Iterator[str]:
    """Where *directories* hold the debug file *name* of a binary in *folder*.

    Args:
        folder: Absolute path.
        name: Of the debug file.
        directories: Of installed debug files.
    """
    below = folder.lstrip(os.sep)
    for directory in directories:
        yield os.path.join(directory, below, name)


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
