"""Files as a converter with a wrong rule would write them do not pass a comparison.

The rules of `compare` come from the specifications, not from the converter. What the
converter writes passes. What it would write by a rule of its past, or of others, is
complained of with its address, what the file says and what is right.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.inputs import pe
from tests.inputs.dies import Die, Ref, code
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Lang, Tag
from tests.inputs.elf import (
    ARM,
    MIPS,
    NOTYPE,
    X86_64,
    Elf,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.encoding import Encoding
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.pdb import Function as PdbFunction, Module, Pdb
from tests.inputs.program import function, inlined, unit
from tests.inputs.range_lists import RangeEntry, ranges
from tests.referee.opening import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.dwarf import Unit

NOTHING = "(nothing)"
A_C = "/src/a.c"


class Fault(NamedTuple):
    """What a faulty converter makes of a program, and what is said of it.

    *functions* replace those of the same name; one of size 0 and no rows is left out.
    """

    program: bytes
    functions: Sequence[gsym.FunctionInfo]
    complaint: tuple[int, str, str, str]


def program(
    *units: Unit,
    symbols: Sequence[Symbol] = (),
    dynamic_symbols: Sequence[Symbol] = (),
    text: Sequence[Section] = (code_section(),),
    machine: int = X86_64,
) -> bytes:
    bits = 32 if machine in {ARM, MIPS} else 64
    debug = Dwarf(list(units), "little", bits // 8).sections() if units else {}
    return Elf(
        [*text, *(Section(name, data) for name, data in debug.items())],
        symbols=symbols,
        dynamic_symbols=dynamic_symbols,
        bits=bits,
        machine=machine,
    ).to_bytes()


def lines(*ops: object) -> LineProgram:
    return LineProgram(tuple(ops), files=(File("a.c"), File("b.h")))  # type: ignore[arg-type]


def rows(*each: tuple[int, int]) -> tuple[gsym.LineEntry, ...]:
    return tuple(gsym.LineEntry(address, A_C, line) for address, line in each)


def info(name: str, start: int, end: int, *each: tuple[int, int]) -> gsym.FunctionInfo:
    return gsym.FunctionInfo(start, end - start, name, rows(*each) or None)


def gone(name: str) -> gsym.FunctionInfo:
    return gsym.FunctionInfo(0, 0, name)


def c_unit(*dies: Die, table: LineProgram | None = None) -> Unit:
    return unit(*dies, version=4, language=Lang.C99, lines=table)


# ---- code that the linker dropped, at the address 0 of live code

AT_0 = (code_section(0, 0x1000),)
LIVE = Symbol("live", 0, 0x40)
DEAD_OBJECT = sequence((0, 90), (0x10, 91), end=0x20)

DROPPED = [
    Fault(
        program(
            c_unit(
                function("live", 0, 0x40),
                function("dead", 0, 0x20),
                table=lines(*sequence((0, 5), end=0x40), *DEAD_OBJECT),
            ),
            symbols=[LIVE],
            text=AT_0,
        ),
        [gone("live"), info("dead", 0, 0x20, (0, 90), (0x10, 91))],
        (0, "function", "live [0x0, 0x40)", "dead [0x0, 0x20)"),
    ),
    # Assembly: functions further on in the dropped section.
    Fault(
        program(
            c_unit(
                function("dead", 0, 0x10),
                function("dead_too", 0x10, 0x20),
                table=lines(*DEAD_OBJECT),
            ),
            symbols=[LIVE],
            text=AT_0,
        ),
        [info("dead_too", 0x10, 0x20, (0x10, 91))],
        (0x10, "function", "live (symbol) [0x0, 0x40)", "dead_too [0x10, 0x20)"),
    ),
    # The rows of the dropped code under the name of the live one.
    Fault(
        program(
            c_unit(function("dead", 0, 0x20), table=lines(*DEAD_OBJECT)),
            symbols=[LIVE],
            text=AT_0,
        ),
        [info("live", 0, 0x40, (0, 90), (0x10, 91))],
        (0, "lines", NOTHING, f"0x0 {A_C}:90"),
    ),
    # GNU ld writes 1 where two 0 would end a list.
    Fault(
        program(
            c_unit(
                Die(
                    Tag.subprogram,
                    {
                        At.name: "dead",
                        At.ranges: ranges(RangeEntry.base_address(1), (0x80, 0x88)),
                    },
                ),
                function("live", 0, 0x40),
            ),
            symbols=[LIVE],
            text=AT_0,
        ),
        [info("dead", 0x80, 0x88)],
        (0x80, "function", NOTHING, "dead [0x80, 0x88)"),
    ),
]

# ---- the bit of an address that says which instruction set its code is of

ODD = c_unit(
    function("f", 0x1001, 0x1011), table=lines(*sequence((0x1001, 5), end=0x1011))
)
ISA_BITS = [
    Fault(
        program(ODD, symbols=[Symbol("f", 0x1001, 0x10)], machine=ARM),
        [info("f", 0x1001, 0x1011, (0x1001, 5))],
        (0x1001, "function", "f [0x1000, 0x1010)", "f [0x1001, 0x1011)"),
    ),
    # GNU as writes odd rows and even ranges for microMIPS and MIPS16.
    Fault(
        program(
            c_unit(
                function("f", 0x1000, 0x1010),
                table=lines(*sequence((0x1001, 5), (0x1005, 6), end=0x1011)),
            ),
            symbols=[Symbol("f", 0x1000, 0x10)],
            machine=MIPS,
        ),
        [info("f", 0x1000, 0x1010, (0x1001, 5), (0x1005, 6))],
        (0x1000, "lines", f"0x1000 {A_C}:5", f"0x1001 {A_C}:5"),
    ),
    Fault(
        b"MODULE Linux arm 0905AE80CEE75A33E3CAB61C274274DE0 app\n"
        b"FILE 0 /src/a.c\nFUNC 1001 10 0 f\n1001 10 5 0\nPUBLIC 1041 0 p\n",
        [info("f", 0x1001, 0x1011, (0x1001, 5))],
        (0x1001, "function", "f [0x1000, 0x1010)", "f [0x1001, 0x1011)"),
    ),
    Fault(
        Pdb(
            [Module([PdbFunction("f", 1, 0x10, ())])],
            [("p", 1, 0x21)],
            machine=pe.ARM,
        ).to_bytes(),
        [info("p", 0x1021, 0x2000)],
        (0x1020, "symbol", "p", NOTHING),
    ),
    Fault(
        program(dynamic_symbols=[Symbol("f", 0x1001, 0x10)], machine=MIPS),
        [info("f", 0x1001, 0x1011)],
        (0x1001, "function", "f (symbol) [0x1000, 0x1010)", "f [0x1001, 0x1011)"),
    ),
]

# ---- symbols without a size

SECTIONS = (
    code_section(0x1000, 0x20, ".init"),
    code_section(0x1020, 0x40, ".plt"),
    code_section(0x1060, 0x100),
)
INIT = Symbol("_init", 0x1000, 0, section=".init")
ENDS = [
    Fault(
        program(symbols=[INIT, Symbol("main", 0x1080, 0x10)], text=SECTIONS),
        [gsym.FunctionInfo(0x1000, 0, "_init")],
        (
            0x1000,
            "function",
            "_init [0x1000, 0x1020), up to the end of its section",
            "_init [0x1000, 0x1080)",
        ),
    ),
    Fault(
        program(symbols=[INIT], text=SECTIONS),
        [info("_init", 0x1000, 0x1160)],
        (
            0x1000,
            "function",
            "_init [0x1000, 0x1020), up to the end of its section",
            "_init [0x1000, 0x1160)",
        ),
    ),
]

# ---- sequences of rows

OVERLAPPING = lines(
    *sequence((0x1000, 3), (0x1080, 9), end=0x1100),
    *sequence((0x1020, 20), end=0x1030),
    *sequence((0x1040, 30), end=0x1050),
)
FIRST, SECOND = (
    sequence((0x1000, 4), (0x1008, 5), end=0x1010),
    sequence((0x1000, 14), (0x1008, 15), end=0x1010),
)


def place(*before: object) -> int:
    """Where in .debug_line what follows *before* stands."""
    return len(lines(*before).encode(Encoding(), 4, lambda _, text: len(text)))


def folded(**attributes: int) -> Die:
    extra = {getattr(At, name): value for name, value in attributes.items()}
    return function("first", 0x1000, 0x1010, attributes=extra)


SEQUENCES = [
    # One that ends far after others start.
    Fault(
        program(c_unit(function("f", 0x1080, 0x1090), table=OVERLAPPING)),
        [info("f", 0x1080, 0x1090)],
        (0x1080, "lines", f"0x1080 {A_C}:9", NOTHING),
    ),
    Fault(
        program(c_unit(function("f", 0x1020, 0x1030), table=OVERLAPPING)),
        [info("f", 0x1020, 0x1030, (0x1020, 3))],
        (0x1020, "lines", f"0x1020 {A_C}:20", f"0x1020 {A_C}:3"),
    ),
    # The end of a sequence inside of a function: no line from there on.
    Fault(
        program(
            c_unit(
                function("f", 0x1000, 0x1040),
                table=lines(*sequence((0x1000, 5), end=0x1010)),
            )
        ),
        [info("f", 0x1000, 0x1040, (0x1000, 5))],
        (0x1010, "lines", "0x1010 :0", NOTHING),
    ),
    Fault(
        program(
            c_unit(
                table=lines(
                    *sequence((0x1000, 5), end=0x1010),
                    *sequence((0x1020, 7), end=0x1030),
                )
            ),
            symbols=[Symbol("f", 0x1000, 0x30)],
        ),
        [info("f", 0x1000, 0x1030, (0x1000, 5), (0x1020, 7))],
        (0x1010, "lines", "0x1010 :0", f"0x1020 {A_C}:7"),
    ),
    # Two functions that the linker folded: the number is that of LLVM's headers.
    Fault(
        program(
            c_unit(
                folded(LLVM_stmt_sequence=place(*FIRST)), table=lines(*FIRST, *SECOND)
            )
        ),
        [info("first", 0x1000, 0x1010, (0x1000, 4), (0x1008, 5))],
        (0x1000, "lines", f"0x1000 {A_C}:14", f"0x1000 {A_C}:4"),
    ),
    Fault(
        program(
            c_unit(
                folded(LLVM_stmt_sequence=place(*SECOND), decl_file=1, decl_line=14),
                table=lines(*SECOND, *FIRST),
            )
        ),
        [info("first", 0x1000, 0x1010, (0x1000, 14), (0x1008, 15))],
        (0x1000, "lines", f"0x1000 {A_C}:4", f"0x1000 {A_C}:14"),
    ),
    # Without it the declaration says which rows are whose, in any order of them.
    Fault(
        program(c_unit(folded(decl_file=1, decl_line=3), table=lines(*FIRST, *SECOND))),
        [info("first", 0x1000, 0x1010, (0x1000, 14), (0x1008, 15))],
        (0x1000, "lines", f"0x1000 {A_C}:4", f"0x1000 {A_C}:14"),
    ),
    Fault(
        program(
            c_unit(
                folded(decl_file=1, decl_line=3),
                table=lines(*sequence((0x1000, 4), end=0x1020), *SECOND),
            )
        ),
        [info("first", 0x1000, 0x1010, (0x1000, 14), (0x1008, 15))],
        (0x1000, "lines", f"0x1000 {A_C}:4", f"0x1000 {A_C}:14"),
    ),
    Fault(
        program(
            c_unit(folded(decl_file=1, decl_line=13), table=lines(*FIRST, *SECOND))
        ),
        [info("first", 0x1000, 0x1010, (0x1000, 4), (0x1008, 5))],
        (0x1000, "lines", f"0x1000 {A_C}:14", f"0x1000 {A_C}:4"),
    ),
]

# ---- inlined calls

G = Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g")
PARTS = ranges((0x1000, 0x1010), (0x1010, 0x1020))
CALLS = [
    Fault(
        program(
            c_unit(
                G,
                Die(
                    Tag.subprogram,
                    {At.name: "f", At.ranges: PARTS},
                    inlined(Ref("g"), (0x100C, 0x1014)),
                ),
            )
        ),
        [info("f", 0x1000, 0x1010), info("f", 0x1010, 0x1020)],
        (
            0x100C,
            "inlined calls",
            "g [0x100c, 0x1010) called from :1 at depth 1",
            NOTHING,
        ),
    ),
    Fault(
        program(
            c_unit(
                G,
                Die(
                    Tag.subprogram,
                    {At.name: "f", **code(0x1000, 0x1020)},
                    inlined(Ref("g"), (0x1018, 0x1030)),
                ),
            )
        ),
        [info("f", 0x1000, 0x1020)],
        (
            0x1018,
            "inlined calls",
            "g [0x1018, 0x1020) called from :1 at depth 1",
            NOTHING,
        ),
    ),
]

# ---- symbols without a type

BEFORE = Symbol("before", 0x1010)
UNTYPED = Symbol("Shape_Sq_info", 0x1040, 0x20, NOTYPE)
LABEL = Symbol("start", 0x1040, 0, NOTYPE)
LABELS = [
    Fault(
        program(symbols=[Symbol("f", 0x1000, 0x20), UNTYPED]),
        [gone("Shape_Sq_info")],
        (0x1040, "symbol", "Shape_Sq_info", NOTHING),
    ),
    # Hidden by a symbol that says nothing of this code.
    Fault(
        program(symbols=[BEFORE, UNTYPED, Symbol("f", 0x1080, 0x20)]),
        [gone("Shape_Sq_info")],
        (0x1040, "symbol", "Shape_Sq_info", "before + 48"),
    ),
    # It goes on behind the function in whose description it starts.
    Fault(
        program(c_unit(function("f", 0x1030, 0x1050)), symbols=[UNTYPED]),
        [gone("Shape_Sq_info")],
        (0x1040, "symbol", "Shape_Sq_info", "f + 16"),
    ),
    Fault(
        program(symbols=[Symbol("f", 0x1000, 0x20), LABEL]),
        [gone("start")],
        (0x1040, "symbol", "start", NOTHING),
    ),
]

FAULTS = {
    f"{kind} {number}": fault
    for kind, faults in {
        "dropped code": DROPPED,
        "instruction set bits": ISA_BITS,
        "ends of sections": ENDS,
        "sequences": SEQUENCES,
        "inlined calls": CALLS,
        "symbols without a type": LABELS,
    }.items()
    for number, fault in enumerate(faults, 1)
}


def planted(path: str, fault: Fault) -> None:
    """Put the functions of a fault into a file in the place of those of their names."""
    with gsym.open(path) as reader:
        header, functions = reader.header, list(reader.functions())
    names = {each.name for each in fault.functions}
    kept = [each for each in functions if each.name not in names]
    faulty = [each for each in fault.functions if each.size or each.start]
    with gsym.Creator(base_address=header.base_address, uuid=header.uuid) as creator:
        for each in sorted([*kept, *faulty]):
            creator.add(each)
        creator.save(path)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_converter_is_complained_of(fault: Fault, tmp_path: Path) -> None:
    binary = os.fspath(tmp_path / "app")
    (tmp_path / "app").write_bytes(fault.program)
    (path,) = gsym.convert(binary).outputs
    right = compare(path, binary)
    assert (right.differences, right.unread, right.uncompared) == ([], {}, {})
    planted(path, fault)
    assert fault.complaint in compare(path, binary).differences


def test_stubs_are_no_part_of_the_symbol_before(compiler: str, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        '#include <stdio.h>\nint main(void) { puts("a"); return getchar(); }\n'
    )
    subprocess.run([compiler, "-g", "a.c", "-o", "app"], cwd=tmp_path, check=True)
    binary = os.fspath(tmp_path / "app")
    (path,) = gsym.convert(binary).outputs
    assert compare(path, binary).differences == []
    gsym.convert(binary, path, image_code=False)
    found = compare(path, binary).differences
    assert found
    is_end = re.compile(".*, up to the end of its section").fullmatch
    other = [each for each in found if each[1] != "function" or not is_end(each[2])]
    assert other == []
    assert compare(path, binary, like_llvm=True).differences == []
