"""Compressed input: streams and whole files, with limits."""

from __future__ import annotations

import mmap
import sys

from gsym.containers.mapped_file import give_back
from gsym.engine.native import lib
from gsym.errors import FormatError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from typing_extensions import Buffer


_MOST_AT_ONCE = 1 << 20
_GZIP_WINDOW = 31  # of the zlib module: the largest one, with the header of gzip
_XZ_MEMORY = 256 << 20  # what `xz -9` needs, four times
_XZ_MAGICS = (b"\xfd7zXZ\0",)
# Frames, and those that hold something else than contents.
_ZSTD_MAGICS = (
    b"\x28\xb5\x2f\xfd",
    *(bytes([number]) + b"\x2a\x4d\x18" for number in range(0x50, 0x60)),
)
_BZIP2_MAGICS = (b"BZh",)
_TOO_EARLY = "it ends too early"


def inflate_zlib(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of one zlib stream; what stands after it is left out.

    Raises:
        ValueError: It is damaged.
    """
    zlib = _find_zlib()
    decompressor = zlib.decompressobj()
    try:
        for piece in pieces:
            left: Buffer = piece
            while left and not decompressor.eof:
                yield decompressor.decompress(left, _MOST_AT_ONCE)
                left = decompressor.unconsumed_tail
        while inflated := decompressor.decompress(b"", _MOST_AT_ONCE):
            yield inflated
    except zlib.error as error:
        raise ValueError(error) from error
    if not decompressor.eof:
        raise ValueError(_TOO_EARLY)


def inflate_gzip(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of a gzip file, of all its members.

    Raises:
        ValueError: It is damaged.
    """
    zlib = _find_zlib()
    decompressor = zlib.decompressobj(_GZIP_WINDOW)
    is_begun = False
    try:
        for piece in pieces:
            left: Buffer = piece
            while left:
                if decompressor.eof:
                    decompressor, is_begun = zlib.decompressobj(_GZIP_WINDOW), False
                inflated = decompressor.decompress(left, _MOST_AT_ONCE)
                is_begun = True
                if inflated:
                    yield inflated
                left = decompressor.unused_data or decompressor.unconsumed_tail
        while inflated := decompressor.decompress(b"", _MOST_AT_ONCE):
            yield inflated
    except zlib.error as error:
        raise ValueError(error) from error
    if not is_begun or not decompressor.eof:
        raise ValueError(_TOO_EARLY)


def inflate_zstd(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all zstd frames; what stands after them is left out.

    Raises:
        ValueError: One is damaged.
    """
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    errors = (zstd.ZstdError, EOFError)
    return _inflate(pieces, zstd.ZstdDecompressor, _ZSTD_MAGICS, errors)


def inflate_xz(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all xz streams; what stands after them is left out.

    Raises:
        ValueError: One is damaged, or needs more memory than any that `xz` writes.
    """
    import lzma

    def make() -> Any:
        return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    return _inflate(pieces, make, _XZ_MAGICS, (lzma.LZMAError, EOFError))


def inflate_bzip2(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all bzip2 streams; what stands after them is left out.

    Raises:
        ValueError: One is damaged.
    """
    from bz2 import BZ2Decompressor

    return _inflate(pieces, BZ2Decompressor, _BZIP2_MAGICS, (OSError, EOFError))


def _inflate(
    pieces: Iterable[Buffer],
    make: Callable[[], Any],
    magics: tuple[bytes, ...],
    errors: tuple[type[Exception], ...],
) -> Iterator[bytes]:
    decompressor = make()
    head = b""  # what stands after a stream, as far as it may begin another one
    try:
        for piece in pieces:
            left = piece
            while True:
                if decompressor.eof:
                    left = (head + bytes(left)).lstrip(b"\0")  # xz fills up with zeros
                    if not left.startswith(magics):
                        head = left[: len(magics[0])]
                        break
                    decompressor = make()
                yield decompressor.decompress(left, _MOST_AT_ONCE)
                while not decompressor.needs_input and not decompressor.eof:
                    yield decompressor.decompress(b"", _MOST_AT_ONCE)
                if not decompressor.eof:
                    break
                left, head = decompressor.unused_data, b""
    except errors as error:
        raise ValueError(error) from error
    if not decompressor.eof:
        raise ValueError(_TOO_EARLY)


def _find_zlib() -> Any:
    """The module `zlib`, or the faster one of the same interface."""
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


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
