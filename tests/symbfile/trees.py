"""Ranges of symbfiles -> functions with inlined calls and lines, one by one.

The second opinion of tests on what the engine makes of them.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import groupby, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from gsym.errors import FormatError, LimitError
from gsym.model import FunctionInfo, InlineInfo, LineEntry, Range as AddressRange
from gsym.symbfile.columns import Range
from tests.symbfile.sweep import call_file, chain_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.symbfile.columns import Record

MOST_DEPTH = 256
_ADDRESS_END = 1 << 64
_MOST_SIZE = (1 << 32) - 1  # of a function, in a GSYM file
_NO_NAME = "<name omitted>"  # as ranges of a function without a name have it
_OFFSET = attrgetter("offset")


class _Stretch(NamedTuple):
    """Addresses of one chain."""

    start: int
    end: int
    chain: list[Range]


def iter_functions(records: Iterable[Record]) -> Iterator[FunctionInfo]:
    """The functions of symbfiles; return pads are ignored.

    A function that was split where the file of its lines changes is joined again.

    Raises:
        FormatError: A range ends beyond the address space.
        LimitError: Calls nest more deeply than 256, or a range has 4 GiB or more.
    """
    ranges = [each for each in records if isinstance(each, Range)]
    for each in ranges:
        if each.depth > MOST_DEPTH:
            raise LimitError(f"calls nest more deeply than {MOST_DEPTH}")
        if each.elf_va + each.length >= _ADDRESS_END:
            raise FormatError(
                f"the range at {each.elf_va:#x} ends beyond the address space"
            )
        if each.length > _MOST_SIZE:
            raise LimitError(f"the range at {each.elf_va:#x} has 4 GiB or more")
    function: list[_Stretch] = []
    for stretch in _stretches(ranges):
        if function and not _continues(function, stretch):
            yield _function(function)
            function = []
        function.append(stretch)
    if function:
        yield _function(function)


def _stretches(ranges: list[Range]) -> Iterator[_Stretch]:
    edges = {each.elf_va for each in ranges}
    edges |= {each.elf_va + each.length for each in ranges}
    for start, end in pairwise(sorted(edges)):
        chain = chain_at(ranges, start)
        if chain:
            yield _Stretch(start, end, chain)


def _continues(function: list[_Stretch], stretch: _Stretch) -> bool:
    """Whether a stretch continues a function, maybe with lines of another file."""
    last, first = function[-1].chain[0], stretch.chain[0]
    if function[-1].end != stretch.start:
        return False
    return last is first or (
        last.depth == first.depth == 0
        and last.func == first.func
        and last.elf_va + last.length == first.elf_va == stretch.start
        and bool(last.line_table and first.line_table)
        and last.file != first.file
        and first.elf_va + first.length - function[0].start <= _MOST_SIZE
    )


def _function(stretches: list[_Stretch]) -> FunctionInfo:
    span = AddressRange(stretches[0].start, stretches[-1].end)
    rows = [
        row
        for start, end, chain in stretches
        for row in _rows_of(chain[-1], start, end)
    ]
    has_lines = any(row.path or row.line for row in rows)
    calls = tuple(_calls(stretches, 1))
    name = _text(stretches[0].chain[0].func) or _NO_NAME
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


def _calls(stretches: list[_Stretch], level: int) -> Iterator[InlineInfo]:
    """The calls of one level, for stretches within one call of the level above."""

    def call(stretch: _Stretch) -> tuple[int, str | None] | None:
        chain = stretch.chain
        if len(chain) <= level:
            return None
        return id(chain[level]), call_file(chain[level - 1], chain[level])

    for key, group in groupby(stretches, call):
        if key is None:
            continue
        inside = list(group)
        record = inside[0].chain[level]
        yield InlineInfo(
            _text(record.func) or _NO_NAME,
            _text(key[1]),
            record.call_line,
            (AddressRange(inside[0].start, inside[-1].end),),
            tuple(_calls(inside, level + 1)),
        )


# ---- lines


def _rows_of(record: Range, first: int, last: int) -> Iterator[LineEntry]:
    """Rows of one range for [first, last)."""
    table, path = record.line_table, _text(record.file)
    at = bisect_right(table, first - record.elf_va, key=_OFFSET)
    if at:
        yield LineEntry(first, path, table[at - 1].line)
    else:
        yield LineEntry(first, "" if table else path, 0)
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
