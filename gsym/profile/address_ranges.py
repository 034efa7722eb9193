"""Ranges of addresses of which later ones hide what they cover of earlier ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

__all__ = ["AddressRanges"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class AddressRanges:
    """Tells which range an address is in.

    Args:
        ranges: As for `add`, numbered from 0.
    """

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        # Each address belongs to the last start at or below it.
        self._starts: list[int] = []
        self._owners: list[int | None] = []
        for number, (start, end) in enumerate(ranges):
            self.add(start, end, number)

    def add(self, start: int, end: int, number: int) -> None:
        """Add a range: its first address, and the one after its last."""
        if start >= end:
            return
        rest = self.find(end)
        first, last = bisect_left(self._starts, start), bisect_right(self._starts, end)
        self._starts[first:last] = [start, end]
        self._owners[first:last] = [number, rest]

    def find(self, address: int) -> int | None:
        """The number of the last range that covers an address; None without any."""
        place = bisect_right(self._starts, address) - 1
        return self._owners[place] if place >= 0 else None
