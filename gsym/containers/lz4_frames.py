"""Contents of lz4 files: systemd-coredump wrote them before zstd; kernels have others.

Source: LZ4 frame format 1.6.4, LZ4 block format.
"""

from __future__ import annotations

from io import BufferedReader

from gsym.containers.inflation import PieceStream

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

    from typing_extensions import Buffer

MAGIC = b"\x04\x22\x4d\x18"
LEGACY_MAGIC = b"\x02\x21\x4c\x18"  # of frames without a header, in kernels
_VERSION, _VERSION_MASK = 0x40, 0xC0
_INDEPENDENT, _BLOCK_CHECKSUM, _SIZE, _CHECKSUM, _DICTIONARY = 0x20, 0x10, 8, 4, 1
_STORED = 1 << 31
_WINDOW = 1 << 16  # bytes before a block to which it may refer
_MAX_BLOCK = 4 << 20
_MAX_LEGACY_BLOCK = 8 << 20
_MORE, _MIN_MATCH = 15, 4
_WORD = 4
_TRUNCATED = "it is truncated"
_UNKNOWN = "its version or dictionary is not known"


def inflate_lz4(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all lz4 frames; bytes after them are ignored.

    Raises:
        ValueError: One is damaged. Checksums are not compared.
    """
    stream = BufferedReader(PieceStream(pieces))
    magic = _take(stream, len(MAGIC))
    if magic == LEGACY_MAGIC:
        yield from _legacy_frame(stream)
        return
    if magic != MAGIC:
        raise ValueError(_UNKNOWN)
    while magic == MAGIC:
        yield from _frame(stream)
        magic = stream.read(len(MAGIC))


def _take(stream: IO[bytes], size: int) -> bytes:
    """The next bytes, of which none may be missing."""
    data = stream.read(size)
    if len(data) < size:
        raise ValueError(_TRUNCATED)
    return data


def _frame(stream: IO[bytes]) -> Iterator[bytes]:
    """The contents of a frame, after its magic number."""
    flags = _take(stream, 2)[0]
    if flags & _VERSION_MASK != _VERSION or flags & _DICTIONARY:
        raise ValueError(_UNKNOWN)
    _take(stream, 9 if flags & _SIZE else 1)
    window = bytearray()
    while size := int.from_bytes(_take(stream, _WORD), "little"):
        block = _take(stream, min(size & ~_STORED, _MAX_BLOCK + 1))
        if len(block) > _MAX_BLOCK:
            raise ValueError("a block is too large")
        if flags & _BLOCK_CHECKSUM:
            _take(stream, _WORD)
        if flags & _INDEPENDENT:
            window.clear()
        before = len(window)
        if size & _STORED:
            window += block
        else:
            _inflate_block(block, window)
        yield bytes(window[before:])
        del window[:-_WINDOW]
    if flags & _CHECKSUM:
        _take(stream, _WORD)


def _legacy_frame(stream: IO[bytes]) -> Iterator[bytes]:
    while len(word := stream.read(_WORD)) == _WORD and any(word):
        size = int.from_bytes(word, "little")
        # Random data is a little longer when it is compressed.
        if size > _MAX_LEGACY_BLOCK + _MAX_LEGACY_BLOCK // 128:
            raise ValueError("a block is too large")
        output = bytearray()
        _inflate_block(_take(stream, size), output, _MAX_LEGACY_BLOCK)
        yield bytes(output)


def inflate_lz4_block(block: bytes, size: int) -> bytes:
    """The contents of a block without a frame.

    Raises:
        ValueError: It is damaged, or does not inflate to *size* bytes.
    """
    output = bytearray()
    _inflate_block(block, output, size)
    if len(output) != size:
        raise ValueError(f"it does not have {size} bytes as declared")
    return bytes(output)


def _inflate_block(block: bytes, output: bytearray, most: int = _MAX_BLOCK) -> None:
    """Append the contents of a block.

    Raises:
        ValueError: It is damaged or cut.
    """
    try:
        at = _inflate_sequences(block, output, most + len(output))
    except IndexError:
        raise ValueError(_TRUNCATED) from None
    if at != len(block):
        raise ValueError(_TRUNCATED)


def _inflate_sequences(block: bytes, output: bytearray, most: int) -> int:
    """Append the contents of a block; returns its end."""
    at, end = 0, len(block)
    while at < end:
        token = block[at]
        at, count = _length(block, at + 1, token >> 4)
        output += block[at : at + count]
        at += count
        if at >= end:
            break
        distance = block[at] | block[at + 1] << 8
        at, size = _length(block, at + 2, token & _MORE)
        size += _MIN_MATCH
        start = len(output) - distance
        if not distance or start < 0 or len(output) + size > most:
            raise ValueError("a match is not in its window")
        if size <= distance:
            output += output[start : start + size]
        else:
            repeats = -(-size // distance)
            output += (output[start:] * repeats)[:size]
    return at


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """The place after a length, and the length."""
    if length == _MORE:
        while True:
            more = block[at]
            at, length = at + 1, length + more
            if more != 0xFF:  # noqa: PLR2004 - goes on
                break
    return at, length
