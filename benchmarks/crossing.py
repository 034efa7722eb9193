"""The crossing of two series of measurements."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def crossing(
    numbers: Sequence[int], ours: Sequence[float], theirs: Sequence[float]
) -> str:
    """The number from which on ours take less time.

    Between two numbers both series are straight lines on scales of powers; one may be
    shorter than the other.

    Args:
        numbers: What was measured, ascending.
        ours: Seconds for each.
        theirs: Seconds for each.

    Returns:
        The number, or "> N" if they never cross, N being the last that both have.
    """
    gaps = [math.log(a / b) for a, b in zip(ours, theirs, strict=False)]
    if gaps[0] <= 0:
        return f"{numbers[0]}"
    for at, (before, after) in enumerate(pairwise(gaps)):
        if after <= 0:
            part = before / (before - after)
            low, high = numbers[at : at + 2]
            return f"{low * (high / low) ** part:.0f}"
    return f"> {numbers[len(gaps) - 1]}"
