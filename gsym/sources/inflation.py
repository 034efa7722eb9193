"""Compressed sections: as many bytes as they claim to hold, and not one more.

Inflated in pieces into memory of its own, so that there is never a second copy, and
the compressed pages are given back on the way.
"""

from __future__ import annotations

import mmap

from gsym._native import lib
from gsym.errors import FormatError, UnsupportedError
from gsym.sources.inflated_stream import inflate_zlib, inflate_zstd
from gsym.sources.mapped_file import give_back

__all__ = ["believable_size", "inflate"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Debug information shrinks to a fifth, seldom to a fiftieth; zlib can write a byte for
# a thousand, and zstd for thirty thousand.
_MOST_RATIO = 100
_FREE = 16 << 20  # allowed for any input

_READ_SIZE = 64 << 10
_GIVE_BACK_SIZE = 4 << 20


def believable_size(compressed: int, most: int) -> int:
    """The limit on the inflated size of *compressed* bytes, *most* or less.

    It applies to everything that is inflated, to memory or to a file.
    """
    return min(most, _FREE + compressed * _MOST_RATIO)


def inflate(
    payload: memoryview, size: int, compression: int, *, path: str, offset: int
) -> memoryview:
    """Inflate a section.

    Args:
        payload: Its compressed bytes, without the header of the compression.
        size: Bytes it holds when inflated, which the caller has checked.
        compression: A `gsym_compression`.
        path: File that holds it, for errors.
        offset: Of the payload in that file, for errors.

    Returns:
        Memory that may be written to.

    Raises:
        FormatError: The data is damaged or does not hold *size* bytes.
        UnsupportedError: It is compressed in an unknown way.
        MemoryError: There is not as much memory.
    """
    if compression == lib.GSYM_COMPRESSION_ZLIB:
        pieces = inflate_zlib(_read(payload))
    elif compression == lib.GSYM_COMPRESSION_ZSTD:
        pieces = inflate_zstd(_read(payload))
    else:
        reason = "a section is compressed in an unknown way"
        raise UnsupportedError(reason, path=path, offset=offset)
    inflated = _allocate(size)
    end = 0
    try:
        for piece in pieces:
            start, end = end, end + len(piece)
            if end > size:
                break
            inflated[start:end] = piece
    except ValueError as error:
        raise _damaged(str(error), path, offset) from error
    if end != size:
        raise _damaged(f"it does not hold the {size} bytes it claims", path, offset)
    return inflated


def _allocate(size: int) -> memoryview:
    if size == 0:
        return memoryview(bytearray())
    try:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(f"no memory for a section of {size} bytes") from error
    return memoryview(memory)


def _read(payload: memoryview) -> Iterator[memoryview]:
    """The payload piece by piece; what has been read is given back."""
    kept = 0
    for start in range(0, len(payload), _READ_SIZE):
        yield payload[start : start + _READ_SIZE]
        if start - kept >= _GIVE_BACK_SIZE:
            give_back(payload, kept, start - kept)
            kept = start
    give_back(payload, kept, len(payload) - kept)


def _damaged(reason: str, path: str, offset: int) -> FormatError:
    return FormatError(
        f"a compressed section is damaged: {reason}", path=path, offset=offset
    )
