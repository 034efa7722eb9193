"""Inspect symbfiles: records as text, statistics, errors, differences.

Readers rely on the order of ranges: a function, then the calls inlined into it, in
pre-order. A violation is an error; missing information is a note.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import pairwise

from gsym.model import UINT64_END
from gsym.records import NamedTuple
from gsym.symbfile.columns import Range, Record, ReturnPad

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.format import Counts, Decoder


# Limits memory: a damaged file may have as many depths as ranges.
MOST_DEPTH = 256


def record_object(record: Record) -> dict[str, object]:
    """The fields of a record by name; None for absent ones."""
    if not isinstance(record, Range):
        entries = [
            {"func": func, "file": file or None, "line": line or None}
            for func, file, line in record.entries
        ]
        return {"type": "return_pad", "elf_va": record.elf_va, "entries": entries}
    return {
        "type": "range",
        **record._asdict(),
        "call_line": record.call_line or None,
        "line_table": record.line_table or None,
    }


def record_title(record: Record) -> str:
    """The identity of a record, as one line."""
    if not isinstance(record, Range):
        return f"{record.elf_va:#x} return pad"
    end = record.elf_va + record.length
    title = f"{record.elf_va:#x}..{end:#x} {record.func}"
    if not record.depth:
        return title
    return f"{title} called at {_location(record.call_file, record.call_line)}"


def record_lines(record: Record) -> Iterator[str]:
    """A record as lines; inlined calls are indented by their depth, up to 256."""
    if isinstance(record, Range):
        indent = "  " * min(record.depth, MOST_DEPTH)
        yield indent + record_title(record)
        if record.file is not None:
            yield f"{indent}  file {record.file}"
        for offset, line in record.line_table:
            yield f"{indent}  {record.elf_va + offset:#x} line {line}"
        return
    yield record_title(record)
    for func, file, line in record.entries:
        yield f"  {func} at {_location(file, line)}"


def _location(file: str | None, line: int) -> str:
    return f"{file or '?'}:{line or '?'}"


class Statistics(NamedTuple):
    """Statistics of a file."""

    counts: Counts  # messages, their bytes, strings and rows
    functions: int  # ranges of depth 0
    # number of ranges of each depth; `MOST_DEPTH` includes deeper ones
    depths: dict[int, int]
    bytes_covered: int  # sum of the lengths of the ranges of depth 0
    first_address: int | None  # the lowest address with a record, or None
    end_address: int | None  # the address after the highest one


def measure(decoder: Decoder) -> Statistics:
    """Measure a file, in constant memory."""
    depths: Counter[int] = Counter()
    covered = 0
    first: int | None = None
    end: int | None = None
    for columns in decoder.columns():
        starts = columns.range_column("elf_va").tolist()
        lengths = columns.range_column("length").tolist()
        levels = columns.range_column("depth").tolist()
        pads = columns.pad_column("elf_va").tolist()
        depths.update(min(level, MOST_DEPTH) for level in levels)
        covered += sum(
            length for length, depth in zip(lengths, levels, strict=True) if not depth
        )
        ends = [start + length for start, length in zip(starts, lengths, strict=True)]
        lowest = min((*starts, *pads))
        highest = max((*ends, *(pad + 1 for pad in pads)))
        first = lowest if first is None else min(first, lowest)
        end = highest if end is None else max(end, highest)
    return Statistics(
        counts=decoder.counts(),
        functions=depths[0],
        depths=dict(sorted(depths.items())),
        bytes_covered=covered,
        first_address=first,
        end_address=end,
    )


class Finding(NamedTuple):
    """An error or note about a record."""

    offset: int  # of its message, from the start of the (inflated) file
    elf_va: int  # its address
    rule: str  # order, nesting, overlap, columns, fields or hole
    reason: str  # a sentence
    is_error: bool = True  # False for a note about missing information


def verify(decoder: Decoder) -> Iterator[Finding]:
    """Errors and notes, not sorted by offset."""
    trees = _Trees()
    pads: dict[int, int] = {}
    for columns in decoder.columns():
        offsets = columns.offsets.tolist()
        for offset, record in zip(offsets, columns.records(), strict=True):
            if isinstance(record, Range):
                yield from _check_fields(offset, record)
                yield from _check_line_table(offset, record)
                yield from trees.add(offset, record)
            else:
                yield from _check_return_pad(offset, record, pads)
    yield from trees.close()


def _check_fields(offset: int, record: Range) -> Iterator[Finding]:
    finding = partial(Finding, offset, record.elf_va)
    if not record.length:
        yield finding("fields", "the range is empty")
    if record.elf_va + record.length > UINT64_END:
        yield finding("fields", "the range exceeds the address space")
    if not record.func:
        yield finding("fields", "the function has no name")
    has_call = bool(record.call_file or record.call_line)
    if has_call and not record.depth:
        yield finding("fields", "a function of depth 0 has a call location")
    if record.depth and not has_call:
        yield finding("fields", "unknown call location", is_error=False)


def _check_line_table(offset: int, record: Range) -> Iterator[Finding]:
    finding = partial(Finding, offset, record.elf_va, "columns")
    if not record.line_table:
        return
    if record.file is None:
        yield finding("lines without a file", is_error=False)
    starts = [row.offset for row in record.line_table]
    if any(one == other for one, other in pairwise(starts)):
        yield finding("two rows of the line table have the same offset")
    if starts[-1] >= record.length:
        yield finding("a row of the line table is outside the range")


def _check_return_pad(
    offset: int, record: ReturnPad, seen: dict[int, int]
) -> Iterator[Finding]:
    finding = partial(Finding, offset, record.elf_va)
    if not record.entries:
        yield finding("fields", "the return pad has no functions")
    if any(not entry.func for entry in record.entries):
        yield finding("fields", "a function has no name")
    first = seen.setdefault(record.elf_va, offset)
    if first != offset:
        yield finding(
            "overlap", f"the return pad at offset {first:#x} has the same address"
        )


class _Open:
    """An open range, which may have more inlined calls; the first is the file."""

    __slots__ = ("calls", "end", "offset", "record")

    def __init__(self, offset: int, record: Range | None) -> None:
        self.offset = offset
        self.record = record
        self.end = UINT64_END if record is None else record.elf_va + record.length
        self.calls: list[tuple[int, int, int]] = []  # start, end, offset

    def covers(self, record: Range) -> bool:
        start = 0 if self.record is None else self.record.elf_va
        return start <= record.elf_va and record.elf_va + record.length <= self.end


class _Trees:
    """The ranges that enclose the last one, from the file inwards."""

    def __init__(self) -> None:
        self._open = [_Open(0, None)]

    def add(self, offset: int, record: Range) -> Iterator[Finding]:
        if record.depth >= len(self._open):
            reason = (
                f"depth {record.depth} follows a range of depth {len(self._open) - 2}"
                if len(self._open) > 1
                else f"the first range has depth {record.depth}"
            )
            yield Finding(offset, record.elf_va, "order", reason)
            return
        while len(self._open) > record.depth + 1:
            yield from _check_calls(self._open.pop())
        caller = self._open[-1]
        if not caller.covers(record):
            reason = f"it exceeds the enclosing range at offset {caller.offset:#x}"
            yield Finding(offset, record.elf_va, "nesting", reason)
        caller.calls.append((record.elf_va, record.elf_va + record.length, offset))
        self._open.append(_Open(offset, record))

    def close(self) -> Iterator[Finding]:
        while self._open:
            yield from _check_calls(self._open.pop())


def _check_calls(caller: _Open) -> Iterator[Finding]:
    """Findings on the direct children of a range or of the file."""
    caller.calls.sort()
    covered, before = 0, 0
    for start, end, offset in caller.calls:
        if start < covered:
            reason = f"it overlaps the range at offset {before:#x}"
            yield Finding(offset, start, "overlap", reason)
        if end > covered:
            covered, before = end, offset
    if caller.record is not None and caller.record.line_table:
        yield from _check_hole(caller, caller.record)


def _check_hole(caller: _Open, record: Range) -> Iterator[Finding]:
    """Bytes before the first line should belong to inlined calls."""
    at = record.elf_va
    end = min(at + record.line_table[0].offset, caller.end)
    for start, after, _ in caller.calls:
        if start > at:
            break
        at = max(at, after)
    if at < end:
        reason = f"bytes from {at:#x} on, before the first line, have no line"
        yield Finding(caller.offset, record.elf_va, "hole", reason, is_error=False)
