"""Records and their bytes: one table, read and written, in all byte orders.

The bytes of line tables and of the marked records were written by llvm-gsymutil.
A record is spelled as parts, so that one row of the table serves both versions and
both byte orders: plain hex does not depend on them, the other parts do.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from tests import oracle
from tests.creations import create
from tests.strategies import BYTE_ORDERS, VERSIONS
from tests.views import (
    Tables,
    function_from_oracle,
    functions_from_oracle,
    to_oracle,
)

if TYPE_CHECKING:
    from collections.abc import Callable

START = 0x100


@dataclass(frozen=True)
class U16:
    value: int


@dataclass(frozen=True)
class U32:
    value: int


@dataclass(frozen=True)
class U64:
    value: int


@dataclass(frozen=True)
class Name:
    """Offset of a string: 4 bytes in version 1, 8 bytes in version 2."""

    text: str


@dataclass(frozen=True)
class Counted:
    """A u32 length and the bytes that it counts."""

    parts: tuple[Part, ...]


Part = str | U16 | U32 | U64 | Name | Counted
END_OF_LIST = (U32(0), U32(0))


def assemble(
    parts: tuple[Part, ...], version: int, byteorder: str, strp: Callable[[str], int]
) -> bytes:
    encoder = oracle.Encoder(byteorder, strp_size=4 if version == 1 else 8)
    out = b""
    for part in parts:
        if isinstance(part, str):
            out += bytes.fromhex(part)
        elif isinstance(part, U16):
            out += encoder.unsigned(part.value, 2)
        elif isinstance(part, U32):
            out += encoder.unsigned(part.value, 4)
        elif isinstance(part, U64):
            out += encoder.unsigned(part.value, 8)
        elif isinstance(part, Name):
            out += encoder.strp(strp(part.text))
        else:
            payload = assemble(part.parts, version, byteorder, strp)
            out += encoder.unsigned(len(payload), 4) + payload
    return out


# ---- the table ----------------------------------------------------------------

Row = tuple[int, str, int]  # address - START, path, line

# Files 1, 2 and 3 of every file made here.
A, B, C = "a.c", "b.c", "c.c"

LINE_TABLES: dict[str, tuple[list[Row], str]] = {
    "a jump of address and line": (
        [(0, A, 10), (0x10, A, 11), (0x100, A, 1000)],
        "00 01 0a 04 25 03 dd 07 02 f0 01 00",
    ),
    "many special opcodes of one delta": (
        [
            *[(0, A, 10), (0x10, A, 11), (0x100, A, 1000), (0x120, A, 900)],
            *[(0x120, A, 2000), (0x121, A, 2001), (0x122, A, 2002), (0x123, A, 2003)],
        ],
        "00 01 0a 04 25 03 dd 07 02 f0 01 03 9c 7f 02 20 03 cc 08 02 00 07 07 07 00",
    ),
    "two files in turn, and deltas too far apart for one range": (
        [
            *[(0, A, 5), (0x10, B, 10), (0x12, B, 20), (0x14, B, 11)],
            *[(0x16, B, 30), (0x18, B, 12), (0x20, A, 8)],
        ],
        "6e 7c 05 02 00 01 02 03 05 02 10 03 0a 02 02 2b 03 13 02 02 22 01 01 8a 00",
    ),
    "one row": ([(0, A, 40)], "00 00 28 04 00"),
    "a file other than the first": (
        [(0, B, 7), (4, B, 8)],
        "00 01 07 01 02 04 0d 00",
    ),
    "one small delta, widened to 0": (
        [(0, A, 1), (4, A, 4), (8, A, 7)],
        "00 03 01 04 17 17 00",
    ),
    "one negative delta": (
        [(0, A, 9), (4, A, 6), (8, A, 3)],
        "7d 7d 09 02 00 08 08 00",
    ),
    "one delta of 14, not widened": (
        [(0, A, 1), (4, A, 15), (8, A, 29)],
        "0e 0e 01 02 00 08 08 00",
    ),
    "a line back and forth": (
        [(0, A, 4), (6, A, 3), (0x13, A, 4)],
        "7f 01 04 05 16 2d 00",
    ),
}


@dataclass(frozen=True)
class Vector:
    function: gsym.FunctionInfo
    parts: tuple[Part, ...]


def line_table_vector(rows: list[Row], payload: str) -> Vector:
    return Vector(
        gsym.FunctionInfo(
            START,
            0x200,
            "f",
            tuple(gsym.LineEntry(START + at, path, line) for at, path, line in rows),
        ),
        (U32(0x200), Name("f"), U32(1), Counted((payload,)), *END_OF_LIST),
    )


def inline(
    name: str,
    path: str,
    line: int,
    ranges: tuple[tuple[int, int], ...],
    *children: gsym.InlineInfo,
) -> gsym.InlineInfo:
    extents = tuple(gsym.Range(START + start, START + end) for start, end in ranges)
    return gsym.InlineInfo(name, path, line, extents, children)


MINIMAL = Vector(
    gsym.FunctionInfo(START, 0x100, "f"), (U32(0x100), Name("f"), *END_OF_LIST)
)

LINES_AND_INLINE = Vector(
    gsym.FunctionInfo(
        START,
        0x30,
        "work",
        (
            gsym.LineEntry(START, A, 4),
            gsym.LineEntry(START + 6, A, 3),
            gsym.LineEntry(START + 0x13, A, 4),
        ),
        inline(
            *("work", "", 0, ((0, 0x30),)),
            inline("mul", A, 4, ((6, 0x13),)),
        ),
    ),
    (
        *(U32(0x30), Name("work")),
        *(U32(1), Counted(("7f 01 04 05 16 2d 00",))),
        U32(2),
        Counted(
            (
                *("01 00 30 01", Name("work"), "00 00"),
                *("01 06 0d 00", Name("mul"), "01 04"),
                "00",
            )
        ),
        *END_OF_LIST,
    ),
)

CHILD = gsym.FunctionInfo(START, 0x10, "g", (gsym.LineEntry(START, A, 40),))
CHILD_PARTS = (
    *(U32(0x10), Name("g"), U32(1), Counted(("00 00 28 04 00",))),
    *END_OF_LIST,
)

VECTORS: dict[str, Vector] = {
    **{name: line_table_vector(*case) for name, case in LINE_TABLES.items()},
    "nothing but range and name": MINIMAL,
    "a symbol without a size": Vector(
        gsym.FunctionInfo(START, 0, "f"), (U32(0), Name("f"), *END_OF_LIST)
    ),
    "lines and one inlined call": LINES_AND_INLINE,
    "inlined calls, two levels deep": Vector(
        gsym.FunctionInfo(
            START,
            0x100,
            "f",
            None,
            inline(
                *("", "", 0, ((0, 0x100),)),
                inline(
                    *("one", A, 11, ((0x50, 0x60),)),
                    inline("two", B, 22, ((0x52, 0x55),)),
                    inline("three", C, 33, ((0x57, 0x58),)),
                ),
            ),
        ),
        (
            *(U32(0x100), Name("f"), U32(2)),
            Counted(
                (
                    *("01 00 80 02 01", Name(""), "00 00"),
                    *("01 50 10 01", Name("one"), "01 0b"),
                    *("01 02 03 00", Name("two"), "02 16"),
                    *("01 07 01 00", Name("three"), "03 21"),
                    "00 00",
                )
            ),
            *END_OF_LIST,
        ),
    ),
    "children count from the first of several ranges": Vector(
        gsym.FunctionInfo(
            START,
            0x100,
            "f",
            None,
            inline(
                *("f", "", 0, ((0, 0x100),)),
                inline(
                    *("one", A, 300, ((0x10, 0x20), (0x90, 0xA0))),
                    inline("two", B, 0, ((0x98, 0x99),)),
                ),
            ),
        ),
        (
            *(U32(0x100), Name("f"), U32(2)),
            Counted(
                (
                    *("01 00 80 02 01", Name("f"), "00 00"),
                    *("02 10 10 90 01 10 01", Name("one"), "01 ac 02"),
                    *("01 88 01 01 00", Name("two"), "02 00"),
                    "00 00",
                )
            ),
            *END_OF_LIST,
        ),
    ),
    "two functions folded into a third": Vector(
        gsym.FunctionInfo(
            START, 0x10, "f", merged=(CHILD, gsym.FunctionInfo(START, 0x10, "h"))
        ),
        (
            *(U32(0x10), Name("f"), U32(3)),
            Counted(
                (
                    U32(2),
                    Counted(CHILD_PARTS),
                    Counted((U32(0x10), Name("h"), *END_OF_LIST)),
                )
            ),
            *END_OF_LIST,
        ),
    ),
    "call sites": Vector(
        gsym.FunctionInfo(
            START,
            0x40,
            "f",
            call_sites=(
                gsym.CallSite(0x12345, 2, ("g.*", "h")),
                gsym.CallSite(0x20, 1, ()),
            ),
        ),
        (
            *(U32(0x40), Name("f"), U32(4)),
            Counted(
                (
                    U32(2),
                    *(U64(0x12345), "02", U32(2), Name("g.*"), Name("h")),
                    *(U64(0x20), "01", U32(0)),
                )
            ),
            *END_OF_LIST,
        ),
    ),
    "kinds of information that are not known": Vector(
        gsym.FunctionInfo(START, 1, "f", extra={5: b"", 0xFFFF_FFFF: b"\x01\x02\x03"}),
        (
            *(U32(1), Name("f")),
            *(U32(5), Counted(())),
            *(U32(0xFFFF_FFFF), Counted(("01 02 03",))),
            *END_OF_LIST,
        ),
    ),
    "all kinds, in ascending order": Vector(
        gsym.FunctionInfo(
            START,
            0x10,
            "f",
            (gsym.LineEntry(START, A, 40),),
            inline("f", "", 0, ((0, 0x10),), inline("one", B, 2, ((4, 5),))),
            (CHILD,),
            (gsym.CallSite(6, 0, ()),),
            {6: b"\xaa"},
        ),
        (
            *(U32(0x10), Name("f")),
            *(U32(1), Counted(("00 00 28 04 00",))),
            U32(2),
            Counted(
                (
                    *("01 00 10 01", Name("f"), "00 00"),
                    *("01 04 01 00", Name("one"), "02 02"),
                    "00",
                )
            ),
            *(U32(3), Counted((U32(1), Counted(CHILD_PARTS)))),
            *(U32(4), Counted((U32(1), U64(6), "00", U32(0)))),
            *(U32(6), Counted(("aa",))),
            *END_OF_LIST,
        ),
    ),
}

# What stood in the files, version 1 and little-endian, byte for byte.
LITERAL_RECORDS = [
    (MINIMAL, {"f": 1}, "00010000 01000000 00000000 00000000"),
    (
        LINES_AND_INLINE,
        {"work": 0x01, "mul": 0x16},
        """
        30000000 01000000
        01000000 07000000 7f0104 05162d00
        02000000 15000000 01003001 01000000 0000 01060d00 16000000 0104 00
        00000000 00000000
        """,
    ),
]

# ---- both directions ------------------------------------------------------------

every_vector = pytest.mark.parametrize("name", VECTORS)
KINDS = list(itertools.product(VERSIONS, BYTE_ORDERS))
every_kind = pytest.mark.parametrize(("version", "byteorder"), KINDS)

# Stands before the function under test and fixes the numbers of the files.
FIRST = gsym.FunctionInfo(
    0,
    3,
    "first",
    tuple(gsym.LineEntry(at, path, 1) for at, path in enumerate((A, B, C))),
)


def file_with_record(name: str, version: int, byteorder: str) -> bytes:
    """A file whose second and last record are the bytes of vector *name*."""
    vector = VECTORS[name]
    tables = Tables()
    tables.function(FIRST)
    tables.function(vector.function)
    file = to_oracle([FIRST, vector.function], version, byteorder)
    first = oracle.Encoder(byteorder, 4 if version == 1 else 8).function(
        file.functions[0]
    )
    record = assemble(vector.parts, version, byteorder, tables.string)
    return oracle.encode_file(file, [first, record])


@pytest.mark.parametrize(("vector", "strps", "literal"), LITERAL_RECORDS)
def test_the_table_spells_the_records_of_llvm(
    vector: Vector, strps: dict[str, int], literal: str
) -> None:
    spelled = assemble(vector.parts, 1, "little", strps.__getitem__)
    assert spelled == bytes.fromhex(literal)


@every_vector
def test_the_creator_writes_the_record(name: str) -> None:
    vector = VECTORS[name]
    for version, byteorder in KINDS:
        data = create([FIRST, vector.function], version=version, byteorder=byteorder)
        strings = oracle.decode_file(data).strings

        def strp(text: str, strings: bytes = strings) -> int:
            return strings.index(b"\0%s\0" % text.encode()) + 1 if text else 0

        record = assemble(vector.parts, version, byteorder, strp)
        assert data[-len(record) :] == record  # it is the last one


@every_vector
@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_the_reader_and_the_oracle_read_the_record(
    name: str, version: int, byteorder: str
) -> None:
    data = file_with_record(name, version, byteorder)
    with gsym.Reader(data) as reader:
        assert list(reader.functions()) == [FIRST, VECTORS[name].function]
    file = oracle.decode_file(data)
    assert function_from_oracle(file, file.functions[-1]) == VECTORS[name].function
    assert oracle.encode_file(file) == data


# ---- whole files -------------------------------------------------------------------

UUID = bytes.fromhex("aabbccdd")
ONE_FUNCTION = gsym.FunctionInfo(
    0x1234, 0x10, "f", (gsym.LineEntry(0x1234, "d/a.c", 7),)
)
BASE = 0x1000
STRINGS = "00 66 00 64 00 612e6300"  # f, d, a.c
STRPS = {"f": 1, "d": 3, "a.c": 5}
ONE_RECORD = (
    *(U32(0x10), Name("f"), U32(1), Counted(("00 00 07 04 00",))),
    *END_OF_LIST,
)
NO_FILE = (Name(""), Name(""))

FILES: dict[int, tuple[Part, ...]] = {
    1: (
        *(U32(0x4753594D), U16(1), "02", "04", U64(BASE), U32(1)),
        *(U32(76), U32(9), "aabbccdd", "00" * 16),
        *(U16(0x234), "0000"),  # 48: address offsets, padded to 4
        U32(88),  # 52: offsets of the records
        *(U32(2), *NO_FILE, Name("d"), Name("a.c")),  # 56: files
        *(STRINGS, "000000"),  # 76: strings; the records are aligned to 4
        *ONE_RECORD,  # 88
    ),
    2: (
        *(U32(0x4753594D), U16(2), "02", "00", U64(BASE), U32(1)),
        *(U32(6), U64(160), U64(4)),
        *(U32(1), U64(164), U64(2)),
        *(U32(2), U64(168), U64(8)),
        *(U32(4), U64(176), U64(36)),
        *(U32(3), U64(212), U64(9)),
        *(U32(5), U64(224), U64(33)),
        *(U32(0), U64(0), U64(0)),
        "aabbccdd",  # 160
        *(U16(0x234), "0000"),  # 164, padded to 8
        U64(0),  # 168: from the start of the section of records
        *(U32(2), *NO_FILE, Name("d"), Name("a.c")),  # 176
        *(STRINGS, "000000"),  # 212
        *ONE_RECORD,  # 224
    ),
}


def whole_file(version: int, byteorder: str) -> bytes:
    return assemble(FILES[version], version, byteorder, lambda name: STRPS.get(name, 0))


@every_kind
def test_a_whole_file_is_written_and_read(version: int, byteorder: str) -> None:
    data = whole_file(version, byteorder)
    options: dict[str, Any] = {"base_address": BASE, "uuid": UUID}
    options |= {"version": version, "byteorder": byteorder}
    assert create([ONE_FUNCTION], **options) == data
    with gsym.Reader(data) as reader:
        assert reader.header == gsym.Header(
            *(version, byteorder, 2, UUID, BASE, 1, 2),
            strtab_offset=76 if version == 1 else 212,
            strtab_size=9,
        )
        assert list(reader.functions()) == [ONE_FUNCTION]
    file = oracle.decode_file(data)
    assert functions_from_oracle(file) == [ONE_FUNCTION]
    assert (file.uuid, file.base_address) == (UUID, BASE)
    assert oracle.encode_file(file) == data
