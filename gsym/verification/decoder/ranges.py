"""Address ranges: joined, and what they leave of another one."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from gsym.model import Range

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
