"""Whether a record fills its bytes: each InfoType ends where its length says.

Reads only as much of a payload as it takes to find its end. What the payload means
is for `structure_records`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gsym._native import lib
from gsym.structure import BrokenError

if TYPE_CHECKING:
    from gsym.structure import Layout

# LEB128 numbers; the opcodes 1 to 3 have one as operand, 4 and above have none.
_LEB = rb"[\x80-\xff]*[\x00-\x7f]"
_LINE_TABLE = re.compile(
    rb"(?:%b){3}(?:[\x04-\xff]|[\x01-\x03]%b)*\x00" % (_LEB, _LEB), re.DOTALL
)
_MAX_LEB_SIZE = 10
_ONE_LEB = re.compile(_LEB, re.DOTALL)
_TWO_LEBS = re.compile(rb"(?:%b){2}" % _LEB, re.DOTALL)


def record_end(
    layout: Layout, offset: int, what: str, *, is_merged: bool = False
) -> int:
    """Offset of the first byte behind the record at *offset*; checks all on the way.

    Args:
        layout: The file.
        offset: In the file.
        what: How a finding calls the record.
        is_merged: The record is merged into another, and can have none in itself.

    Raises:
        BrokenError: The record or a payload has another end than it says.
    """
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
            reason = f"InfoType {kind} of {what} does not end where its length says"
            raise BrokenError(offset, reason)
        offset = end


def _line_table_end(layout: Layout, offset: int, end: int, what: str) -> int:
    match = _LINE_TABLE.match(layout.data, offset, end)
    if match is None:
        raise BrokenError(offset, f"the line table of {what} has no end")
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
    """Offset behind an unsigned LEB128 number, and the number."""
    after = _skip(_ONE_LEB, layout, offset, end, what)
    if after - offset > _MAX_LEB_SIZE:
        raise BrokenError(offset, f"a number of {what} has more than 64 bits")
    value = 0
    for byte in reversed(layout.data[offset:after]):
        value = value << 7 | byte & 0x7F
    return after, value
