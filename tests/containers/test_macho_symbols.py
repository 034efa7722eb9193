"""Symbols of Mach-O files: which of them are functions, and how far those reach."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dwarf import Dwarf
from tests.inputs.macho import (
    ABSOLUTE,
    ARM,
    CODE,
    EXTERNAL,
    IN_SECTION,
    N_FUN,
    N_OSO,
    N_SO,
    SYMBOL_STUBS,
    THUMB,
    UNDEFINED,
    Macho,
    Section,
    Symbol,
    code,
    debug_sections,
)
from tests.inputs.program import function, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

MAIN = Symbol("_main", 0x1000)
DATA = Section("__data", bytes(16), "__DATA", 0x4000)
LOCAL = IN_SECTION
SIZES = "llvm-gsymutil gives symbols of Mach-O files no size"


def with_symbols(
    *symbols: Symbol, starts: Sequence[int] = (), debug: bool = False
) -> bytes:
    dwarf = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections() if debug else {}
    sections = [code(), DATA, *debug_sections(dwarf)]
    return Macho(sections, symbols, function_starts=starts).to_bytes()


LONG = "n" * 70_000
CASES = [
    Case(
        "each reaches to the next, the last to the end of its section",
        with_symbols(Symbol("_b", 0x1100), Symbol("_a", 0x1000, type=LOCAL)),
        words("""
            1000-1100 a
            1100-2000 b
        """),
        SIZES,
    ),
    Case(
        "a function start without a name ends the one before",
        with_symbols(MAIN, Symbol("_b", 0x1100), starts=[0x1000, 0x1040, 0x1100]),
        words("""
            1000-1040 main
            1100-2000 b
        """),
        SIZES,
    ),
    Case(
        "one underscore is no part of a name",
        with_symbols(
            Symbol("__Z3foov", 0x1000),
            Symbol("___cxa", 0x1010),
            Symbol("-[A b]", 0x1020),
        ),
        words("""
            1000-1010 _Z3foov
            1010-1020 __cxa
            1020-2000 -[A b]
        """),
        SIZES,
    ),
    Case(
        "a name of more than 64 KiB",
        with_symbols(Symbol("_" + LONG, 0x1000), Symbol("_b", 0x1010)),
        f"1000-1010 {LONG}\n1010-2000 b\n",
        SIZES,
    ),
    Case(
        "a name that is one underscore is none",
        with_symbols(MAIN, Symbol("_", 0x1030)),
        "1000-1030 main\n",
        "llvm-gsymutil writes a record without a name, which it cannot read",
    ),
    Case(
        "no data, nothing for debuggers, nothing that is defined elsewhere",
        with_symbols(
            MAIN,
            Symbol("_table", 0x4000, "__data"),
            Symbol("_code_by_address", 0x1010, "__data"),
            Symbol("_import", 0, 0, UNDEFINED | EXTERNAL),
            Symbol("_absolute", 0x1010, 0, ABSOLUTE | EXTERNAL),
            Symbol("/src/", 0, 0, N_SO),
            Symbol("_f", 0x1080, type=N_FUN),
            Symbol("", 0x10, 0, N_FUN),
            Symbol("/src/data.o", 0, 0, N_OSO),
            Symbol("_far", 0x2000),
            Symbol("__mh_execute_header", 0),
            Symbol("_nowhere", 0x1010, 77),
        ),
        "1000-2000 main\n",
    ),
    Case(
        "no labels of the assembler",
        with_symbols(Symbol("ltmp0", 0x1000), MAIN, Symbol("ltmp_", 0x1100)),
        words("""
            1000-1100 main
            1100-2000 ltmp_
        """),
        SIZES,
    ),
    Case(
        "of one address the last",
        with_symbols(MAIN, Symbol("_alias", 0x1000), Symbol("_b", 0x1100)),
        words("""
            1000-1100 alias
            1100-2000 b
        """),
        SIZES,
    ),
    Case(
        "what has debug information keeps its name and size",
        with_symbols(Symbol("_other_name", 0x1000), Symbol("_b", 0x1020), debug=True),
        words("""
            1000-1010 f
            1020-2000 b
        """),
    ),
    Case(
        "no symbol inside a function of the debug information",
        with_symbols(MAIN, Symbol("_label", 0x1008), Symbol("_b", 0x1020), debug=True),
        words("""
            1000-1010 f
            1020-2000 b
        """),
        SIZES,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_symbols(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_every_kind_of_file(bits: int, byteorder: ByteOrder, tmp_path: Path) -> None:
    macho = Macho(
        [code(), code(0x3000, 0x20, "__init")],
        [MAIN, Symbol("_a", 0x1100), Symbol("_init", 0x3000, "__init")],
        function_starts=[0x1000, 0x1080, 0x1100, 0x3010],
        base=0x800,
        bits=bits,
        byteorder=byteorder,
    )
    assert describe(convert_bytes(tmp_path, macho.to_bytes()).functions) == words("""
        1000-1080 main
        1100-2000 a
        3000-3010 init
    """)


def test_the_thumb_bit_is_no_part_of_an_address(tmp_path: Path) -> None:
    macho = Macho(
        [code()],
        [
            Symbol("_thumb", 0x1001, description=THUMB),
            Symbol("_even", 0x1010, description=THUMB),
            Symbol("_arm", 0x1020),
        ],
        function_starts=[0x1001, 0x1011, 0x1020, 0x1031],
        bits=32,
        cpu=(ARM, 9),
    )
    assert describe(convert_bytes(tmp_path, macho.to_bytes()).functions) == words("""
        1000-1010 thumb
        1010-1020 even
        1020-1030 arm
    """)


# ---- stubs

IMPORTS = (
    Symbol("_puts", 0, 0, UNDEFINED | EXTERNAL),
    Symbol("__ZdlPv", 0x1000),
    Symbol("", 0, 0, UNDEFINED | EXTERNAL),
)
LOCAL_POINTER, ABSOLUTE_POINTER = 0x80000000, 0x40000000


def with_stubs(
    indirect: Sequence[int],
    *stubs: Section,
    symbols: Sequence[Symbol] = IMPORTS,
    bits: int = 64,
    byteorder: ByteOrder = "little",
) -> bytes:
    sections = [code(0x1000, 0x10), *stubs]
    return Macho(
        sections, symbols, indirect=indirect, bits=bits, byteorder=byteorder
    ).to_bytes()


def stubs(
    address: int, count: int, first: int = 0, size: int = 6, name: str = "__stubs"
) -> Section:
    return Section(
        name,
        address=address,
        size=count * size,
        flags=CODE | SYMBOL_STUBS,
        indirect_first=first,
        stub_size=size,
    )


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_stubs_are_named_after_the_function_they_call(
    bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    indirect = (9, 0, LOCAL_POINTER | ABSOLUTE_POINTER, ABSOLUTE_POINTER, 2, 99, 1, 0)
    sections = (stubs(0x2000, 6, first=1), stubs(0x3000, 2, 7, 12, "__auth_stubs"))
    image = with_stubs(indirect, *sections, bits=bits, byteorder=byteorder)
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1010 _ZdlPv
        2000-2006 symbol stub for: puts
        201e-2024 symbol stub for: _ZdlPv
        3000-300c symbol stub for: puts
    """)


@pytest.mark.parametrize(
    "section",
    [
        stubs(0x2000, 1, size=0),
        stubs(0x2000, 1, first=0xFFFFFFFF),
        replace(stubs(0x2000, 0), size=5),
        replace(stubs(0x2000, 1), flags=CODE),
    ],
    ids=["no size", "no entries", "too small", "other code"],
)
def test_stubs_without_extent_are_none(section: Section, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, with_stubs([0], section))
    assert describe(converted.functions) == "1000-1010 _ZdlPv\n"


def test_sections_that_share_stubs_cost_no_more_than_one(tmp_path: Path) -> None:
    many = [stubs(0x10000 + n * 0x1000, 400) for n in range(2000)]
    report = convert_bytes(tmp_path, with_stubs([0] * 400, *many)).report
    assert report.functions_symbol_table == 401
    assert report.warnings == {LIMIT_REACHED: len(many) - 1}


def test_sections_that_share_entries_without_a_name_cost_no_more_than_one(
    tmp_path: Path,
) -> None:
    many = [stubs(0x10000 + n * 0x1000, 400) for n in range(2000)]
    report = convert_bytes(tmp_path, with_stubs([LOCAL_POINTER] * 400, *many)).report
    assert report.functions_symbol_table == 1
    assert report.warnings == {LIMIT_REACHED: len(many) - 1}


def test_stubs_may_call_functions_with_names_of_more_than_64_kib(
    tmp_path: Path,
) -> None:
    symbol = Symbol("_" + LONG, 0, 0, UNDEFINED | EXTERNAL)
    image = with_stubs([0], stubs(0x2000, 1), symbols=[symbol])
    [stub] = convert_bytes(tmp_path, image).functions
    assert stub.name == f"symbol stub for: {LONG}"


def test_stubs_that_share_a_long_name_cost_no_more_than_the_names(
    tmp_path: Path,
) -> None:
    symbol = Symbol("_" + 60_000 * "n", 0, 0, UNDEFINED | EXTERNAL)
    image = with_stubs([0] * 10_000, stubs(0x2000, 10_000), symbols=[symbol])
    converted = convert_bytes(tmp_path, image)
    found = converted.report.functions
    assert found < 100
    assert converted.report.warnings == {LIMIT_REACHED: 10_000 - found}
