"""Where answers of `gsym-addr2line` differ from GNU addr2line's, and why.

Each check takes the frames of both answers, innermost first, GNU's without
discriminators. docs/differences.md explains every one of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Place(NamedTuple):
    """One frame as addr2line prints it."""

    name: str
    path: str
    line: str


Frames = tuple[Place, ...]

NOTHING: Frames = (Place("??", "??", "0"),)
_DISCRIMINATOR = re.compile(r" \(discriminator \d+\)")


def without_discriminators(text: str) -> str:
    """GSYM files do not have them."""
    return _DISCRIMINATOR.sub("", text)


def symbol_has_no_file(gnu: Frames, ours: Frames) -> bool:
    """A local symbol, or another of that address, with the file it is said to be of."""
    return _is_bare(ours) and len(gnu) == 1 and gnu[0].line == "?"


def assembly_has_no_lines(gnu: Frames, ours: Frames) -> bool:
    """Lines of code that no function is described for are not kept."""
    return _is_bare(ours) and len(gnu) == 1 and gnu[0].name == ours[0].name


def nothing_after_a_function(gnu: Frames, ours: Frames) -> bool:
    """What fills the gap behind a function is not taken for a part of it."""
    return ours == NOTHING != gnu


def symbol_extends_to_next_function(gnu: Frames, ours: Frames) -> bool:
    """A symbol without a size answers up to the next function, over sections."""
    return gnu == NOTHING and _is_bare(ours)


def name_differs(gnu: Frames, ours: Frames) -> bool:
    """One of several symbols of a function, or its name with the scope around it."""
    return len(gnu) == len(ours) and all(
        a._replace(name="") == b._replace(name="")
        for a, b in zip(gnu, ours, strict=True)
    )


def path_is_joined_differently(gnu: Frames, ours: Frames) -> bool:
    """A path without `//`; or another file of the same row, where addr2line errs."""
    return len(gnu) == len(ours) and all(
        (a.name, a.line) == (b.name, b.line) for a, b in zip(gnu, ours, strict=True)
    )


def inlined_calls_are_missing(gnu: Frames, ours: Frames) -> bool:
    """addr2line 2.40 does not see the inlined calls of some units of DWARF 5."""
    return (
        len(gnu) < len(ours)
        and gnu[-1].name == ours[-1].name
        and gnu[0][1:] == ours[0][1:]
    )


def _is_bare(frames: Frames) -> bool:
    return len(frames) == 1 and frames[0][1:] == ("??", "?")


CHECKS: tuple[Callable[[Frames, Frames], bool], ...] = (
    symbol_has_no_file,
    assembly_has_no_lines,
    nothing_after_a_function,
    symbol_extends_to_next_function,
    name_differs,
    path_is_joined_differently,
    inlined_calls_are_missing,
)


def why(gnu: Frames, ours: Frames) -> str:
    """The name of the first check that knows the difference; "" for none."""
    return next((check.__name__ for check in CHECKS if check(gnu, ours)), "")


def frames_of(answer: str) -> Frames:
    """The frames of an answer that `-f` made, without its address."""
    lines = answer.splitlines()
    pairs = zip(lines[::2], lines[1::2], strict=True)
    return tuple(Place(name, *place.rsplit(":", 1)) for name, place in pairs)


def answers_of(text: str) -> list[str]:
    """The answers that `-a` made, without their addresses."""
    parts = re.split(r"^0x[0-9a-f]{8,16}(?:\n|: )", text, flags=re.MULTILINE)
    return parts[1:]
