"""Which functions are there, where linkers put what they dropped.

A linker has to write something where debug information refers to code that it dropped.
GNU ld, gold and older versions of lld write 0 (DWARF 6 asks for the highest address),
where the code of firmware and of object files starts. Only symbols tell which of the
functions is there: they have address, size and name of the code that was linked.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from gsym.model import UINT64_END

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.model import Range
    from gsym.verification.decoder.file import Symbol

_MAX_PADDING = 16  # that aligns the next function


class LiveCode:
    """The functions that an image with code at address 0 has, as its symbols say.

    Args:
        symbols: Those of functions, and labels.
        entry: The address at which the image is entered.
        end: Where the code that starts at 0 ends.
    """

    def __init__(self, symbols: Iterable[Symbol], entry: int, end: int) -> None:
        self._at: dict[int, list[Symbol]] = {}
        for symbol in symbols:
            self._at.setdefault(symbol.address, []).append(symbol)
        self._starts = sorted(self._at)
        self._entry = entry
        self._end = end

    def holds(self, span: Range, name: str, *, is_qualified: bool) -> bool:
        """Whether the code at *span* may be the function that the DWARF has there.

        Args:
            span: As in the DWARF: at 0, or further on in rows that start there.
            name: The linkage name, or the one with its scopes; "" for none.
            is_qualified: The name need not be that of a symbol.
        """
        here = self._at.get(span.start, [])
        if here:
            return any(
                _is_of(symbol, span, name, is_qualified=is_qualified) for symbol in here
            )
        if span.start:
            return not self._is_inside(span.start)
        # The linker leaves out symbols of local functions on demand.
        following = min([*self._starts[:1], self._entry or UINT64_END, self._end])
        fills = span.end <= following and following - span.end < _MAX_PADDING
        return fills or self._entry == 0

    def holds_rows(self, low: int, high: int) -> bool:
        """Whether the rows of a sequence may be of code that is there.

        A sequence ends where a function does: never inside of another one.
        """
        return low > 0 or (0 in self._at and not self._is_inside(high))

    def _is_inside(self, address: int) -> bool:
        """Whether *address* is in a function that starts before it."""
        index = bisect_left(self._starts, address)
        before = self._starts[max(index - 1, 0) : index]
        return any(
            address < symbol.address + symbol.size
            for start in before
            for symbol in self._at[start]
        )


def _is_of(symbol: Symbol, span: Range, name: str, *, is_qualified: bool) -> bool:
    """Whether *symbol*, which has the start of *span*, is that of the function."""
    has_size = symbol.size == span.end - span.start
    # A part of a function has a suffix; some systems put an underscore before names.
    spellings = {symbol.name, symbol.name.partition(".")[0], symbol.name[1:]}
    if name in spellings:
        return has_size or symbol.size == 0 or span.start > 0
    return has_size and (span.start > 0 or is_qualified or not name)
