"""Object files of Mach-O: their debug sections relocated, at their own addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.conversions import Conversion, convert_bytes, describe
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.macho import (
    ABSOLUTE,
    ARM,
    ARM64,
    ARM64_32,
    EXTERNAL,
    I386,
    OBJECT,
    PPC,
    PPC64,
    UNDEFINED,
    X86_64,
    Macho,
    Relocation,
    Symbol,
    code,
    debug_sections,
)
from tests.inputs.program import function, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

LOW = 0x1122334455667788 & 0x7FFFFFFF  # what stands for low_pc until it is replaced
CPUS: list[tuple[int, ByteOrder, tuple[int, int]]] = [
    (64, "little", (ARM64, 0)),
    (64, "little", (X86_64, 3)),
    (32, "little", (ARM64_32, 1)),
    (32, "little", (ARM, 9)),
    (32, "little", (I386, 3)),
    (32, "big", (PPC, 0)),
    (64, "big", (PPC64, 0)),
]
SYMBOLS = (
    Symbol("_f", 0x40),
    Symbol("_near", 0x10),
    Symbol("_import", 0, 0, UNDEFINED | EXTERNAL),
    Symbol("_absolute", 0x20, 0, ABSOLUTE | EXTERNAL),
)


def convert(  # noqa: PLR0913, PLR0917 - what files differ in
    folder: Path,
    addend: int,
    relocations: Sequence[Relocation],
    bits: int = 64,
    byteorder: ByteOrder = "little",
    cpu: tuple[int, int] = (ARM64, 0),
) -> Conversion:
    """A function whose low_pc is *addend* and the *relocations*, from its place on."""
    die = Die(
        Tag.subprogram, {At.name: "f", At.low_pc: LOW, At.high_pc: Form.data4(0x10)}
    )
    sections = Dwarf([unit(die)], byteorder, bits // 8).sections()
    info = sections[".debug_info"]
    place = info.index(LOW.to_bytes(bits // 8, byteorder))
    low = (addend % (1 << bits)).to_bytes(bits // 8, byteorder)
    sections[".debug_info"] = info[:place] + low + info[place + len(low) :]
    placed = [
        replace(each, relocations=relocations_at(place, relocations, bits // 8))
        if each.name == "__debug_info"
        else each
        for each in debug_sections(sections)
    ]
    macho = Macho(
        [code(0, 0x100), *placed],
        SYMBOLS,
        base=None,
        bits=bits,
        byteorder=byteorder,
        cpu=cpu,
        type=OBJECT,
    )
    return convert_bytes(folder, macho.to_bytes())


def relocations_at(
    place: int, relocations: Sequence[Relocation], size: int
) -> list[Relocation]:
    return [replace(each, place=place + each.place, size=size) for each in relocations]


@pytest.mark.parametrize(("bits", "byteorder", "cpu"), CPUS)
def test_the_address_of_a_symbol_is_added(
    bits: int, byteorder: ByteOrder, cpu: tuple[int, int], tmp_path: Path
) -> None:
    for addend, relocations in (
        (0, [Relocation(0, 0)]),
        (0x30, [Relocation(0, 1)]),
        (-0x10, [Relocation(0, 1), Relocation(0, 0)]),
        (0x20, [Relocation(0, 3)]),
        (0x40, [Relocation(0, 1, names_symbol=False)]),
    ):
        done = convert(tmp_path, addend, relocations, bits, byteorder, cpu)
        assert "40-50 f\n" in describe(done.functions)
        assert done.report.warnings == {}


@pytest.mark.parametrize(
    ("bits", "cpu", "subtractor"),
    [(64, (X86_64, 3), 5), (64, (ARM64, 0), 1), (32, (ARM64_32, 1), 1)],
    ids=["x86_64", "arm64", "arm64_32"],
)
def test_a_symbol_may_be_subtracted(
    bits: int, cpu: tuple[int, int], subtractor: int, tmp_path: Path
) -> None:
    pair = [Relocation(0, 1, subtractor), Relocation(0, 0)]
    done = convert(tmp_path, 0x10, pair, bits, cpu=cpu)
    assert "40-50 f\n" in describe(done.functions)
    assert done.report.warnings == {}


@pytest.mark.parametrize(
    "relocation",
    [
        Relocation(0, 99),
        Relocation(0, 0xFFFFFF),
        Relocation(0, 0, relative=True),
        Relocation(0, 0, type=3),
    ],
    ids=str,
)
def test_a_unit_that_cannot_be_relocated_is_left_out(
    relocation: Relocation, tmp_path: Path
) -> None:
    done = convert(tmp_path, 0x40, [relocation])
    assert describe(done.functions) == "10-40 near\n40-100 f\n"  # the symbols
    assert done.report.warnings == {
        "Unit skipped: its relocations could not be applied": 1,
        f"Relocation of type {relocation.type} could not be applied": 1,
    }


@pytest.mark.parametrize("place", [1000, 0x7FFFFF00])
def test_a_relocation_outside_of_its_section_is_counted(
    place: int, tmp_path: Path
) -> None:
    done = convert(tmp_path, 0x40, [Relocation(place, 0)])
    assert "40-50 f\n" in describe(done.functions)
    assert list(done.report.warnings.values()) == [1]


def test_an_undefined_or_common_symbol_has_no_address(tmp_path: Path) -> None:
    done = convert(tmp_path, 0x40, [Relocation(0, 2)])
    assert "40-50 f\n" in describe(done.functions)
    assert done.report.warnings == {}


def test_sections_of_linked_files_are_left_as_they_are(tmp_path: Path) -> None:
    sections = Dwarf([unit(function("f", 0x40, 0x50))]).sections()
    wrong = [Relocation(place, 0) for place in range(40)]
    placed = [replace(each, relocations=wrong) for each in debug_sections(sections)]
    image = Macho([code(0, 0x100), *placed], SYMBOLS).to_bytes()
    assert "40-50 f\n" in describe(convert_bytes(tmp_path, image).functions)


def test_a_relocation_table_past_the_end_is_cut(tmp_path: Path) -> None:
    sections = Dwarf([unit(function("f", 0x40, 0x50))]).sections()
    macho = Macho(
        [code(0, 0x100), *debug_sections(sections)], SYMBOLS, base=None, type=OBJECT
    )
    image = bytearray(macho.to_bytes())
    place = image.index(b"__debug_info") + 32 + 16 + 8
    for offset in (0, 32, len(image) - 8, 0xFFFFFFFF):
        image[place : place + 8] = offset.to_bytes(4, "little") + b"\xff\xff\xff\xff"
        convert_bytes(tmp_path, bytes(image))
