"""Contents of lz4 files: systemd-coredump wrote them before zstd; kernels have others.

Source: LZ4 frame format 1.6.4, LZ4 block format.
"""

from __future__ import annotations

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_TRUNCATED = "it is truncated"


def inflate_lz4(pieces: Iterable[Buffer]) -> Iterator[bytes]:
    """The contents of all lz4 frames; bytes after them are ignored.

    Raises:
        ValueError: One is damaged. Checksums are not compared.
    """
    held = _Held(pieces)
    if held.take(len(MAGIC)) == LEGACY_MAGIC:
        yield from _legacy_frame(held)
        return
    held.used -= len(MAGIC)
    yield from _frame(held)
    while held.take(len(MAGIC), may_end=True) == MAGIC:
        held.used -= len(MAGIC)
        yield from _frame(held)


class _Held:
    """Bytes from pieces, as many as are asked for."""

    def __init__(self, pieces: Iterable[Buffer]) -> None:
        self._pieces = iter(pieces)
        self._data = bytearray()
        self.used = 0

    def take(self, size: int, *, may_end: bool = False) -> bytes:
        """The next bytes.

        Raises:
            ValueError: There are fewer.
        """
        while len(self._data) - self.used < size:
            piece = next(self._pieces, None)
            if piece is None:
                if may_end:
                    return b""
                raise ValueError(_TRUNCATED)
            del self._data[: self.used]
            self.used = 0
            self._data += piece
        self.used += size
        return bytes(self._data[self.used - size : self.used])

    def number(self) -> int:
        """The next 4 bytes as a number."""
        return int.from_bytes(self.take(4), "little")


def _frame(held: _Held) -> Iterator[bytes]:
    magic, flags = held.take(len(MAGIC)), held.take(2)[0]
    if magic != MAGIC or flags & _VERSION_MASK != _VERSION or flags & _DICTIONARY:
        raise ValueError("its version or dictionary is not known")
    held.take(8 if flags & _SIZE else 0)
    held.take(1)
    window = bytearray()
    while size := held.number():
        block = held.take(min(size & ~_STORED, _MAX_BLOCK + 1))
        if len(block) > _MAX_BLOCK:
            raise ValueError("a block is too large")
        if flags & _BLOCK_CHECKSUM:
            held.take(4)
        if flags & _INDEPENDENT:
            window.clear()
        before = len(window)
        if size & _STORED:
            window += block
        else:
            try:
                _inflate_block(block, window)
            except IndexError:
                raise ValueError(_TRUNCATED) from None
        yield bytes(window[before:])
        del window[:-_WINDOW]
    if flags & _CHECKSUM:
        held.take(4)


def _legacy_frame(held: _Held) -> Iterator[bytes]:
    while size := int.from_bytes(held.take(4, may_end=True), "little"):
        # Random data is a little longer when it is compressed.
        if size > _MAX_LEGACY_BLOCK + _MAX_LEGACY_BLOCK // 128:
            raise ValueError("a block is too large")
        output = bytearray()
        try:
            _inflate_block(held.take(size), output, _MAX_LEGACY_BLOCK)
        except IndexError:
            raise ValueError(_TRUNCATED) from None
        yield bytes(output)


def inflate_lz4_block(block: bytes, size: int) -> bytes:
    """The contents of a block without a frame.

    Raises:
        ValueError: It is damaged, or does not inflate to *size* bytes.
    """
    output = bytearray()
    try:
        _inflate_block(block, output, size)
    except IndexError:
        raise ValueError(_TRUNCATED) from None
    if len(output) != size:
        raise ValueError(f"it does not have {size} bytes as declared")
    return bytes(output)


def _inflate_block(block: bytes, output: bytearray, most: int = _MAX_BLOCK) -> None:
    """Append the contents of a block.

    Raises:
        ValueError: It is damaged.
        IndexError: It is cut.
    """
    most += len(output)
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
    if at != end:
        raise ValueError(_TRUNCATED)


def _length(block: bytes, at: int, length: int) -> tuple[int, int]:
    """The place after a length, and the length."""
    if length == _MORE:
        while True:
            more = block[at]
            at, length = at + 1, length + more
            if more != 0xFF:  # noqa: PLR2004 - goes on
                break
    return at, length
