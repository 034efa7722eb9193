"""Numbers as a row of bars, one character each."""

from __future__ import annotations

__all__ = ["sparkline"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[int], highest: int | None = None) -> str:
    """A bar for each number: a space for 0 and below, else as high as it is.

    Args:
        numbers: What to show.
        highest: What a full bar stands for; None: the highest of the numbers.
    """
    top = max(numbers, default=0) if highest is None else highest
    if top <= 0:
        return " " * len(numbers)
    last = len(_BARS) - 1
    return "".join(
        _BARS[min(last, (number * len(_BARS) - 1) // top)] if number > 0 else " "
        for number in numbers
    )
