"""Address ranges: joined, what they share, and what they leave of another one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from gsym.model import UINT64_END, Range


def range_at(ranges: Sequence[Range], address: int) -> Range | None:
    """The one of merged ranges that contains an address."""
    index = bisect_right(ranges, (address, UINT64_END))
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


def extend(ranges: list[Range], start: int, end: int) -> None:
    """Add a range, which begins at the end of the last one or behind it."""
    if ranges and ranges[-1].end == start:
        start = ranges.pop().start
    ranges.append(Range(start, end))


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


def gaps(span: Range, around: list[Range]) -> Iterator[Range]:
    """The parts of *span* that lie outside of merged ranges."""
    start = span.start
    first = max(bisect_right(around, start, key=_start) - 1, 0)
    for index in range(first, len(around)):
        low, high = around[index]
        if low >= span.end:
            break
        if start < low:
            yield Range(start, low)
        start = max(start, high)
    if start < span.end:
        yield Range(start, span.end)


def _start(span: Range) -> int:
    return span.start
