"""The records of a symbfile by address, for lookups.

A return pad is the answer for its own address. For others the chain is all ranges that
cover the address, ordered by depth. Of several ranges of one depth the one that starts
last is used; of those with the same start the shortest, and of equal ones the first in
the file.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from operator import attrgetter

from gsym.ranges import AddressRanges
from gsym.records import NamedTuple
from gsym.symbfile.columns import Range, Record, ReturnPad

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


class ChainFrame(NamedTuple):
    """One function of the chain at an address; "" and 0 for unknown values."""

    func: str
    file: str
    line: int


class AddressIndex:
    """Looks up addresses."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._pads: dict[int, ReturnPad] = {}
        levels: dict[int, list[Range]] = {}
        for record in records:
            if isinstance(record, Range):
                levels.setdefault(record.depth, []).append(record)
            else:
                self._pads[record.elf_va] = record
        self._levels = [_by_address(levels[depth]) for depth in sorted(levels)]

    def lookup(self, address: int) -> tuple[ChainFrame, ...] | None:
        """The chain at an address, innermost function first, or None.

        Args:
            address: Link-time virtual address; for callers the return address minus 1.
        """
        pad = self._pads.get(address)
        if pad is not None and pad.entries:
            return tuple(map(ChainFrame._make, reversed(pad.entries)))
        found = [level.find(address) for level in self._levels]
        chain = [each for each in found if each is not None]
        return tuple(_frames(chain, address))[::-1] or None


def _by_address(ranges: list[Range]) -> AddressRanges[Range]:
    """The ranges of one depth; of those that cover an address the last one is found."""
    ordered = ranges[::-1]
    ordered.sort(key=lambda each: (each.elf_va, -each.length))
    return AddressRanges(
        (each.elf_va, each.elf_va + each.length, each) for each in ordered
    )


def _frames(chain: Sequence[Range], address: int) -> Iterator[ChainFrame]:
    """The chain, outermost function first."""
    for outer, inner in pairwise(chain):
        file = inner.call_file
        if file is None and inner.call_line:
            file = outer.file  # so the schema allows to write it
        yield ChainFrame(outer.func, file or "", inner.call_line)
    if chain:
        last = chain[-1]
        table, offset = last.line_table, address - last.elf_va
        at = bisect_right(table, offset, key=attrgetter("offset"))
        if at:
            yield ChainFrame(last.func, last.file or "", table[at - 1].line)
        else:
            # The file is that of the rows, or of the range if it has no rows.
            file = None if last.line_table else last.file
            yield ChainFrame(last.func, file or "", 0)
