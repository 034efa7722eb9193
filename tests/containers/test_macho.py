"""The Mach-O container: machine, image base, LC_UUID, debug sections, damage."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import convert_bytes, describe, settle, words
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import Form, Value
from tests.inputs.macho import (
    ARM,
    ARM64,
    ARM64_32,
    DSYM,
    I386,
    OBJECT,
    PPC,
    PPC64,
    X86_64,
    Macho,
    Section,
    Symbol,
    code,
    debug_name,
    debug_sections,
    macho_of,
)
from tests.inputs.program import LAYOUTS, Layout, function, unit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

ID = bytes(range(0xA0, 0xB0))
MAIN = Symbol("_main", 0x1000)
KINDS: list[tuple[int, ByteOrder]] = [
    (64, "little"),
    (32, "little"),
    (64, "big"),
    (32, "big"),
]
ARCHITECTURES = [
    (64, "little", (ARM64, 0), "arm64"),
    (64, "little", (ARM64, 1), "arm64"),
    (64, "little", (ARM64, 0x80000002), "arm64e"),
    (32, "little", (ARM64_32, 1), "arm64_32"),
    (64, "little", (X86_64, 3), "x86_64"),
    (64, "little", (X86_64, 0x80000003), "x86_64"),
    (64, "little", (X86_64, 8), "x86_64h"),
    (32, "little", (I386, 3), "i386"),
    (32, "little", (ARM, 6), "armv6"),
    (32, "little", (ARM, 9), "armv7"),
    (32, "little", (ARM, 11), "armv7s"),
    (32, "little", (ARM, 12), "armv7k"),
    (32, "little", (ARM, 0), "arm"),
    (32, "big", (PPC, 0), "ppc"),
    (32, "big", (PPC, 100), "ppc"),
    (64, "big", (PPC64, 0), "ppc64"),
    (32, "big", (6, 1), "macho-6-1"),
]


@pytest.mark.parametrize(("bits", "byteorder", "cpu", "name"), ARCHITECTURES)
def test_the_report_names_the_architecture(
    bits: int, byteorder: ByteOrder, cpu: tuple[int, int], name: str, tmp_path: Path
) -> None:
    macho = Macho([code()], [MAIN], bits=bits, byteorder=byteorder, cpu=cpu)
    assert convert_bytes(tmp_path, macho.to_bytes()).report.architecture == name


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_debug_sections_are_read(layout: Layout, tmp_path: Path) -> None:
    main = unit(
        function("f", 0x1000, 0x1010), version=layout.version, dwarf64=layout.dwarf64
    )
    sections = Dwarf([main], layout.byteorder, layout.address_size).sections()
    bits = 8 * layout.address_size
    for packed in (False, True):
        image = macho_of(sections, packed=packed, bits=bits, byteorder=layout.byteorder)
        assert describe(convert_bytes(tmp_path, image).functions) == "1000-1010 f\n"


def test_names_of_sections_are_cut_at_16_bytes(tmp_path: Path) -> None:
    assert debug_name(".debug_str_offsets") == "__debug_str_offs"
    assert debug_name(".debug_line_str", "__z") == "__zdebug_line_st"
    name = function(None, 0x1000, 0x1010, attributes={3: Value(Form.strx1, "indexed")})
    sections = Dwarf([unit(name)]).sections()
    assert ".debug_str_offsets" in sections
    for packed in (False, True):
        image = macho_of(sections, packed=packed)
        expected = "1000-1010 indexed\n"
        assert describe(convert_bytes(tmp_path, image).functions) == expected


@pytest.mark.parametrize("base", [0, 0x400, 0x100000000])
def test_the_base_address_is_that_of_text(base: int, tmp_path: Path) -> None:
    address = base + 0x1000
    macho = Macho([code(address)], [Symbol("_main", address)], base=base)
    convert_bytes(tmp_path, macho.to_bytes())
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == base
        assert reader.lookup(address + 0xFFF) is not None


def test_an_object_file_has_no_base_address(tmp_path: Path) -> None:
    macho = Macho([code(0x20)], [Symbol("_f", 0x20)], base=None, type=OBJECT)
    convert_bytes(tmp_path, macho.to_bytes())
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.base_address == 0x20


@pytest.mark.parametrize(("bits", "byteorder"), KINDS)
def test_the_uuid_is_found(bits: int, byteorder: ByteOrder, tmp_path: Path) -> None:
    macho = Macho([code()], [MAIN], uuid=ID, bits=bits, byteorder=byteorder)
    assert convert_bytes(tmp_path, macho.to_bytes()).report.uuid == ID
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.byteorder == byteorder
    without = Macho([code()], [MAIN], bits=bits, byteorder=byteorder)
    assert convert_bytes(tmp_path, without.to_bytes()).report.uuid == b""


def test_a_dsym_has_its_code_elsewhere(tmp_path: Path) -> None:
    """The headers of its code sections are those of the binary it was made for."""
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    macho = Macho([code(), *debug_sections(sections)], type=DSYM)
    converted = convert_bytes(tmp_path, macho.to_bytes())
    assert describe(converted.functions) == "1000-1010 f\n"


def test_sections_may_lie_beyond_4_gib(tmp_path: Path) -> None:
    """Their headers hold 32 bits of an offset; dsymutil keeps addresses in step."""
    far = 1 << 32
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    image = bytearray(macho_of(sections))
    segment = image.index(b"__DWARF".ljust(16, b"\0")) - 8
    start, size = struct.unpack_from("<QQ", image, segment + 40)
    struct.pack_into("<Q", image, segment + 40, start + far)
    for index in range(len(sections)):
        header = segment + 72 + 80 * index
        (offset,) = struct.unpack_from("<I", image, header + 48)
        struct.pack_into("<Q", image, header + 32, offset - start)
    with (tmp_path / "app").open("wb") as file:  # sparse
        file.write(image[:start])
        file.seek(start + far)
        file.write(image[start : start + size])
    report = gsym.convert(tmp_path / "app")
    assert report.functions_debug_info == 1


# ---- damage

HEADER = 32
WHOLE = Macho([code()], [MAIN], uuid=ID).to_bytes()


def patched(image: bytes, place: int, value: int) -> bytes:
    out = bytearray(image)
    struct.pack_into("<I", out, place, value)
    return bytes(out)


DAMAGED = {
    "magic only": WHOLE[:4],
    "half a header": WHOLE[:20],
    "load commands cut off": WHOLE[: HEADER + 10],
    "more load commands than fit": patched(WHOLE, 16, 0xFFFFFFFF),
    "load commands past the end": patched(WHOLE, 20, 0xFFFFFFFF),
    "a load command of no size": patched(WHOLE, HEADER + 4, 0),
    "a load command without its size": patched(WHOLE, HEADER + 4, 7),
    "a load command past the end": patched(WHOLE, HEADER + 4, 0xFFFFFFF0),
    "a segment without room for itself": patched(WHOLE, HEADER + 4, 40),
    "more sections than fit": patched(WHOLE, HEADER + 64, 2),
    "very many sections": patched(WHOLE, HEADER + 64, 0xFFFFFFFF),
}


@pytest.mark.parametrize("image", DAMAGED.values(), ids=DAMAGED)
def test_damaged_headers_are_refused(image: bytes, tmp_path: Path) -> None:
    with pytest.raises(gsym.FormatError) as caught:
        convert_bytes(tmp_path, image)
    assert caught.value.path == str(tmp_path / "input")
    assert caught.value.offset is not None
    assert not (tmp_path / "input.gsym").exists()


def test_a_debug_section_past_the_end_of_the_file_is_refused(tmp_path: Path) -> None:
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    image = macho_of(sections)
    place = image.index(b"__debug_info") + 32
    for offset, size in ((0xFFFFFFF0, 8), (HEADER, 1 << 40), (HEADER, (1 << 64) - 1)):
        broken = bytearray(image)
        struct.pack_into("<QI", broken, place + 8, size, offset)
        with pytest.raises(gsym.FormatError, match="__debug_info"):
            convert_bytes(tmp_path, bytes(broken))


@pytest.mark.parametrize("data", [b"", b"ZLIB", b"ZLOB" + bytes(20), bytes(11)])
def test_a_compressed_section_without_its_header_is_refused(
    data: bytes, tmp_path: Path
) -> None:
    section = Section("__zdebug_info", data or b"Z", "__DWARF")
    image = Macho([code(), section], [MAIN]).to_bytes()
    with pytest.raises(gsym.FormatError, match="__zdebug_info"):
        convert_bytes(tmp_path, image)


def test_every_prefix_and_many_changed_bytes_end_in_an_answer(tmp_path: Path) -> None:
    dwarf = Dwarf([unit(function("f", 0x1000, 0x1010), version=4)]).sections()
    whole = Macho(
        [code(), *debug_sections(dwarf)],
        [MAIN, Symbol("_g", 0x1100)],
        uuid=ID,
        function_starts=[0x1000, 0x1080, 0x1100],
    ).to_bytes()
    assert settle(tmp_path, whole) == words("""
        1000-1010 f
        1100-2000 g
    """)
    for size in range(0, len(whole), 37):
        settle(tmp_path, whole[:size])
    commands = HEADER + struct.unpack_from("<I", whole, 20)[0]
    for place in range(0, commands, 3):
        value = b"\xff" if place % 4 else b"\0"
        settle(tmp_path, whole[:place] + value + whole[place + 1 :])


@pytest.mark.slow
def test_very_many_sections_and_symbols_cost_no_more_than_their_bytes(
    tmp_path: Path,
) -> None:
    sections = [Section("__debug_x", b"x", "__DWARF")] * 30_000
    symbols = [Symbol("_f", 0x1000 + n % 0x1000) for n in range(100_000)]
    image = Macho([code(), *sections], symbols).to_bytes()
    assert convert_bytes(tmp_path, image).report.functions == 0x1000
