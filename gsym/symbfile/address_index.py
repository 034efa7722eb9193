"""The records of a symbfile by address, for lookups.

A return pad answers for its own address. Else all ranges that cover the address make
the chain, in the order of their depths; their order in the file makes no difference.
Of several of one depth the one that starts last applies; of those that start together
the shortest, and of equal ones the first in the file.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise
from operator import attrgetter

from gsym.records import NamedTuple
from gsym.symbfile.format import Range

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gsym.symbfile.format import LineTableRow, Record, ReturnPad


class ChainFrame(NamedTuple):
    """One function of the chain at an address; "" and 0 where that is not known."""

    func: str
    file: str
    line: int


class AddressIndex:
    """Answers what is at an address.

    Args:
        records: Of one symbfile, or of several that are of one executable.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._pads: dict[int, ReturnPad] = {}
        levels: dict[int, list[Range]] = {}
        for record in records:
            if isinstance(record, Range):
                levels.setdefault(record.depth, []).append(record)
            else:
                self._pads[record.elf_va] = record
        self._levels = [_Level(levels[depth]) for depth in sorted(levels)]

    def lookup(self, address: int) -> tuple[ChainFrame, ...] | None:
        """The chain at an address, innermost function first; None where none is.

        Args:
            address: Link-time virtual address. Of frames that called others it is
                where they return to, minus 1.
        """
        pad = self._pads.get(address)
        if pad is not None and pad.entries:
            return tuple(map(ChainFrame._make, reversed(pad.entries)))
        found = [level.range_at(address) for level in self._levels]
        chain = [each for each in found if each is not None]
        return tuple(_frames(chain, address))[::-1] or None


class _Level:
    """The ranges of one depth.

    Args:
        ranges: In the order of the file.
    """

    def __init__(self, ranges: list[Range]) -> None:
        # Of those that cover an address the last one applies.
        self._ranges = ranges[::-1]
        self._ranges.sort(key=lambda each: (each.elf_va, -each.length))
        self._starts = [each.elf_va for each in self._ranges]
        # The end of all ranges that start up to there: they may overlap.
        self._reached = list(accumulate(map(_end, self._ranges), max))

    def range_at(self, address: int) -> Range | None:
        at = bisect_right(self._starts, address)
        while at and self._reached[at - 1] > address:
            at -= 1
            if _end(self._ranges[at]) > address:
                return self._ranges[at]
        return None


def _end(record: Range) -> int:
    return record.elf_va + record.length


def _frames(chain: Sequence[Range], address: int) -> Iterator[ChainFrame]:
    """The chain, outermost function first."""
    for outer, inner in pairwise(chain):
        file = inner.call_file
        if file is None and inner.call_line:
            file = outer.file  # so the schema allows to write it
        yield ChainFrame(outer.func, file or "", inner.call_line)
    if chain:
        last = chain[-1]
        row = _row_at(last.line_table, address - last.elf_va)
        if row is not None:
            yield ChainFrame(last.func, last.file or "", row.line)
        else:
            # The file is that of the rows, and of all where there are none.
            file = None if last.line_table else last.file
            yield ChainFrame(last.func, file or "", 0)


def _row_at(table: Sequence[LineTableRow], offset: int) -> LineTableRow | None:
    at = bisect_right(table, offset, key=attrgetter("offset"))
    return table[at - 1] if at else None
