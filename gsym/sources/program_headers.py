"""Which bytes of an ELF file are loaded, and at which link-time addresses.

Source: the ELF specification, "Program Header".
"""

from __future__ import annotations

import struct
from struct import Struct

from gsym.errors import FormatError
from gsym.records import NamedTuple

__all__ = ["Segment", "load_segments"]


class Segment(NamedTuple):
    """A part of a file that is loaded.

    Attributes:
        offset: Where it starts in the file, in bytes.
        size: In bytes, as far as the file has them; in a file with debug
            information alone, as far as the binary had them or more.
        address: Where it starts, at link time.
        is_executable: Whether code can run there.
    """

    offset: int
    size: int
    address: int
    is_executable: bool


_MAGIC = b"\x7fELF"
_CLASS_AT, _ORDER_AT = 4, 5
_ORDERS = {1: "<", 2: ">"}
_IDENT_SIZE = 16
# By class, 1 for 32 bits and 2 for 64: behind e_entry, e_phoff to e_shnum; sh_info of a
# section header; the fields of a program header.
_FILE_HEADERS = {1: (28, "IIIHHHHH"), 2: (32, "QQIHHHHH")}
_INFO_AT = {1: 28, 2: 44}
_ENTRIES = {1: "IIIIIIII", 2: "IIQQQQQQ"}
_PT_LOAD = 1
_EXECUTABLE = 1
_COUNT_IN_SECTION = 0xFFFF  # PN_XNUM
_MOST_SEGMENTS = 1 << 16
_PAGE = 4096


def load_segments(data: memoryview, path: str | None) -> tuple[Segment, ...]:
    """The loaded parts of an ELF file, in the order of its headers.

    Args:
        data: All of the file.
        path: What it is called, for errors.

    Returns:
        None of them for another format, and for a file whose headers say of places
        what a loader would refuse, as a tool leaves them that strips code.

    Raises:
        FormatError: Its headers are damaged.
    """
    if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) < _IDENT_SIZE:
        return ()
    bits, order = data[_CLASS_AT], _ORDERS.get(data[_ORDER_AT])
    if bits not in _ENTRIES or order is None:
        raise FormatError("its class or byte order is unknown", path=path, offset=4)
    entry = Struct(order + _ENTRIES[bits])
    try:
        start, count, size = _table(data, bits, order)
        if count > _MOST_SEGMENTS or size < entry.size:
            reason = f"it cannot have {count} program headers of {size} bytes"
            raise FormatError(reason, path=path, offset=start)
        found = [
            entry.unpack_from(data, start + index * size) for index in range(count)
        ]
    except (struct.error, OverflowError) as error:
        reason = "its program headers reach past the file"
        raise FormatError(reason, path=path, offset=0) from error
    segments = [_segment(fields, bits) for fields in found if fields[0] == _PT_LOAD]
    if any((each.offset - each.address) % _PAGE for each in segments):
        return ()
    return tuple(segments)


def _table(data: memoryview, bits: int, order: str) -> tuple[int, int, int]:
    """Start of the program headers, how many there are, and the size of one."""
    at, layout = _FILE_HEADERS[bits]
    header = Struct(order + layout).unpack_from(data, at)
    start, sections, _, _, size, count, _, _ = header
    if count == _COUNT_IN_SECTION:
        place = sections + _INFO_AT[bits]
        (count,) = Struct(order + "I").unpack_from(data, place)
    return start, count, size


def _segment(fields: tuple[int, ...], bits: int) -> Segment:
    if bits == 1:
        _, offset, address, _, file_size, memory_size, flags, _ = fields
    else:
        _, flags, offset, address, _, file_size, memory_size, _ = fields
    is_executable = bool(flags & _EXECUTABLE)
    return Segment(offset, file_size or memory_size, address, is_executable)
