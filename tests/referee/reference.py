"""Reference for a GSYM file: functions, symbols and rows of lines."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gsym.model import UINT64_END, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.key import SAME, Comparison

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.verification.reference import Place
    from tests.referee.file import Symbol

    Key = tuple[int, int]  # start and end of a function


_LARGEST = (1 << 32) - 1  # bytes of a record in a GSYM file
# A function that is larger is in so many records of so many bytes.
_MOST_PARTS, _PART = 16, 1 << 31
_TOO_LARGE = "larger than a record of a GSYM file"


class Reference:
    """The side that a GSYM file is compared with."""

    has_sizes = False
    bounds_symbols = True
    build_id = b""
    fit: Comparison = Comparison(SAME)
    base_address: int | None = 0  # where the image starts; None where nothing says it
    is_sample = False
    units = all_units = 0
    source = ""

    def __init__(self) -> None:
        self.functions: dict[Key, list[FunctionInfo]] = {}
        self.nameless: dict[Key, list[FunctionInfo]] = {}
        self.symbols: dict[int, list[Symbol]] = {}
        self.text_ranges: list[Range] = []
        self.unread: dict[Place, str] = {}
        self.excused: dict[Key, str] = {}
        self.uncompared: Counter[str] = Counter()
        self.notes: tuple[str, ...] = ()

    def is_shared(self, key: Key) -> bool:
        """Whether units outside the sample also describe a function."""
        del key
        return False

    def is_stub(self, address: int, name: str) -> bool:
        """Whether code at *address* may do no more than call a function *name*."""
        del address, name
        return False

    def rows(self, start: int, end: int) -> tuple[tuple[LineEntry, ...], bool]:
        """Rows of line tables where no function is described, in a range.

        Also whether any of them starts there; others only go on from a function.
        """
        del start, end
        return (), False

    def ranges_of_rows(self) -> Iterator[Range]:
        """The addresses at which such rows start."""
        return iter(())

    def add(self, info: FunctionInfo) -> None:
        """Add a function."""
        if info.size > _MOST_PARTS * _PART:
            self.uncompared[_TOO_LARGE] += 1
            return
        if info.size > _LARGEST:
            start, end = info.start, info.start + info.size
            while end - start > _LARGEST:
                self.excused[start, start + _PART] = _TOO_LARGE
                start += _PART
            self.excused[start, end] = _TOO_LARGE
            return
        functions = self.functions if info.name else self.nameless
        key = info.start, info.start + info.size
        candidates = functions.setdefault(key, [])
        if info not in candidates:
            is_best = not candidates or is_better(info, candidates[0])
            candidates.insert(0 if is_best else len(candidates), info)

    def add_symbols(self, symbols: Iterator[Symbol]) -> None:
        """Add what a symbol table says."""
        for symbol in symbols:
            if symbol.size > UINT64_END - symbol.address:
                self.uncompared[_TOO_LARGE] += 1
                continue
            if symbol.size > _LARGEST:
                symbol = symbol._replace(size=0)  # noqa: PLW2901 - as one without
            self.symbols.setdefault(symbol.address, []).append(symbol)


def rows_within(rows: Sequence[LineEntry], start: int, end: int) -> Iterator[LineEntry]:
    """The rows from *start* on; one before it counts from there."""
    before = [row for row in rows if row.address < start][-1:]
    inside = [row for row in rows if start <= row.address < end]
    if before and (not inside or inside[0].address != start):
        yield before[0]._replace(address=start)
    yield from inside


def is_better(info: FunctionInfo, kept: FunctionInfo) -> bool:
    """Whether *info* is to be kept rather than *kept*, of the same range and before it.

    The linker keeps the first copy of a function, and other descriptions count only if
    their rows have the same addresses. Of other functions the richer one is kept, as in
    LLVM, and of equals the last.
    """
    if info.name != kept.name or not kept.line_table:
        return not _is_poorer(info, kept)
    addresses = [
        [row.address for row in each.line_table or ()] for each in (info, kept)
    ]
    calls = _count_calls(info.inline), _count_calls(kept.inline)
    return addresses[0] == addresses[1] and calls[0] > calls[1]


def _is_poorer(left: FunctionInfo, right: FunctionInfo) -> bool:
    """Whether *left* is less complete than *right*, of the same range.

    Fewer inlined calls are less, and if the calls are the same, fewer or lower rows.
    """
    counts = _count_calls(left.inline), _count_calls(right.inline)
    if counts[0] != counts[1] or left.inline != right.inline:
        return counts[0] < counts[1]
    rows, other_rows = left.line_table or (), right.line_table or ()
    if len(rows) != len(other_rows):
        return len(rows) < len(other_rows)
    return [row.address for row in rows] < [row.address for row in other_rows]


def _count_calls(root: InlineInfo | None) -> int:
    count, work = 0, [root] if root is not None else []
    while work:
        children = work.pop().children
        count += len(children)
        work += children
    return count
