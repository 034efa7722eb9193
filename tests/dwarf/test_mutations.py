"""Every prefix and many changed bytes of a small file end in an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import convert_bytes, settle
from tests.inputs.dies import SIBLING, Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Symbol, elf_of
from tests.inputs.line_program import (
    File,
    LineProgram,
    sequence,
)
from tests.inputs.program import inlined, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.long, pytest.mark.hostile]


SYMBOL = Symbol("symbol", 0x1F00, 0x10)


def small_program() -> dict[str, bytes]:
    """Debug sections that use a bit of everything, in a few hundred bytes."""
    lines = LineProgram(
        sequence((0x1000, 5), (0x1004, 6, 1), (0x1100, 7, 0), end=0x1110),
        directories=("/src", "inc"),
        files=(File("a.c"), File("b.h", 1)),
    )
    main = unit(
        Die(
            Tag.namespace,
            {At.name: Form.strp("N")},
            Die(
                Tag.class_type,
                {At.name: Form.strx1("C"), At.sibling: SIBLING},
                Die(Tag.subprogram, {At.name: "g", At.declaration: True}, label="g"),
            ),
        ),
        Die(
            Tag.subprogram, {At.specification: Ref("g"), At.inline: 1}, label="abstract"
        ),
        Die(
            Tag.subprogram,
            {
                At.name: Form.line_strp("f"),
                At.ranges: Form.rnglistx(
                    ranges(
                        RangeEntry.startx_length(0x1000, 0x10),
                        RangeEntry.base_address(0x1100),
                        (0, 0x10),
                    )
                ),
                At.frame_base: b"\x9c",
            },
            Die(
                Tag.lexical_block,
                {},
                inlined(Ref("abstract"), (0x1004, 0x1008)),
            ),
            Die(Tag.call_site, {At.call_return_pc: 0x1008, At.call_origin: Ref("g")}),
        ),
        lines=lines,
    )
    old = unit(
        Die(
            Tag.subprogram,
            {At.name: "h", At.ranges: ranges((0x1200, 0x1210), (0x1220, 0x1230))},
        ),
        version=4,
        lines=LineProgram(sequence((0x1200, 5), end=0x1230)),
    )
    return Dwarf([main, old]).sections()


SMALL = small_program()


def test_the_undamaged_file_is_sound(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, elf_of(SMALL, symbols=[SYMBOL]))
    assert [function.name for function in functions] == ["f", "f", "h", "h", "symbol"]
    assert report.warnings == {}


@pytest.mark.parametrize("name", SMALL)
def test_every_prefix_of_a_section(name: str, tmp_path: Path) -> None:
    for size in range(len(SMALL[name])):
        image = elf_of({**SMALL, name: SMALL[name][:size]}, symbols=[SYMBOL])
        assert settle(tmp_path, image)


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF, None], ids=str)
def test_bytes_of_a_section_changed(
    name: str, flip: int | None, tmp_path: Path
) -> None:
    data = SMALL[name]
    for place in range((flip or 0) % 3, len(data), 3):
        changed = bytearray(data)
        changed[place] = 0 if flip is None else data[place] ^ flip
        image = elf_of({**SMALL, name: bytes(changed)}, symbols=[SYMBOL])
        assert settle(tmp_path, image)


def test_bytes_of_the_container_changed(tmp_path: Path) -> None:
    image = elf_of(SMALL, symbols=[SYMBOL])
    table = len(image) - 64 * (len(SMALL) + 5)
    for place in [*range(64), *range(table, len(image), 7)]:
        changed = bytearray(image)
        changed[place] ^= (0x01, 0x80, 0xFF)[place % 3 - place // 64 % 3]
        settle(tmp_path, bytes(changed))


def test_every_prefix_of_the_container(tmp_path: Path) -> None:
    image = elf_of(SMALL, symbols=[SYMBOL])
    for size in range(0, len(image), 23):
        settle(tmp_path, image[:size])
