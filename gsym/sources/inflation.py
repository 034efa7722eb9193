"""Compressed sections: as many bytes as they claim to hold, and not one more."""

from __future__ import annotations

from gsym._native import lib
from gsym.errors import FormatError, UnsupportedError

__all__ = ["inflate"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Buffer

# No section may claim to hold more than this when inflated.
_MAX_INFLATED_SIZE = 16 << 30


def inflate(
    payload: Buffer, size: int, compression: int, *, path: str, offset: int
) -> bytes:
    """Inflate a section.

    Args:
        payload: Its compressed bytes, without the header of the compression.
        size: Bytes it holds when inflated.
        compression: A `gsym_compression`.
        path: File that holds it, for errors.
        offset: Of the payload in that file, for errors.

    Raises:
        FormatError: The data is damaged or does not hold *size* bytes.
        UnsupportedError: It is compressed in an unknown way.
    """
    if size > _MAX_INFLATED_SIZE:
        raise _damaged(f"it claims to hold {size} bytes", path, offset)
    if compression not in {lib.GSYM_COMPRESSION_ZLIB, lib.GSYM_COMPRESSION_ZSTD}:
        raise UnsupportedError(
            "a section is compressed in an unknown way", path=path, offset=offset
        )
    try:
        # A limit of 0 would be none; one byte more shows that there is more.
        if compression == lib.GSYM_COMPRESSION_ZLIB:
            inflated, is_whole = _inflate_zlib(payload, size + 1)
        else:
            inflated, is_whole = _inflate_zstd(payload, size + 1)
    except ValueError as error:
        raise _damaged(str(error), path, offset) from error
    if len(inflated) != size or not is_whole:
        raise _damaged(f"it does not hold the {size} bytes it claims", path, offset)
    return inflated


def _inflate_zlib(payload: Buffer, limit: int) -> tuple[bytes, bool]:
    import zlib

    decompressor = zlib.decompressobj()
    try:
        return decompressor.decompress(payload, limit), decompressor.eof
    except zlib.error as error:
        raise ValueError(error) from error


def _inflate_zstd(payload: Buffer, limit: int) -> tuple[bytes, bool]:
    import sys

    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    decompressor = zstd.ZstdDecompressor()
    try:
        return decompressor.decompress(payload, limit), decompressor.eof
    except (zstd.ZstdError, EOFError) as error:
        raise ValueError(error) from error


def _damaged(reason: str, path: str, offset: int) -> FormatError:
    return FormatError(
        f"a compressed section is damaged: {reason}", path=path, offset=offset
    )
