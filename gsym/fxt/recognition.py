"""Recognize Fuchsia traces by their first bytes."""

from __future__ import annotations

from contextlib import suppress

from gsym.containers.recognition import TRACE_MAGICS, inflater_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Literal

HEAD_SIZE = 1 << 16
"""Bytes of a file that are enough to recognize it; twice the largest record."""

_WORD = 8
_SCHEDULING, _LARGE = 8, 15
_MOST_METADATA = 33  # words: the name of a provider has at most 255 bytes
_INITIALIZATION_WORDS = range(2, 5)
_THREAD_WORDS = 3
# In front of damage.
_ENOUGH_RECORDS = 8


def is_trace(head: bytes) -> bool:
    """Whether a file that begins with these bytes, not compressed, is one.

    Without the magic number it must begin with valid consecutive records, which
    programs do not, and contain a zero byte, which text does not.
    """
    return trace_byteorder(head) is not None


def trace_byteorder(head: bytes) -> Literal["little", "big"] | None:
    """The byte order of a trace that begins with these bytes; None of other files."""
    orders: tuple[Literal["little", "big"], ...] = ("little", "big")
    for order, magic in zip(orders, TRACE_MAGICS, strict=True):
        if head and magic.startswith(head[:_WORD]):
            return order
    if 0 not in head:
        return None
    return next((order for order in orders if _has_records(head, order)), None)


def _has_records(head: bytes, order: Literal["little", "big"]) -> bool:
    """Whether the bytes are consecutive records in a byte order."""
    at = records = 0
    while len(head) - at >= _WORD:
        words = _words(int.from_bytes(head[at : at + _WORD], order))
        if words is None:
            return records >= _ENOUGH_RECORDS
        at += words * _WORD
        records += 1
    return records > 1 or at == len(head) > 0


def _words(header: int) -> int | None:
    """The number of words of a record; None if the header is invalid."""
    kind, words = header & 15, header >> 4 & 0xFFF
    if kind == _LARGE:
        words = header >> 4 & 0xFFFFFFFF
    subtype = header >> 60 if kind == _SCHEDULING else header >> 16 & 15
    fits = {
        0: words <= _MOST_METADATA,
        1: words in _INITIALIZATION_WORDS,
        2: words == 1 + ((header >> 32 & 0x7FFF) + 7) // 8,
        3: words == _THREAD_WORDS,
    }
    is_header = (
        words
        and kind in _RESERVED
        and not header & _RESERVED[kind]
        and subtype in _SUBTYPES.get(kind, range(16))
        and fits.get(kind, True)
    )
    return words if is_header else None


def _bits(*ranges: tuple[int, int]) -> int:
    """A word with these bits set, the first and the last one of each range."""
    return sum((1 << last + 1) - (1 << first) for first, last in ranges)


# By type of record: bits that must be 0, and valid subtypes.
_RESERVED = {
    0: 0,
    1: _bits((16, 63)),
    2: _bits((31, 31), (47, 63)),
    3: _bits((24, 63)),
    4: 0,
    5: _bits((47, 47), (56, 63)),
    6: _bits((44, 63)),
    7: _bits((44, 63)),
    _SCHEDULING: 0,
    9: _bits((31, 31), (40, 63)),
    10: 0,
    _LARGE: _bits((36, 39), (44, 63)),
}
_SUBTYPES = {0: range(1, 5), 4: range(11), _SCHEDULING: range(3), 10: range(3)}


def inflated_head(head: bytes) -> bytes:
    """The first bytes of a file, inflated; b"" if it is damaged."""
    inflate = inflater_of(head)
    if inflate is None:
        return head
    found = b""
    with suppress(ValueError):  # most heads end within the compressed stream
        for piece in inflate((head,)):
            found += piece
            if len(found) >= HEAD_SIZE:
                break
    return found[:HEAD_SIZE]
