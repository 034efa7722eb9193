"""Dictionaries, such as registers, with the symbols at values that are addresses."""

from __future__ import annotations

from itertools import islice

from gsym.lazy import regex
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.answers import Answer


class Value(NamedTuple):
    """A value that is an address."""

    key: bytes  # the text before it
    start: int  # offset of its first byte in the text of the dictionary
    end: int  # offset of the first byte after it
    answer: Answer  # the result of its lookup
    place: bytes  # the result as text


MAX_VALUES = 1024
# A key begins after a space or a colon; otherwise each byte would start a new search.
_PAIR = regex(rb"(?<![^\s:])([^\s:]+):\s*(0x[0-9a-fA-F]{1,16})(?![0-9a-zA-Z])")


def addresses_in(text: bytes) -> list[int]:
    """All values of a dictionary that may be addresses."""
    return [int(pair[2], 16) for pair in _PAIR.finditer(text)]


def annotate(
    text: bytes,
    look_up: Callable[[int], Answer],
    place: Callable[[Answer], bytes],
    form: str,
) -> tuple[bytes, list[bytes], tuple[Value, ...]]:
    """The text that replaces a dictionary, the lines after it, and its addresses.

    Only the first MAX_VALUES addresses are looked up. *place* formats the result; b""
    if the address is in no segment.
    """
    found = (
        Value(pair[1], *pair.span(2), answer, shown)
        for pair in _PAIR.finditer(text)
        if (shown := place(answer := look_up(int(pair[2], 16))))
    )
    values = tuple(islice(found, MAX_VALUES))
    if form == "notes":
        notes = [
            b"  %s = %s: %s" % (each.key, text[each.start : each.end], each.place)
            for each in values
        ]
        return text, notes, values
    if form == "inline":
        parts, at = [], 0
        for each in values:
            parts.append(b"%s [%s]" % (text[at : each.end], each.place))
            at = each.end
        text = b"".join(parts) + text[at:]
    return text, [], values
