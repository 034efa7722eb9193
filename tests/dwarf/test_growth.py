"""Time and memory grow with the size of an input, whatever it says."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.conversion.report import LIMIT_REACHED as LIMIT
from tests.conversions import SECONDS, convert_bytes
from tests.inputs.dies import SIBLING, Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Symbol, code_section, elf_of
from tests.inputs.encoding import Encoding, cstring, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    File,
    LineProgram,
    advance_line,
    advance_pc,
    sequence,
    set_address,
    set_file,
)
from tests.inputs.program import function, program, unit
from tests.peak_memory import MEASURES
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.long, no_sanitizer]

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


def units_whose_tables_are_suffixes_of_one_another(count: int) -> bytes:
    """Each has a root of its own and shares the abbreviation of its function."""
    name = uleb(At.name) + uleb(Form.string)
    extent = uleb(At.low_pc) + uleb(Form.addr) + uleb(At.high_pc) + uleb(Form.data1)
    roots = [
        uleb(200 + n) + uleb(Tag.compile_unit) + b"\1" + name + b"\0\0"
        for n in range(count)
    ]
    leaf = b"\1" + uleb(Tag.subprogram) + b"\0" + name + extent + b"\0\0"
    info, offset = b"", 0
    for n, root in enumerate(roots):
        place = (0x1000 + 2 * n).to_bytes(8, "little") + b"\2"
        dies = uleb(200 + n) + b"u\0" + b"\1" + cstring(f"f{n}") + place + b"\0"
        head = b"\4\0" + offset.to_bytes(4, "little") + b"\x08"
        info += Encoding().with_length(head + dies)
        offset += len(root)
    table = b"".join(roots) + leaf + b"\0"
    sections = {".debug_info": info, ".debug_abbrev": table}
    return elf_of(sections, code_section(0x1000, 2 * count))


def functions_in_long_scopes(count: int) -> bytes:
    """Functions in namespaces that all have one very long name."""
    inner = [
        function(None, 0x1000 + n, 0x1001 + n, attributes={At.name: Form.strp(f"f{n}")})
        for n in range(count)
    ]
    for _ in range(60):
        inner = [Die(Tag.namespace, {At.name: Form.strp("n" * 60_000)}, *inner)]
    return program(unit(*inner, version=4), symbols=[SYMBOL])


def files_in_one_long_folder(count: int) -> bytes:
    """Functions that are each in a file of their own."""
    files = tuple(File(f"f{n}.c", 1) for n in range(count))
    ops = [
        op
        for n in range(count)
        for op in (
            set_address(0x1000 + n),
            set_file(n + 1),
            COPY,
            advance_pc(1),
            END_SEQUENCE,
        )
    ]
    lines = LineProgram(ops, directories=("/" + "d" * 60_000,), files=files)
    dies = [function("f", 0x1000 + n, 0x1001 + n) for n in range(count)]
    return program(unit(*dies, version=4, lines=lines), symbols=[SYMBOL])


def units_that_share_all_rows(count: int) -> bytes:
    """Units of one line table, each with a function that spans all of its rows."""
    ops = [set_address(0x1000), b"\x4b" * 3_000, *ROWS]
    first, *others = (function(f"f{n}", 0x1000, 0x1F00) for n in range(count))
    shared = {At.stmt_list: 0}
    return program(
        unit(first, version=4, lines=LineProgram(ops)),
        *(unit(die, version=4, attributes=shared) for die in others),
        symbols=[SYMBOL],
    )


def units_whose_line_programs_overlap(count: int) -> bytes:
    """Each line program goes on to the end of the section, over all that follow."""
    die, rows = function("f", 0x1000, 0x1010), sequence((0x1000, 1), end=0x1010)
    one = Dwarf([unit(die, version=4, lines=LineProgram(rows))]).sections()
    size = len(one[".debug_line"])
    lengths = (size * left - 4 for left in range(count, 0, -1))
    programs = (LineProgram(rows, length=length) for length in lengths)
    return program(*(unit(die, version=4, lines=lines) for lines in programs))


def line_programs_that_overlap_outside_of_the_code(count: int) -> bytes:
    """Line programs that go on over all that follow; none of their rows is kept."""
    rows = sequence((0x900000, 1), end=0x900010)
    size = len(
        Dwarf([unit(version=4, lines=LineProgram(rows))]).sections()[".debug_line"]
    )
    lengths = (size * left - 4 for left in range(count, 0, -1))
    programs = (LineProgram(rows, length=length) for length in lengths)
    units = (unit(version=4, lines=lines) for lines in programs)
    return program(*units, symbols=[SYMBOL])


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


@pytest.mark.slow
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


def test_units_whose_tables_are_suffixes_of_one_another_are_all_converted(
    tmp_path: Path,
) -> None:
    image = units_whose_tables_are_suffixes_of_one_another(300)
    report, functions = convert_bytes(tmp_path, image)
    assert [function.name for function in functions] == [f"f{n}" for n in range(300)]
    assert not report.warnings


def test_units_beyond_what_tables_may_overlap_are_counted(tmp_path: Path) -> None:
    count = 10_000
    image = units_whose_tables_are_suffixes_of_one_another(count)
    report, functions = convert_bytes(tmp_path, image)
    left_out = report.warnings[LIMIT]
    assert functions
    assert len(functions) + left_out == count


def test_tables_may_overlap_up_to_the_floor(tmp_path: Path) -> None:
    """All tables together take 4 MiB if each has as many others in it as it may."""

    def most(count: int) -> int:
        size = 8 * count + 12  # of the roots, and of the function
        return (4 << 20) // (size + 1)

    too_many = next(count for count in range(10_000) if count - 1 > most(count))
    for number, left_out in ((too_many - 1, 0), (too_many, 1)):
        image = units_whose_tables_are_suffixes_of_one_another(number)
        report, functions = convert_bytes(tmp_path, image)
        assert report.warnings.get(LIMIT, 0) == left_out
        assert len(functions) == number - left_out


# Prints the peak memory in bytes, and the error of the conversion.
CONVERT = f"""
import gsym, sys
{MEASURES}
try:
    gsym.convert(sys.argv[1])
except gsym.LimitError as error:
    print(peak(), error.reason)
"""


@pytest.mark.parametrize(
    ("shape", "count", "reason"),
    [
        (functions_in_long_scopes, 200, "its names share their bytes"),
        (files_in_one_long_folder, 3_000, "its names share their bytes"),
        (units_that_share_all_rows, 500, "its line tables share their bytes"),
        (units_whose_line_programs_overlap, 400, "its line tables share their bytes"),
        (
            line_programs_that_overlap_outside_of_the_code,
            400,
            "its line tables share their bytes",
        ),
    ],
)
def test_shared_bytes_are_counted_as_they_are_made(
    shape: Callable[[int], bytes], count: int, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "input"
    path.write_bytes(shape(count))
    done = subprocess.run(
        [sys.executable, "-c", CONVERT, str(path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    peak, _, message = done.stdout.partition(" ")
    assert message.startswith(reason)
    assert int(peak) < 128 << 20


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_units_that_share_a_line_table_are_like_units_with_their_own(
    threads: int, tmp_path: Path
) -> None:
    rows = sequence(*((0x1000 + 4 * n, n + 1) for n in range(100)), end=0x1200)
    lines = LineProgram([*sequence((0x1200, 7), (0x1210, 8), end=0x1300), *rows])
    extents = [(0x1000 + 8 * n, 0x1008 + 8 * n) for n in range(60)] + [(0x11F0, 0x1280)]
    dies = [function(f"f{n}", *extent) for n, extent in enumerate(extents)]
    own = [unit(die, version=4, lines=lines) for die in dies]
    shared = {At.stmt_list: 0}
    others = [unit(die, version=4, attributes=shared) for die in dies[1:]]
    expected = convert_bytes(tmp_path, program(*own)).functions
    found = convert_bytes(tmp_path, program(own[0], *others), {"threads": threads})
    assert found.functions == expected


def test_units_that_share_abbreviations_but_not_that_of_the_root_share_lines(
    tmp_path: Path,
) -> None:
    rows = sequence((0x1000, 5), (0x1040, 6), end=0x1080)
    first = unit(function("f", 0x1000, 0x1040), version=4, lines=LineProgram(rows))
    named = {At.stmt_list: 0, At.producer: "another root"}
    second = unit(function("g", 0x1040, 0x1080), version=4, attributes=named)
    sections = Dwarf([first, second], one_abbreviation_table=True).sections()
    image = elf_of(sections, code_section(0x1000, 0x100))
    report, functions = convert_bytes(tmp_path, image)
    lines = [[row.line for row in each.line_table or ()] for each in functions]
    assert lines == [[5], [6]]
    assert report.line_rows_unused == 0


@pytest.mark.parametrize("count", [5_000, 9_000])
def test_symbols_of_one_start_name_functions_up_to_a_limit(
    count: int, tmp_path: Path
) -> None:
    """67,108,864 steps, and 256 for each; further functions keep their own names."""
    dies = [function(f"f{n}", 0x1000, 0x1001 + n) for n in range(count)]
    image = program(
        unit(*dies),
        symbols=[Symbol(f"_Z{len(f'f{n}')}f{n}v", 0x1000, 1 + n) for n in range(count)],
        text=[code_section(0x1000, 0x10000)],
    )
    report, functions = convert_bytes(tmp_path, image)
    named = min(count, (1 << 26) // (2 * count) + 256)
    found = [each.name.startswith("_Z") for each in functions]
    assert found == [True] * named + [False] * (count - named)
    assert report.warnings == ({LIMIT: count - named} if count > named else {})


def test_many_functions_at_one_place(tmp_path: Path) -> None:
    rows = sequence(*((0x1000 + n, n) for n in range(500)), end=0x1200)
    dies = [function(f"f{n}", 0x1000, 0x1200) for n in range(2_000)]
    image = program(unit(*dies, version=4, lines=LineProgram(rows)))
    report, functions = convert_bytes(tmp_path, image)
    assert len(functions) == 1
    assert report.functions_pruned == 1_999
