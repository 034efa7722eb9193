"""Detection of functions that linkers dropped.

A linker has to write something where debug information refers to code that it dropped.
GNU ld, gold and older versions of lld write 0 (DWARF 6 asks for the highest address),
where the code of firmware and of object files starts. Only symbols tell which of the
functions is there: they have address, size and name of the code that was linked.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from gsym.model import UINT64_END, Range

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.referee.file import Symbol

_MAX_PADDING = 16  # that aligns the next function


class LiveCode:
    """The functions that an image with code at address 0 has, as its symbols say."""

    def __init__(self, symbols: Iterable[Symbol], entry: int, end: int) -> None:
        # Of each address the sizes of the symbols there, of all and of each spelling.
        self._sizes: dict[int, set[int]] = {}
        self._named: dict[tuple[int, str], set[int]] = {}
        for address, size, name, *_ in symbols:
            self._sizes.setdefault(address, set()).add(size)
            # A part of a function has a suffix; some systems put an underscore first.
            for spelling in (name, name.partition(".")[0], name.removeprefix("_")):
                self._named.setdefault((address, spelling), set()).add(size)
        self._starts = sorted(self._sizes)
        self._entry = entry
        self._end = end

    def holds(self, span: Range, name: str, *, is_qualified: bool) -> bool:
        """Whether the code at *span* may be the function that the DWARF has there.

        One that is qualified need not have the name of a symbol.
        """
        start, size = span.start, span.end - span.start
        if start not in self._sizes:
            return self._fills_gap(span) if start == 0 else not self._is_inside(start)
        named = self._named.get((start, name), set())
        if named & {0, size} or (named and start):
            return True
        return size in self._sizes[start] and (start > 0 or is_qualified or not name)

    def holds_rows(self, low: int, high: int) -> bool:
        """Whether the rows of a sequence may be of code that is there.

        A sequence ends where a function does: never inside of another one.
        """
        return low > 0 or (0 in self._sizes and not self._is_inside(high))

    def _fills_gap(self, span: Range) -> bool:
        """Whether a function is what stands at 0, where no symbol does.

        The linker leaves out symbols of local functions on demand.
        """
        following = min([*self._starts[:1], self._entry or UINT64_END, self._end])
        is_all = span.end <= following and following - span.end < _MAX_PADDING
        return is_all or self._entry == 0

    def _is_inside(self, address: int) -> bool:
        """Whether *address* is in a function that starts before it."""
        index = bisect_left(self._starts, address)
        before = self._starts[max(index - 1, 0) : index]
        return any(address < start + max(self._sizes[start]) for start in before)
