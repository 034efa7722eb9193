"""Address ranges: which has an address, joined, what they share, what they hide."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import islice, pairwise
from operator import attrgetter

from gsym.model import Range

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Protocol, TypeVar

    class Bounded(Protocol):
        """A range; it has a `start`, too."""

        @property
        def end(self) -> int:
            """The address after the last."""

    AnyRange = TypeVar("AnyRange", bound=Bounded)
    Value = TypeVar("Value")

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


class AddressRanges(Iterable["tuple[int, int, Value]"]):
    """Values of ranges, of which later ones hide earlier ones.

    Ranges that are added in the order of their starts are nested: an address has the
    value of the last one that starts at or below it and covers it.
    """

    def __init__(self, ranges: Iterable[tuple[int, int, Value]] = ()) -> None:
        # Each address belongs to the last start at or below it; None: to no range.
        self._starts: list[int] = []
        self._values: list[Value | None] = []
        numbered = sorted(
            (start, -number, end, value)
            for number, (start, end, value) in enumerate(ranges)
            if start < end
        )
        # A heap of those that cover the address that is reached: the one that hides the
        # others first. Adding them one by one takes too long where many are nested.
        covering: list[tuple[int, int, Value]] = []
        for start, number, end, value in numbered:
            self._close(covering, start)
            heappush(covering, (number, end, value))
            if covering[0][0] == number:
                self._append(start, value)
        while covering:
            self._close(covering, covering[0][1])

    def _close(self, covering: list[tuple[int, int, Value]], address: int) -> None:
        """Drop the ranges that hide others and end at or before an address."""
        while covering and covering[0][1] <= address:
            _, end, _ = heappop(covering)
            while covering and covering[0][1] <= end:
                heappop(covering)
            self._append(end, covering[0][2] if covering else None)

    def _append(self, start: int, value: Value | None) -> None:
        if self._starts and self._starts[-1] == start:
            self._values[-1] = value
        else:
            self._starts.append(start)
            self._values.append(value)

    def __iter__(self) -> Iterator[tuple[int, int, Value]]:
        """The parts that are not hidden, ascending: begin, end, value."""
        return self._parts(0)

    def add(self, start: int, end: int, value: Value) -> None:
        """Add a range: its first address, and the one after its last."""
        if start >= end:
            return
        rest = self.find(end)
        first, last = bisect_left(self._starts, start), bisect_right(self._starts, end)
        self._starts[first:last] = [start, end]
        self._values[first:last] = [value, rest]

    def replace(self, start: int, end: int, value: Value) -> None:
        """Add a range in place of all that it meets, as code made where other was."""
        if start >= end:
            return
        for place in range(self._before(start), bisect_left(self._starts, end)):
            self._values[place] = None
        self.add(start, end, value)

    def find(self, address: int) -> Value | None:
        """The value at an address; None without any."""
        place = bisect_right(self._starts, address) - 1
        return self._values[place] if place >= 0 else None

    def meeting(self, start: int, end: int) -> Iterator[tuple[int, int, Value]]:
        """Parts of a range that are not hidden, ascending."""
        for low, high, value in self._parts(self._before(start)):
            if low >= end:
                break
            if high > start:
                yield max(low, start), min(high, end), value

    def _before(self, start: int) -> int:
        """The place of the last start at or below an address, or the first place."""
        return max(bisect_right(self._starts, start) - 1, 0)

    def _parts(self, place: int) -> Iterator[tuple[int, int, Value]]:
        pairs = pairwise(islice(self._starts, place, None))
        values = islice(self._values, place, None)
        for (start, end), value in zip(pairs, values, strict=False):
            if value is not None:
                yield start, end, value
