"""Crafted Go binaries cost no more time than their size allows.

Time is counted in instructions, those of the C library included.
"""

from __future__ import annotations

from dataclasses import replace
from struct import pack_into, unpack_from
from typing import TYPE_CHECKING

import pytest

from gsym.conversion.report import LIMIT_REACHED
from tests.callgrind import count_instructions
from tests.conversions import convert_bytes
from tests.inputs.elf import ALLOC, PROGBITS, Section, Symbol
from tests.inputs.go import BUILD_INFO, RODATA, TEXT, GoCall, GoFunction, go_elf

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONVERT = """
import gsym, sys
for path in sys.argv[1:]:
    try:
        gsym.convert(path, threads=1)
    except gsym.GsymError:
        pass
"""
MOST_PER_BYTE = 100  # instructions
LONG = "n" * 60_000  # as long as names can be, about
SECTION_HEADER_SIZE = 64


def instructions(folder: Path, *images: bytes) -> list[int]:
    """What the conversion of each takes."""
    paths = [folder / f"input{number}" for number in range(len(images))]
    for path, image in zip(paths, images, strict=True):
        path.write_bytes(image)
    counts = count_instructions(
        CONVERT, *map(str, paths), folder=folder, starts=["gsym_creator_create"]
    )
    return [each.total for each in counts]


def named(name: str) -> bytes:
    """Many functions with one name, each with a call of it."""
    call = GoCall(name, 0, "/a.go", 1)
    rows = ((0, "/a.go", 1),)
    functions = [
        GoFunction(name, 8 * at, 8, rows, (call,), ((0, 0), (4, -1)))
        for at in range(400)
    ]
    return go_elf(functions).to_bytes()


def in_files(name: str) -> bytes:
    """A function that goes back and forth between two files."""
    rows = [(at, f"/{at % 2}{name}", at) for at in range(4000)]
    return go_elf([GoFunction("f", 0, 4000, rows)]).to_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("make", [named, in_files])
def test_a_long_name_is_read_once_whatever_shares_it(
    make: Callable[[str], bytes], tmp_path: Path
) -> None:
    short, long = instructions(tmp_path, make("n"), make(LONG))
    assert long - short < MOST_PER_BYTE * 2 * len(LONG)


@pytest.mark.hostile
@pytest.mark.slow
def test_sections_that_lie_over_each_other_are_searched_up_to_a_limit(
    tmp_path: Path,
) -> None:
    data = Section(".data", bytes(1 << 16), PROGBITS, ALLOC, 0x100000)
    others = [
        Section(f".d{at}", b"", PROGBITS, ALLOC, 0x200000 + at * 0x100000)
        for at in range(2000)
    ]
    elf = go_elf([GoFunction("f", 0, 8)], has_module=False, more=(data, *others))
    plain = elf.to_bytes()
    image = bytearray(plain)
    (headers,) = unpack_from("<Q", image, 0x28)
    (count,) = unpack_from("<H", image, 0x3C)
    for number in range(count):
        header = headers + SECTION_HEADER_SIZE * number
        if unpack_from("<Q", image, header + 16)[0] >= data.address:
            pack_into("<QQ", image, header + 24, 0, len(image))
    apart, over = instructions(tmp_path, plain, bytes(image))
    assert over - apart < MOST_PER_BYTE * len(image)


@pytest.mark.parametrize("excess", [0, 1])
def test_words_are_searched_up_to_a_limit(tmp_path: Path, excess: int) -> None:
    """The table has no section of its own, and others before it share their bytes."""
    zeros, words = bytes(1 << 16), 1 << 14
    count = 4  # of the floor
    image = sharing(count, zeros)
    if excess:
        count += 4 * len(image) // words + excess
        image = sharing(count, zeros)
    report, functions = convert_bytes(tmp_path, image)
    assert [each.name for each in functions] == ["main" if excess else "f"]
    assert (LIMIT_REACHED in report.warnings) == bool(excess)


def sharing(count: int, data: bytes) -> bytes:
    """A Go binary that has *data* in so many sections, but once in its file."""
    elf = go_elf(
        [GoFunction("f", 0, 8)],
        section=".data.rel.ro",
        symbols=[Symbol("main", TEXT, 8)],
        more=[Section(".go.buildinfo", BUILD_INFO, PROGBITS, ALLOC, 0x800000)],
    )
    first = Section(".again", data, PROGBITS, ALLOC, 0x1000000)
    others = [
        Section(f".again{at}", b"", PROGBITS, ALLOC, 0x2000000 + at * 0x100000)
        for at in range(1, count)
    ]
    image = bytearray(replace(elf, sections=[first, *others, *elf.sections]).to_bytes())
    (headers,) = unpack_from("<Q", image, 0x28)
    place = unpack_from("<QQ", image, headers + SECTION_HEADER_SIZE + 24)
    for at in range(1, count + 1):
        pack_into("<QQ", image, headers + at * SECTION_HEADER_SIZE + 24, *place)
    return bytes(image)


@pytest.mark.hostile
@pytest.mark.slow
def test_inlined_calls_are_tried_up_to_a_limit(tmp_path: Path) -> None:
    """Sixteen functions have all calls that there are, and the last one some more."""
    size = 1 << 18
    last = size // 16 - 1
    calls = (GoCall("f", 0, "/a.go", 1),)
    functions = [
        GoFunction(f"f{at}", 8 * at, 8, (), calls, ((0, last + (at == 15)),))
        for at in range(16)
    ]
    elf = go_elf(functions)
    trees = Section(".rodata", bytes(size + 24 + 15 * 16), PROGBITS, ALLOC, RODATA)
    sections = [trees if each.name == ".rodata" else each for each in elf.sections]
    module = bytearray(sections[3].data)
    for word in range(32, 48):
        pack_into("<Q", module, 16 + 8 * word, RODATA)
    sections[3] = replace(sections[3], data=bytes(module))
    image = replace(elf, sections=sections).to_bytes()
    (count,) = instructions(tmp_path, image)
    assert count < MOST_PER_BYTE * len(image)
