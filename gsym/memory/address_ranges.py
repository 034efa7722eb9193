"""Ranges of addresses, of which later ones hide earlier ones."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class AddressRanges:
    """Finds the range of an address."""

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

    def replace(self, start: int, end: int, number: int) -> None:
        """Add a range in place of all that it meets, as code made where other was."""
        if start >= end:
            return
        first = max(0, bisect_right(self._starts, start) - 1)
        for place in range(first, bisect_left(self._starts, end)):
            self._owners[place] = None
        self.add(start, end, number)

    def find(self, address: int) -> int | None:
        """The number of the last range that covers an address; None without any."""
        place = bisect_right(self._starts, address) - 1
        return self._owners[place] if place >= 0 else None

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """The ranges that are left, ascending: begin, end, number."""
        pairs = zip(pairwise(self._starts), self._owners, strict=False)
        for (start, end), owner in pairs:
            if owner is not None:
                yield start, end, owner
