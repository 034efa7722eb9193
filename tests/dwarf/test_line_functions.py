"""Line tables that no unit refers to give functions of symbols their lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import convert_bytes, describe, settle
from tests.inputs.elf import (
    CUDA,
    EXECUTABLE,
    X86_64,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.encoding import Encoding, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    File,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    extended,
    set_address,
    set_file,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STRINGS = b"\0inner\0outer\0"
INNER, OUTER = 1, 7


def call(row: int, name: int) -> bytes:
    return extended(0x90, uleb(row) + uleb(name))


NO_CALL = call(0, 0)


def row(operations: int, lines: int) -> bytes:
    return advance_pc(operations) + advance_line(lines) + COPY


KERNEL: tuple[Op, ...] = (
    set_address(0),
    row(0, 9),  # 1: line 10
    row(8, 1),  # 2: line 11 calls outer
    call(2, OUTER),
    row(0, 9),  # 3: line 20
    row(8, 1),  # 4: line 21 calls inner
    call(4, INNER),
    set_file(2) + row(0, 9),  # 5: line 30
    call(2, OUTER),
    set_file(1) + row(8, -8),  # 6: line 22
    NO_CALL,
    row(8, -10),  # 7: line 12
    advance_pc(8),
    END_SEQUENCE,
)
IN_WORDS = """\
0-28 kernel
  0 /src/a.cu:10
  8 /src/a.cu:20
  10 /src/b.cuh:30
  18 /src/a.cu:22
  20 /src/a.cu:12
  inlined outer 8-20 from /src/a.cu:11
    inlined inner 10-18 from /src/a.cu:21
"""
SECOND_IN_WORDS = """\
100-128 second
  100 /src/a.cu:10
  108 /src/a.cu:20
  110 /src/b.cuh:30
  118 /src/a.cu:22
  120 /src/a.cu:12
  inlined outer 108-120 from /src/a.cu:11
    inlined inner 110-118 from /src/a.cu:21
"""


def image(
    *programs: Sequence[Op],
    symbols: Sequence[Symbol] = (Symbol("kernel", 0, 0x28),),
    machine: int = CUDA,
) -> bytes:
    files = (File("a.cu", 1), File("b.cuh", 1))
    tables = b"".join(
        LineProgram(tuple(ops), files, ("/src",)).encode(Encoding(), 3, lambda _, __: 0)
        for ops in programs
    )
    sections = [code_section(0), Section(".debug_line", tables)]
    return Elf(
        [*sections, Section(".debug_str", STRINGS)],
        symbols=symbols,
        machine=machine,
        type=EXECUTABLE,
    ).to_bytes()


def converted(folder: Path, content: bytes) -> str:
    return describe(convert_bytes(folder, content).functions)


def test_calls_of_cuda_name_the_row_that_calls(tmp_path: Path) -> None:
    assert converted(tmp_path, image(KERNEL)) == IN_WORDS


def test_rows_are_counted_within_their_sequence(tmp_path: Path) -> None:
    moved = (set_address(0x100), *KERNEL[1:])
    symbols = [Symbol("kernel", 0, 0x28), Symbol("second", 0x100, 0x28)]
    words = IN_WORDS + SECOND_IN_WORDS
    both = image((*KERNEL, *moved), symbols=symbols)
    assert converted(tmp_path, both) == words
    assert converted(tmp_path, image(KERNEL, moved, symbols=symbols)) == words


def test_a_function_inside_of_a_kernel_has_the_calls_of_its_own_addresses(
    tmp_path: Path,
) -> None:
    symbols = [Symbol("kernel", 0, 0x28), Symbol("part", 0xC, 0x8)]
    text = converted(tmp_path, image(KERNEL, symbols=symbols))
    assert (
        "c-14 part\n"
        "  c /src/a.cu:20\n"
        "  10 /src/b.cuh:30\n"
        "  inlined outer c-14 from /src/a.cu:11\n"
        "    inlined inner 10-14 from /src/a.cu:21\n"
    ) in text


def test_a_symbol_without_a_size_extends_to_the_next_one_or_the_end_of_its_rows(
    tmp_path: Path,
) -> None:
    symbols = [Symbol("kernel", 0), Symbol("part", 0x20)]
    text = converted(tmp_path, image(KERNEL, symbols=symbols))
    assert "0-20 kernel\n" in text
    assert "20-28 part\n  20 /src/a.cu:12\n" in text


@pytest.mark.parametrize("caller", [3, 8, 1 << 32, (1 << 64) - 1])
def test_a_caller_that_is_no_earlier_row_is_damage(caller: int, tmp_path: Path) -> None:
    ops = (*KERNEL[:3], call(caller, OUTER), *KERNEL[4:])
    report, functions = convert_bytes(tmp_path, image(ops))
    assert report.warnings == {"Damaged line program": 1}
    assert "inlined outer 8" not in describe(functions)


def test_other_machines_have_lines_and_no_calls(tmp_path: Path) -> None:
    text = converted(tmp_path, image(KERNEL, machine=X86_64))
    assert text == IN_WORDS[: IN_WORDS.index("  inlined")]


def test_the_report_does_not_miss_debug_information(tmp_path: Path) -> None:
    report, _ = convert_bytes(tmp_path, image(KERNEL))
    assert report.notes == ()
    assert report.functions_with_lines == 1


def test_lines_of_a_section_that_is_placed_are_relocated(tmp_path: Path) -> None:
    """Each kernel is at address 0 of its own section."""
    ops = (set_address(0), *KERNEL[1:])
    table = LineProgram(ops, (File("a.cu"), File("b.cuh"))).encode(
        Encoding(), 3, lambda _, __: 0
    )
    at = table.index(bytes([0, 9, 2])) + 3
    content = Elf(
        [
            *(code_section(0, 0x100, f".text.{name}") for name in ("one", "two")),
            Section(".debug_line", table),
            Section(".debug_str", STRINGS),
        ],
        symbols=[
            Symbol(name, 0, 0x28, section=f".text.{name}") for name in ("one", "two")
        ],
        relocations=[(".debug_line", [Relocation(at, 2, "two")])],
        machine=CUDA,
    ).to_bytes()
    text = converted(tmp_path, content)
    assert text.startswith("0-28 one\n100-128 two\n  100 a.cu:10\n")


def test_functions_that_share_all_rows_have_them_up_to_a_limit(tmp_path: Path) -> None:
    rows = b"".join(row(1, 1 if at % 2 else -1) for at in range(2000))
    symbols = [Symbol(f"f{at}", at, 2000 - at) for at in range(2000)]
    content = image(
        (set_address(0), advance_line(9), rows, END_SEQUENCE), symbols=symbols
    )
    report, functions = convert_bytes(tmp_path, content)
    assert report.warnings[LIMIT_REACHED] == 1
    with_lines = [each for each in functions if each.line_table]
    assert 500 < len(with_lines) < 2000


@pytest.mark.hostile
def test_each_prefix_and_changed_byte_ends_in_an_answer(tmp_path: Path) -> None:
    content = image(KERNEL, KERNEL)
    start = content.index(b"a.cu")
    end = content.index(STRINGS)
    for at in range(start, end):
        for value in (0, 0x90, 0xFF):
            changed = bytearray(content)
            changed[at] = value
            settle(tmp_path, bytes(changed))
