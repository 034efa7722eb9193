"""Bytes -> records; laid out like docs/format.md."""

from __future__ import annotations

from tests.oracle.records import (
    AddressRange,
    CallSite,
    FunctionInfo,
    GsymFile,
    InlineInfo,
    LineRow,
    OracleError,
)

MASK_32 = 0xFFFF_FFFF
MASK_64 = 0xFFFF_FFFF_FFFF_FFFF


class Cursor:
    """Reads forward through *data* and fails past its end."""

    def __init__(self, data: bytes, byteorder: str, strp_size: int) -> None:
        self.data = data
        self.byteorder = byteorder
        self.strp_size = strp_size
        self.offset = 0

    def take(self, size: int) -> bytes:
        piece = self.data[self.offset : self.offset + size]
        if len(piece) != size:
            raise OracleError(f"offset {self.offset:#x}: {size} bytes are missing")
        self.offset += size
        return piece

    def unsigned(self, size: int) -> int:
        piece = self.take(size)
        return int.from_bytes(piece, "big" if self.byteorder == "big" else "little")

    def strp(self) -> int:
        return self.unsigned(self.strp_size)

    def uleb(self) -> int:
        value, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << shift
            shift += 7
        return value

    def sleb(self) -> int:
        start = self.offset
        value = self.uleb()
        bits = 7 * (self.offset - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def within(self, size: int) -> Cursor:
        return Cursor(self.take(size), self.byteorder, self.strp_size)


# ---- LineTable ------------------------------------------------------------------


def decode_line_table(cursor: Cursor, start: int) -> tuple[LineRow, ...]:
    min_delta = cursor.sleb()
    max_delta = cursor.sleb()
    line = cursor.uleb()
    span = max_delta - min_delta + 1
    if span <= 0:
        raise OracleError("the line table has no special opcodes")
    address, file = start, 1
    rows = []
    while (opcode := cursor.unsigned(1)) != 0x00:
        if opcode == 0x01:
            file = cursor.uleb()
            continue
        if opcode == 0x03:
            line += cursor.sleb()
            continue
        if opcode == 0x02:
            address += cursor.uleb()
        else:
            line += min_delta + (opcode - 4) % span
            address += (opcode - 4) // span
        rows.append(LineRow(address & MASK_64, file & MASK_32, line & MASK_32))
    return tuple(rows)


# ---- InlineInfo -----------------------------------------------------------------


def decode_ranges(cursor: Cursor, base: int) -> tuple[AddressRange, ...]:
    ranges = []
    for _ in range(cursor.uleb()):
        start = base + cursor.uleb()
        ranges.append((start, start + cursor.uleb()))
    return tuple(ranges)


def decode_inline(cursor: Cursor, base: int) -> InlineInfo | None:
    """One node with its children; None for the terminator of a sibling list."""
    ranges = decode_ranges(cursor, base)
    if not ranges:
        return None
    has_children = cursor.unsigned(1)
    name = cursor.strp()
    call_file = cursor.uleb()
    call_line = cursor.uleb()
    children = []
    if has_children:
        while (child := decode_inline(cursor, ranges[0][0])) is not None:
            children.append(child)
    return InlineInfo(ranges, name, call_file, call_line, tuple(children))


# ---- MergedFunctionsInfo --------------------------------------------------------


def decode_merged(cursor: Cursor, start: int) -> tuple[FunctionInfo, ...]:
    functions = []
    for _ in range(cursor.unsigned(4)):
        size = cursor.unsigned(4)
        functions.append(decode_function(cursor.within(size), start))
    return tuple(functions)


# ---- CallSiteInfo ---------------------------------------------------------------


def decode_call_sites(cursor: Cursor) -> tuple[CallSite, ...]:
    sites = []
    for _ in range(cursor.unsigned(4)):
        return_offset = cursor.unsigned(8)
        flags = cursor.unsigned(1)
        regexes = tuple(cursor.strp() for _ in range(cursor.unsigned(4)))
        sites.append(CallSite(return_offset, flags, regexes))
    return tuple(sites)


# ---- FunctionInfo ---------------------------------------------------------------


def decode_function(cursor: Cursor, start: int) -> FunctionInfo:
    size = cursor.unsigned(4)
    name = cursor.strp()
    if name == 0:
        raise OracleError("a function has no name")
    line_table, inline = None, None
    merged: tuple[FunctionInfo, ...] = ()
    call_sites: tuple[CallSite, ...] = ()
    extra = {}
    while True:
        info_type = cursor.unsigned(4)
        payload = cursor.within(cursor.unsigned(4))
        if info_type == 0:
            break
        if info_type == 1:
            line_table = decode_line_table(payload, start)
        elif info_type == 2:
            inline = decode_inline(payload, start)
        elif info_type == 3:
            merged = decode_merged(payload, start)
        elif info_type == 4:
            call_sites = decode_call_sites(payload)
        else:
            extra[info_type] = payload.data
    return FunctionInfo(
        start, size, name, line_table, inline, merged, call_sites, extra
    )


# ---- the file -------------------------------------------------------------------


def align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def decode_file(data: bytes) -> GsymFile:
    byteorder = {b"\x4d\x59\x53\x47": "little", b"\x47\x53\x59\x4d": "big"}.get(
        data[:4]
    )
    if byteorder is None:
        raise OracleError("bad magic")
    version = Cursor(data[4:6], byteorder, 0).unsigned(2)
    if version == 1:
        return decode_version_1(Cursor(data, byteorder, strp_size=4))
    if version == 2:
        return decode_version_2(Cursor(data, byteorder, strp_size=8))
    raise OracleError(f"version {version}")


def check_addr_off_size(size: int) -> int:
    if size not in {1, 2, 4, 8}:
        raise OracleError(f"address offset size {size}")
    return size


def decode_version_1(cursor: Cursor) -> GsymFile:
    cursor.offset = 6
    addr_off_size = check_addr_off_size(cursor.unsigned(1))
    uuid_size = cursor.unsigned(1)
    base_address = cursor.unsigned(8)
    num_addresses = cursor.unsigned(4)
    strtab_offset = cursor.unsigned(4)
    strtab_size = cursor.unsigned(4)
    if uuid_size > 20:
        raise OracleError(f"UUID size {uuid_size}")
    uuid = cursor.take(20)[:uuid_size]
    starts = [
        base_address + cursor.unsigned(addr_off_size) for _ in range(num_addresses)
    ]
    cursor.offset = align(cursor.offset, 4)
    info_offsets = [cursor.unsigned(4) for _ in range(num_addresses)]
    files = decode_files(cursor)
    cursor.offset = strtab_offset
    strings = cursor.take(strtab_size)
    functions = decode_functions(cursor, starts, info_offsets)
    return GsymFile(
        1,
        cursor.byteorder,
        addr_off_size,
        base_address,
        uuid,
        strings,
        files,
        functions,
    )


def decode_version_2(cursor: Cursor) -> GsymFile:
    cursor.offset = 6
    addr_off_size = check_addr_off_size(cursor.unsigned(1))
    if (encoding := cursor.unsigned(1)) != 0:
        raise OracleError(f"string table encoding {encoding}")
    base_address = cursor.unsigned(8)
    num_addresses = cursor.unsigned(4)
    sections: dict[int, Cursor] = {}
    while section_type := cursor.unsigned(4):
        place = Cursor(cursor.data, cursor.byteorder, cursor.strp_size)
        place.offset = cursor.unsigned(8)
        sections[section_type] = place.within(cursor.unsigned(8))
    for section_type in (1, 2, 3, 4, 5):
        if section_type not in sections:
            raise OracleError(f"section {section_type} is missing")
    starts = [
        base_address + sections[1].unsigned(addr_off_size) for _ in range(num_addresses)
    ]
    info_offsets = [sections[2].unsigned(8) for _ in range(num_addresses)]
    return GsymFile(
        2,
        cursor.byteorder,
        addr_off_size,
        base_address,
        sections[6].data if 6 in sections else b"",
        sections[3].data,
        decode_files(sections[4]),
        decode_functions(sections[5], starts, info_offsets),
        {number: part.data for number, part in sections.items() if number > 6},
    )


def decode_files(cursor: Cursor) -> tuple[tuple[int, int], ...]:
    return tuple((cursor.strp(), cursor.strp()) for _ in range(cursor.unsigned(4)))


def decode_functions(
    cursor: Cursor, starts: list[int], info_offsets: list[int]
) -> tuple[FunctionInfo, ...]:
    functions = []
    for start, offset in zip(starts, info_offsets, strict=True):
        cursor.offset = offset
        functions.append(decode_function(cursor, start & MASK_64))
    return tuple(functions)
