"""Moves of code by an optimizer after linking.

Symbols and lines of such a PDB count from the source, the image that the linker wrote.
A table says, entry by entry, which bytes of the source are at an address of the image;
the other table, which says it the other way round, is used where the first is missing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import attrgetter
from struct import iter_unpack
from typing import NamedTuple

from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range
from tests.referee.ranges import extend

_END = 1 << 31  # of addresses; what has none is marked with 0 or such a number


class Place(NamedTuple):
    """Bytes of the source, and where they are."""

    to: int
    start: int
    end: int

    def shift(self, start: int, end: int) -> Range:
        """New place of the part of start .. end that is here; it may be empty."""
        first, last = max(start, self.start), min(end, self.end)
        return Range(self.to + first - self.start, self.to + last - self.start)


class Omap:
    """The tables of a PDB, either of which may be empty.

    A table has (address in the image, address in the source), ascending, or the other
    way round.
    """

    def __init__(self, to_source: bytes, from_source: bytes) -> None:
        entries = [*iter_unpack("<II", _whole(to_source or from_source))]
        found = []
        following = [*(at for at, _ in entries[1:]), _END]
        for (at, to), end in zip(entries, following, strict=False):
            size = min(end - at, _END - to)
            if to and size > 0:
                start, place = (to, at) if _whole(to_source) else (at, to)
                found.append(Place(place, start, start + size))
        found.sort()
        ends = [each.to for each in found[1:]] + [2 * _END]
        self.exists: bool = bool(entries)
        # By their start in the source, with the end of all up to there.
        self._places = sorted(
            (
                each._replace(end=min(each.end, each.start + end - each.to))
                for each, end in zip(found, ends, strict=False)
            ),
            key=attrgetter("start"),
        )
        self._starts = [each.start for each in self._places]
        self._ends = [*accumulate((each.end for each in self._places), max)]

    def parts(self, start: int, end: int) -> list[list[Place]]:
        """Places of start .. end of the source, without gaps between them."""
        parts: list[list[Place]] = []
        if not self.exists:
            return [[Place(start, start, end)]]
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        for place in sorted(self._places[first:last]):
            to, stop = place.shift(start, end)
            if to < stop:
                moved = Place(to, max(start, place.start), min(end, place.end))
                if parts and end_of(parts[-1]) == to:
                    parts[-1].append(moved)
                else:
                    parts.append([moved])
        return parts

    def move(self, info: FunctionInfo, base: int) -> Iterator[FunctionInfo]:
        """The parts of a function that the source has at an address."""
        start = info.start - base
        for part in self.parts(start, start + info.size):
            places = [
                Place(each.to + base, each.start + base, each.end + base)
                for each in part
            ]
            moved = _call(info.inline, places) if info.inline else None
            yield info._replace(
                start=places[0].to,
                size=end_of(places) - places[0].to,
                line_table=tuple(_rows(info.line_table or (), places)) or None,
                inline=moved if moved and moved.children else None,
            )


def _whole(table: bytes) -> bytes:
    return table[: len(table) // 8 * 8]


def end_of(places: Sequence[Place]) -> int:
    """End of places without a gap between them."""
    return places[-1].to + places[-1].end - places[-1].start


def _rows(rows: Sequence[LineEntry], places: Sequence[Place]) -> Iterator[LineEntry]:
    """The rows of some places; the first one with a line begins them."""
    before: tuple[str, int] = ("", 0)
    for place in places:
        inside = [each for each in rows if place.start < each.address < place.end]
        above = [each for each in rows if each.address <= place.start]
        first = above[-1] if above else LineEntry(0, "", 0)
        for each in (first._replace(address=place.start), *inside):
            if each[1:] != before:
                yield each._replace(address=place.to + each.address - place.start)
                before = (each.path, each.line)


def _call(call: InlineInfo, places: Sequence[Place]) -> InlineInfo | None:
    """An inlined call in some places; None if it has no bytes there."""
    ranges: list[Range] = []
    for place in places:
        for start, end in (place.shift(*each) for each in call.ranges):
            if start < end:
                extend(ranges, start, end)
    if not ranges:
        return None
    children = [moved for each in call.children if (moved := _call(each, places))]
    children.sort(key=lambda each: each.ranges[0])
    return call._replace(ranges=tuple(ranges), children=tuple(children))
