"""COFF object files: sections placed, relocations applied to the debug sections."""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise
from tests.conversions import convert_bytes, describe, settle, words
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.pe import (
    ABSOLUTE,
    ARM,
    ARM64,
    CODE,
    DATA,
    I386,
    UNDEFINED,
    X86_64,
    Pe,
    Relocation,
    Section,
    Symbol,
)
from tests.inputs.program import unit
from tests.inputs.relocatable import Target, relocate

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

PLACE = bytes(range(0x90, 0xB0))
TEXT_SIZE = 0x12345678
G = TEXT_SIZE + 8

# Machine, number, name, bytes that take part; whether S counts from its section.
TYPES = [
    (I386, 6, "IMAGE_REL_I386_DIR32", 4, False),
    (I386, 7, "IMAGE_REL_I386_DIR32NB", 4, False),
    (I386, 11, "IMAGE_REL_I386_SECREL", 4, True),
    (X86_64, 1, "IMAGE_REL_AMD64_ADDR64", 8, False),
    (X86_64, 2, "IMAGE_REL_AMD64_ADDR32", 4, False),
    (X86_64, 3, "IMAGE_REL_AMD64_ADDR32NB", 4, False),
    (X86_64, 11, "IMAGE_REL_AMD64_SECREL", 4, True),
    (ARM, 1, "IMAGE_REL_ARM_ADDR32", 4, False),
    (ARM, 2, "IMAGE_REL_ARM_ADDR32NB", 4, False),
    (ARM, 15, "IMAGE_REL_ARM_SECREL", 4, True),
    (ARM64, 1, "IMAGE_REL_ARM64_ADDR32", 4, False),
    (ARM64, 2, "IMAGE_REL_ARM64_ADDR32NB", 4, False),
    (ARM64, 8, "IMAGE_REL_ARM64_SECREL", 4, True),
    (ARM64, 14, "IMAGE_REL_ARM64_ADDR64", 8, False),
]
# The number of the symbol's section, which DWARF has no place for.
IGNORED = [(I386, 10), (X86_64, 10), (ARM, 14), (ARM64, 13)]


def object_of(
    *relocations: Relocation, symbol: Symbol | None = None, machine: int = X86_64
) -> Pe:
    """An object file whose .debug_info is PLACE, with a symbol g behind much code."""
    return Pe(
        [
            Section(".text", flags=CODE, size=TEXT_SIZE),
            Section(".text$g", flags=CODE, size=0x100),
            Section(".debug_info", PLACE, relocations=relocations),
        ],
        [Symbol("f", 0, auxiliary=1), symbol or Symbol("g", 8, ".text$g")],
        machine=machine,
        image_base=None,
    )


def relocated(image: Pe | bytes) -> tuple[bytes, int]:
    data = image if isinstance(image, bytes) else image.to_bytes()
    with ObjectFile(memoryview(data), "input") as source:
        section = source.section(b".debug_info")
        assert section is not None
        return bytes(section), sum(source.unapplied_relocations.values())


@pytest.mark.parametrize(
    ("machine", "number", "name", "size", "from_section"),
    TYPES,
    ids=[name for _, _, name, _, _ in TYPES],
)
def test_a_type_does_what_its_name_says(
    machine: int, number: int, name: str, size: int, from_section: int
) -> None:
    present = int.from_bytes(PLACE[5 : 5 + size], "little")
    value = (present + (8 if from_section else G)) % (1 << 8 * size)
    expected = PLACE[:5] + value.to_bytes(size, "little") + PLACE[5 + size :]
    image = object_of(Relocation(5, number, 2), machine=machine)
    assert relocated(image) == (expected, 0), name


@pytest.mark.parametrize("machine", [I386, X86_64, ARM, ARM64])
def test_other_types_are_counted_and_change_nothing(machine: int) -> None:
    known = {0, *(number for each, number, *_ in TYPES if each == machine)}
    known |= {number for each, number in IGNORED if each == machine}
    others = [number for number in range(0x30) if number not in known]
    image = object_of(*(Relocation(0, each, 2) for each in others), machine=machine)
    assert relocated(image) == (PLACE, len(others))


@pytest.mark.parametrize(("machine", "number"), IGNORED)
def test_the_number_of_a_section_is_not_written(machine: int, number: int) -> None:
    image = object_of(Relocation(0, number, 2), machine=machine)
    assert relocated(image) == (PLACE, 0)


@pytest.mark.parametrize(
    ("section", "value"),
    [(".text$g", TEXT_SIZE + 0x10), (UNDEFINED, 0), (ABSOLUTE, 0x10), (-2, 0)],
)
def test_the_value_of_a_symbol_counts_from_its_section(
    section: str | int, value: int
) -> None:
    symbol = Symbol("s", 0x10, section)
    image = object_of(Relocation(0, 1, 2), symbol=symbol)
    present = int.from_bytes(PLACE[:8], "little")
    assert relocated(image) == ((present + value).to_bytes(8, "little") + PLACE[8:], 0)


@pytest.mark.parametrize(
    "relocation",
    [
        Relocation(0, 1, 3),
        Relocation(0, 1, 0xFFFFFFFF),
        Relocation(len(PLACE) - 7, 1, 2),
        Relocation(0xFFFFFFFF, 11, 2),
    ],
)
def test_what_does_not_exist_is_counted(relocation: Relocation) -> None:
    assert relocated(object_of(relocation)) == (PLACE, 1)


def test_a_symbol_of_a_section_that_does_not_exist_is_counted() -> None:
    image = object_of(Relocation(0, 1, 2), symbol=Symbol("s", 0, 77))
    assert relocated(image) == (PLACE, 1)


@pytest.mark.parametrize("count", [0xFFFE, 0xFFFF, 0x10000, 0x12345])
def test_relocations_of_any_number_are_applied(count: int) -> None:
    image = object_of(*[Relocation(0, 1, 2)] * count)
    value = int.from_bytes(PLACE[:8], "little") + count * G
    expected = (value % (1 << 64)).to_bytes(8, "little") + PLACE[8:]
    assert relocated(image) == (expected, 0)


@pytest.mark.parametrize("count", [0, 1, 0xFFFFFFFF])
def test_a_number_that_cannot_be_is_refused_or_none(count: int) -> None:
    image = object_of(*[Relocation(0, 1, 2)] * 0xFFFF).to_bytes()
    right = pack("<IIH", 0x10000, 0, 0)
    wrong = image.replace(right, pack("<IIH", count, 0, 0))
    if count < 2:
        assert relocated(wrong) == (PLACE, 0)
    else:
        with pytest.raises(gsym.FormatError, match=r"relocations of .*past the end"):
            relocated(wrong)


# ---- whole files -------------------------------------------------------------------

MARK_F, MARK_G = 0x1122334455667788, 0x99AABBCCDDEEFF00
EXPECTED = words("""
    0-10 f
    40-60 g
    """)


def test_relocations_that_several_sections_share_are_refused() -> None:
    """Or the work could be any multiple of the size of the file."""
    count, first = 64, 3
    image = bytearray(
        Pe(
            [
                Section(".text", flags=CODE, size=TEXT_SIZE),
                Section(".text$g", flags=CODE, size=0x100),
                Section(".debug_info", PLACE, relocations=[Relocation(0, 1, 0)] * 1000),
                *[Section(".x", PLACE)] * count,
            ],
            [Symbol("g", 8, ".text$g")],
            image_base=None,
        ).to_bytes()
    )
    assert relocated(bytes(image))[1] == 0
    place = image[20 + 2 * 40 + 24 : 20 + 2 * 40 + 34]
    for header in range(20 + first * 40, 20 + (first + count) * 40, 40):
        image[header + 24 : header + 34] = place
    with pytest.raises(gsym.FormatError, match="shares its relocations"):
        relocated(bytes(image))


def two_functions(*, is_big: bool = False) -> bytes:
    """An object of f and g, both at the start of their sections."""
    dies = [
        Die(
            Tag.subprogram,
            {At.name: name, At.low_pc: mark, At.high_pc: Form.data4(size)},
        )
        for name, mark, size in (("f", MARK_F, 0x10), ("g", MARK_G, 0x20))
    ]
    dwarf = Dwarf([unit(*dies)], "little", 8).sections()
    targets = {MARK_F: Target("f"), MARK_G: Target("g")}
    written, relocations = relocate(dwarf, targets, 1, explicit_addends=False)
    numbers = {"f": 0, "g": 2}  # f has an auxiliary entry
    by_section = {
        name: [
            Relocation(each.offset, each.kind, numbers[str(each.symbol)])
            for each in all_
        ]
        for name, all_ in relocations
    }
    sections = [
        Section(".drectve", b"-x", flags=0xA00),
        Section(".data", bytes(4), flags=DATA),
        Section(".text", flags=CODE, size=0x30, alignment=16),
        Section(".text$g", flags=CODE, size=0x20, alignment=64),
        *(
            Section(name, data, relocations=by_section.get(name, ()))
            for name, data in written.items()
        ),
    ]
    symbols = [Symbol("f", 0, auxiliary=1), Symbol("g", 0, ".text$g")]
    return Pe(sections, symbols, image_base=None, is_big=is_big).to_bytes()


@pytest.mark.parametrize("size", ["usual", "big"])
def test_functions_of_all_sections_are_found(size: str, tmp_path: Path) -> None:
    image = two_functions(is_big=size == "big")
    assert recognise(image[:64]) == "object"
    conversion = convert_bytes(tmp_path, image)
    assert describe(conversion.functions) == EXPECTED
    assert conversion.report.placements == (
        (".text", 0, 0x30),
        (".text$g", 0x40, 0x60),
    )
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == 0


def test_sections_that_do_not_fit_the_address_space_are_refused(tmp_path: Path) -> None:
    sections = [Section(f".text${n}", flags=CODE, size=0x80000000) for n in range(3)]
    image = Pe(sections, [Symbol("f", 0, ".text$0")], I386, None).to_bytes()
    with pytest.raises(gsym.FormatError, match=r"\.text\$1 does not fit"):
        convert_bytes(tmp_path, image)


@pytest.mark.parametrize("size", ["usual", "big"])
def test_damage_is_an_answer_or_an_error(size: str, tmp_path: Path) -> None:
    image = two_functions(is_big=size == "big")
    for end in range(0, len(image), 13):
        settle(tmp_path, image[:end])
    values = (0, 0xFF) if size == "big" else (1, 0x7F, 0x80)
    for value in values:
        for at in range(value % 7, len(image), 7):
            settle(tmp_path, image[:at] + bytes([value]) + image[at + 1 :])
