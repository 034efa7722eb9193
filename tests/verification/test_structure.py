"""`check_structure`: sound files have no findings, and each damage has its own."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from gsym.verification.check import check_structure
from tests import oracle
from tests.hostile import small_file, small_records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Change = Callable[[oracle.FunctionInfo], oracle.FunctionInfo]

pytestmark = pytest.mark.long

FORMS = [(version, order) for version in (1, 2) for order in ("little", "big")]
BOTH_VERSIONS = [(1, "little"), (2, "big")]  # where each byte takes a turn
FAR = 0xFFFF


def findings(folder: Path, data: bytes) -> list[tuple[int, str]]:
    path = folder / "file.gsym"
    path.write_bytes(data)
    return [(offset, reason) for offset, reason in check_structure(os.fspath(path))]


# ---- sound files


@pytest.mark.parametrize(("version", "byteorder"), FORMS)
def test_a_sound_file_has_no_findings(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    assert findings(tmp_path, small_file(version, byteorder)) == []


def test_files_of_llvm_are_sound(gsym_fixtures: Path) -> None:
    paths = sorted(gsym_fixtures.glob("*.gsym"))
    assert paths
    assert {path.name: check_structure(os.fspath(path)) for path in paths} == {
        path.name: [] for path in paths
    }


def test_an_empty_file_is_not_a_gsym_file(tmp_path: Path) -> None:
    assert findings(tmp_path, b"") == [(0, "the file is empty")]


# ---- the part that names the module


def with_part(text: bytes, version: int, byteorder: str) -> tuple[bytes, int]:
    """A file with a part of this text, and where it begins."""
    data = small_file(version, byteorder)
    text += bytes(-(len(data) + len(text) + 16) % 512)
    return data + text + b"GSYMIDEN" + struct.pack("<Q", len(text)), len(data)


SOUND = b"os=Linux\0code_hash=00ff\0later=anything\0"
PART_FAULTS = {
    b"os=Linux\0code_hash\0": (9, "a field without name or value"),
    b"os=\0": (0, "a field without name or value"),
    b"=x\0": (0, "a field without name or value"),
    b"os=Linux\0os=mac\0": (9, "two fields os"),
    b"os=Linux\0debug_id=12\0": (9, "'12' is no debug id"),
    b"code_hash=xyz\0": (0, "'xyz' is no code hash"),
    b"os=Linux\0code_id=1234\0": (0, "contradict the UUID"),
}


@pytest.mark.parametrize(("version", "byteorder"), FORMS)
def test_names_of_the_module_are_sound(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    data, _ = with_part(SOUND, version, byteorder)
    assert findings(tmp_path, data) == []


@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
@pytest.mark.parametrize("text", PART_FAULTS)
def test_damaged_names_of_the_module_are_found(
    tmp_path: Path, text: bytes, version: int, byteorder: str
) -> None:
    at, reason = PART_FAULTS[text]
    data, start = with_part(text, version, byteorder)
    found = findings(tmp_path, data)
    assert found[0][0] == start + at
    assert found[0][1].endswith(reason)


# ---- records that make no sense


def rows(*changed: oracle.LineRow) -> Change:
    return lambda full: replace(full, line_table=changed)


def call(**changes: Any) -> Change:  # noqa: ANN401
    """Change the only call below the root."""

    def change(full: oracle.FunctionInfo) -> oracle.FunctionInfo:
        assert full.inline is not None
        (child,) = full.inline.children
        child = replace(child, **changes)
        return replace(full, inline=replace(full.inline, children=(child,)))

    return change


def site(**changes: Any) -> Change:  # noqa: ANN401
    return lambda full: replace(
        full, call_sites=(replace(full.call_sites[0], **changes),)
    )


def merge_twice(full: oracle.FunctionInfo) -> oracle.FunctionInfo:
    (twin,) = full.merged
    return replace(full, merged=(replace(twin, merged=(twin,)),))


RECORD_DAMAGES: list[tuple[str, Change]] = [
    ("name 0xffff is not in the string table", lambda full: replace(full, name=FAR)),
    ("row 0x1040 is outside of the function", rows(oracle.LineRow(0x1040, 1, 1))),
    ("row 0x1000 has file 99 of 3", rows(oracle.LineRow(0x1000, 99, 1))),
    ("name 0xffff is not in the string table", call(name=FAR, children=())),
    ("file 99 of 3", call(call_file=99)),
    ("[0x1004, 0x1041) is outside of its parent", call(ranges=((0x1004, 0x1041),))),
    ("[0x100a, 0x100c) is outside of its parent", call(ranges=((0x1004, 0x1008),))),
    ("the range [0x1004, 0x1004) is empty", call(ranges=((0x1004,) * 2,), children=())),
    (
        "its ranges do not ascend at 0x1004",
        call(ranges=((0x1004, 0x1010), (0x1004, 0x1020))),
    ),
    ("call site 0x41 is outside of the function", site(return_offset=0x41)),
    ("call site 0xa has unknown flags 0x4", site(flags=4)),
    ("call site pattern 0 is not in the string table", site(regexes=(FAR,))),
    ("has merged functions itself", merge_twice),
]


@pytest.mark.parametrize(
    ("reason", "change"), RECORD_DAMAGES, ids=[reason for reason, _ in RECORD_DAMAGES]
)
@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
def test_an_invalid_record_is_found(
    tmp_path: Path, reason: str, change: Change, version: int, byteorder: str
) -> None:
    file = small_records(version, byteorder)
    symbol, full, last = file.functions
    changed = replace(file, functions=(symbol, change(full), last))
    found = findings(tmp_path, oracle.encode_file(changed))
    assert any(reason in text and "record 1" in text for _, text in found), found


@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_a_payload_with_a_byte_too_many_is_found(
    tmp_path: Path, version: int, byteorder: str, kind: int
) -> None:
    file = small_records(version, byteorder)
    encoder = oracle.Encoder(byteorder, 4 if version == 1 else 8)
    with_slack = 0

    class Slack(oracle.Encoder):
        def info(self, info_type: int, payload: bytes) -> bytes:
            nonlocal with_slack
            slack = info_type == kind
            with_slack += slack
            return super().info(info_type, payload + b"\0" * slack)

    records = [encoder.function(function) for function in file.functions]
    records[1] = Slack(byteorder, encoder.strp_size).function(file.functions[1])
    assert with_slack
    found = findings(tmp_path, oracle.encode_file(file, records))
    reason = "does not match its length"
    assert any(f"InfoType {kind} of record 1" in text for _, text in found), found
    assert any(reason in text for _, text in found), found


@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
def test_a_number_of_eleven_bytes_is_found(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    file = small_records(version, byteorder)
    symbol, full, last = file.functions
    one = b"\x81" + 9 * b"\x80" + b"\0"
    changed = replace(full, inline=None, extra={2: one})
    file = replace(file, functions=(symbol, changed, last))
    found = findings(tmp_path, oracle.encode_file(file))
    assert any("has more than 64 bits" in text for _, text in found), found


# ---- tables that make no sense


class TableDamage(NamedTuple):
    reason: str
    change: Callable[[oracle.GsymFile], oracle.GsymFile]


TABLE_DAMAGES = [
    TableDamage(
        "address 0xff0 follows 0x1000",
        lambda file: replace(
            file,
            functions=(file.functions[1], file.functions[0], file.functions[2]),
        ),
    ),
    TableDamage(
        "entry 0 of the file table is not empty",
        lambda file: replace(file, files=((1, 1), *file.files[1:])),
    ),
    TableDamage(
        "file 1: string 0xffff is past the string table",
        lambda file: replace(file, files=((0, 0), (0, FAR), *file.files[2:])),
    ),
    TableDamage("the file table lacks entry 0", lambda file: replace(file, files=())),
    TableDamage(
        "string 0 is not empty",
        lambda file: replace(file, strings=b"x" + file.strings[1:]),
    ),
    TableDamage(
        "the last string is not terminated",
        lambda file: replace(file, strings=file.strings[:-1]),
    ),
]


@pytest.mark.parametrize("damage", TABLE_DAMAGES, ids=lambda damage: damage.reason)
@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
def test_an_invalid_table_is_found(
    tmp_path: Path, damage: TableDamage, version: int, byteorder: str
) -> None:
    file = damage.change(small_records(version, byteorder))
    found = findings(tmp_path, oracle.encode_file(file))
    assert any(damage.reason in text for _, text in found), found


# ---- bytes


class ByteDamage(NamedTuple):
    """Bytes written at an offset of a little-endian file."""

    version: int
    offset: int
    bytes_: bytes
    found_at: int
    reason: str


def pack(fields: str, *values: int) -> bytes:
    return struct.pack("<" + fields, *values)


BYTE_DAMAGES = [
    ByteDamage(1, 0, b"\0", 0, "the magic is missing"),
    ByteDamage(1, 4, pack("H", 3), 4, "unknown version 3"),
    ByteDamage(1, 6, b"\3", 6, "addr_off_size is 3"),
    ByteDamage(1, 7, b"\x15", 7, "a UUID of 21 bytes"),
    ByteDamage(1, 47, b"\1", 32, "bytes after the UUID are not zero"),
    ByteDamage(
        1, 16, pack("I", 1 << 30), 48, "AddrOffsets of 2147483648 bytes runs past"
    ),
    ByteDamage(2, 7, b"\1", 7, "unknown encoding 1 of the string table"),
    # The directory: UUID, AddrOffsets, AddrInfoOffsets, FileTable, ...
    ByteDamage(2, 20, pack("I", 1), 60, "AddrOffsets appears twice"),
    ByteDamage(2, 40, pack("I", 99), 180, "AddrOffsets is missing"),
    ByteDamage(2, 44, pack("Q", 1 << 60), 1 << 60, "AddrOffsets of 6 bytes runs past"),
    ByteDamage(2, 52, pack("Q", 4), 184, "AddrOffsets does not have 3 entries of 2"),
    ByteDamage(2, 164, pack("Q", 1), 164, "EndOfList is not zero"),
]


@pytest.mark.parametrize("damage", BYTE_DAMAGES, ids=lambda damage: damage.reason)
def test_a_damaged_header_is_found_where_it_is(
    tmp_path: Path, damage: ByteDamage
) -> None:
    data = bytearray(small_file(damage.version, "little"))
    data[damage.offset : damage.offset + len(damage.bytes_)] = damage.bytes_
    found = findings(tmp_path, bytes(data))
    assert any(
        offset == damage.found_at and damage.reason in text for offset, text in found
    ), found


@pytest.mark.parametrize(("version", "byteorder"), FORMS)
def test_bytes_that_belong_to_nothing_are_found(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    data = small_file(version, byteorder)
    end = len(data)
    assert findings(tmp_path, data + b"\0\0\0") == []
    assert findings(tmp_path, data + bytes(8))[0][0] == end
    assert findings(tmp_path, data + b"x")[0][0] == end


def test_records_that_share_bytes_are_found(tmp_path: Path) -> None:
    data = bytearray(small_file(1, "little"))
    info_offsets = 56  # behind the header and three addresses of two bytes
    first, second = struct.unpack_from("<II", data, info_offsets)
    struct.pack_into("<I", data, info_offsets, second)
    found = findings(tmp_path, bytes(data))
    assert (second, "record 1 overlaps record 0") in found
    # What lost its entry is not accounted for any more.
    assert any(offset <= first and "are in no part" in text for offset, text in found)


def test_a_record_off_its_alignment_is_found(tmp_path: Path) -> None:
    data = bytearray(small_file(1, "little"))
    info_offset_of_last = 56 + 2 * 4
    (offset,) = struct.unpack_from("<I", data, info_offset_of_last)
    data[offset:offset] = b"\0\0"
    struct.pack_into("<I", data, info_offset_of_last, offset + 2)
    assert findings(tmp_path, bytes(data)) == [(offset + 2, "record 2 is not aligned")]


@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
def test_every_prefix_has_findings(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    data = small_file(version, byteorder)
    for size in range(len(data)):
        assert findings(tmp_path, data[:size]), size


@pytest.mark.parametrize(("version", "byteorder"), BOTH_VERSIONS)
def test_no_damaged_byte_stops_the_check(
    tmp_path: Path, version: int, byteorder: str
) -> None:
    data = small_file(version, byteorder)
    noticed = 0
    for offset in range(len(data)):
        damaged = bytearray(data)
        damaged[offset] ^= (0x01, 0x80, 0xFF)[offset % 3]
        noticed += bool(findings(tmp_path, bytes(damaged)))
    # Letters of strings, lines and the like may change without making nonsense.
    assert noticed > len(data) // 4


def test_findings_end_at_a_limit(tmp_path: Path) -> None:
    file = small_records(1, "little")
    last = file.functions[-1]
    bad = tuple(
        replace(last, start=last.start + i, name=FAR, line_table=None)
        for i in range(1200)
    )
    data = oracle.encode_file(replace(file, functions=bad))
    assert len(findings(tmp_path, data)) == 1000
