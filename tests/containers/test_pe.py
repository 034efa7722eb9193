"""PE images: machine, image base, sections, CodeView id, debug information, damage."""

from __future__ import annotations

import re
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.containers.headers import read_codeview
from gsym.containers.object_file import ObjectFile
from tests.conversions import convert_bytes, describe, settle, words
from tests.inputs.dwarf import Dwarf
from tests.inputs.pe import (
    ARM,
    ARM64,
    CODEVIEW,
    DISCARDABLE,
    I386,
    REPRO,
    UNINITIALIZED,
    X86_64,
    Pe,
    Section,
    Symbol,
    code_section,
    codeview,
)
from tests.inputs.program import function, unit

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

GUID = bytes(range(0xA0, 0xB0))
BASE = 0x140000000
F = function("f", BASE + 0x1000, BASE + 0x1010)


def image_of(machine: int = X86_64, base: int = BASE) -> Pe:
    """An image with a function f in its DWARF, 0x1000 behind the image base."""
    die = function("f", base + 0x1000, base + 0x1010)
    size = 8 if machine in {X86_64, ARM64} else 4
    dwarf = Dwarf([unit(die)], "little", size).sections()
    sections = [
        Section(name, data, 0x5000 + 0x1000 * at)
        for at, (name, data) in enumerate(dwarf.items())
    ]
    return Pe([code_section(), *sections], machine=machine, image_base=base)


@pytest.mark.parametrize(
    ("machine", "base", "name"),
    [
        (X86_64, BASE, "x86_64"),
        (I386, 0x400000, "i386"),
        (ARM, 0x10000000, "thumb"),
        (ARM64, BASE, "aarch64"),
    ],
)
def test_addresses_have_the_image_base(
    machine: int, base: int, name: str, tmp_path: Path
) -> None:
    conversion = convert_bytes(tmp_path, image_of(machine, base).to_bytes())
    start = base + 0x1000
    assert describe(conversion.functions) == f"{start:x}-{start + 16:x} f\n"
    assert conversion.report.architecture == name
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == base
        assert reader.header.byteorder == "little"


def test_an_unknown_machine_is_named_by_its_number(tmp_path: Path) -> None:
    image = Pe([code_section()], [Symbol("f", 0)], machine=0x1234, image_base=0x1000)
    assert convert_bytes(tmp_path, image.to_bytes()).report.architecture == "pe-4660"


NAMES = {
    b".text": b".text",
    b".eight78": b".eight78",
    b"/4": b"a_long_name_of_a_section",
    b"//AAAAAE": b"a_long_name_of_a_section",
    b"/6": b"long_name_of_a_section",
    **{
        name: name
        for name in (
            *(b"/9999999", b"///////", b"/4x", b"/", b"//", b"//AA=A", b"//999999"),
        )
    },
}


def test_a_name_is_in_place_or_in_the_string_table() -> None:
    image = Pe([Section("a_long_name_of_a_section", b"data", 0x1000)]).to_bytes()
    at = image.index(b"/4\0\0\0\0\0\0")
    for name, expected in NAMES.items():
        image = image[:at] + name.ljust(8, b"\0") + image[at + 8 :]
        with ObjectFile(memoryview(image), "input") as source:
            section = source.section(expected)
        assert section is not None, name
        assert bytes(section) == b"data"


def section_of(image: Pe) -> bytes:
    with ObjectFile(memoryview(image.to_bytes()), "input") as source:
        section = source.section(b".x")
    assert section is not None
    return bytes(section)


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        (Section(".x", b"data", 0x1000), b"data"),
        (Section(".x", b"data", 0x1000, size=2), b"da"),
        (Section(".x", b"data", 0x1000, size=0), b"data".ljust(0x200, b"\0")),
        (Section(".x", b"data", 0x1000, size=0x1000), b"data".ljust(0x200, b"\0")),
        (Section(".x", b"", 0x1000, size=0x1000), b""),
        (Section(".x", b"data", 0x1000, UNINITIALIZED), b""),
    ],
    ids=["padded", "cut", "no size in memory", "longer in memory", "empty", "bss"],
)
def test_a_section_is_what_is_loaded_of_it(section: Section, expected: bytes) -> None:
    assert section_of(Pe([section])) == expected


def test_old_compression_is_read(tmp_path: Path) -> None:
    dwarf = Dwarf([unit(F)], "little", 8).sections()
    sections = [
        Section(
            f".z{name[1:]}",
            b"ZLIB" + len(data).to_bytes(8, "big") + zlib.compress(data),
            0x5000 + 0x1000 * at,
        )
        for at, (name, data) in enumerate(dwarf.items())
    ]
    image = Pe([code_section(), *sections]).to_bytes()
    assert (
        describe(convert_bytes(tmp_path, image).functions) == "140001000-140001010 f\n"
    )


# ---- identity ----------------------------------------------------------------------

IDENTIFIERS = {
    "a record": ([(CODEVIEW, codeview(GUID, 1, "a.pdb"))], GUID),
    "behind another entry": ([(REPRO, b"x" * 36), (CODEVIEW, codeview(GUID))], GUID),
    "the first of two": (
        [(CODEVIEW, codeview(GUID)), (CODEVIEW, codeview(bytes(16)))],
        GUID,
    ),
    "an old record": ([(CODEVIEW, codeview(GUID, magic=b"NB10"))], b""),
    "too short": ([(CODEVIEW, b"RSDS" + GUID[:15])], b""),
    "of another kind": ([(REPRO, codeview(GUID))], b""),
    "none": ([], b""),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_the_guid_of_the_pdb_is_the_identifier(name: str, tmp_path: Path) -> None:
    debug, expected = IDENTIFIERS[name]
    report = convert_bytes(tmp_path, replace(image_of(), debug=debug).to_bytes()).report
    assert report.uuid == report.build_id == expected


@pytest.mark.parametrize(("before", "sections"), [(0, 1), (63, 1), (64, 1), (0, 120)])
def test_the_guid_is_found_behind_many_entries_and_sections(
    before: int, sections: int
) -> None:
    """Of the entries, which are of 20 kinds, 64 are read."""
    debug = [*[(REPRO, b"")] * before, (CODEVIEW, codeview(GUID, 1, "a.pdb"))]
    image = Pe([code_section(0x1000 * n) for n in range(1, sections + 1)], debug=debug)
    found = read_codeview(memoryview(image.to_bytes()), "app.exe")
    assert (found is not None) == (before < 64)


def test_of_a_binary_whose_pdb_is_missing_the_symbols_are_read_with_a_note(
    tmp_path: Path,
) -> None:
    record = codeview(GUID, 1, r"D:\build\app.pdb")
    image = replace(image_of(), debug=[(CODEVIEW, record)], sections=[code_section()])
    advice = r"no debug information: tried .*app\.pdb: not there"
    with pytest.raises(gsym.EmptyError, match=advice):
        convert_bytes(tmp_path, image.to_bytes())
    image = replace(image, symbols=[Symbol("f", 0)])
    conversion = convert_bytes(tmp_path, image.to_bytes())
    assert [each.name for each in conversion.functions] == ["f"]
    assert re.search(advice, conversion.report.notes[0])


def test_dwarf_counts_more_than_a_pdb(tmp_path: Path) -> None:
    """As in programs that the linker of LLVM makes for MinGW."""
    image = replace(image_of(), debug=[(CODEVIEW, codeview(GUID, 1, "app.pdb"))])
    assert len(convert_bytes(tmp_path, image.to_bytes()).functions) == 1


def test_a_record_without_a_path_names_no_pdb(tmp_path: Path) -> None:
    """As `ld --build-id` makes it."""
    image = Pe([code_section()], [Symbol("f", 0)], debug=[(CODEVIEW, codeview(GUID))])
    conversion = convert_bytes(tmp_path, image.to_bytes())
    assert [each.name for each in conversion.functions] == ["f"]
    assert conversion.report.uuid == GUID


# ---- damage ------------------------------------------------------------------------

DOS = b"MZ".ljust(0x3C, b"\0")


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (b"MZ", "DOS program"),
        (DOS + b"\x40\0\0\0", "DOS program"),
        (DOS + b"\xff\xff\xff\xff", "DOS program"),
        (DOS + b"\x40\0\0\0PE\0\0", "COFF header is cut off"),
        (DOS + b"\x40\0\0\0PE\0\0" + b"\x64\x86".ljust(20, b"\0"), "magic number 0x0"),
    ],
)
def test_what_is_no_image_is_refused(image: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(gsym.FormatError, match=reason):
        convert_bytes(tmp_path, image)


def test_too_many_sections_are_refused(tmp_path: Path) -> None:
    image = bytearray(Pe([code_section()], [Symbol("f", 0)]).to_bytes())
    image[0x86:0x88] = b"\xff\xff"
    with pytest.raises(gsym.FormatError, match="section table of 65535 entries"):
        convert_bytes(tmp_path, bytes(image))


def test_a_section_past_the_end_is_refused_where_it_is_needed(tmp_path: Path) -> None:
    image = image_of().to_bytes()
    at = image.index(b".text\0\0\0") + 40
    damaged = bytearray(image)
    damaged[at + 20 : at + 24] = b"\xff\xff\xff\x7f"
    with pytest.raises(gsym.FormatError, match=r"\.debug_.* past the end"):
        convert_bytes(tmp_path, bytes(damaged))


FULL = replace(
    image_of(),
    symbols=[Symbol("f", 0), Symbol("a_symbol_with_a_long_name", 0x20, auxiliary=1)],
    unwind=[(0x1000, 0x1010), (0x1020, 0x1028)],
    debug=[(CODEVIEW, codeview(GUID))],
).to_bytes()


def test_damage_is_an_answer_or_an_error(tmp_path: Path) -> None:
    assert settle(tmp_path, FULL) == words("""
        140001000-140001010 f
        140001020-140001028 a_symbol_with_a_long_name
        """)
    for size in [*range(0, 0x400, 29), *range(0x400, len(FULL), 211)]:
        settle(tmp_path, FULL[:size])
    for value in (0, 1, 0x7F, 0x80, 0xFF):
        places = range(value % 13, 0x400, 13)
        for at in [*places, *range(0x400 + value % 197, len(FULL), 197)]:
            settle(tmp_path, FULL[:at] + bytes([value]) + FULL[at + 1 :])


def test_many_sections_of_one_name_take_time_in_proportion(tmp_path: Path) -> None:
    named = Section("x" * 400_000, b"", 0x1000, DISCARDABLE, 1)
    sections = [code_section(), named, *[Section("/4")] * 20_000]
    image = Pe(sections, [Symbol("f", 0)] * 10_000).to_bytes()
    assert (
        describe(convert_bytes(tmp_path, image).functions) == "140001000-140002000 f\n"
    )
