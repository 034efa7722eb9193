"""Checks the index and the records of a GSYM file."""

from __future__ import annotations

from itertools import pairwise

from gsym.engine.mapped_image import MappedImage
from gsym.engine.native import CALL_SITE, NODE, RANGE, ROW, ffi, lib, new_object
from gsym.errors import GsymError
from gsym.lazy import regex
from gsym.leb128 import read_leb
from gsym.model import UINT64_END
from gsym.reading.decoded_functions import FunctionDecoder, unpack
from gsym.verification.structure import BrokenError, Extent, Finding, Layout

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern
    from typing import Any

# LEB128 numbers; the opcodes 1 to 3 have one as operand, 4 and above have none.
_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
_LINE_TABLE = regex(rb"(?:%b){3}(?:[\x04-\xff]|[\x01-\x03]%b)*\x00" % (_LEB, _LEB))
_ONE_LEB = regex(_LEB)
_TWO_LEBS = regex(rb"(?:%b){2}" % _LEB)


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
    problem = f"the line table of {what} is not terminated"
    return _skip(_LINE_TABLE, layout, offset, end, problem)


def _inline_info_end(layout: Layout, offset: int, end: int, what: str) -> int:
    open_lists = 0  # of siblings that lack their terminator
    cut = f"the inline information of {what} is cut off"
    while True:
        offset, count = _uleb(layout, offset, end, what)
        if count == 0 and open_lists:
            open_lists -= 1
        else:
            for _ in range(count):
                offset = _skip(_TWO_LEBS, layout, offset, end, cut)
            (has_children,) = layout.unpack("B", offset, what)
            open_lists += has_children != 0
            offset += 1 + layout.strp_size
            offset = _skip(_TWO_LEBS, layout, offset, end, cut)
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
    pattern: Pattern[bytes], layout: Layout, offset: int, end: int, problem: str
) -> int:
    match = pattern.match(layout.data, offset, end)
    if match is None:
        raise BrokenError(offset, problem)
    return match.end()


def _uleb(layout: Layout, offset: int, end: int, what: str) -> tuple[int, int]:
    """Offset after an unsigned LEB128 number, and the number."""
    value, after = read_leb(layout.data, offset)
    if not 0 < after <= end:
        cut = f"the inline information of {what} is cut off"
        _skip(_ONE_LEB, layout, offset, end, cut)
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
    found = layout.data[index.start : index.end]
    if found != expected:
        pairs = zip(found, expected, strict=False)
        shorter = min(len(found), len(expected))
        at = next((at for at, (a, b) in enumerate(pairs) if a != b), shorter)
        yield Finding(index.start + at, "the index does not match the records")


def _expected_index(layout: Layout, index: Extent) -> bytes | None:
    """The bytes that the index should have; None if the engine does not use it."""
    mapped = _mapped(layout)
    header = mapped.header
    if (header.index_offset, header.index_size) != (index.start, index.size):
        return None
    life = lib.gsym_index_create, lib.gsym_index_destroy
    made, size = new_object("index", *life, mapped.image), ffi.new("size_t *")
    return bytes(ffi.buffer(lib.gsym_index_bytes(made, size), size[0]))


def _mapped(layout: Layout) -> MappedImage:
    """The engine's view of the file.

    Raises:
        BrokenError: Its tables are damaged.
    """
    try:
        return MappedImage(layout.binary, None)
    except GsymError as error:
        raise BrokenError(error.offset or 0, error.reason) from None


_KNOWN_FLAGS = lib.GSYM_CALL_SITE_INTERNAL | lib.GSYM_CALL_SITE_EXTERNAL
_ALIGNMENT = 4


def check_records(layout: Layout, extents: list[Extent]) -> Iterator[Finding]:
    """Errors in all records, whose extents are added to *extents*."""
    decoder = FunctionDecoder(_mapped(layout))
    strings, files = layout.parts["StringTable"].size, len(layout.file_entries())
    section = layout.function_info
    for index, offset in enumerate(layout.record_offsets()):
        what = f"record {index}"
        try:
            end = record_end(layout, offset, what)
        except BrokenError as error:
            yield error.finding
            continue
        extents.append(Extent(offset, end, what))
        if offset < section.start or end > section.end:
            yield Finding(offset, f"{what} is outside of FunctionInfo")
        if (offset - layout.records) % _ALIGNMENT:
            yield Finding(offset, f"{what} is not aligned")
        try:
            top = decoder.read(index)
        except GsymError as error:
            yield Finding(error.offset or 0, f"{what}: {error.reason}")
            continue
        functions = [top] + [top.merged[i] for i in range(top.merged_count)]
        for number, function in enumerate(functions):
            part = f"{what}, merged function {number}" if number else what
            for reason in _function_errors(function, strings, files):
                yield Finding(offset, f"{part}: {reason}")


def _function_errors(function: Any, strings: int, files: int) -> Iterator[str]:
    """Errors in a function of a file with so many bytes of strings, and files."""
    if not 0 < function.name < strings:
        yield f"name {function.name:#x} is not in the string table"
    # A function without a size ends where the next one starts.
    end = function.address + function.size if function.size else UINT64_END
    yield from _row_errors(function, end, files)
    yield from _inline_errors(function, end, strings, files)
    yield from _call_site_errors(function, strings)


def _row_errors(function: Any, end: int, files: int) -> Iterator[str]:
    rows = list(unpack(function.rows, function.row_count, ROW))
    for (before, _, _), (after, _, _) in pairwise(rows):
        if after < before:
            yield f"row {after:#x} follows row {before:#x}"
    for address, file, _ in rows:
        if not function.address <= address < end:
            yield f"row {address:#x} is outside of the function"
        if file >= files:
            yield f"row {address:#x} has file {file} of {files}"


def _inline_errors(function: Any, end: int, strings: int, files: int) -> Iterator[str]:
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
        if name >= strings:
            yield f"{where}: name {name:#x} is not in the string table"
        if call_file >= files:
            yield f"{where}: file {call_file} of {files}"


def _call_site_errors(function: Any, strings: int) -> Iterator[str]:
    sites = unpack(function.call_sites, function.call_site_count, CALL_SITE)
    for return_offset, flags, _, _, _ in sites:
        if function.size and return_offset > function.size:
            yield f"call site {return_offset:#x} is outside of the function"
        if flags & ~_KNOWN_FLAGS:
            yield f"call site {return_offset:#x} has unknown flags {flags:#x}"
    for index in range(function.regex_count):
        if function.regexes[index] >= strings:
            yield f"call site pattern {index} is not in the string table"
