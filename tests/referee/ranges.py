"""Lists of address ranges: parts that are added, and gaps between them."""

from __future__ import annotations

from bisect import bisect_right
from operator import attrgetter
from typing import TYPE_CHECKING

from gsym.model import Range

if TYPE_CHECKING:
    from collections.abc import Iterator


def extend(ranges: list[Range], start: int, end: int) -> None:
    """Add a range, which begins at the end of the last one or behind it."""
    if ranges and ranges[-1].end == start:
        start = ranges.pop().start
    ranges.append(Range(start, end))


def gaps(span: Range, around: list[Range]) -> Iterator[Range]:
    """The parts of *span* that lie outside of merged ranges."""
    start = span.start
    first = max(bisect_right(around, start, key=attrgetter("start")) - 1, 0)
    for index in range(first, len(around)):
        low, high = around[index]
        if low >= span.end:
            break
        if start < low:
            yield Range(start, low)
        start = max(start, high)
    if start < span.end:
        yield Range(start, span.end)
