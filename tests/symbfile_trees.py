"""Ranges of a symbfile -> functions with inlined calls and lines, one by one.

The second opinion of tests on what the engine makes of them.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from gsym.errors import FormatError, LimitError
from gsym.formats.symbfile import Range
from gsym.model import FunctionInfo, InlineInfo, LineEntry
from gsym.model import Range as AddressRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.formats.symbfile import Record

MOST_DEPTH = 256
_ADDRESS_END = 1 << 64
_MOST_SIZE = (1 << 32) - 1  # of a function, in a GSYM file
_NO_NAME = "<name omitted>"  # as ranges of a function without a name have it
_ELF_VA, _OFFSET = attrgetter("elf_va"), attrgetter("offset")


class _Level:
    """A range, or the parts of one that was split where its file changes.

    Attributes:
        ranges: The parts, in the order of their addresses.
        calls: What is inlined into them, likewise.
    """

    __slots__ = ("calls", "ranges")

    def __init__(self, record: Range) -> None:
        self.ranges = [record]
        self.calls: list[_Level] = []

    @property
    def start(self) -> int:
        return self.ranges[0].elf_va

    @property
    def end(self) -> int:
        return self.ranges[-1].elf_va + self.ranges[-1].length


def iter_functions(records: Iterable[Record]) -> Iterator[FunctionInfo]:
    """The functions of a symbfile; return pads are passed over.

    A function that was split where the file of its lines changes is one again. Calls
    are cut where they leave their function or overlap.

    Raises:
        FormatError: A range ends behind all addresses.
        LimitError: Calls nest more deeply than 256.
    """
    before: _Level | None = None
    for tree in _trees(each for each in records if isinstance(each, Range)):
        if before is None:
            before = tree
        elif _continues(before, tree):
            before.ranges += tree.ranges
            before.calls += tree.calls
        else:
            yield _function(before)
            before = tree
    if before is not None:
        yield _function(before)


def _trees(ranges: Iterable[Range]) -> Iterator[_Level]:
    """Each range of depth 0 with what is inlined into it."""
    path: list[_Level] = []
    for record in ranges:
        if record.depth > MOST_DEPTH:
            raise LimitError(f"calls nest more deeply than {MOST_DEPTH}")
        if record.elf_va + record.length >= _ADDRESS_END:
            raise FormatError(
                f"the range at {record.elf_va:#x} ends behind all addresses"
            )
        if not record.length:
            continue
        if not record.depth:
            yield from path[:1]
            path = [_Level(record)]
        elif path:
            del path[record.depth :]
            caller = path[-1]
            level = _Level(_with_call_file(record, caller.ranges[0]))
            caller.calls.append(level)
            path.append(level)
    yield from path[:1]


def _with_call_file(record: Range, caller: Range) -> Range:
    """The schema allows to leave the file of a call out that is that of the caller."""
    if record.call_file is not None or not record.call_line:
        return record
    return record._replace(call_file=caller.file)


def _continues(before: _Level, tree: _Level) -> bool:
    """Whether a range goes on with the lines of another file."""
    last, first = before.ranges[-1], tree.ranges[0]
    return (
        last.func == first.func
        and before.end == first.elf_va
        and bool(last.line_table and first.line_table)
        and last.file != first.file
        and tree.end - before.start <= _MOST_SIZE
    )


def _function(tree: _Level) -> FunctionInfo:
    span = AddressRange(tree.start, tree.end)
    rows = list(_rows(tree, *span))
    has_lines = any(row.path or row.line for row in rows)
    calls = _calls(tree.calls, span)
    name = _text(tree.ranges[0].func) or _NO_NAME
    return FunctionInfo(
        span.start,
        span.end - span.start,
        name,
        tuple(_distinct(rows)) if has_lines else None,
        InlineInfo(name, "", 0, (span,), calls) if calls else None,
    )


def _text(text: str | None) -> str:
    """As a GSYM file can hold it, which ends strings with a NUL."""
    return (text or "").replace("\0", "?")


# ---- inlined calls


def _clipped(
    calls: list[_Level], start: int, end: int
) -> Iterator[tuple[_Level, int, int]]:
    """The calls as far as they lie in [start, end) and behind each other."""
    for level in sorted(calls, key=lambda each: each.start):
        first, last = max(level.start, start), min(level.end, end)
        if first < last:
            yield level, first, last
            start = last


def _calls(calls: list[_Level], span: AddressRange) -> tuple[InlineInfo, ...]:
    return tuple(
        InlineInfo(
            _text(level.ranges[0].func) or _NO_NAME,
            _text(level.ranges[0].call_file),
            level.ranges[0].call_line,
            (AddressRange(start, end),),
            _calls(level.calls, AddressRange(start, end)),
        )
        for level, start, end in _clipped(calls, *span)
    )


# ---- lines


def _rows(level: _Level, start: int, end: int) -> Iterator[LineEntry]:
    """Rows for [start, end), of the innermost level at each address."""
    for call, first, last in _clipped(level.calls, start, end):
        yield from _own_rows(level, start, first)
        yield from _rows(call, first, last)
        start = last
    yield from _own_rows(level, start, end)


def _own_rows(level: _Level, start: int, end: int) -> Iterator[LineEntry]:
    """Rows for addresses that are in no call; "" and 0 where there is no line."""
    part = max(bisect_right(level.ranges, start, key=_ELF_VA) - 1, 0)
    for index in range(part, len(level.ranges)):
        record = level.ranges[index]
        if record.elf_va >= end:
            return
        first = max(record.elf_va, start)
        last = min(record.elf_va + record.length, end)
        if first < last:
            yield from _rows_of(record, first, last)


def _rows_of(record: Range, first: int, last: int) -> Iterator[LineEntry]:
    """Rows of one range for [first, last)."""
    table, path = record.line_table, _text(record.file)
    at = bisect_right(table, first - record.elf_va, key=_OFFSET)
    yield LineEntry(first, path, table[at - 1].line) if at else LineEntry(first, "", 0)
    for index in range(at, len(table)):
        address = record.elf_va + table[index].offset
        if address >= last:
            return
        yield LineEntry(address, path, table[index].line)


def _distinct(rows: list[LineEntry]) -> Iterator[LineEntry]:
    """Without those that say what the one before says, and with one an address."""
    last = {row.address: row for row in rows}.values()
    for (path, line), run in groupby(last, key=lambda row: row[1:]):
        first = next(run)
        yield LineEntry(first.address, path, line)
