"""Whether a file is a Fuchsia trace, which need not begin with the magic number."""

from __future__ import annotations

from gsym.formats.fxt import MAGICS

__all__ = ["HEAD_SIZE", "is_trace"]

HEAD_SIZE = 1 << 16
"""How many bytes of a file are enough to tell; the largest record has half of them."""

_WORD = 8
_LARGE = 15
_TYPES = frozenset((*range(11), _LARGE))
_METADATA = range(1, 5)
_MOST_METADATA = 33  # words: the name of a provider has at most 255 bytes
_INITIALIZATION_WORDS = range(2, 5)
_THREAD_WORDS = 3
# In front of damage.
_ENOUGH_RECORDS = 8


def is_trace(head: bytes) -> bool:
    """Whether a file that begins with these bytes, not compressed, is one.

    Without the magic number its first records have to lead from one to the next; text
    and programs fail at that.
    """
    if any(magic.startswith(head[:_WORD]) for magic in MAGICS):
        return bool(head)
    at = records = 0
    while len(head) - at >= _WORD:
        words = _words(int.from_bytes(head[at : at + _WORD], "little"))
        if words is None:
            return records >= _ENOUGH_RECORDS
        at += words * _WORD
        records += 1
    return records > 1 or at == len(head)


def _words(header: int) -> int | None:
    """How many words a record has; None where the header is none."""
    kind, words = header & 15, header >> 4 & 0xFFF
    if kind == _LARGE:
        words = header >> 4 & 0xFFFFFFFF
    fits = {
        0: header >> 16 & 15 in _METADATA and words <= _MOST_METADATA,
        1: words in _INITIALIZATION_WORDS,
        2: words == 1 + ((header >> 32 & 0x7FFF) + 7) // 8,
        3: words == _THREAD_WORDS,
    }
    return words if kind in _TYPES and words and fits.get(kind, True) else None
