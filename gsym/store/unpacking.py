"""Files that come compressed: inflated on the disk, within limits."""

from __future__ import annotations

import os

from gsym.errors import FormatError, LimitError
from gsym.sources.inflated_stream import (
    inflate_bzip2,
    inflate_gzip,
    inflate_xz,
    inflate_zstd,
)
from gsym.sources.inflation import believable_size
from gsym.sources.recognition import recognise_file

__all__ = [
    "INFLATERS",
    "MOST_INFLATED",
    "bare_name",
    "inflate_file",
    "pieces_of",
    "write_limited",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

MOST_INFLATED = 32 << 30  # bytes of one file
_PIECE = 1 << 20
# By the names that `recognise` gives to them.
INFLATERS = {
    "gzip file": inflate_gzip,
    "zstd file": inflate_zstd,
    "xz file": inflate_xz,
    "bzip2 file": inflate_bzip2,
}
_COMPRESSIONS = (".gz", ".zst", ".xz", ".bz2")
_DEBUG_SUFFIXES = (".dbg", ".debug")


def bare_name(path: str) -> str:
    """What a module is called whose debug information is in the file *path*.

    Suffixes that tell of the file are left out: `libxul.so.dbg.gz` is of `libxul.so`.
    """
    name = os.path.basename(path.rstrip(os.sep))
    for suffixes in (_COMPRESSIONS, _DEBUG_SUFFIXES):
        stem, suffix = os.path.splitext(name)
        if stem and suffix.lower() in suffixes:
            name = stem
    return name


def inflate_file(path: str, folder: str, most: int = MOST_INFLATED) -> str:
    """The path of a file, inflated into *folder* if it is compressed.

    Args:
        path: A file of any kind.
        folder: Where the inflated one goes.
        most: How many bytes it may have; one that grows beyond reason is refused
            before.

    Raises:
        FormatError: What is compressed is damaged.
        LimitError: It is too large.
        OSError: It cannot be read, or not be written.
    """
    kind = "" if os.path.isdir(path) else recognise_file(path)
    inflate = INFLATERS.get(kind)
    if inflate is None:
        return path
    place = os.path.join(folder, "inflated")
    os.mkdir(place)
    target = os.path.join(place, os.path.splitext(os.path.basename(path))[0])
    most = believable_size(os.path.getsize(path), most)
    with open(path, "rb", buffering=0) as source:
        try:
            write_limited(inflate(pieces_of(source)), target, most, path)
        except ValueError as error:
            reason = f"what is compressed is damaged: {error}"
            raise FormatError(reason, path=path) from None
    return target


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """What is left of an open file, in pieces."""
    while piece := file.read(_PIECE):
        yield piece


def write_limited(pieces: Iterable[bytes], target: str, most: int, path: str) -> int:
    """Write *pieces* to a new file; its size.

    Args:
        pieces: Its bytes.
        target: Path of the file.
        most: How many bytes it may have.
        path: What errors call the source.

    Raises:
        LimitError: There are more.
        OSError: The file cannot be written.
    """
    size = 0
    with open(target, "xb", buffering=0) as file:
        for piece in pieces:
            size += len(piece)
            if size > most:
                reason = f"it holds more than the {most} bytes that are allowed"
                raise LimitError(reason, path=path)
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]
    return size
