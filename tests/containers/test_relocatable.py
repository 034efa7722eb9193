"""Relocatable files as a whole: where sections are placed, what is found in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from tests.conversions import convert_bytes, describe, settle, words
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import (
    ABSOLUTE,
    ALLOC,
    CODE,
    CUDA,
    EXECUTABLE,
    EXECUTE,
    I386,
    NOBITS,
    NOTYPE,
    PROGBITS,
    REL,
    RELA,
    RELOCATABLE,
    X86_64,
    Compression,
    Elf,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import unit
from tests.inputs.relocatable import Target, relocate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

# ---- placing -----------------------------------------------------------------------


def code(name: str, size: int, alignment: int = 1, address: int = 0) -> Section:
    return Section(
        name, kind=NOBITS, flags=CODE, address=address, size=size, alignment=alignment
    )


def data(name: str, size: int, address: int = 0) -> Section:
    return Section(name, kind=NOBITS, flags=ALLOC, address=address, size=size)


PLACES = {
    "one": ([code(".text", 0x40)], "text 0-40"),
    "in the order of the file": (
        [code(".text", 0x40), code(".text.b", 0x10), code(".text.a", 0x20)],
        "text 0-40, text.b 40-50, text.a 50-70",
    ),
    "at multiples of their alignment": (
        [code(".text", 0x41, 16), code(".text.a", 1, 1), code(".text.b", 0x20, 64)],
        "text 0-41, text.a 41-42, text.b 80-a0",
    ),
    "code before what is not code": (
        [data(".note", 0x24), code(".text", 0x40), data(".data", 8), code(".z", 8)],
        "text 0-40, z 40-48",
    ),
    "empty ones take no room": (
        [code(".text", 0), code(".text.a", 0x10)],
        "text.a 0-10",
    ),
    "an alignment that is none": (
        [code(".text", 3, 0), code(".text.a", 0x10, 12)],
        "text 0-3, text.a 3-13",
    ),
    "a section that is not loaded": (
        [Section(".x", kind=NOBITS, flags=EXECUTE, size=0x100), code(".text", 0x10)],
        "x 0-100, text 0-10",
    ),
    "addresses that are given": (
        [code(".text", 0x10, address=0x1000), code(".b", 0x10, address=0x2000)],
        "text 1000-1010, b 2000-2010",
    ),
    "in front of addresses that are given": (
        [code(".text", 0x10), code(".b", 0x10, address=0x20), code(".c", 0x10)],
        "text 0-10, b 20-30, c 10-20",
    ),
    "behind addresses that would be in the way": (
        [code(".text", 0x10), code(".b", 0x10, address=0x18), code(".c", 0x10, 32)],
        "text 28-38, b 18-28, c 40-50",
    ),
    "code before a given address, data after it if it does not fit before": (
        [code(".text", 8), data(".data", 0x100), code(".plt", 1, address=0x80)],
        "text 0-8, plt 80-81",
    ),
    "behind data that would be in the way": (
        [code(".text", 0x20), data(".data", 0x100, address=0x10)],
        "text 110-130",
    ),
}


def placed_file(
    sections: Sequence[Section], bits: int = 64, byteorder: ByteOrder = "little"
) -> bytes:
    symbols = [
        Symbol(section.name.lstrip("."), 0, section.size, section=section.name)
        for section in sections
        if section.flags & EXECUTE and section.size
    ]
    return Elf(
        sections, symbols=symbols, bits=bits, byteorder=byteorder, type=RELOCATABLE
    ).to_bytes()


@pytest.mark.parametrize("name", PLACES)
def test_sections_are_placed_one_after_the_other(name: str, tmp_path: Path) -> None:
    sections, expected = PLACES[name]
    for image in (placed_file(sections), placed_file(sections, 32, "big")):
        report = convert_bytes(tmp_path, image).report
        assert expected == ", ".join(
            f"{place.lstrip('.')} {start:x}-{end:x}"
            for place, start, end in report.placements
        )


@pytest.mark.parametrize(
    ("machine", "expected"),
    [
        (CUDA, "0-20 first\n20-60 second\n"),  # whose kernels share addresses
        (X86_64, "0-20 first\n0-40 second\n"),  # of `ld --emit-relocs`
    ],
)
def test_sections_of_cuda_are_placed_whatever_the_type_of_the_file(
    machine: int, expected: str, tmp_path: Path
) -> None:
    image = Elf(
        [code_section(0, 0x20, ".text.first"), code_section(0, 0x40, ".text.second")],
        symbols=[
            Symbol("first", 0, 0x20, section=".text.first"),
            Symbol("second", 0, 0x40, section=".text.second"),
        ],
        machine=machine,
        type=EXECUTABLE,
    ).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == expected


def test_symbols_count_from_where_their_section_is_placed(tmp_path: Path) -> None:
    sections = [code(".text", 0x20), data(".data", 8), code(".init.text", 0x10, 64)]
    image = Elf(
        sections,
        symbols=[
            Symbol("a", 0, 0x10),
            Symbol("b", 0x10, 0x10),
            Symbol("c", 8, 8, section=".init.text"),
            Symbol("d", 0, 8, section=".data"),
            Symbol("absolute", 0x44, 4, section=ABSOLUTE),
        ],
        type=RELOCATABLE,
    ).to_bytes()
    conversion = convert_bytes(tmp_path, image)
    assert describe(conversion.functions) == words("""
        0-10 a
        10-20 b
        48-50 c
        """)
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == 0


@pytest.mark.parametrize("kind", [2, NOTYPE], ids=["function", "no type"])
def test_the_end_of_a_section_is_no_place_in_the_next(
    kind: int, tmp_path: Path
) -> None:
    symbols = [
        Symbol("a", 0, 0x10),
        Symbol("end", 0x10, 0, kind),
        Symbol("b", 4, 4, section=".text.b"),
    ]
    sections = [code(".text", 0x10), code(".text.b", 0x10)]
    image = Elf(sections, symbols=symbols, type=RELOCATABLE).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        0-10 a
        14-18 b
        """)


@pytest.mark.parametrize(
    ("bits", "sizes"),
    [
        (32, (0x10, 0xFFFFFFF0)),
        (32, (0x80000000, 0x80000000)),
        (64, (0x10, (1 << 64) - 16)),
        (64, (1 << 63, 1 << 63)),
    ],
)
def test_sections_that_do_not_fit_the_address_space_are_refused(
    bits: int, sizes: tuple[int, int], tmp_path: Path
) -> None:
    sections = [code(".text", sizes[0]), code(".text.b", sizes[1])]
    with pytest.raises(gsym.FormatError, match=r"\.text\.b.*address space"):
        convert_bytes(tmp_path, placed_file(sections, bits=bits))


def test_a_section_may_end_at_the_last_address(tmp_path: Path) -> None:
    sections = [code(".text", 0x10), code(".text.b", 0xFFFFFFEF)]
    found = convert_bytes(tmp_path, placed_file(sections, bits=32)).functions
    assert describe(found) == words("0-10 text\n10-ffffffff text.b\n")


def test_the_placements_are_printed_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.o"
    path.write_bytes(placed_file([code(".text", 8), code(".text.\x1bf", 8)]))
    assert main(["convert", "-v", str(path)]) == 0
    assert "  .text at 0x0-0x8\n  .text.\\x1bf at 0x8-0x10\n" in capsys.readouterr().out
    assert main(["convert", str(path)]) == 0
    assert ".text at" not in capsys.readouterr().out


# ---- debug information -------------------------------------------------------------

F, G = 0x1122334455667788, 0x99AABBCCDDEEFF00
F_32, G_32 = 0x11223344, 0x99AABBCC
EXPECTED = words("""
    0-10 f
      0 /src/a.c:5
      8 /src/a.c:6
    40-60 g
      40 /src/a.c:20
    """)


def two_functions(  # noqa: PLR0913 - keywords, each a choice of its own
    *,
    version: int = 5,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    explicit_addends: bool = True,
    compression: Compression | None = None,
    kind: int | None = None,
) -> bytes:
    """A file of f in .text and g in .text.g, both at the start of their sections."""
    f, g = (F, G) if bits == 64 else (F_32, G_32)
    ops = [
        *sequence((f, 5), (f + 8, 6), end=f + 0x10),
        *sequence((g, 20), end=g + 0x20),
    ]
    # Rows are of file 1, whatever the version counts from.
    lines = LineProgram(ops, (File("a.c"), File("a.c")), ("/src",))
    dies = [
        Die(
            Tag.subprogram,
            {At.name: name, At.low_pc: start, At.high_pc: Form.data4(size)},
        )
        for name, start, size in (("f", f, 0x10), ("g", g, 0x20))
    ]
    main = unit(*dies, version=version, lines=lines)
    dwarf = Dwarf([main], byteorder, bits // 8).sections()
    wide = bits == 64
    sections, relocations = relocate(
        dwarf,
        {f: Target(".text"), g: Target("g")},
        kind if kind is not None else 1,
        bits=bits,
        byteorder=byteorder,
        explicit_addends=explicit_addends,
    )
    return Elf(
        [
            code(".text", 0x30, 16),
            code(".text.g", 0x20, 64),
            *(
                Section(name, body, compression=compression)
                for name, body in sections.items()
            ),
        ],
        symbols=[
            Symbol(".text", 0, kind=3),
            Symbol("g", 0, 0x20, section=".text.g"),
        ],
        relocations=relocations,
        bits=bits,
        byteorder=byteorder,
        machine=X86_64 if wide else I386,
        explicit_addends=explicit_addends,
        type=RELOCATABLE,
    ).to_bytes()


@pytest.mark.parametrize(
    ("bits", "byteorder", "section", "version"),
    [  # every pair of choices
        (32, "little", RELA, 4),
        (32, "big", REL, 5),
        (64, "little", REL, 5),
        (64, "big", RELA, 5),
        (64, "big", REL, 4),
    ],
)
def test_functions_of_all_sections_are_found(
    bits: int, byteorder: ByteOrder, section: int, version: int, tmp_path: Path
) -> None:
    image = two_functions(
        version=version,
        bits=bits,
        byteorder=byteorder,
        explicit_addends=section == RELA,
    )
    conversion = convert_bytes(tmp_path, image)
    assert describe(conversion.functions) == EXPECTED
    assert conversion.report.warnings == {}


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_compressed_sections_are_relocated(how: Compression, tmp_path: Path) -> None:
    image = two_functions(compression=how)
    assert describe(convert_bytes(tmp_path, image).functions) == EXPECTED


def test_unknown_relocations_are_counted(tmp_path: Path) -> None:
    report = convert_bytes(tmp_path, two_functions(kind=0x77)).report
    assert report.warnings["Relocation of type 119 could not be applied"] == 4


# ---- damage ------------------------------------------------------------------------


def test_damage_is_an_answer_or_an_error(tmp_path: Path) -> None:
    image = two_functions()
    for size in range(0, len(image), 7):
        assert settle(tmp_path, image[:size]) is None
    for value in (0, 1, 0x7F, 0x80, 0xFF):
        for at in range(value % 16, len(image), 16):
            settle(tmp_path, image[:at] + bytes([value]) + image[at + 1 :])


@pytest.mark.slow
def test_many_sections_take_time_in_proportion(tmp_path: Path) -> None:
    """Each of 50,000 sections relocates the one before it."""
    count = 50_000
    sections = [
        Section(f".x{at % 10}", kind=REL if at else PROGBITS, info=at)
        for at in range(count)
    ]
    image = Elf(
        [code(".text", 8), *sections],
        symbols=[Symbol("f", 0, 8)],
        type=RELOCATABLE,
        extended=True,
    ).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == "0-8 f\n"
