"""Damaged and hostile line programs end in an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import convert_bytes, settle
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At
from tests.inputs.elf import Symbol, elf_of
from tests.inputs.encoding import Encoding, sleb, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    extended,
    sequence,
    set_address,
)
from tests.inputs.program import function, program, unit

if TYPE_CHECKING:
    from pathlib import Path


HUGE = (1 << 64) - 1
SYMBOL = Symbol("symbol", 0x1F00, 0x10)


def with_lines(table: LineProgram) -> bytes:
    main = unit(function("f", 0x1000, 0x1040), version=4, lines=table)
    return program(main, symbols=[SYMBOL])


ROWS = tuple(sequence((0x1000, 5), (0x1004, 6), end=0x1040))
LINE_HEADERS = {
    "opcode_base 0": LineProgram(ROWS, opcode_base=0),
    "opcode_base 1": LineProgram(ROWS, opcode_base=1),
    "opcode_base 255": LineProgram(ROWS, opcode_base=255),
    "line_range 0": LineProgram((*ROWS[:1], b"\x80\x90\x08", *ROWS[1:]), line_range=0),
    "min_inst_length 0": LineProgram(ROWS, minimum_instruction_length=0),
    "maximum_operations 0": LineProgram(ROWS, maximum_operations=0),
    "maximum_operations 255": LineProgram(ROWS, maximum_operations=255),
    "version 0": LineProgram(ROWS, version=0),
    "version 6": LineProgram(ROWS, version=6),
    "length 0": LineProgram(ROWS, length=0),
    "length past the end": LineProgram(ROWS, length=0x7FFFFFFF),
    "header_length 0": LineProgram(ROWS, header_length=0),
    "header_length past the end": LineProgram(ROWS, header_length=0x7FFFFFFF),
    "version 5 in a unit of version 4": LineProgram(ROWS, version=5),
}


@pytest.mark.parametrize("table", LINE_HEADERS.values(), ids=LINE_HEADERS)
def test_a_broken_line_header(table: LineProgram, tmp_path: Path) -> None:
    text = settle(tmp_path, with_lines(table))
    assert text is not None
    assert "1000-1040 f\n" in text


def test_a_special_opcode_without_a_line_range_ends_the_program(tmp_path: Path) -> None:
    rows = tuple(sequence((0x1000, 5), end=0x1020))
    cut = (set_address(0x1020), COPY, b"\x80", COPY, advance_pc(0x20), END_SEQUENCE)
    table = LineProgram((*rows, *cut), line_range=0)
    report, functions = convert_bytes(tmp_path, with_lines(table))
    (f,) = (each for each in functions if each.name == "f")
    assert f.line_table is not None
    assert [(row.address, row.line) for row in f.line_table] == [
        (0x1000, 5),
        (0x1020, 0),
    ]
    assert sum(report.warnings.values()) == 1


OPCODES: dict[str, tuple[Op, ...]] = {
    "extended of length 0": (b"\0\0",),
    "extended past the end": (b"\0" + uleb(HUGE) + b"\2",),
    "set_address of 0 bytes": (b"\0\1\2",),
    "set_address of 3 bytes": (b"\0\4\2\0\x10\0",),
    "set_address of 300 bytes": (b"\0" + uleb(301) + b"\2" + bytes(300),),
    "end_sequence with operands": (extended(1, b"\1\2\3"),),
    "define_file without an end": (extended(3, b"name"),),
    "endless LEB": (b"\2" + b"\x80" * 1000,),
    "advance_pc round the address space": (
        advance_pc(HUGE),
        COPY,
        advance_pc(HUGE),
        COPY,
    ),
    "advance_line round": (b"\3" + sleb(-(1 << 62)), COPY, b"\3" + sleb(1 << 62), COPY),
    "set_file of 2^64-1": (b"\4" + uleb(HUGE), COPY),
    "addresses that go down": tuple(
        op for n in range(100, 0, -1) for op in (set_address(0x1000 + n), COPY)
    ),
    "a sequence that ends before it starts": (set_address(0x900), END_SEQUENCE),
    "many sequences": (END_SEQUENCE,) * 2_000,
}


@pytest.mark.parametrize("ops", OPCODES.values(), ids=OPCODES)
def test_a_broken_line_program(ops: tuple[Op, ...], tmp_path: Path) -> None:
    table = LineProgram([set_address(0x1000), COPY, *ops, *ROWS])
    text = settle(tmp_path, with_lines(table))
    assert text is not None
    assert "1000-1040 f\n" in text


COUNTS = {
    "directories": b"\1\1\x08" + uleb(HUGE),
    "files": b"\1\1\x08\0" + b"\1\1\x08" + uleb(HUGE),
    "files of no size": b"\1\1\x08\0" + b"\0" + uleb(HUGE),
    "directories of no size": b"\0" + uleb(HUGE),
    "columns": b"\xff" + b"\1\x08" * 20,
    "a column of an unknown form": b"\1\1\x77\1" + bytes(20),
    "blocks": b"\1\1\x09\1" + uleb(HUGE),
}


@pytest.mark.parametrize("tables", COUNTS.values(), ids=COUNTS)
def test_a_huge_count_in_a_file_table(tables: bytes, tmp_path: Path) -> None:
    sections = Dwarf([unit(function("f", 0x1000, 0x1040))]).sections()
    parameters = b"\1\1\1\xfb\x0e\x0d" + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])
    body = parameters + tables
    head = b"\5\0\x08\0" + len(body).to_bytes(4, "little")
    sections[".debug_line"] = Encoding().with_length(head + body + COPY * 20)
    main = unit(function("f", 0x1000, 0x1040), attributes={At.stmt_list: 0})
    sections |= {
        name: data
        for name, data in Dwarf([main]).sections().items()
        if name != ".debug_line"
    }
    text = settle(tmp_path, elf_of(sections, symbols=[SYMBOL]))
    assert text is not None
    assert "1000-1040 f\n" in text


def test_a_program_of_rows_only(tmp_path: Path) -> None:
    ops = [set_address(0x1000), COPY * 50_000, b"\x4b" * 50_000, *ROWS]
    text = settle(tmp_path, with_lines(LineProgram(ops)))
    assert text is not None
    assert "1000-1040 f\n" in text


def test_a_line_number_below_zero(tmp_path: Path) -> None:
    ops = [set_address(0x1000), advance_line(-1), COPY, *ROWS]
    text = settle(tmp_path, with_lines(LineProgram(ops)))
    assert text is not None
    assert "f" in text
