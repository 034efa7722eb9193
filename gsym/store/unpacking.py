"""Files that come compressed: inflated on the disk, within limits."""

from __future__ import annotations

import os
import sys

from gsym.errors import FormatError, LimitError
from gsym.sources.recognition import recognise_file

__all__ = ["MOST_INFLATED", "bare_name", "inflate_file", "write_limited"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, BinaryIO

MOST_INFLATED = 32 << 30  # bytes of one file
# Debug information shrinks to a fifth, seldom to a fiftieth.
_MOST_RATIO = 200
_FREE = 64 << 20  # so much may come of anything
_BLOCK = 1 << 20
_XZ_MEMORY = 256 << 20
_COMPRESSIONS = (".gz", ".zst", ".xz")
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
    if kind not in {"gzip file", "zstd file", "xz file"}:
        return path
    place = os.path.join(folder, "inflated")
    os.mkdir(place)
    target = os.path.join(place, os.path.splitext(os.path.basename(path))[0])
    most = min(most, max(_FREE, os.path.getsize(path) * _MOST_RATIO))
    with open(path, "rb") as source:
        try:
            write_limited(_inflated(source, kind), target, most, path)
        except _damage() as error:
            reason = f"what is compressed is damaged: {error}"
            raise FormatError(reason, path=path) from None
    return target


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


def _inflated(source: BinaryIO, kind: str) -> Iterator[bytes]:
    if kind == "xz file":
        yield from _inflate_xz(source)
        return
    with _open(source, kind) as stream:
        while piece := stream.read(_BLOCK):
            yield piece


def _inflate_xz(source: BinaryIO) -> Iterator[bytes]:
    """Like `lzma.open`, which sets no limit to the memory that the file asks for."""
    from lzma import FORMAT_XZ, LZMADecompressor

    data = source.read(_BLOCK)
    while data:
        decompressor = LZMADecompressor(FORMAT_XZ, _XZ_MEMORY)
        while not decompressor.eof:
            if decompressor.needs_input and not data:
                raise EOFError("it ends too early")
            yield decompressor.decompress(data, _BLOCK)
            data = source.read(_BLOCK) if decompressor.needs_input else b""
        data = (decompressor.unused_data or source.read(_BLOCK)).lstrip(b"\0")


def _open(source: BinaryIO, kind: str) -> Any:
    if kind == "zstd file":
        return _zstd().open(source)
    import gzip

    return gzip.open(source)


def _zstd() -> Any:
    """The module, which is a part of Python since 3.14."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


def _damage() -> tuple[type[Exception], ...]:
    import gzip
    import lzma
    import zlib

    return EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error, _zstd().ZstdError
