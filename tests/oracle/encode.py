"""Records -> bytes; laid out like docs/format.md."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from tests.oracle.decode import MASK_64, align
from tests.oracle.records import (
    AddressRange,
    CallSite,
    FunctionInfo,
    GsymFile,
    InlineInfo,
    LineRow,
    OracleError,
)


class Encoder:
    """Writes values in one byte order, and string offsets of one width."""

    def __init__(self, byteorder: str, strp_size: int) -> None:
        self.byteorder = byteorder
        self.strp_size = strp_size

    def unsigned(self, value: int, size: int) -> bytes:
        return value.to_bytes(size, "big" if self.byteorder == "big" else "little")

    def strp(self, offset: int) -> bytes:
        return self.unsigned(offset, self.strp_size)

    # ---- FunctionInfo -----------------------------------------------------------

    def function(self, function: FunctionInfo) -> bytes:
        out = self.unsigned(function.size, 4) + self.strp(function.name)
        if function.line_table is not None:
            out += self.info(1, encode_line_table(function.line_table, function.start))
        if function.inline is not None:
            out += self.info(2, self.inline(function.inline, function.start))
        if function.merged:
            out += self.info(3, self.merged(function.merged))
        if function.call_sites:
            out += self.info(4, self.call_sites(function.call_sites))
        for info_type, payload in sorted(function.extra.items()):
            out += self.info(info_type, payload)
        return out + self.info(0, b"")

    def info(self, info_type: int, payload: bytes) -> bytes:
        return self.unsigned(info_type, 4) + self.unsigned(len(payload), 4) + payload

    # ---- InlineInfo -------------------------------------------------------------

    def inline(self, node: InlineInfo, base: int) -> bytes:
        out = encode_ranges(node.ranges, base)
        out += bytes([bool(node.children)]) + self.strp(node.name)
        out += uleb(node.call_file) + uleb(node.call_line)
        for child in node.children:
            out += self.inline(child, node.ranges[0][0])
        return out + (uleb(0) if node.children else b"")

    # ---- MergedFunctionsInfo ----------------------------------------------------

    def merged(self, functions: tuple[FunctionInfo, ...]) -> bytes:
        out = self.unsigned(len(functions), 4)
        for function in functions:
            record = self.function(function)
            out += self.unsigned(len(record), 4) + record
        return out

    # ---- CallSiteInfo -----------------------------------------------------------

    def call_sites(self, sites: tuple[CallSite, ...]) -> bytes:
        out = self.unsigned(len(sites), 4)
        for site in sites:
            out += self.unsigned(site.return_offset, 8) + self.unsigned(site.flags, 1)
            out += self.unsigned(len(site.regexes), 4)
            out += b"".join(map(self.strp, site.regexes))
        return out


def uleb(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def sleb(value: int) -> bytes:
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


def encode_ranges(ranges: tuple[AddressRange, ...], base: int) -> bytes:
    if not ranges:
        raise OracleError("an inline call without a range")
    out = uleb(len(ranges))
    for start, end in ranges:
        out += uleb(start - base) + uleb(end - start)
    return out


# ---- LineTable ------------------------------------------------------------------


def line_deltas(rows: tuple[LineRow, ...]) -> tuple[int, int]:
    """Smallest and greatest line delta that a special opcode shall express."""
    deltas = Counter(after.line - before.line for before, after in pairwise(rows))
    if not deltas:
        return 0, 0
    ordered = sorted(deltas)
    low, high = ordered[0], ordered[-1]
    if high - low > 14:
        best = 0
        for first in ordered:
            window = [delta for delta in ordered if first <= delta <= first + 14]
            covered = sum(deltas[delta] for delta in window)
            if covered > best:
                best, low, high = covered, first, window[-1]
    if low == high and 0 < low < 14:
        low = 0
    return low, high


def line_step(before: int, after: int) -> int:
    """What an opcode adds to the line; LLVM keeps 32 bits of a step down."""
    step = after - before
    return step if step > 0 else (step + 2**31) % 2**32 - 2**31


def encode_line_table(rows: tuple[LineRow, ...], start: int) -> bytes:
    if not rows:
        raise OracleError("a line table without a row")
    low, high = line_deltas(rows)
    address, file, line = start, 1, rows[0].line
    out = sleb(low) + sleb(high) + uleb(line)
    for row in rows:
        if row.address < address:
            raise OracleError("rows are not in ascending order")
        if row.file != file:
            out += b"\x01" + uleb(row.file)
        advance, delta = row.address - address, line_step(line, row.line)
        opcode = (delta - low) + advance * (high - low + 1) + 4
        if low <= delta <= high and opcode <= 255:
            out += bytes([opcode])
        else:
            out += b"\x03" + sleb(delta) if delta != 0 else b""
            out += b"\x02" + uleb(advance)
        address, file, line = row.address, row.file, row.line
    return out + b"\x00"


# ---- the file -------------------------------------------------------------------


def encode_file(file: GsymFile, records: list[bytes] | None = None) -> bytes:
    """The whole file; *records*, if given, stands in place of the encoded functions."""
    encoder = Encoder(file.byteorder, strp_size=4 if file.version == 1 else 8)
    if records is None:
        records = list(map(encoder.function, file.functions))
    if file.version == 1:
        return encode_version_1(file, encoder, records)
    return encode_version_2(file, encoder, records)


def encode_header(file: GsymFile, encoder: Encoder, last_byte: int) -> bytes:
    """The 20 bytes that both versions begin with."""
    return (
        encoder.unsigned(0x4753594D, 4)
        + encoder.unsigned(file.version, 2)
        + bytes([file.addr_off_size, last_byte])
        + encoder.unsigned(file.base_address, 8)
        + encoder.unsigned(len(file.functions), 4)
    )


def encode_addr_offsets(file: GsymFile, encoder: Encoder) -> bytes:
    """The address table."""
    return b"".join(
        encoder.unsigned(
            (function.start - file.base_address) & MASK_64, file.addr_off_size
        )
        for function in file.functions
    )


def encode_files(file: GsymFile, encoder: Encoder) -> bytes:
    pairs = (encoder.strp(one) + encoder.strp(two) for one, two in file.files)
    return encoder.unsigned(len(file.files), 4) + b"".join(pairs)


def pad(data: bytes, alignment: int) -> bytes:
    return data.ljust(align(len(data), alignment), b"\0")


def place_records(records: list[bytes], first: int) -> tuple[list[int], bytes]:
    """Where each record begins, counted on from *first*, and all records."""
    offsets, out = [], b""
    for record in records:
        out = pad(out, 4)
        offsets.append(first + len(out))
        out += record
    return offsets, out


def encode_version_1(file: GsymFile, encoder: Encoder, records: list[bytes]) -> bytes:
    if len(file.uuid) > 20:
        raise OracleError("the UUID is too long for version 1")
    addr_offsets = encode_addr_offsets(file, encoder)
    files = encode_files(file, encoder)
    info_offsets_at = align(48 + len(addr_offsets), 4)
    strings_at = info_offsets_at + 4 * len(file.functions) + len(files)
    functions_at = align(strings_at + len(file.strings), 4)
    offsets, functions = place_records(records, functions_at)
    out = (
        encode_header(file, encoder, len(file.uuid))
        + encoder.unsigned(strings_at, 4)
        + encoder.unsigned(len(file.strings), 4)
        + file.uuid.ljust(20, b"\0")
    )
    out = pad(out + addr_offsets, 4)
    out += b"".join(encoder.unsigned(offset, 4) for offset in offsets)
    return pad(out + files + file.strings, 4) + functions


def encode_version_2(file: GsymFile, encoder: Encoder, records: list[bytes]) -> bytes:
    offsets, functions = place_records(records, 0)
    # (type, alignment, payload) in the order of the directory and of the data.
    sections = [
        (1, file.addr_off_size, encode_addr_offsets(file, encoder)),
        (2, 8, b"".join(encoder.unsigned(offset, 8) for offset in offsets)),
        (4, 4, encode_files(file, encoder)),
        (3, 1, file.strings),
        (5, 4, functions),
        *((number, 1, data) for number, data in sorted(file.extra_sections.items())),
    ]
    if file.uuid:
        sections.insert(0, (6, 1, file.uuid))
    directory = b""
    data = bytes(20 + 20 * (len(sections) + 1))
    for section_type, alignment, payload in sections:
        data = pad(data, alignment)
        directory += encoder.unsigned(section_type, 4)
        directory += encoder.unsigned(len(data), 8) + encoder.unsigned(len(payload), 8)
        data += payload
    head = encode_header(file, encoder, 0) + directory
    return head + data[len(head) :]
