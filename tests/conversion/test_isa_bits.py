"""The lowest bit of an address of ARM and MIPS may choose an instruction set.

Assemblers, compilers and linkers put it into symbols, DIEs, rows and call sites, each
in its own way; the address of the code is without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import convert_bytes, describe, words
from tests.inputs import pe
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import (
    ARM,
    FUNC,
    LOCAL,
    MIPS,
    NOTYPE,
    RELOCATABLE,
    SHARED,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    LineProgram,
    advance_line,
    advance_pc,
    sequence,
    set_address,
)
from tests.inputs.pdb import Function, Module, Pdb
from tests.inputs.program import function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.conversions import Options
    from tests.inputs.dwarf import Unit
    from tests.inputs.encoding import ByteOrder

THUMB_FUNC = 13
MACHINES: list[tuple[int, ByteOrder]] = [(ARM, "little"), (ARM, "big"), (MIPS, "big")]
EACH_MACHINE = pytest.mark.parametrize(("machine", "byteorder"), MACHINES)


def converted(folder: Path, image: bytes, options: Options | None = None) -> str:
    return describe(convert_bytes(folder, image, options).functions)


def image_of(
    main: Unit,
    machine: int = ARM,
    byteorder: ByteOrder = "little",
    symbols: Sequence[Symbol] = (),
) -> bytes:
    """A program of 32 bits."""
    sections = Dwarf([main], byteorder, 4).sections().items()
    return Elf(
        [code_section(), *(Section(name, data) for name, data in sections)],
        symbols=symbols,
        bits=32,
        byteorder=byteorder,
        machine=machine,
    ).to_bytes()


def test_other_machines_have_odd_addresses(tmp_path: Path) -> None:
    image = program(unit(function("f", 0x1001, 0x1007)), address_size=4)
    assert converted(tmp_path, image) == "1001-1007 f\n"


@EACH_MACHINE
@pytest.mark.parametrize("end", [Form.addr(0x1007), Form.data4(6), Form.addr(0x1006)])
def test_bounds_of_functions(
    machine: int, byteorder: ByteOrder, end: object, tmp_path: Path
) -> None:
    die = Die(Tag.subprogram, {At.name: "f", At.low_pc: 0x1001, At.high_pc: end})
    image = image_of(unit(die, version=4), machine, byteorder)
    assert converted(tmp_path, image) == "1000-1006 f\n"


def test_code_may_end_at_an_odd_address(tmp_path: Path) -> None:
    image = image_of(unit(function("f", 0x1000, 0x1007)))
    assert converted(tmp_path, image) == "1000-1007 f\n"


@EACH_MACHINE
@pytest.mark.parametrize("version", [4, 5])
def test_range_lists(
    machine: int, byteorder: ByteOrder, version: int, tmp_path: Path
) -> None:
    lists = {
        4: ranges((0x1, 0x11), (0x101, 0x111)),
        5: ranges(
            RangeEntry.start_end(0x1001, 0x1011), RangeEntry.start_length(0x1101, 0x10)
        ),
    }
    die = Die(Tag.subprogram, {At.name: "f", At.ranges: lists[version]})
    main = unit(die, version=version, attributes={At.low_pc: 0x1000})
    image = image_of(main, machine, byteorder)
    assert converted(tmp_path, image) == "1000-1010 f\n1100-1110 f\n"


@EACH_MACHINE
def test_rows_and_inlined_calls(
    machine: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    die = function("f", 0x1000, 0x1012, inlined(Form.ref4(0), (0x1005, 0x1009)))
    lines = LineProgram(sequence((0x1001, 3), (0x1009, 4), (0x100D, 5), end=0x1012))
    text = converted(
        tmp_path, image_of(unit(die, version=4, lines=lines), machine, byteorder)
    )
    rows = [line for line in text.splitlines() if ".c:" in line and "from" not in line]
    assert rows == ["  1000 /src/a.c:3", "  1008 /src/a.c:4", "  100c /src/a.c:5"]
    assert "1004-1008 from" in text


def test_a_sequence_ends_with_its_function(tmp_path: Path) -> None:
    """Both ends of the first have the bit, the label that ends the second has not."""
    lines = LineProgram(
        [
            *sequence((0x1001, 1), end=0x1011),
            *(set_address(0x1021), advance_line(1), COPY, advance_pc(3), END_SEQUENCE),
        ]
    )
    symbols = [Symbol("f", 0x1001), Symbol("g", 0x1021, 4)]
    image = image_of(unit(version=4, lines=lines), symbols=symbols)
    assert converted(tmp_path, image) == words("""
        1000-1000 f
          1000 /src/a.c:1
          1010 :0
        1020-1024 g
          1020 /src/a.c:2
    """)


@pytest.mark.parametrize("bit", [0, 1])
def test_relocated_addresses(bit: int, tmp_path: Path) -> None:
    """The value of a symbol of Thumb code has the bit."""
    main = unit(function("f", 0, Form.data4(8)), version=4)  # type: ignore[arg-type]
    debug = [
        Section(name, data)
        for name, data in Dwarf([main], "little", 4).sections().items()
    ]
    where = debug[0].data.index(bytes(4), 11 + len("a.c/src"))
    file = Elf(
        [code_section(0, 0x100), *debug],
        symbols=[Symbol("f", 0x20 + bit, 8)],
        relocations=[(debug[0].name, [Relocation(where, 2, "f")])],
        bits=32,
        machine=ARM,
        type=RELOCATABLE,
    )
    assert converted(tmp_path, file.to_bytes()) == "20-28 f\n"


def test_call_sites(tmp_path: Path) -> None:
    call = Die(Tag.call_site, {At.call_return_pc: 0x1009})
    image = image_of(unit(function("f", 0x1001, 0x1011, call)))
    assert converted(tmp_path, image, {"call_sites": True}) == words("""
        1000-1010 f
          call +8 to
    """)


@EACH_MACHINE
@pytest.mark.parametrize("kind", [FUNC, NOTYPE])
@pytest.mark.parametrize("table", ["symbols", "dynamic_symbols"])
def test_symbols(
    machine: int, byteorder: ByteOrder, kind: int, table: str, tmp_path: Path
) -> None:
    symbols = [
        Symbol("first", 0x1001, 0x10, kind),
        Symbol("second", 0x1021, 0x10, kind, LOCAL),
    ]
    file = Elf(
        [code_section()],
        **{table: symbols},  # type: ignore[arg-type]
        bits=32,
        byteorder=byteorder,
        machine=machine,
        type=SHARED,
    )
    text = converted(tmp_path, file.to_bytes())
    assert text == "1000-1010 first\n1020-1030 second\n"


def test_thumb_functions_of_old_arm(tmp_path: Path) -> None:
    symbols = [Symbol("in_arm", 0x1000, 8), Symbol("in_thumb", 0x1008, 8, THUMB_FUNC)]
    file = Elf([code_section()], symbols=symbols, bits=32, machine=ARM)
    assert (
        converted(tmp_path, file.to_bytes()) == "1000-1008 in_arm\n1008-1010 in_thumb\n"
    )


def test_the_type_of_thumb_functions_is_of_arm_alone(tmp_path: Path) -> None:
    symbols = [Symbol("f", 0x1000, 8), Symbol("g", 0x1008, 8, THUMB_FUNC)]
    file = Elf([code_section()], symbols=symbols, bits=32)
    assert converted(tmp_path, file.to_bytes()) == "1000-1008 f\n"


def test_exports_of_windows_on_arm(tmp_path: Path) -> None:
    image = pe.Pe(
        [pe.code_section(0x1000, 0x100)],
        machine=pe.ARM,
        image_base=0x400000,
        exports=[pe.Export("f", 0x1001), pe.Export("g", 0x1021)],
    ).to_bytes()
    assert converted(tmp_path, image) == "401000-401020 f\n401020-401100 g\n"


def test_symbols_of_windows_on_arm(tmp_path: Path) -> None:
    image = pe.Pe(
        [pe.code_section(0x1000, 0x100)],
        [pe.Symbol("f", 1), pe.Symbol("g", 0x21)],
        machine=pe.ARM,
        image_base=0x400000,
    ).to_bytes()
    assert converted(tmp_path, image) == "401000-401020 f\n401020-401100 g\n"


def test_a_pdb_of_windows_on_arm(tmp_path: Path) -> None:
    procedure = Function("f", 1, 0x10, ((0, 3), (8, 4)))
    image = Pdb(
        [Module([procedure])], [("?g@@YAXXZ", 1, 0x21)], machine=pe.ARM
    ).to_bytes()
    text = converted(tmp_path, image)
    assert [line for line in text.splitlines() if line[0] != " "] == [
        "1000-1010 f",
        "1020-2000 ?g@@YAXXZ",
    ]


SYM = """\
MODULE Linux {arch} 0905AE80CEE75A33E3CAB61C274274DE0 app
FILE 0 a.c
INLINE_ORIGIN 0 g
FUNC 1001 20 0 f
INLINE 0 9 0 0 1009 4
1001 8 3 0
1009 18 4 0
PUBLIC 1041 0 p
"""


@pytest.mark.parametrize("arch", ["arm", "armv7", "mips", "mips64"])
def test_breakpad_files(arch: str, tmp_path: Path) -> None:
    assert converted(tmp_path, SYM.format(arch=arch).encode()) == words("""
        1000-1020 f
          1000 a.c:3
          1008 a.c:4
          inlined g 1008-100c from a.c:9
        1040-1040 p
    """)


@pytest.mark.parametrize("arch", ["arm64", "arm64e", "x86_64"])
def test_breakpad_files_of_other_machines(arch: str, tmp_path: Path) -> None:
    text = converted(tmp_path, SYM.format(arch=arch).encode())
    assert text.startswith("1001-1021 f\n")
    assert "1041-1041 p\n" in text
