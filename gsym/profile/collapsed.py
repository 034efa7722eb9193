"""A profile as collapsed stacks: a line for each, `root;...;innermost sum`.

This is what flamegraph.pl, inferno, speedscope and the Firefox Profiler read.
"""

from __future__ import annotations

from gsym.profile.call_stacks import call_stacks

__all__ = ["collapsed_lines"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.profile.model import Profile

# Characters that end a frame or a line in this format, or that a terminal interprets.
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0xDC80, 0xDCA0))
_REPLACED = {ord(";"): ":", **dict.fromkeys(_CONTROLS, " ")}


def collapsed_lines(
    profile: Profile, value: int = 0, roots: tuple[str, ...] = ()
) -> Iterator[str]:
    """The lines, without their ends, in the order of their text.

    Args:
        profile: Whose stacks they are; equal ones are one line.
        value: Which of its value types is summed, counted from 0.
        roots: Which of `call_stacks.ROOTS` stand in front of each stack.

    Yields:
        Names have `:` in place of `;`, and a space in place of a control character.
        Stacks whose sum is 0 have no line.
    """
    sums: dict[str, int] = {}
    for frames, weight in call_stacks(profile, value, roots):
        text = ";".join(frame.name.translate(_REPLACED) for frame in frames)
        sums[text] = sums.get(text, 0) + weight
    for text, weight in sorted(sums.items()):
        if weight:
            yield f"{text} {weight}"
