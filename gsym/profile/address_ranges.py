"""Ranges of addresses of which later ones hide what they cover of earlier ones."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heappop, heappush

__all__ = ["AddressRanges"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class AddressRanges:
    """Tells which range an address is in.

    Args:
        ranges: The first address of each, and the one behind its last.
    """

    def __init__(self, ranges: Sequence[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._owners: list[int | None] = []
        begins = sorted(range(len(ranges)), key=lambda number: ranges[number][0])
        bounds = sorted({bound for each in ranges for bound in each})
        over: list[tuple[int, int]] = []  # those that have begun, the latest in front
        begun = 0
        for bound in bounds:
            while begun < len(begins) and ranges[begins[begun]][0] <= bound:
                number = begins[begun]
                heappush(over, (-number, ranges[number][1]))
                begun += 1
            while over and over[0][1] <= bound:
                heappop(over)
            owner = -over[0][0] if over else None
            if not self._owners or self._owners[-1] != owner:
                self._starts.append(bound)
                self._owners.append(owner)

    def find(self, address: int) -> int | None:
        """The index of the last range that covers an address; None without any."""
        place = bisect_right(self._starts, address) - 1
        return self._owners[place] if place >= 0 else None
