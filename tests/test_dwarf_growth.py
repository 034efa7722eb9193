"""Time and memory grow with the size of an input, whatever it says."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conversions import SECONDS, convert_bytes
from tests.inputs.dies import SIBLING, Die, Ref
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Symbol, elf_of
from tests.inputs.encoding import Encoding, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    LineProgram,
    advance_line,
    advance_pc,
    sequence,
    set_address,
)
from tests.inputs.program import function, program, unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


HUGE = (1 << 64) - 1
SYMBOL = Symbol("symbol", 0x1F00, 0x10)


ROWS = tuple(sequence((0x1000, 5), (0x1004, 6), end=0x1040))


def units_with_tables_of_their_own(count: int) -> bytes:
    """Each unit's table starts inside of another's."""
    info = b"".join(
        Encoding().with_length(b"\5\0\1\x08" + (6 * n).to_bytes(4, "little") + b"\1\0")
        for n in range(count)
    )
    table = b"".join(uleb(200 + n) + b"\x2e\0\0\0" for n in range(2 * count))
    sections = {".debug_info": info, ".debug_abbrev": table + b"\0"}
    return elf_of(sections, symbols=[SYMBOL])


def methods_of_one_class(count: int) -> bytes:
    """A class with many methods, all defined elsewhere, their names qualified."""
    method = {At.name: "f", At.declaration: True}
    definition = {At.low_pc: 0x1000, At.high_pc: Form.data4(1)}
    main = unit(
        Die(
            Tag.class_type,
            {At.name: "C", At.sibling: SIBLING},
            *(Die(Tag.subprogram, method, label=f"{n}") for n in range(count)),
        ),
        *(
            Die(Tag.subprogram, {At.specification: Ref(f"{n}"), **definition})
            for n in range(count)
        ),
    )
    return program(main, symbols=[SYMBOL])


def sequences_below_many_functions(count: int) -> bytes:
    """Functions that all span all of many sequences."""
    dies = [function("f", 0x1000 + n, 0x1F00) for n in range(count // 10)]
    ops = [
        op
        for n in range(count)
        for op in (
            set_address(0x1000 + n % 3_000),
            COPY,
            advance_pc(1),
            advance_line(1),
            END_SEQUENCE,
        )
    ]
    return program(unit(*dies, version=4, lines=LineProgram(ops)), symbols=[SYMBOL])


def overlapping_functions(count: int) -> bytes:
    """Functions that all span all of many rows."""
    dies = [function("f", 0x1000 + n % 3_000, 0x1F00) for n in range(count)]
    ops = [set_address(0x1000), b"\x4b" * count, *ROWS]
    return program(unit(*dies, version=4, lines=LineProgram(ops)), symbols=[SYMBOL])


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        (units_with_tables_of_their_own, 2_000),
        (methods_of_one_class, 5_000),
        (sequences_below_many_functions, 5_000),
        (overlapping_functions, 2_000),
    ],
)
def test_cost_grows_with_the_size_of_the_input(
    shape: Callable[[int], bytes], count: int, tmp_path: Path
) -> None:
    # A cost that grew with the square would run into the watchdog of convert_bytes.
    assert convert_bytes(tmp_path, shape(16 * count), {"threads": 1}).functions


def test_rows_that_many_functions_share_are_not_copied_without_end(
    tmp_path: Path,
) -> None:
    path = tmp_path / "input"
    path.write_bytes(sequences_below_many_functions(30_000))
    script = "import gsym, sys; print(gsym.convert(sys.argv[1]).peak_memory)"
    result = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        check=True,
        capture_output=True,
        timeout=SECONDS,
    )
    assert int(result.stdout) < 400 << 20


def test_many_functions_at_one_place(tmp_path: Path) -> None:
    rows = sequence(*((0x1000 + n, n) for n in range(500)), end=0x1200)
    dies = [function(f"f{n}", 0x1000, 0x1200) for n in range(2_000)]
    image = program(unit(*dies, version=4, lines=LineProgram(rows)))
    report, functions = convert_bytes(tmp_path, image)
    assert len(functions) == 1
    assert report.functions_pruned == 1_999
