"""Keys and values, such as registers, with what is at those that are addresses."""

from __future__ import annotations

import re

__all__ = ["annotate"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_PAIR = re.compile(rb"([^\s:]+):\s*(0x[0-9a-fA-F]{1,16})(?![0-9a-zA-Z])")


def annotate(
    text: bytes, place: Callable[[int], bytes], *, is_inline: bool
) -> tuple[bytes, list[bytes]]:
    """What stands in place of a dictionary, and the lines behind it.

    Args:
        text: All of it behind the tag.
        place: Says what is at an address; b"" where it is none that is known.
        is_inline: Whether that goes behind each value; else into lines of its own, and
            the dictionary stays as it is.
    """
    notes: list[bytes] = []

    def note(found: re.Match[bytes]) -> bytes:
        shown = place(int(found[2], 16))
        if not shown:
            return found[0]
        if is_inline:
            return b"%s [%s]" % (found[0], shown)
        notes.append(b"  %s = %s: %s" % (found[1], found[2], shown))
        return found[0]

    return _PAIR.sub(note, text), notes
