"""Whether the records of a GSYM file are sound: envelopes, rows, inlined calls.

`structure_envelope` finds the extent of each record; the engine then decodes it
whole, and what it found is checked for sense.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from gsym._native import ffi, lib, new_error
from gsym.structure import BrokenError, Extent, Finding
from gsym.structure_envelope import record_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.structure import Layout

_KNOWN_FLAGS = lib.GSYM_CALL_SITE_INTERNAL | lib.GSYM_CALL_SITE_EXTERNAL
# The engine's gsym_range, gsym_line_row, gsym_inline_node and gsym_call_site.
_RANGE = struct.Struct("=QQ")
_ROW = struct.Struct("=QII")
_NODE = struct.Struct("=QIIIIII")
_CALL_SITE = struct.Struct("=QIIII")
_ALIGNMENT = 4


def check_records(layout: Layout, extents: list[Extent]) -> Iterator[Finding]:
    """Faults of all records, whose extents are added to *extents*."""
    with _Decoder(layout) as decoder:
        for index, offset in enumerate(layout.record_offsets()):
            what = f"record {index}"
            try:
                end = record_end(layout, offset, what)
            except BrokenError as error:
                yield error.finding
                continue
            extents.append(Extent(offset, end, what))
            yield from _check_place(layout, extents[-1])
            for reason in decoder.faults(index):
                yield reason if isinstance(reason, Finding) else Finding(offset, reason)


def _check_place(layout: Layout, record: Extent) -> Iterator[Finding]:
    section = layout.function_info
    if record.start < section.start or record.end > section.end:
        yield Finding(record.start, f"{record.name} is outside of FunctionInfo")
    if (record.start - layout.records) % _ALIGNMENT:
        yield Finding(record.start, f"{record.name} is not aligned")


class _Decoder:
    """Decodes records by the engine; a context manager that frees its storage."""

    def __init__(self, layout: Layout) -> None:
        self._string_count = layout.parts["StringTable"].size
        self._file_count = len(layout.file_entries())
        self._buffer = ffi.from_buffer("uint8_t[]", layout.binary)
        self._error: Any = new_error()
        image = ffi.new("gsym_image **")
        record = ffi.new("gsym_record **")
        size = len(self._buffer)
        self._expect(lib.gsym_image_open(self._buffer, size, image, self._error))
        self._image = ffi.gc(image[0], lib.gsym_image_close)
        self._expect(lib.gsym_record_create(record, self._error))
        self._record = ffi.gc(record[0], lib.gsym_record_destroy)

    def __enter__(self) -> _Decoder:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        ffi.release(self._record)
        ffi.release(self._image)
        ffi.release(self._buffer)

    def _reason(self) -> str:
        return str(ffi.string(self._error.what).decode("utf-8", "replace"))

    def _expect(self, status: int) -> None:
        if status != lib.GSYM_OK:
            raise BrokenError(self._error.offset, self._reason())

    def faults(self, index: int) -> Iterator[Finding | str]:
        """What is wrong with record *index*; a text where the offset is its own."""
        function = ffi.new("const gsym_function **")
        status = lib.gsym_record_decode(
            self._record, self._image, index, function, self._error
        )
        if status != lib.GSYM_OK:
            yield Finding(self._error.offset, f"record {index}: {self._reason()}")
            return
        top = function[0]
        functions = [top] + [top.merged[i] for i in range(top.merged_count)]
        for number, each in enumerate(functions):
            what = f"record {index}"
            if number:
                what += f", merged function {number}"
            for reason in self._function_faults(each):
                yield f"{what}: {reason}"

    def _function_faults(self, function: Any) -> Iterator[str]:
        if not 0 < function.name < self._string_count:
            yield f"name {function.name:#x} is not in the string table"
        # A function without a size ends where the next one starts.
        end = function.address + function.size if function.size else 1 << 64
        yield from self._row_faults(function, end)
        yield from self._inline_faults(function, end)
        yield from self._call_site_faults(function)

    def _row_faults(self, function: Any, end: int) -> Iterator[str]:
        rows = _unpack(_ROW, function.rows, function.row_count)
        for (before, _, _), (after, _, _) in pairwise(rows):
            if after < before:
                yield f"row {after:#x} follows row {before:#x}"
        for address, file, _ in rows:
            if not function.address <= address < end:
                yield f"row {address:#x} is outside of the function"
            if file >= self._file_count:
                yield f"row {address:#x} has file {file} of {self._file_count}"

    def _inline_faults(self, function: Any, end: int) -> Iterator[str]:
        all_ranges = _unpack(_RANGE, function.ranges, function.range_count)
        around: list[list[tuple[int, ...]]] = []  # ranges of the node at each depth
        for node in _unpack(_NODE, function.nodes, function.node_count):
            name, call_file, _, depth, first, count, _ = node
            ranges = all_ranges[first : first + count]
            where = f"inlined call at {ranges[0][0]:#x}" if ranges else "inlined call"
            outer = around[depth - 1] if depth else [(function.address, end)]
            del around[depth:]
            around.append(ranges)
            for start, stop in ranges:
                if start >= stop:
                    yield f"{where}: the range [{start:#x}, {stop:#x}) is empty"
                if not any(low <= start and stop <= high for low, high in outer):
                    yield f"{where}: [{start:#x}, {stop:#x}) is outside of its parent"
            for (_, before), (after, _) in pairwise(ranges):
                if after < before:
                    yield f"{where}: its ranges do not ascend at {after:#x}"
            if name >= self._string_count:
                yield f"{where}: name {name:#x} is not in the string table"
            if call_file >= self._file_count:
                yield f"{where}: file {call_file} of {self._file_count}"

    def _call_site_faults(self, function: Any) -> Iterator[str]:
        sites = _unpack(_CALL_SITE, function.call_sites, function.call_site_count)
        for return_offset, flags, _, _, _ in sites:
            if function.size and return_offset > function.size:
                yield f"call site {return_offset:#x} is outside of the function"
            if flags & ~_KNOWN_FLAGS:
                yield f"call site {return_offset:#x} has unknown flags {flags:#x}"
        for index in range(function.regex_count):
            if function.regexes[index] >= self._string_count:
                yield f"call site pattern {index} is not in the string table"


def _unpack(
    record: struct.Struct,
    array: Any,
    count: int,
) -> list[tuple[int, ...]]:
    if count == 0:
        return []
    return list(record.iter_unpack(ffi.buffer(array, record.size * count)))
