"""Linkers move the debug information of code that they drop to address 0.

Where the image has code there, its symbols say whose it is.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import convert_bytes, describe, words
from tests.inputs import pe
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Lang, Tag
from tests.inputs.elf import (
    AVR,
    NOTYPE,
    RELOCATABLE,
    Elf,
    Section,
    Symbol,
    code_section,
    elf_of,
)
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import function, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.dwarf import Unit

LIVE = Symbol("live", 0, 0x20)
NEXT = Symbol("next", 0x20, 0x10)


def converted(  # noqa: PLR0913 - keywords, each a choice of its own
    folder: Path,
    *units: Unit,
    symbols: Sequence[Symbol] = (LIVE, NEXT),
    text: tuple[int, int] = (0, 0x100),
    size: int = 8,
    entry: int = 0x20,
    kind: int = 2,
) -> str:
    sections = Dwarf(list(units), address_size=size).sections().items()
    image = Elf(
        [code_section(*text), *(Section(name, data) for name, data in sections)],
        symbols=symbols,
        bits=64 if size == 8 else 32,
        entry=entry,
        type=kind,
    ).to_bytes()
    return describe(convert_bytes(folder, image).functions)


def c_unit(*dies: Die, version: int = 4, lines: LineProgram | None = None) -> Unit:
    return unit(*dies, version=version, language=Lang.C99, lines=lines)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [2, 4, 8])
@pytest.mark.parametrize("extent", [0x8, 0x20, 0x60])
def test_the_function_at_0_is_the_one_that_its_symbol_names(
    version: int, size: int, extent: int, tmp_path: Path
) -> None:
    """The other was dropped, whether it is shorter, longer or as long."""
    dies = [
        function("dropped", 0, extent),
        function("live", 0, 0x20),
        function("next", 0x20, 0x30),
    ]
    for order in (dies, dies[::-1]):
        text = converted(tmp_path, c_unit(*order, version=version), size=size)
        assert text == "0-20 live\n20-30 next\n"


def test_the_name_of_the_function_at_0_may_be_long(tmp_path: Path) -> None:
    name = "f" * 60_000
    lines = LineProgram(sequence((0, 10), end=0x20))
    text = converted(
        tmp_path,
        c_unit(function(name, 0, 0x20), lines=lines),
        symbols=[Symbol(name, 0, 0x20), NEXT],
    )
    assert text == f"0-20 {name}\n  0 /src/a.c:10\n20-30 next\n"


def test_a_long_name_that_many_symbols_share_is_compared_up_to_a_limit(
    tmp_path: Path,
) -> None:
    name = "f" * 60_000
    symbols = [Symbol(name if not n else "", 0x20 * n, 0x20) for n in range(80)]
    sections = Dwarf([c_unit(function(name, 0, 0x20))]).sections()
    text = [code_section(0, 0x1000)]
    image = bytearray(elf_of(sections, *text, symbols=symbols))
    table = ELFFile(io.BytesIO(image)).get_section_by_name(".symtab")
    assert table is not None
    start, size = table["sh_offset"], table["sh_entsize"]
    for n in range(80):
        at = start + size * (n + 1)
        image[at : at + 4] = image[start + size : start + size + 4]
    report = convert_bytes(tmp_path, bytes(image)).report
    assert 20 < report.warnings[LIMIT_REACHED] < 80
    assert report.functions == 80


def test_rows_are_those_of_the_function_that_is_there(tmp_path: Path) -> None:
    lines = LineProgram(
        [
            *sequence((0, 50), (0x30, 51), end=0x60),
            *sequence((0, 70), end=0x8),
            *sequence((0, 10), (0x10, 11), end=0x20),
            *sequence((0x20, 20), end=0x30),
        ]
    )
    dies = [
        function("long", 0, 0x60),
        function("short", 0, 8),
        function("live", 0, 0x20),
    ]
    assert converted(tmp_path, c_unit(*dies, lines=lines)) == words("""
        0-20 live
          0 /src/a.c:10
          10 /src/a.c:11
        20-30 next
          20 /src/a.c:20
    """)


def test_a_function_is_in_another_unit_than_the_dropped_one(tmp_path: Path) -> None:
    units = [
        c_unit(
            function("dropped", 0, 0x60), lines=LineProgram(sequence((0, 9), end=0x60))
        ),
        c_unit(
            function("live", 0, 0x20), lines=LineProgram(sequence((0, 3), end=0x20))
        ),
    ]
    for order in (units, units[::-1]):
        assert converted(tmp_path, *order) == words("""
            0-20 live
              0 /src/a.c:3
            20-30 next
        """)


def test_all_functions_of_a_dropped_section_are_left_out(tmp_path: Path) -> None:
    """Those after the first are not at 0."""
    lines = LineProgram(sequence((0, 1), (0x10, 2), (0x24, 3), end=0x40))
    dies = [function(f"f{at}", at, at + 4) for at in (0, 0x10, 0x20, 0x24)]
    assert converted(tmp_path, c_unit(*dies, lines=lines)) == "0-20 live\n20-30 next\n"


def test_a_section_at_0_has_functions_without_symbols(tmp_path: Path) -> None:
    lines = LineProgram(sequence((0, 1), end=0x40))
    dies = [function("live", 0, 0x20), function("local", 0x30, 0x40)]
    text = converted(tmp_path, c_unit(*dies, lines=lines))
    assert text == words("""
        0-20 live
          0 /src/a.c:1
        20-30 next
          20 /src/a.c:1
        30-40 local
          30 /src/a.c:1
    """)


@pytest.mark.parametrize(
    ("entry", "end", "is_there"),
    [
        (0, 0x08, True),
        (0x20, 0x08, False),
        (0x20, 0x30, False),
        # It fills what is before the entry point, but for padding.
        (0x20, 0x20, True),
        (0x20, 0x14, True),
    ],
)
def test_without_a_symbol_the_entry_point_decides(
    entry: int, end: int, tmp_path: Path, *, is_there: bool
) -> None:
    dies = [function("f", 0, end), function("g", 0x40, 0x50)]
    symbols = [Symbol("g", 0x40, 0x10)]
    text = converted(tmp_path, c_unit(*dies), symbols=symbols, entry=entry)
    assert text == (f"0-{end:x} f\n" if is_there else "") + "40-50 g\n"


def test_without_a_symbol_table_all_functions_count(tmp_path: Path) -> None:
    dies = [function("f", 0, 8), function("g", 0x40, 0x50)]
    text = converted(tmp_path, c_unit(*dies), symbols=[], entry=0x40)
    assert text == "0-8 f\n40-50 g\n"


def test_a_symbol_without_a_size_names_what_is_there(tmp_path: Path) -> None:
    symbols = [Symbol("live", 0, 0, NOTYPE)]
    dies = [function("dropped", 0, 0x10), function("live", 0, 0x20)]
    assert converted(tmp_path, c_unit(*dies), symbols=symbols) == "0-20 live\n"


@pytest.mark.parametrize("name", ["live.constprop.0", "live.isra.0", "_live"])
def test_symbols_may_spell_a_name_of_c_otherwise(name: str, tmp_path: Path) -> None:
    dies = [function("dropped", 0, 0x20), function("live", 0, 0x20)]
    text = converted(tmp_path, c_unit(*dies), symbols=[Symbol(name, 0, 0x20)])
    assert text == f"0-20 {name}\n"


def test_names_with_scopes_are_not_compared(tmp_path: Path) -> None:
    """Those of C++ functions without a linkage name: only sizes are."""
    space = Die(Tag.namespace, {At.name: "n"}, function("f", 0, 0x20))
    symbols = [Symbol("_ZN1n1fEv", 0, 0x20)]
    text = converted(tmp_path, unit(space, function("g", 0, 8)), symbols=symbols)
    assert text == "0-20 _ZN1n1fEv\n"


def test_a_list_of_ranges_may_count_from_dropped_code(tmp_path: Path) -> None:
    """GNU ld writes 1 for it into .debug_ranges, since two 0 end a list."""
    lists = ranges(RangeEntry.base_address(1), (0, 0x10), (0x40, 0x48))
    dropped = Die(Tag.subprogram, {At.name: "dropped", At.ranges: lists})
    main = c_unit(dropped, function("live", 0, 0x20), version=4)
    assert converted(tmp_path, main) == "0-20 live\n20-30 next\n"


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (0x20, "0-20 live\n  0 /src/a.c:7\n20-30 next\n"),
        (0x28, "0-20 live\n20-30 next\n"),
    ],
)
def test_rows_without_functions_are_there_where_no_symbol_contains_their_end(
    end: int, expected: str, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0, 7), end=end))
    assert converted(tmp_path, c_unit(lines=lines)) == expected


def test_code_elsewhere_is_not_asked_for_symbols(tmp_path: Path) -> None:
    dies = [function("dropped", 0, 0x60), function("f", 0x1000, 0x1010)]
    text = converted(
        tmp_path, c_unit(*dies), symbols=[Symbol("g", 0x1000, 4)], text=(0x1000, 0x100)
    )
    assert text == "1000-1010 f\n"


def test_an_object_of_several_has_what_its_symbols_name(tmp_path: Path) -> None:
    """`ld -r` leaves the DIEs of the copies that it drops, without relocations."""
    dies = [function("dropped", 0, 0x20), function("live", 0, 0x20)]
    text = converted(tmp_path, c_unit(*dies, version=4), kind=RELOCATABLE, entry=0)
    assert text == "0-20 live\n20-30 next\n"


def test_a_coff_object_of_several_has_what_its_symbols_name(tmp_path: Path) -> None:
    main = c_unit(function("dropped", 0, 0x10), function("live", 0, 0x20))
    sections = Dwarf([main]).sections().items()
    image = pe.Pe(
        [
            pe.Section(".text", bytes(0x40), 0, pe.CODE),
            *(pe.Section(name, data, 0, pe.DISCARDABLE) for name, data in sections),
        ],
        [pe.Symbol("live", 0), pe.Symbol("next", 0x20)],
        image_base=None,
    ).to_bytes()
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == "0-20 live\n20-40 next\n"


@pytest.mark.parametrize("order", [1, -1])
def test_functions_above_64_kib_have_the_address_of_their_symbol(
    order: int, tmp_path: Path
) -> None:
    """Clang for AVR describes them with the lower 16 bits of their addresses."""
    low, high = function("low", 0x200, 0x210), function("high", 0x200, 0x220)
    lines = LineProgram(
        [*sequence((0x200, 10), end=0x220), *sequence((0x200, 20), end=0x210)]
    )
    dies = [
        Die(die.tag, {**die.attributes, At.decl_file: 1, At.decl_line: line})
        for die, line in ((low, 20), (high, 10))
    ]
    main = c_unit(*dies[::order], lines=lines)
    sections = Dwarf([main], address_size=2).sections().items()
    image = Elf(
        [
            code_section(0x100, 0x300),
            code_section(0x30000, 0x300, ".far"),
            *(Section(name, data) for name, data in sections),
        ],
        symbols=[
            Symbol("low", 0x200, 0x10),
            Symbol("high", 0x30200, 0x20, section=".far"),
        ],
        bits=32,
        machine=AVR,
    ).to_bytes()
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == (
        "200-210 low\n  200 /src/a.c:20\n30200-30220 high\n  30200 /src/a.c:10\n"
    )
