"""Checks the index and the records of a GSYM file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from gsym.engine.native import bytes_of, check, ffi, lib, new_error
from gsym.leb128 import read_leb
from gsym.model import UINT64_END
from gsym.reading.decoded_functions import CALL_SITE, NODE, RANGE, ROW, unpack
from gsym.verification.structure import BrokenError, Extent, Finding, Layout

# LEB128 numbers; the opcodes 1 to 3 have one as operand, 4 and above have none.
_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
_LINE_TABLE = re.compile(
    rb"(?:%b){3}(?:[\x04-\xff]|[\x01-\x03]%b)*\x00" % (_LEB, _LEB), re.DOTALL
)
_ONE_LEB = re.compile(_LEB, re.DOTALL)
_TWO_LEBS = re.compile(rb"(?:%b){2}" % _LEB, re.DOTALL)


def record_end(
    layout: Layout, offset: int, what: str, *, is_merged: bool = False
) -> int:
    """Check the structure of the record at *offset*; return the offset after it."""
    offset += 4 + layout.strp_size
    seen: set[int] = set()
    while True:
        kind, size = layout.unpack("II", offset, what)
        if kind in seen:
            raise BrokenError(offset, f"{what} has InfoType {kind} twice")
        if is_merged and kind == lib.GSYM_INFO_MERGED_FUNCTIONS:
            raise BrokenError(offset, f"{what} has merged functions itself")
        seen.add(kind)
        offset += 8
        end = offset + size
        if end > len(layout.data):
            reason = f"InfoType {kind} of {what} runs past the end of the file"
            raise BrokenError(offset, reason)
        if kind == lib.GSYM_INFO_END_OF_LIST:
            return end
        if kind in _ENDS and _ENDS[kind](layout, offset, end, what) != end:
            reason = f"InfoType {kind} of {what} does not match its length"
            raise BrokenError(offset, reason)
        offset = end


def _line_table_end(layout: Layout, offset: int, end: int, what: str) -> int:
    match = _LINE_TABLE.match(layout.data, offset, end)
    if match is None:
        raise BrokenError(offset, f"the line table of {what} is not terminated")
    return match.end()


def _inline_info_end(layout: Layout, offset: int, end: int, what: str) -> int:
    open_lists = 0  # of siblings that lack their terminator
    while True:
        offset, count = _uleb(layout, offset, end, what)
        if count == 0 and open_lists:
            open_lists -= 1
        else:
            for _ in range(count):
                offset = _skip(_TWO_LEBS, layout, offset, end, what)
            (has_children,) = layout.unpack("B", offset, what)
            open_lists += has_children != 0
            offset += 1 + layout.strp_size
            offset = _skip(_TWO_LEBS, layout, offset, end, what)
        if not open_lists:
            return offset


def _merged_functions_end(layout: Layout, offset: int, end: int, what: str) -> int:
    (count,) = layout.unpack("I", offset, what)
    offset += 4
    for number in range(1, count + 1):
        (size,) = layout.unpack("I", offset, what)
        offset += 4 + size
        if offset > end:
            raise BrokenError(offset - size, f"merged functions of {what} are cut off")
        merged = f"{what}, merged function {number}"
        if record_end(layout, offset - size, merged, is_merged=True) != offset:
            raise BrokenError(offset - size, f"{merged} does not fill its bytes")
    return offset


def _call_sites_end(layout: Layout, offset: int, end: int, what: str) -> int:
    (count,) = layout.unpack("I", offset, what)
    offset += 4
    for _ in range(count):
        _, _, patterns = layout.unpack("QBI", offset, what)
        offset += 13 + patterns * layout.strp_size
        if offset > end:
            raise BrokenError(offset, f"the call sites of {what} are cut off")
    return offset


_ENDS = {
    lib.GSYM_INFO_LINE_TABLE: _line_table_end,
    lib.GSYM_INFO_INLINE_INFO: _inline_info_end,
    lib.GSYM_INFO_MERGED_FUNCTIONS: _merged_functions_end,
    lib.GSYM_INFO_CALL_SITES: _call_sites_end,
}


def _skip(
    pattern: re.Pattern[bytes], layout: Layout, offset: int, end: int, what: str
) -> int:
    match = pattern.match(layout.data, offset, end)
    if match is None:
        raise BrokenError(offset, f"the inline information of {what} is cut off")
    return match.end()


def _uleb(layout: Layout, offset: int, end: int, what: str) -> tuple[int, int]:
    """Offset after an unsigned LEB128 number, and the number."""
    value, after = read_leb(layout.data, offset)
    if not 0 < after <= end:
        _skip(_ONE_LEB, layout, offset, end, what)
        raise BrokenError(offset, f"a number of {what} has more than 64 bits")
    return after, value


def check_index(layout: Layout) -> Iterator[Finding]:
    """Errors in the index, if the file has one."""
    index = layout.parts.get("Index")
    if index is None:
        return
    expected = _expected_index(layout, index)
    if expected is None:
        reason = "is of an unknown version or was made for another file: not used"
        yield Finding(index.start, f"the index {reason}")
        return
    at = _first_difference(layout.data[index.start : index.end], expected)
    if at is not None:
        yield Finding(index.start + at, "the index does not match the records")


def _expected_index(layout: Layout, index: Extent) -> bytes | None:
    """The bytes that the index should have; None if the engine does not use it."""
    with _open_image(layout.binary) as image:
        header, size = ffi.new("gsym_header *"), ffi.new("size_t *")
        lib.gsym_image_header(image, header)
        if (header.index_offset, header.index_size) != (index.start, index.size):
            return None
        life = lib.gsym_index_create, lib.gsym_index_destroy
        with _opened("index", *life, image) as made:
            return bytes(ffi.buffer(lib.gsym_index_bytes(made, size), size[0]))


def _open_image(data: memoryview) -> Any:
    life = lib.gsym_image_open, lib.gsym_image_close
    return _opened("image", *life, bytes_of(data), len(data))


def _opened(kind: str, create: Any, destroy: Any, *arguments: Any) -> Any:
    """An object of the engine, also for a `with` block; raises `BrokenError`."""
    made: Any = ffi.new(f"gsym_{kind} **")
    error: Any = new_error()
    if create(*arguments, made, error) != lib.GSYM_OK:
        raise BrokenError(error.offset, _checked_reason(error))
    return ffi.gc(made[0], destroy)


def _checked_reason(error: Any) -> str:
    """The fault of the file; raises `MemoryError` if that is unknown."""
    if error.status == lib.GSYM_E_NO_MEMORY:
        check(error.status, error)
    return str(ffi.string(error.what).decode("utf-8", "replace"))


def _first_difference(found: memoryview, expected: bytes) -> int | None:
    if found == expected:
        return None
    pairs = zip(found, expected, strict=False)
    shorter = min(len(found), len(expected))
    return next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)


_KNOWN_FLAGS = lib.GSYM_CALL_SITE_INTERNAL | lib.GSYM_CALL_SITE_EXTERNAL
_ALIGNMENT = 4


def check_records(layout: Layout, extents: list[Extent]) -> Iterator[Finding]:
    """Errors in all records, whose extents are added to *extents*."""
    with _Decoder(layout) as decoder:
        for index, offset in enumerate(layout.record_offsets()):
            what = f"record {index}"
            try:
                end = record_end(layout, offset, what)
            except BrokenError as error:
                yield error.finding
                continue
            record = Extent(offset, end, what)
            extents.append(record)
            section = layout.function_info
            if record.start < section.start or record.end > section.end:
                yield Finding(record.start, f"{record.name} is outside of FunctionInfo")
            if (record.start - layout.records) % _ALIGNMENT:
                yield Finding(record.start, f"{record.name} is not aligned")
            for reason in decoder.findings(index):
                yield reason if isinstance(reason, Finding) else Finding(offset, reason)


class _Decoder:
    """Decodes records by the engine; a context manager that frees its storage."""

    def __init__(self, layout: Layout) -> None:
        self._string_count = layout.parts["StringTable"].size
        self._file_count = len(layout.file_entries())
        self._error: Any = new_error()
        self._binary = layout.binary  # which the image reads
        self._image = _open_image(self._binary)
        self._record = _opened(
            "record", lib.gsym_record_create, lib.gsym_record_destroy
        )

    def __enter__(self) -> _Decoder:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        ffi.release(self._record)
        ffi.release(self._image)

    def findings(self, index: int) -> Iterator[Finding | str]:
        """Errors in record *index*; a string for an error at its own offset."""
        function = ffi.new("const gsym_function **")
        status = lib.gsym_record_decode(
            self._record, self._image, index, function, self._error
        )
        if status != lib.GSYM_OK:
            yield Finding(
                self._error.offset, f"record {index}: {_checked_reason(self._error)}"
            )
            return
        top = function[0]
        functions = [top] + [top.merged[i] for i in range(top.merged_count)]
        for number, each in enumerate(functions):
            what = f"record {index}"
            if number:
                what += f", merged function {number}"
            for reason in self._function_errors(each):
                yield f"{what}: {reason}"

    def _function_errors(self, function: Any) -> Iterator[str]:
        if not 0 < function.name < self._string_count:
            yield f"name {function.name:#x} is not in the string table"
        # A function without a size ends where the next one starts.
        end = function.address + function.size if function.size else UINT64_END
        yield from self._row_errors(function, end)
        yield from self._inline_errors(function, end)
        yield from self._call_site_errors(function)

    def _row_errors(self, function: Any, end: int) -> Iterator[str]:
        rows = list(unpack(function.rows, function.row_count, ROW))
        for (before, _, _), (after, _, _) in pairwise(rows):
            if after < before:
                yield f"row {after:#x} follows row {before:#x}"
        for address, file, _ in rows:
            if not function.address <= address < end:
                yield f"row {address:#x} is outside of the function"
            if file >= self._file_count:
                yield f"row {address:#x} has file {file} of {self._file_count}"

    def _inline_errors(self, function: Any, end: int) -> Iterator[str]:
        all_ranges = list(unpack(function.ranges, function.range_count, RANGE))
        around: list[list[tuple[int, ...]]] = []  # ranges of the node at each depth
        for node in unpack(function.nodes, function.node_count, NODE):
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

    def _call_site_errors(self, function: Any) -> Iterator[str]:
        sites = unpack(function.call_sites, function.call_site_count, CALL_SITE)
        for return_offset, flags, _, _, _ in sites:
            if function.size and return_offset > function.size:
                yield f"call site {return_offset:#x} is outside of the function"
            if flags & ~_KNOWN_FLAGS:
                yield f"call site {return_offset:#x} has unknown flags {flags:#x}"
        for index in range(function.regex_count):
            if function.regexes[index] >= self._string_count:
                yield f"call site pattern {index} is not in the string table"
