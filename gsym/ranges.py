"""Address ranges: which has an address, joined, what they share, what they hide."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter

from gsym.model import Range

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Protocol, TypeVar

    class Bounded(Protocol):
        """A range; it has a `start`, too."""

        @property
        def end(self) -> int:
            """The address after the last."""

    AnyRange = TypeVar("AnyRange", bound=Bounded)

_start = attrgetter("start")


def range_at(
    ranges: Sequence[AnyRange], address: int, starts: Sequence[int] = ()
) -> AnyRange | None:
    """The range that contains an address, of sorted ones that do not overlap.

    Args:
        ranges: Where to look.
        address: What to look for.
        starts: Those of the ranges, which are then found faster.
    """
    if starts:
        index = bisect_right(starts, address)
    else:
        index = bisect_right(ranges, address, key=_start)
    found = ranges[index - 1] if index else None
    return found if found is not None and address < found.end else None


def merged(ranges: Iterable[Range]) -> list[Range]:
    """Sorted, empty ones dropped, those that touch joined."""
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if start >= end:
            continue
        if joined and start <= joined[-1].end:
            joined[-1] = Range(joined[-1].start, max(end, joined[-1].end))
        else:
            joined.append(Range(start, end))
    return joined


def intersection(left: list[Range], right: list[Range]) -> Iterator[Range]:
    """Parts that two lists of merged ranges share."""
    if len(left) > len(right):
        left, right = right, left
    for start, end in left:
        first = max(bisect_right(right, start, key=_start) - 1, 0)
        for index in range(first, len(right)):
            low, high = right[index]
            if low >= end:
                break
            if max(low, start) < min(high, end):
                yield Range(max(low, start), min(high, end))


class AddressRanges:
    """Ranges of which later ones hide earlier ones, by their numbers."""

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
