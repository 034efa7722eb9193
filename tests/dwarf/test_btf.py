"""BTF gives functions of BPF lines, where there is no DWARF."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import convert_bytes, describe, settle
from tests.inputs.elf import BPF, RELOCATABLE, Elf, Section, Symbol, code_section
from tests.inputs.program import function, program, unit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

STRINGS = b"\0.text\0kprobe/a\0slow\0first\0/src/a.c\0/src/b.h\0"
SLOW, FIRST = 3, 6  # numbers of types

FUNCTIONS = {".text": [(0, SLOW)], "kprobe/a": [(0, FIRST)]}
LINES = {
    ".text": [(0, "/src/a.c", 10), (8, "/src/b.h", 3), (16, "/src/b.h", 3)],
    "kprobe/a": [(0, "/src/a.c", 20)],
}
IN_WORDS = """\
0-18 slow
  0 /src/a.c:10
  8 /src/b.h:3
18-28 first
  18 /src/a.c:20
"""


def text_at(text: str) -> int:
    return STRINGS.index(b"\0" + text.encode() + b"\0") + 1


def btf(order: str) -> bytes:
    def kind(name: str, number: int, count: int, last: int, rest: int = 0) -> bytes:
        at = text_at(name) if name else 0
        return struct.pack(order + "3I", at, number << 24 | count, last) + bytes(rest)

    types = b"".join(
        (
            kind("", 1, 0, 4, 4),  # INT
            kind("", 13, 2, 1, 16),  # FUNC_PROTO
            kind("slow", 12, 0, 2),
            kind("", 4, 1, 4, 12),  # STRUCT
            kind("", 15, 1, 4, 12),  # DATASEC
            kind("first", 12, 1, 2),
        )
    )
    parts = 0, len(types), len(types), len(STRINGS)
    return struct.pack(order + "HBBI4I", 0xEB9F, 1, 0, 24, *parts) + types + STRINGS


def extension(order: str, functions: object = None, lines: object = None) -> bytes:
    def blocks(entries: object, size: int) -> bytes:
        out = struct.pack(order + "I", size)
        assert isinstance(entries, dict)
        for section, items in entries.items():
            out += struct.pack(order + "2I", text_at(section), len(items))
            for item in items:
                out += struct.pack(
                    order + "2I",
                    item[0],
                    item[1] if isinstance(item[1], int) else text_at(item[1]),
                )
                if len(item) > 2:
                    out += struct.pack(order + "2I", 0, item[2] << 10 | 7)
                out += bytes(size - (16 if len(item) > 2 else 8))
        return out

    info = blocks(FUNCTIONS if functions is None else functions, 8)
    rows = blocks(LINES if lines is None else lines, 16)
    parts = 0, len(info), len(info), len(rows)
    return struct.pack(order + "HBBI4I", 0xEB9F, 1, 0, 24, *parts) + info + rows


def image(
    byteorder: ByteOrder = "little",
    symbols: Sequence[Symbol] = (),
    **entries: object,
) -> bytes:
    order = "<" if byteorder == "little" else ">"
    return Elf(
        [
            code_section(0, 0x18),
            code_section(0, 0x10, "kprobe/a"),
            Section(".BTF", btf(order)),
            Section(".BTF.ext", extension(order, **entries)),
        ],
        symbols=symbols,
        machine=BPF,
        type=RELOCATABLE,
        byteorder=byteorder,
    ).to_bytes()


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_functions_and_lines_are_those_of_their_sections(
    byteorder: ByteOrder, tmp_path: Path
) -> None:
    report, functions = convert_bytes(tmp_path, image(byteorder))
    assert describe(functions) == IN_WORDS
    assert report.notes == ()


def test_a_symbol_names_its_function_and_gives_the_size(tmp_path: Path) -> None:
    symbols = [Symbol("named", 0, 0x10)]
    text = describe(convert_bytes(tmp_path, image(symbols=symbols)).functions)
    assert text.startswith("0-10 named\n  0 /src/a.c:10\n  8 /src/b.h:3\n18-28 first\n")


def test_a_function_ends_at_the_next_one(tmp_path: Path) -> None:
    content = image(functions={".text": [(0, SLOW), (8, FIRST)]}, lines={})
    text = describe(convert_bytes(tmp_path, content).functions)
    assert text == "0-8 slow\n8-18 first\n"


def test_sections_and_types_that_are_not_there_are_passed_over(tmp_path: Path) -> None:
    functions = {".text": [(0, 2), (8, SLOW), (16, 99)], "/src/a.c": [(0, FIRST)]}
    content = image(functions=functions, lines={"/src/b.h": [(0, "/src/a.c", 1)]})
    text = describe(convert_bytes(tmp_path, content).functions)
    assert text == "8-18 slow\n"


def test_dwarf_is_preferred(tmp_path: Path) -> None:
    main = program(unit(function("f", 0x1000, 0x1010)))
    report, _ = convert_bytes(tmp_path, main)
    assert report.functions_debug_info == 1


@pytest.mark.parametrize("cut", [4, 12])
def test_entries_that_are_cut_off_are_damage(cut: int, tmp_path: Path) -> None:
    whole = extension("<")
    head = bytearray(whole[:-cut])
    struct.pack_into("<I", head, 20, len(whole) - cut - 24 - head[12])
    content = image().replace(whole, bytes(head) + bytes(cut))
    with pytest.raises(gsym.FormatError, match=r"\.BTF\.ext reach past its end"):
        convert_bytes(tmp_path, content)


@pytest.mark.parametrize(("count", "is_read"), [(10, True), (3000, False)])
def test_sections_are_searched_up_to_a_limit(
    count: int, tmp_path: Path, *, is_read: bool
) -> None:
    head = struct.pack("<HBBI4I", 0xEB9F, 1, 0, 24, 0, 12 + 8 * count, 0, 0)
    info = struct.pack("<I", 8) + struct.pack("<2I", text_at("slow"), 0) * count
    info += struct.pack("<2I", text_at(".text"), 1)[:8]
    content = Elf(
        [
            code_section(0, 0x18),
            *(code_section(0, 0x8, f".{at}") for at in range(count)),
            Section(".BTF", btf("<")),
            Section(
                ".BTF.ext",
                head[:12]
                + struct.pack("<I", len(info) + 8)
                + head[16:]
                + info
                + struct.pack("<2I", 0, SLOW),
            ),
        ],
        symbols=[Symbol("last", 0x10, 8)],
        machine=BPF,
        type=RELOCATABLE,
    ).to_bytes()
    _, functions = convert_bytes(tmp_path, content)
    assert ("slow" in [each.name for each in functions]) is is_read


@pytest.mark.hostile
def test_each_changed_byte_ends_in_an_answer(tmp_path: Path) -> None:
    content = image()
    for part in (btf("<"), extension("<")):
        start = content.index(part)
        for at in range(start, start + len(part), 2):
            for value in (0, 0xFF):
                changed = bytearray(content)
                changed[at] = value
                settle(tmp_path, bytes(changed))
