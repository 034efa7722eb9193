"""Inflates compressed streams and files, within limits.

Streams are read and returned in pieces. An empty piece means that a pipe is silent: an
empty piece is returned for it, and for nothing else.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import RawIOBase

from gsym.containers.mapped_file import give_back, map_descriptor
from gsym.containers.recognition import ZSTD_MAGICS
from gsym.engine.native import lib
from gsym.errors import FormatError, UnsupportedError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any, TypeVar

    from typing_extensions import Buffer

    Piece = TypeVar("Piece", bytes, memoryview)

_MAX_PIECE = 1 << 20
# Each end of a stream copies the rest of the piece, and there may be an end every few
# bytes.
_SLICE = 16 << 10
_GZIP_WINDOW = 31  # of the zlib module: the largest one, with the header of gzip
_XZ_MEMORY = 256 << 20  # what `xz -9` needs, four times
_XZ_MAGICS = (b"\xfd7zXZ\0",)
_BZIP2_MAGICS = (b"BZh",)
_TRUNCATED = "it is truncated"


def inflate_one_gzip(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of one member of a gzip file; bytes after it are ignored.

    Raises:
        ValueError: It is damaged.
    """
    return inflate_zlib(pieces, _GZIP_WINDOW)


def inflate_gzip(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of a gzip file, of all its members.

    Raises:
        ValueError: It is damaged.
    """
    return inflate_zlib(pieces, _GZIP_WINDOW, is_one=False)


def inflate_zlib(
    pieces: Iterable[Buffer], window: int = 15, *, is_one: bool = True
) -> Iterator[bytes]:
    """The contents of zlib streams; if *is_one*, of the first, whatever follows it.

    Raises:
        ValueError: One is damaged.
    """
    zlib = _find_zlib()
    decompressor = zlib.decompressobj(window)
    try:
        for piece in _sliced(pieces):  # zlib copies the unread rest at each call
            if not piece:
                yield b""
            left: Buffer = piece
            while left:
                if decompressor.eof:
                    if is_one:
                        return
                    decompressor = zlib.decompressobj(window)
                inflated = decompressor.decompress(left, _MAX_PIECE)
                if inflated:
                    yield inflated
                left = decompressor.unused_data or decompressor.unconsumed_tail
        while inflated := decompressor.decompress(b"", _MAX_PIECE):
            yield inflated
    except zlib.error as error:
        raise ValueError(error) from error
    if not decompressor.eof:
        raise ValueError(_TRUNCATED)


def import_zstd() -> Any:
    """The module for zstd: part of Python since 3.14, before that a backport of it."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def inflate_zstd(
    pieces: Iterable[Buffer], *, may_be_cut: bool = False
) -> Iterator[bytes]:
    """The contents of all zstd frames; bytes after them are ignored.

    Raises:
        ValueError: One is damaged.
    """
    zstd = import_zstd()
    errors = (zstd.ZstdError, EOFError)
    make = zstd.ZstdDecompressor
    return _inflate(pieces, make, ZSTD_MAGICS, errors, may_be_cut=may_be_cut)


def inflate_xz(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all xz streams, or of one of lzma; bytes after them are ignored.

    Raises:
        ValueError: One is damaged, or needs more memory than any that `xz` writes.
    """
    import lzma

    def make() -> Any:
        return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)

    return _inflate(pieces, make, _XZ_MAGICS, (lzma.LZMAError, EOFError))


def inflate_bzip2(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all bzip2 streams; bytes after them are ignored.

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
    *,
    may_be_cut: bool = False,
) -> Iterator[bytes]:
    decompressor = make()
    start = b""  # bytes after a stream that may be the start of another one
    try:
        for piece in _sliced(pieces):
            if not piece:
                yield b""
            left: Buffer = piece
            while left:
                if decompressor.eof:
                    left = (start + bytes(left)).lstrip(b"\0")  # xz pads with zeros
                    if not left.startswith(magics):
                        start = left[: len(magics[0])]
                        break
                    decompressor = make()
                yield from _decompress(decompressor, left)
                left, start = decompressor.unused_data, b""
    except errors as error:
        raise ValueError(error) from error
    if not decompressor.eof and not may_be_cut:
        raise ValueError(_TRUNCATED)


def _decompress(decompressor: Any, data: Buffer) -> Iterator[bytes]:
    """All that *data* inflates to, up to the end of the stream."""
    while True:
        if inflated := decompressor.decompress(data, _MAX_PIECE):
            yield inflated
        if decompressor.needs_input or decompressor.eof:
            return
        data = b""


class PieceStream(RawIOBase):
    """Pieces as a file that is only read."""

    def __init__(self, pieces: Iterable[Buffer]) -> None:
        self._pieces = iter(pieces)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, target: Buffer) -> int:
        """Read the next bytes; their number, 0 at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        view = memoryview(target).cast("B")
        count = min(len(view), len(self._left))
        view[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


def _sliced(pieces: Iterable[Buffer]) -> Iterator[memoryview]:
    for piece in pieces:
        view = memoryview(piece)
        for start in range(0, len(view) or 1, _SLICE):
            yield view[start : start + _SLICE]


def _find_zlib() -> Any:
    """The module `zlib`, or the faster one of the same interface."""
    try:
        from isal import isal_zlib
    except ImportError:
        import zlib

        return zlib
    return isal_zlib


# Debug information is compressed by a factor of 5, rarely 50. zlib can reach 1000, zstd
# 30000.
# Limit: Decompressed data
_FLOOR, _FACTOR = 16 << 20, 100
# Limit: Decompressed data of a compressed file
_MAX_FILE = 8 << 30

_READ_SIZE = 64 << 10
_GIVE_BACK_SIZE = 4 << 20
_TO_FILE = 1 << 20  # smaller sections get memory that is there already


def believable_size(compressed: int, most: int) -> int:
    """The limit on the inflated size of *compressed* bytes, *most* or less.

    It applies to everything that is inflated, to memory or to a file.
    """
    return min(most, _FLOOR + compressed * _FACTOR)


def inflate(
    payload: memoryview, size: int, compression: int, *, path: str, offset: int
) -> tuple[memoryview, bool]:
    """Inflate a section.

    A large one goes to a temporary file without a name, so that its pages can be given
    back like those of a section that is not compressed.

    Args:
        payload: Its compressed bytes, without the header of the compression.
        size: Its inflated size, which the caller has checked.
        compression: A `gsym_compression`.
        path: The file, for errors.
        offset: Of the payload in that file, for errors.

    Returns:
        The contents, and whether they are in a file that is mapped, where they cannot
        be written to.
    """

    def pieces() -> Iterator[bytes]:
        return _inflate_section(payload, size, compression, path, offset)

    if size >= _TO_FILE and (mapped := _map_pieces(pieces)) is not None:
        return mapped, True
    try:
        inflated = memoryview(bytearray(size))
    except MemoryError:
        raise MemoryError(f"no memory for a section of {size} bytes") from None
    end = 0
    for piece in pieces():
        start, end = end, end + len(piece)
        inflated[start:end] = piece
    return inflated, False


def _inflate_section(
    payload: memoryview, size: int, compression: int, path: str, offset: int
) -> Iterator[bytes]:
    """The contents in pieces, together never longer than *size*."""
    if compression == lib.GSYM_COMPRESSION_ZLIB:
        pieces = inflate_zlib(_read(payload))
    elif compression == lib.GSYM_COMPRESSION_ZSTD:
        pieces = inflate_zstd(_read(payload))
    elif compression == lib.GSYM_COMPRESSION_PHANTOM_BYTES:
        pieces = (bytes(piece[::2]) for piece in _read(payload))
    else:
        reason = "a section has an unknown compression type"
        raise UnsupportedError(reason, path=path, offset=offset)
    left = size
    try:
        for piece in pieces:
            left -= len(piece)
            if left < 0:
                break
            yield piece
    except ValueError as error:
        raise _damaged(str(error), path, offset) from error
    if left:
        raise _damaged(f"it does not have {size} bytes as declared", path, offset)


def inflate_data(
    inflate: Callable[[Iterable[Buffer]], Iterator[bytes]], data: memoryview
) -> memoryview:
    """The contents of a compressed file that is mapped, in memory or in such a file.

    Raises:
        ValueError: It is damaged, or inflates to more than is believable.
    """

    def pieces() -> Iterator[bytes]:
        refused = ValueError("it inflates to more than is believable")
        most = believable_size(len(data), _MAX_FILE)
        return limited(inflate(_read(data)), most, refused)

    mapped = _map_pieces(pieces)
    return memoryview(b"".join(pieces())) if mapped is None else mapped


def limited(pieces: Iterable[Piece], most: int, refused: Exception) -> Iterator[Piece]:
    """*pieces*; raises *refused* before one that makes them more than *most* bytes."""
    for piece in pieces:
        most -= len(piece)
        if most < 0:
            raise refused
        yield piece


def _map_pieces(pieces: Callable[[], Iterable[bytes]]) -> memoryview | None:
    """A map of a temporary file with *pieces*; None if there cannot be one."""
    if not hasattr(os, "O_TMPFILE"):  # not on every system
        return None
    # /tmp is often in memory, /var/tmp is not.
    folder = os.environ.get("TMPDIR") or "/var/tmp"  # noqa: S108 - the file has no name
    flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
    with (
        suppress(OSError),  # the folder is missing, confined, or full
        open(os.open(folder, flags, 0o600), "w+b") as file,
    ):
        file.writelines(pieces())
        file.flush()
        return map_descriptor(file.fileno(), file.tell())
    return None


def _read(payload: memoryview) -> Iterator[memoryview]:
    """The payload in pieces; pages that were read are released."""
    kept = 0
    for start in range(0, len(payload), _READ_SIZE):
        yield payload[start : start + _READ_SIZE]
        if start - kept >= _GIVE_BACK_SIZE:
            give_back(payload, kept, start - kept)
            kept = start
    if len(payload) >= _GIVE_BACK_SIZE:
        give_back(payload, kept, len(payload) - kept)


def _damaged(reason: str, path: str, offset: int) -> FormatError:
    return FormatError(
        f"a compressed section is damaged: {reason}", path=path, offset=offset
    )
