"""The container: machine, image base, build id, compression, damage."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.errors import EmptyError
from tests.conversions import convert_bytes, describe, words
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import (
    AARCH64,
    ALLOC,
    ARM,
    COMPRESSED,
    EXECUTABLE,
    I386,
    NOTE,
    PPC64,
    PT_NOTE,
    S390,
    SHARED,
    X86_64,
    Compression,
    Elf,
    Section,
    Segment,
    Symbol,
    code_section,
    note,
    with_phantom_bytes,
)
from tests.inputs.line_program import LineProgram, sequence
from tests.inputs.program import debug_sections, function, unit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

ID = bytes(range(0xA0, 0xB4))
MAIN = Symbol("main", 0x1000, 0x10)
ARCHITECTURES = [
    (64, "little", X86_64, "x86_64"),
    (32, "little", I386, "i386"),
    (64, "little", AARCH64, "aarch64"),
    (32, "little", ARM, "arm"),
    (64, "big", PPC64, "powerpc64"),
    (64, "little", PPC64, "powerpc64le"),
    (64, "big", S390, "s390x"),
    (64, "little", 243, "riscv64"),
    (32, "little", 243, "riscv32"),
    (64, "little", 258, "loongarch64"),
]


@pytest.mark.parametrize(("bits", "byteorder", "machine", "name"), ARCHITECTURES)
def test_the_report_names_the_architecture(
    bits: int, byteorder: ByteOrder, machine: int, name: str, tmp_path: Path
) -> None:
    image = Elf(
        [code_section()],
        symbols=[MAIN],
        bits=bits,
        byteorder=byteorder,
        machine=machine,
    ).to_bytes()
    assert convert_bytes(tmp_path, image).report.architecture == name


@pytest.mark.parametrize(
    ("segments", "kind", "base"),
    [
        ((Segment(0x400), Segment(0x1000)), EXECUTABLE, 0x400),
        ((Segment(0x800), Segment(0x400)), EXECUTABLE, 0x800),
        ((Segment(0x200, kind=PT_NOTE), Segment(0)), SHARED, 0),
    ],
    ids=["first of two", "not the lowest", "the first that is loaded"],
)
def test_the_base_address_is_that_of_the_image(
    segments: tuple[Segment, ...], kind: int, base: int, tmp_path: Path
) -> None:
    image = Elf([code_section()], segments, [MAIN], type=kind).to_bytes()
    convert_bytes(tmp_path, image)
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == base
        assert reader.lookup(0x100F) is not None


def test_code_below_the_image_base_is_still_found(tmp_path: Path) -> None:
    """As in firmware, whose first segment may be that of the higher memory."""
    low, high = code_section(0x1000), code_section(0x8000, name=".fast")
    symbols = [MAIN, Symbol("fast", 0x8000, 0x10, section=".fast")]
    segments = [Segment(0x8000), Segment(0x1000)]
    convert_bytes(tmp_path, Elf([low, high], segments, symbols).to_bytes())
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        for address, name in ((0x1008, "main"), (0x8008, "fast")):
            found = reader.lookup(address)
            assert found is not None
            assert found.function.name == name


GNU_ID = note(b"GNU\0", 3, ID, "little")
OTHER_NOTES = note(b"GNU\0", 1, bytes(16), "little") + note(
    b"Go\0\0", 3, bytes(20), "little"
)


@pytest.mark.parametrize(
    "section",
    [
        Section(".note.gnu.build-id", GNU_ID, NOTE, ALLOC),
        Section(".note.gnu.build-id", OTHER_NOTES + GNU_ID, NOTE, ALLOC),
        Section(".note", OTHER_NOTES + GNU_ID, NOTE),
    ],
    ids=["own section", "behind other notes", "among other notes"],
)
def test_the_build_id_is_found(section: Section, tmp_path: Path) -> None:
    image = Elf([code_section(), section], symbols=[MAIN]).to_bytes()
    assert convert_bytes(tmp_path, image).report.uuid == ID


def test_of_two_build_ids_the_first_of_the_file_counts(tmp_path: Path) -> None:
    """As for elfutils, LLVM 22 and, by the segment of both, the kernel."""
    own = Section(".note.gnu.build-id", note(b"GNU\0", 3, bytes(20), "little"), NOTE)
    foreign = Section(".note.other", GNU_ID, NOTE, ALLOC)
    for sections, expected in (((foreign, own), ID), ((own, foreign), b"")):
        image = Elf([code_section(), *sections], symbols=[MAIN]).to_bytes()
        assert convert_bytes(tmp_path, image).report.uuid == expected


@pytest.mark.parametrize("size", [1, 20, 64, 0, 65])
def test_a_build_id_has_up_to_64_bytes(size: int, tmp_path: Path) -> None:
    build_id = b"\7" * size
    image = Elf([code_section()], symbols=[MAIN], build_id=build_id).to_bytes()
    expected = build_id if 0 < size <= 64 else b""
    assert convert_bytes(tmp_path, image).report.uuid == expected


@pytest.mark.slow
def test_notes_that_many_sections_share_take_time_in_proportion(tmp_path: Path) -> None:
    count = 60_000
    many = Section(".note", OTHER_NOTES * 40_000, NOTE)
    elf = Elf(
        [code_section(), many, *[Section(".note", kind=NOTE)] * count], symbols=[MAIN]
    )
    image = bytearray(elf.to_bytes())
    table = int.from_bytes(image[40:48], "little")
    place = image[table + 2 * 64 + 24 : table + 2 * 64 + 40]
    for header in range(table + 3 * 64, table + (3 + count) * 64, 64):
        image[header + 24 : header + 40] = place
    assert not convert_bytes(tmp_path, bytes(image)).report.uuid


def test_the_build_id_is_found_without_a_section(tmp_path: Path) -> None:
    image = Elf([code_section(), Section(".x", GNU_ID)], symbols=[MAIN]).to_bytes()
    place = image.index(GNU_ID)
    segment = Segment(0, len(GNU_ID), PT_NOTE, offset=place + 56)
    elf = Elf([code_section(), Section(".x", GNU_ID)], [segment], [MAIN])
    assert elf.to_bytes().index(GNU_ID) == place + 56
    assert convert_bytes(tmp_path, elf.to_bytes()).report.uuid == ID


@pytest.mark.parametrize("bits", [32, 64])
def test_a_huge_segment_count_costs_no_time(bits: int, tmp_path: Path) -> None:
    elf = Elf([code_section(), Section(".x", GNU_ID)], symbols=[MAIN], bits=bits)
    image = bytearray(elf.to_bytes())
    wide = bits == 64
    table, count, info = (32, 56, 44) if wide else (28, 44, 28)
    layout = "<Q" if wide else "<I"
    struct.pack_into(layout, image, table, len(image) - 4)
    struct.pack_into("<H", image, count - 2, 56 if wide else 32)
    struct.pack_into("<H", image, count, 0xFFFF)
    (sections,) = struct.unpack_from(layout, image, 40 if wide else 32)
    struct.pack_into("<I", image, sections + info, 0xFFFFFFFF)
    assert convert_bytes(tmp_path, bytes(image)).report.functions == 1


@pytest.mark.parametrize("size", [0, 1, 55])
def test_segments_too_small_for_their_fields_are_none(
    size: int, tmp_path: Path
) -> None:
    elf = Elf([code_section()], [Segment(0x400)], [MAIN])
    image = bytearray(elf.to_bytes())
    for entry_size, base in ((56, 0x400), (size, 0x1000)):
        struct.pack_into("<H", image, 54, entry_size)
        convert_bytes(tmp_path, bytes(image))
        with gsym.open(str(tmp_path / "input.gsym")) as reader:
            assert reader.header.base_address == base


@pytest.mark.slow
def test_names_that_never_end_cost_no_more_than_their_sections(
    tmp_path: Path,
) -> None:
    elf = Elf([code_section(), *[Section(".x")] * 60_000], symbols=[MAIN])
    image = bytearray(elf.to_bytes())
    (table,) = struct.unpack_from("<Q", image, 40)
    count, names = struct.unpack_from("<HH", image, 60)
    struct.pack_into("<QQ", image, table + names * 64 + 24, len(image), 1 << 22)
    for index in range(count):
        struct.pack_into("<I", image, table + index * 64, 1)
    converted = convert_bytes(tmp_path, bytes(image) + b"." * (1 << 22))
    assert describe(converted.functions) == "1000-1010 main\n"


@pytest.mark.parametrize(
    "damaged",
    [GNU_ID[:-1], GNU_ID[:8], b"\xff" * len(GNU_ID), b"", OTHER_NOTES],
    ids=["cut", "cut in the head", "huge sizes", "empty", "others only"],
)
def test_a_damaged_build_id_is_none(damaged: bytes, tmp_path: Path) -> None:
    section = Section(".note.gnu.build-id", damaged, NOTE, ALLOC)
    image = Elf([code_section(), section], symbols=[MAIN]).to_bytes()
    assert convert_bytes(tmp_path, image).report.uuid == b""


def test_a_file_without_functions_says_so(tmp_path: Path) -> None:
    with pytest.raises(gsym.EmptyError):
        convert_bytes(tmp_path, Elf([code_section()]).to_bytes())


def test_section_headers_too_small_for_their_fields_are_refused(
    tmp_path: Path,
) -> None:
    image = bytearray(Elf([code_section()], symbols=[MAIN]).to_bytes())
    struct.pack_into("<H", image, 58, 63)
    with pytest.raises(gsym.FormatError, match="section header size 63 is too small"):
        convert_bytes(tmp_path, bytes(image))


def test_a_class_or_byte_order_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    image = Elf([code_section()], symbols=[MAIN]).to_bytes()
    for place in (4, 5):
        broken = image[:place] + b"\x03" + image[place + 1 :]
        with pytest.raises(gsym.FormatError) as caught:
            convert_bytes(tmp_path, broken)
        assert caught.value.offset == place


def compressed(how: Compression) -> tuple[bytes, int]:
    """An executable with .debug_info compressed, and where its payload starts."""
    sections = [
        replace(each, compression=how) if each.name == ".debug_info" else each
        for each in debug_sections()
    ]
    image = Elf([code_section(), *sections], symbols=[Symbol("g", 0x1800, 4)])
    magic = {"gnu": b"ZLIB", "zlib": b"\x78\x9c", "zstd": b"\x28\xb5\x2f\xfd"}[how]
    return image.to_bytes(), image.to_bytes().index(magic)


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_damaged_compression_is_refused(how: Compression, tmp_path: Path) -> None:
    image, payload = compressed(how)
    body = payload + (12 if how == "gnu" else 0)
    broken = image[: body + 3] + b"\xff\xff\xff" + image[body + 6 :]
    with pytest.raises(gsym.GsymError):
        convert_bytes(tmp_path, broken)


@pytest.mark.parametrize("how", ["zlib", "zstd", "gnu"])
def test_a_wrong_uncompressed_size_is_refused(how: Compression, tmp_path: Path) -> None:
    image, payload = compressed(how)
    place = payload + 4 if how == "gnu" else payload - 16
    order: ByteOrder = "big" if how == "gnu" else "little"
    right = int.from_bytes(image[place : place + 8], order)
    for size in (0, right - 1, right + 1, 1 << 22, 1 << 62):
        broken = image[:place] + size.to_bytes(8, order) + image[place + 8 :]
        with pytest.raises(gsym.GsymError):
            convert_bytes(tmp_path, broken)


def test_an_unknown_compression_is_unsupported(tmp_path: Path) -> None:
    image, payload = compressed("zlib")
    broken = image[: payload - 24] + b"\x63" + image[payload - 23 :]
    with pytest.raises(gsym.UnsupportedError):
        convert_bytes(tmp_path, broken)


def test_a_compression_header_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    sections = [
        Section(".debug_info", b"\x01\0\0\0", flags=COMPRESSED),
        Section(".zdebug_str", b"ZLIB\0"),
    ]
    for section in sections:
        image = Elf([code_section(), section], symbols=[MAIN]).to_bytes()
        with pytest.raises(gsym.FormatError):
            convert_bytes(tmp_path, image)


def test_a_debug_section_past_the_end_of_the_file_is_refused(tmp_path: Path) -> None:
    elf = Elf([code_section(), Section(".debug_info", bytes(100))], symbols=[MAIN])
    image = elf.to_bytes()
    size = (100).to_bytes(8, "little")
    place = image.rindex(size)
    broken = image[:place] + b"\xff\xff\xff\x7f" + image[place + 4 :]
    with pytest.raises(gsym.FormatError, match=r"\.debug_info"):
        convert_bytes(tmp_path, broken)


# ---- Microchip's compiler for 16-bit controllers


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize(("byte", "flags"), [(b"\0", 0), (b"\xff", 1), (b"", 1 << 31)])
def test_phantom_bytes_are_no_part_of_the_dwarf(
    byte: bytes, flags: int, bits: int, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0x1000, 3), (0x1008, 4), end=0x1010))
    dwarf = Dwarf(
        [unit(function("f", 0x1000, 0x1010), lines=lines, version=2)],
        address_size=bits // 8,
    )
    image = with_phantom_bytes(dwarf.sections(), byte, flags, bits)
    converted = convert_bytes(tmp_path, image)
    assert converted.report.warnings == {}
    assert describe(converted.functions) == words("""
        1000-1010 f
          1000 /src/a.c:3
          1008 /src/a.c:4
    """)
    path = str(tmp_path / "input")
    assert main(["verify", f"{path}.gsym", "--against", path]) == 0


def test_bytes_of_other_machines_all_count(tmp_path: Path) -> None:
    dwarf = Dwarf([unit(function("f", 0x1000, 0x1010), version=2)])
    image = bytearray(with_phantom_bytes(dwarf.sections()))
    image[18:20] = X86_64.to_bytes(2, "little")
    with pytest.raises(EmptyError):
        convert_bytes(tmp_path, bytes(image))
