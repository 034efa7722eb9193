"""The engine's look at all records: what is sound passes, what is damaged is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.reading.record_check import check_records
from gsym.verification.check import check_structure
from tests.engine.test_hostile_records import (
    CALL_SITES,
    DAMAGED,
    ENCODER,
    END_OF_LIST,
    INLINE_INFO,
    LINE_TABLE,
    MERGED,
    NAME,
    file_with,
    info,
    u32,
    u64,
)
from tests.hostile import START, small_file
from tests.strategies import BYTE_ORDERS, VERSIONS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

every_version = pytest.mark.parametrize("version", VERSIONS)
# First line, opcodes: a special one makes a row.
MIN, MAX, ROW, END = b"\x00", b"\x01", b"\x04", b"\x00"
SET_FILE, ADVANCE = b"\x01", b"\x02"
HEAD_SIZE = 48  # of version 1
FIRST = b"\x0a"


def rows(opcodes: bytes) -> bytes:
    return info(LINE_TABLE, MIN + MAX + FIRST + opcodes + END)


def call(version: int, *, name: int, file: int, size: int = 0x40) -> bytes:
    strp = ENCODER[version].strp(name)
    ranges = b"\x01\x00" + bytes([size])
    return info(INLINE_INFO, ranges + b"\x00" + strp + bytes([file]) + b"\x07")


def pattern(version: int, strp: int) -> bytes:
    site = u64(0) + b"\x00" + u32(1) + ENCODER[version].strp(strp)
    return info(CALL_SITES, u32(1) + site)


def checked(data: bytes) -> None:
    with gsym.Reader(data) as reader:
        check_records(reader)


@every_version
@pytest.mark.parametrize("byteorder", BYTE_ORDERS)
def test_a_sound_file_passes(version: int, byteorder: str) -> None:
    checked(small_file(version, byteorder))


@every_version
@pytest.mark.parametrize("name", DAMAGED)
def test_an_incomplete_record_is_reported(version: int, name: str) -> None:
    ends = name not in {"no end of the list", "nothing after the name"}
    data = file_with(version, DAMAGED[name] + (END_OF_LIST if ends else b""))
    with pytest.raises(gsym.FormatError) as caught:
        checked(data)
    assert caught.value.offset is not None
    assert caught.value.offset <= len(data)


STRINGS = len(b"\0main\0a.c\0")


def merged(version: int) -> bytes:
    inner = u32(0x40) + ENCODER[version].strp(STRINGS) + END_OF_LIST
    return info(MERGED, u32(1) + u32(len(inner)) + inner)


SOUND: dict[str, Callable[[int], bytes]] = {
    "a file": lambda _: rows(SET_FILE + b"\x01" + ROW),
    "a row in the last byte": lambda _: rows(ADVANCE + b"\x3f" + ROW),
    "a call": lambda version: call(version, name=NAME, file=1),
    "a pattern": lambda version: pattern(version, NAME),
}
UNSOUND: dict[str, Callable[[int], bytes]] = {
    "a row has a file": lambda _: rows(SET_FILE + b"\x02" + ROW),
    "outside of its function": lambda _: rows(ADVANCE + b"\x40" + ROW),
    "call has a name": lambda version: call(version, name=STRINGS, file=1),
    "call has a file": lambda version: call(version, name=NAME, file=2),
    "is empty": lambda version: call(version, name=NAME, file=1, size=0),
    "has a pattern": lambda version: pattern(version, STRINGS),
    "function has a name": merged,
}


@every_version
@pytest.mark.parametrize("body", SOUND.values(), ids=SOUND)
def test_a_record_with_valid_references_passes(
    version: int, body: Callable[[int], bytes]
) -> None:
    checked(file_with(version, body(version) + END_OF_LIST))


@every_version
@pytest.mark.parametrize("complaint", UNSOUND)
def test_a_dangling_reference_is_reported(version: int, complaint: str) -> None:
    data = file_with(version, UNSOUND[complaint](version) + END_OF_LIST)
    with pytest.raises(gsym.FormatError, match=complaint):
        checked(data)


@every_version
@pytest.mark.parametrize("name", [0, STRINGS])
def test_a_function_has_a_name(version: int, name: int) -> None:
    with pytest.raises(gsym.FormatError):
        checked(file_with(version, END_OF_LIST, name=name))


@every_version
def test_what_is_reported_fails_the_thorough_check_too(
    version: int, tmp_path: Path
) -> None:
    data = small_file(version, "little")
    path = tmp_path / "a.gsym"
    told = 0
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 0xFF
        try:
            with gsym.Reader(bytes(changed)) as reader:
                check_records(reader)
        except gsym.GsymError:
            told += 1
            path.write_bytes(changed)
            assert check_structure(str(path)), at
    assert told > len(data) // 10


def test_functions_out_of_order_are_reported() -> None:
    data = small_file(1, "little")
    with gsym.Reader(data) as reader:
        starts = [function.start for function in reader.functions()]
        at, width = HEAD_SIZE, reader.header.addr_off_size
    assert starts[1] == START
    first, second = data[at : at + width], data[at + width : at + 2 * width]
    swapped = data[:at] + second + first + data[at + 2 * width :]
    with pytest.raises(gsym.FormatError):
        checked(swapped)
