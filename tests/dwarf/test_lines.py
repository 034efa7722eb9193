"""Line programs of versions 2 to 5, and which of their rows a function gets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import Die, Ref, code
from tests.inputs.dwarf_constants import At, Content, Form, Tag
from tests.inputs.elf import NOTYPE, Symbol, code_section
from tests.inputs.encoding import Encoding, uleb
from tests.inputs.line_program import (
    CONST_ADD_PC,
    COPY,
    END_SEQUENCE,
    LLVM_SOURCE,
    NEGATE_STMT,
    SET_BASIC_BLOCK,
    SET_EPILOGUE_BEGIN,
    SET_PROLOGUE_END,
    File,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    define_file,
    extended,
    fixed_advance_pc,
    sequence,
    set_address,
    set_column,
    set_discriminator,
    set_file,
    set_isa,
    special,
)
from tests.inputs.program import LAYOUTS, Layout, function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

RUNS_ON = "llvm-gsymutil lets the last row of a sequence run on"
START = (set_address(0x1000), advance_line(9))  # line 10 at 0x1000
END = (advance_pc(0x40), END_SEQUENCE)


PLAIN = LineProgram()


def lines(*ops: Op, version: int = 4, header: LineProgram = PLAIN) -> LineProgram:
    """A line program in which files 1 and 2 are /src/a.c and /src/b.h."""
    files: tuple[File, ...] = (File("a.c"), File("b.h"))
    directories: tuple[str, ...] = ()
    if version >= 5:
        files, directories = (File("a.c"), *files), ("/src",)
    return replace(
        header, ops=ops, version=version, files=files, directories=directories
    )


def f_with(table: LineProgram, version: int = 4, **attributes: int) -> bytes:
    """A program of one function f at 1000-1040."""
    named = {getattr(At, key): value for key, value in attributes.items()}
    f = function("f", 0x1000, 0x1040, attributes=named)
    main = unit(f, version=version, lines=table)
    return program(main, text=[code_section(0xE00)])


def rows(*expected: str) -> str:
    """The function f with these rows, each "address file:line" below /src."""
    return "1000-1040 f\n" + "".join(
        "  {} /src/{}\n".format(*row.split()) for row in expected
    )


def opcode(
    name: str, ops: tuple[Op, ...], *expected: str, header: LineProgram = PLAIN
) -> Case:
    """What *ops* make of the row at 0x1000, line 10, which stays the first."""
    table = lines(*START, COPY, *ops, *END, header=header)
    return Case(name, f_with(table), rows("1000 a.c:10", *expected))


def opcode_at_start(
    name: str, ops: tuple[Op, ...], *expected: str, header: LineProgram = PLAIN
) -> Case:
    """The same, where *ops* append another row at 0x1000, which is taken instead."""
    case = opcode(name, ops, header=header)
    return case._replace(expected=rows(*expected))


OPCODES = [
    opcode(
        "DW_LNS_copy appends a row",
        (advance_pc(4), advance_line(1), COPY),
        "1004 a.c:11",
    ),
    opcode(
        "DW_LNS_advance_pc counts instructions",
        (advance_pc(3), advance_line(1), COPY),
        "100c a.c:11",
        header=LineProgram(minimum_instruction_length=4),
    ),
    opcode(
        "DW_LNS_advance_line goes both ways",
        (
            advance_line(1000),
            advance_pc(1),
            COPY,
            advance_line(-1005),
            advance_pc(1),
            COPY,
        ),
        "1001 a.c:1010",
        "1002 a.c:5",
    ),
    opcode("DW_LNS_set_file", (set_file(2), advance_pc(1), COPY), "1001 b.h:10"),
    opcode(
        "the other registers of the machine change no row",
        (
            set_column(77),
            NEGATE_STMT,
            SET_BASIC_BLOCK,
            SET_PROLOGUE_END,
            SET_EPILOGUE_BEGIN,
            set_isa(300),
            set_discriminator(5),
            advance_pc(1),
            COPY,
            advance_line(1),
            advance_pc(1),
            COPY,
        ),
        "1002 a.c:11",
    ),
    opcode(
        "DW_LNS_const_add_pc advances as special opcode 255 does",
        (CONST_ADD_PC, advance_line(1), COPY),
        "1011 a.c:11",
    ),
    opcode(
        "DW_LNS_const_add_pc counts instructions",
        (CONST_ADD_PC, advance_line(1), COPY),
        "1022 a.c:11",
        header=LineProgram(minimum_instruction_length=2),
    ),
    opcode(
        "DW_LNS_fixed_advance_pc counts bytes",
        (fixed_advance_pc(3), advance_line(1), COPY),
        "1003 a.c:11",
        header=LineProgram(minimum_instruction_length=4),
    ),
    opcode_at_start(
        "special opcodes advance both",
        (special(0, 3), special(2, -5), special(15, 8)),
        "1000 a.c:13",
        "1002 a.c:8",
        "1011 a.c:16",
    ),
    opcode(
        "another line_base and line_range",
        (special(1, -1), special(3, 2)),
        "1001 a.c:9",
        "1004 a.c:11",
        header=LineProgram(
            line_base=-1,
            line_range=4,
        ),
    ),
    opcode_at_start(
        "opcode 10 is special where only nine opcodes are standard",
        (b"\x0a", b"\x0b"),
        "1000 a.c:1",
        header=LineProgram(opcode_base=10),
    ),
    opcode(
        "unknown standard opcodes are skipped with their operands",
        (b"\x0d" + uleb(1000) + uleb(5), b"\x0e", advance_pc(1), advance_line(1), COPY),
        "1001 a.c:11",
        header=LineProgram(
            opcode_base=15,
            operand_counts=bytes([0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 2, 0]),
        ),
    ),
    opcode(
        "unknown extended opcodes are skipped by their length",
        (
            extended(0x80, b"anything"),
            extended(0xFF),
            advance_pc(1),
            advance_line(1),
            COPY,
        ),
        "1001 a.c:11",
    ),
    opcode(
        "DW_LNE_set_address jumps ahead",
        (set_address(0x1020), advance_line(1), COPY),
        "1020 a.c:11",
    ),
    opcode(
        "DW_LNE_define_file appends to the table",
        (define_file("/gen/c.y"), set_file(3), advance_pc(1), advance_line(1), COPY),
        "1001 /gen/c.y:11",
    )._replace(expected="1000-1040 f\n  1000 /src/a.c:10\n  1001 /gen/c.y:11\n"),
    opcode(
        "line 0 is kept",
        (advance_line(-10), advance_pc(1), COPY, advance_line(12), advance_pc(1), COPY),
        "1001 a.c:0",
        "1002 a.c:12",
    ),
    opcode(
        "rows that are no statements count",
        (advance_pc(1), advance_line(1), COPY),
        "1001 a.c:11",
        header=LineProgram(default_is_stmt=0),
    ),
    opcode_at_start(
        "VLIW: operations share an instruction",
        (
            special(1, 1),  # operation 1 of the same instruction
            special(2, 1),  # operation 3
            special(1, 1),  # operation 0 of the next
            advance_pc(6),  # operation 2 of the one after it
            advance_line(1),
            COPY,
            CONST_ADD_PC,  # 17 operations on: operation 3, four instructions later
            advance_line(1),
            COPY,
            fixed_advance_pc(3),  # bytes, and back to operation 0
            special(3, 1),
            special(1, 1),
        ),
        "1000 a.c:12",
        "1008 a.c:13",
        "1010 a.c:14",
        "1030 a.c:15",
        "1033 a.c:16",
        "103b a.c:17",
        header=LineProgram(
            minimum_instruction_length=8,
            maximum_operations=4,
        ),
    ),
]


def taken(name: str, expected: str, *ops: Op, differs: str = "") -> Case:
    return Case(name, f_with(lines(*ops)), expected, differs)


GOING_DOWN = (
    *START,
    COPY,
    *(set_address(0x1020), advance_line(1), COPY),
    *(set_address(0x1010), advance_line(1), COPY),
    *(set_address(0x1030), advance_line(1), COPY),
    *END,
)
# As llvm-dwarfutil joins sequences whose functions are adjacent.
RUNNING_ON = sequence((0x1000, 11), (0x1010, 31), end=0x1020)
FOLDED = sequence((0x1000, 21), end=0x1010)
ROWS_OF_A_FUNCTION = [
    taken(
        "the last of several rows at the start",
        rows("1000 b.h:7", "1004 a.c:4"),
        *sequence(
            (0x1000, 1, 1), (0x1000, 2, 1), (0x1000, 7, 2), (0x1004, 4, 1), end=0x1040
        ),
    ),
    taken(
        "all of several rows at a later address",
        rows("1000 a.c:1", "1004 a.c:2", "1004 b.h:3", "1004 a.c:4"),
        *sequence((0x1000, 1), (0x1004, 2), (0x1004, 3, 2), (0x1004, 4, 1), end=0x1040),
    ),
    taken(
        "a row before the start is moved to it",
        rows("1000 a.c:5", "1008 a.c:6"),
        *sequence((0xFF0, 4), (0xFF8, 5), (0x1008, 6), end=0x1040),
    ),
    taken(
        "rows from the end on belong to others",
        rows("1000 a.c:5"),
        *sequence((0x1000, 5), (0x1040, 6), (0x1048, 7), end=0x1050),
    ),
    taken(
        "a row that repeats file and line is dropped",
        rows("1000 a.c:5", "1008 b.h:5", "100c a.c:5"),
        *sequence((0x1000, 5), (0x1004, 5), (0x1008, 5, 2), (0x100C, 5, 1), end=0x1040),
    ),
    taken(
        "after the end of a sequence the line is not known",
        rows("1000 a.c:5") + "  1010 :0\n",
        *sequence((0x1000, 5), end=0x1010),
        differs=RUNS_ON,
    ),
    taken(
        "between sequences the line is not known",
        rows("1000 a.c:5") + "  1010 :0\n  1020 /src/a.c:6\n",
        *sequence((0x1000, 5), end=0x1010),
        *sequence((0x1020, 6), end=0x1040),
        differs=RUNS_ON,
    ),
    taken(
        "a row before the second of two sequences that overlap starts with it",
        rows("1000 a.c:1", "1010 a.c:3", "1020 a.c:12"),
        *sequence((0x1000, 1), end=0x1010),
        *sequence((0x1008, 2), (0x100C, 3), (0x1020, 12), end=0x1040),
        differs="llvm-gsymutil takes rows that go back for the end",
    ),
    Case(
        "a sequence may contain others",
        program(
            unit(
                function("f", 0x1000, 0x1010),
                function("g", 0x1010, 0x1020),
                function("h", 0x1028, 0x1040),
                version=4,
                lines=lines(
                    *sequence((0x1000, 1), (0x1030, 2), end=0x1080),
                    *sequence((0x1010, 3), (0x1014, 4), end=0x1020),
                    *sequence((0x1018, 5), end=0x101C),
                ),
            )
        ),
        words("""
            1000-1010 f
              1000 /src/a.c:1
            1010-1020 g
              1010 /src/a.c:3
              1014 /src/a.c:4
            1028-1040 h
              1028 /src/a.c:1
              1030 /src/a.c:2
        """),
        "llvm-gsymutil takes rows of the first sequence that ends after the start",
    ),
    Case(
        "functions of one range have the rows after their declarations",
        program(
            unit(
                *(
                    function(
                        name,
                        0x1000,
                        0x1010,
                        attributes={At.decl_file: file, At.decl_line: line},
                    )
                    for name, file, line in [("x", 1, 20), ("y", 2, 10), ("z", 1, 10)]
                ),
                version=4,
                lines=lines(
                    *sequence((0x1000, 11, 1), (0x1008, 12), end=0x1010),
                    *sequence((0x1000, 21, 1), (0x1008, 22), end=0x1010),
                    *sequence((0x1000, 10, 2), (0x1008, 30), end=0x1010),
                ),
            )
        ),
        words("""
            1000-1010 z
              1000 /src/a.c:11
              1008 /src/a.c:12
        """),
    ),
    *(
        Case(
            f"a sequence of a folded function runs on into the next, {order}",
            program(
                unit(
                    function(
                        "own",
                        0x1000,
                        0x1010,
                        attributes={At.decl_file: 1, At.decl_line: declared},
                    ),
                    function(
                        "next",
                        0x1010,
                        0x1020,
                        attributes={At.decl_file: 1, At.decl_line: 30},
                    ),
                    version=4,
                    lines=lines(*first, *second),
                )
            ),
            words(f"""
                1000-1010 own
                  1000 /src/a.c:{line}
                1010-1020 next
                  1010 /src/a.c:31
            """),
            "llvm-gsymutil takes rows of the first sequence that ends after the start",
        )
        for order, first, second in [
            ("before the other", RUNNING_ON, FOLDED),
            ("after the other", FOLDED, RUNNING_ON),
        ]
        for declared, line in [(10, 11), (20, 21)]
    ),
    taken(
        "rows of several sequences, whatever their order",
        rows("1000 a.c:5", "1010 a.c:6", "1020 a.c:7", "1024 a.c:8"),
        *sequence((0x1020, 7), (0x1024, 8), end=0x1040),
        *sequence((0x1000, 5), end=0x1010),
        *sequence((0x1010, 6), end=0x1020),
    ),
    taken(
        "sequences of dead code are left alone",
        rows("1000 a.c:5"),
        *sequence((0, 50), end=0x2000),
        *sequence((0xFFFFFFFFFFFFFFFF, 60), end=0xFFFFFFFFFFFFFFFF),
        *sequence((0xFFFFFFFFFFFFFFFE, 60), end=0xFFFFFFFFFFFFFFFE),
        *sequence((0x1000, 5), end=0x1040),
    ),
    taken(
        "rows that no end_sequence closes are none",
        "1000-1040 f\n",
        *START,
        COPY,
    ),
    taken(
        "rows may come in any order",
        rows("1000 a.c:10", "1010 a.c:12", "1020 a.c:11", "1030 a.c:13"),
        *GOING_DOWN,
        differs="llvm-gsymutil ends a function where addresses go down",
    ),
    taken(
        "a row that repeats the one before in the program may end another",
        rows("1000 a.c:10", "1010 a.c:12", "1020 a.c:10"),
        *sequence((0x1000, 10), (0x1020, 10), (0x1010, 12), end=0x1040),
        differs="llvm-gsymutil ends a function where addresses go down",
    ),
    taken(
        "files are defined once in a program whose rows go back",
        rows("1000 c.y:1", "1010 d.y:2", "1020 c.y:3"),
        define_file("c.y"),
        define_file("d.y"),
        *sequence((0x1000, 1, 3), (0x1020, 3), (0x1010, 2, 4), end=0x1040),
        differs="llvm-gsymutil ends a function where addresses go down",
    ),
    taken(
        "a function between sequences has no rows",
        "1000-1040 f\n",
        *sequence((0x900, 5), end=0x1000),
        *sequence((0x1040, 6), end=0x1080),
    ),
    taken(
        "a file index out of the table loses its row only",
        rows("1000 a.c:5", "1008 a.c:7"),
        *sequence((0x1000, 5), (0x1004, 6, 9), (0x1008, 7, 1), end=0x1040),
    ),
    Case(
        "each function of a sequence takes its part",
        program(
            unit(
                function("f", 0x1000, 0x1010),
                function("g", 0x1010, 0x1020),
                function("h", 0x1030, 0x1040),
                version=4,
                lines=lines(
                    *sequence(
                        (0x1000, 1), (0x100C, 2), (0x1010, 3), (0x1028, 4), end=0x1040
                    )
                ),
            )
        ),
        words("""
            1000-1010 f
              1000 /src/a.c:1
              100c /src/a.c:2
            1010-1020 g
              1010 /src/a.c:3
            1030-1040 h
              1030 /src/a.c:4
        """),
    ),
    Case(
        "the line of a declaration is not one of its code",
        f_with(lines(), decl_file=2, decl_line=33),
        "1000-1040 f\n",
        "llvm-gsymutil gives it to functions without rows",
    ),
]


FILE_TABLES = [
    Case(
        "file 0 of version 5 is a file",
        f_with(
            LineProgram(
                sequence((0x1000, 5, 0), end=0x1040),
                files=(File("zero.c"),),
                directories=("/src",),
            ),
            version=5,
        ),
        rows("1000 zero.c:5"),
    ),
    Case(
        "checksums, sources, times and sizes beside a path are passed over",
        f_with(
            LineProgram(
                sequence((0x1000, 5, 1), (0x1008, 6, 2), end=0x1040),
                directories=("/src",),
                files=(
                    File("zero.c"),
                    File("a.c", 0, {Content.MD5: bytes(range(16))}),
                    File("b.h", 0, {LLVM_SOURCE: "int x;\n", Content.size: 300}),
                ),
                file_format=(
                    (Content.timestamp, Form.udata),
                    (Content.MD5, Form.data16),
                    (Content.path, Form.line_strp),
                    (Content.size, Form.data4),
                    (LLVM_SOURCE, Form.line_strp),
                    (Content.directory_index, Form.data2),
                    (0x3FFF, Form.block),
                ),
            ),
            version=5,
        ),
        rows("1000 a.c:5", "1008 b.h:6"),
    ),
    Case(
        "directories by string offset",
        f_with(
            LineProgram(
                sequence((0x1000, 5, 1), end=0x1040),
                directories=("/src", "/src/lib"),
                files=(File("zero.c"), File("c.c", 1)),
                directory_format=((Content.path, Form.line_strp),),
                file_format=(
                    (Content.directory_index, Form.data1),
                    (Content.path, Form.strp),
                ),
            ),
            version=5,
        ),
        rows("1000 lib/c.c:5"),
    ),
    Case(
        "a line table may be older than its unit",
        f_with(lines(*sequence((0x1000, 5), end=0x1040), version=3), version=5),
        rows("1000 a.c:5"),
    ),
    Case(
        "two units share a line table",
        program(
            unit(
                function("f", 0x1000, 0x1010),
                version=4,
                lines=lines(*sequence((0x1000, 5), (0x1010, 6), end=0x1040)),
            ),
            unit(
                function("g", 0x1010, 0x1040), version=4, attributes={At.stmt_list: 0}
            ),
        ),
        words("""
            1000-1010 f
              1000 /src/a.c:5
            1010-1040 g
              1010 /src/a.c:6
        """),
    ),
    Case(
        "the second of two line tables",
        program(
            unit(
                function("f", 0x1000, 0x1010),
                version=4,
                lines=lines(*sequence((0x1000, 5), end=0x1010)),
            ),
            unit(
                function("g", 0x1010, 0x1040),
                version=4,
                lines=lines(*sequence((0x1010, 7, 2), end=0x1040)),
            ),
        ),
        words("""
            1000-1010 f
              1000 /src/a.c:5
            1010-1040 g
              1010 /src/b.h:7
        """),
    ),
]

CASES = [*OPCODES, *ROWS_OF_A_FUNCTION, *FILE_TABLES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_lines(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_line_program_reads_the_same_in_every_layout(
    layout: Layout, tmp_path: Path
) -> None:
    table = lines(
        *START,
        COPY,
        special(2, 3),
        fixed_advance_pc(0x10),
        set_file(2),
        advance_line(-300),
        COPY,
        set_address(0x1020),
        CONST_ADD_PC,
        COPY,
        *END,
        version=layout.version,
    )
    image = layout.program(function("f", 0x1000, 0x1040), lines=table)
    assert describe(convert_bytes(tmp_path, image).functions) == rows(
        "1000 a.c:10", "1002 a.c:13", "1012 b.h:4294967009"
    )


@pytest.mark.parametrize("unit_is_64_bit", [False, True])
def test_a_table_and_its_unit_may_be_of_different_formats(
    tmp_path: Path,
    unit_is_64_bit: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    paths = replace(
        PLAIN,
        directory_format=((Content.path, Form.line_strp),),
        dwarf64=not unit_is_64_bit,
    )
    main = unit(
        function("f", 0x1000, 0x1040),
        lines=lines(*START, COPY, *END, version=5, header=paths),
        version=5,
        dwarf64=unit_is_64_bit,
    )
    converted = convert_bytes(tmp_path, program(main))
    assert describe(converted.functions) == rows("1000 a.c:10")


def sequence_offset(table: LineProgram, ops_before: int) -> int:
    """Where in .debug_line the opcode number *ops_before* of *table* stands."""
    before = replace(table, ops=table.ops[:ops_before])
    return len(before.encode(Encoding(), 4, lambda _, text: len(text)))


FIRST = sequence((0x1000, 1), (0x1010, 2), end=0x1040)
SECOND = sequence((0x1000, 51, 2), (0x1010, 52), end=0x1040)
TWICE = lines(*FIRST, *SECOND)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (sequence_offset(TWICE, 0), rows("1000 a.c:1", "1010 a.c:2")),
        (sequence_offset(TWICE, len(FIRST)), rows("1000 b.h:51", "1010 b.h:52")),
    ],
    ids=["first", "second"],
)
def test_a_function_may_name_the_sequence_that_holds_its_rows(
    place: int, expected: str, tmp_path: Path
) -> None:
    image = f_with(TWICE, LLVM_stmt_sequence=place)
    assert describe(convert_bytes(tmp_path, image).functions) == expected


@pytest.mark.parametrize("place", [0xFFFFFFFF, 3])
def test_a_sequence_that_does_not_exist_is_looked_for_by_address(
    place: int, tmp_path: Path
) -> None:
    image = f_with(lines(*FIRST), LLVM_stmt_sequence=place)
    expected = rows("1000 a.c:1", "1010 a.c:2")
    assert describe(convert_bytes(tmp_path, image).functions) == expected


DAMAGED_ROWS = {
    "Invalid file index in DWARF line table": tuple(
        sequence((0x1000, 5), (0x1004, 6, 9), (0x1008, 7, 1), end=0x1040)
    ),
    "Non-monotonically increasing addresses": GOING_DOWN,
}


@pytest.mark.parametrize("category", DAMAGED_ROWS)
def test_damage_of_a_row_is_counted(category: str, tmp_path: Path) -> None:
    image = f_with(lines(*DAMAGED_ROWS[category]))
    report, functions = convert_bytes(tmp_path, image)
    assert set(report.warnings) == {category}
    assert functions[0].line_table is not None


@pytest.mark.parametrize(
    "damage",
    [{"version": 77}, {"length": 0x7FFFFFFF}, {"length": 70}],
    ids=["unknown version", "beyond the section", "cut off in the files"],
)
def test_a_damaged_header_costs_its_unit_the_lines(
    damage: dict[str, Any], tmp_path: Path
) -> None:
    first, second = (
        unit(
            function(name, start, start + 16),
            version=4,
            lines=lines(*sequence((start, 5), end=start + 16)),
        )
        for name, start in (("f", 0x1000), ("g", 0x1010))
    )
    assert second.lines is not None
    second.lines = replace(second.lines, **damage)
    report, functions = convert_bytes(tmp_path, program(first, second))
    assert describe(functions) == words("""
        1000-1010 f
          1000 /src/a.c:5
        1010-1020 g
    """)
    assert report.warnings == {"Damaged line program": 1}


def test_a_row_without_a_file_keeps_its_line(tmp_path: Path) -> None:
    table = lines(*sequence((0x1000, 5, 1), (0x1008, 6, 0), (0x1010, 7, 1), end=0x1040))
    functions = convert_bytes(tmp_path, f_with(table)).functions
    assert functions[0].line_table == (
        (0x1000, "/src/a.c", 5),
        (0x1008, "", 6),
        (0x1010, "/src/a.c", 7),
    )


# ---- rows without a function ----------------------------------------------------

# Rows 5, 6 and 7 at 1000, 1010 and 1018, up to 1040.
UNCOVERED = lines(*sequence((0x1000, 5), (0x1010, 6), (0x1018, 7, 2), end=0x1040))
SYMBOL_LINES = [
    (
        "each symbol has the rows of its addresses",
        [Symbol("f", 0x1000, 0x10), Symbol("g", 0x1010, 0x30)],
        """
        1000-1010 f
          1000 /src/a.c:5
        1010-1040 g
          1010 /src/a.c:6
          1018 /src/b.h:7
        """,
    ),
    (
        "a row before a symbol is continued in it",
        [Symbol("f", 0x1014, 0x10)],
        """
        1014-1024 f
          1014 /src/a.c:6
          1018 /src/b.h:7
        """,
    ),
    (
        "after the end of the lines they are unknown",
        [Symbol("f", 0x1018, 0x30)],
        """
        1018-1048 f
          1018 /src/b.h:7
          1040 :0
        """,
    ),
    (
        "a symbol may begin before the lines",
        [Symbol("f", 0xFF0, 0x18)],
        """
        ff0-1008 f
          1000 /src/a.c:5
        """,
    ),
    (
        "a symbol without a size has those up to the next one",
        [Symbol("f", 0x1000, 0, NOTYPE), Symbol("g", 0x1018, 0x28)],
        """
        1000-1000 f
          1000 /src/a.c:5
          1010 /src/a.c:6
        1018-1040 g
          1018 /src/b.h:7
        """,
    ),
    (
        "a label in a symbol does not cut it",
        [Symbol("f", 0x1000, 0x40), Symbol("label", 0x1018, 0, NOTYPE)],
        """
        1000-1040 f
          1000 /src/a.c:5
          1010 /src/a.c:6
          1018 /src/b.h:7
        """,
    ),
    (
        "a symbol around another goes on after it",
        [Symbol("f", 0x1000, 0x40), Symbol("g", 0x1008, 8)],
        """
        1000-1040 f
          1000 /src/a.c:5
          1010 /src/a.c:6
          1018 /src/b.h:7
        1008-1010 g
          1008 /src/a.c:5
        1010-1040 f
          1010 /src/a.c:6
          1018 /src/b.h:7
        """,
    ),
]


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [case[1:] for case in SYMBOL_LINES],
    ids=[case[0] for case in SYMBOL_LINES],
)
def test_symbols_have_the_rows_that_no_function_has(
    symbols: list[Symbol], expected: str, tmp_path: Path
) -> None:
    image = program(
        unit(version=4, lines=UNCOVERED), symbols=symbols, text=[code_section(0xE00)]
    )
    conversion = convert_bytes(tmp_path, image)
    assert describe(conversion.functions) == words(expected)
    assert conversion.report.line_rows_unused == 0


@pytest.mark.parametrize("count", [300, 600])
def test_symbols_that_share_all_rows_have_them_up_to_a_limit(
    count: int, tmp_path: Path
) -> None:
    """1 MiB, and 32 times the rows; symbols after that have none and are counted."""
    rows = [(0x1000 + at, 1 + 1000 * (at % 2)) for at in range(0x400)]
    image = program(
        unit(version=4, lines=LineProgram(sequence(*rows, end=0x1400))),
        symbols=[Symbol(f"s{n}", 0x1000, 0x400 + n) for n in range(count)],
    )
    report, functions = convert_bytes(tmp_path, image)
    without = sum(each.line_table is None for each in functions)
    assert report.functions == count
    assert (without > 0) == (count > 300)
    assert report.warnings == ({LIMIT_REACHED: without} if without else {})


def test_a_symbol_beside_functions_has_the_rows_between_them(tmp_path: Path) -> None:
    image = program(
        unit(function("f", 0x1000, 0x1010), version=4, lines=UNCOVERED),
        symbols=[Symbol("f", 0x1000, 0x10), Symbol("thunk", 0x1014, 4)],
    )
    conversion = convert_bytes(tmp_path, image)
    assert describe(conversion.functions) == words("""
        1000-1010 f
          1000 /src/a.c:5
        1014-1018 thunk
          1014 /src/a.c:6
    """)


@pytest.mark.parametrize(
    ("start", "end", "has_line"),
    # What aligns the next function has no line, were it that of a symbol.
    [(0x1002, 0x100A, True), (0x1002, 0x1010, False), (0x1002, 0x1012, True)],
)
def test_a_row_runs_on_into_a_symbol_but_not_into_padding(
    start: int, end: int, *, has_line: bool, tmp_path: Path
) -> None:
    image = program(
        unit(
            function("f", 0x1000, start),
            function("g", end, 0x1020),
            version=4,
            lines=lines(*sequence((0x1000, 5), (end, 6), end=0x1020)),
        ),
        symbols=[Symbol("thunk", start, 4)],
    )
    functions = convert_bytes(tmp_path, image).functions
    (thunk,) = (each for each in functions if each.name == "thunk")
    assert bool(thunk.line_table) == has_line


@pytest.mark.parametrize(
    ("rows", "size", "line"),
    [
        ([], 0x10, None),
        ([], 0x08, 5),  # the function is behind the symbol
        ([], 0x18, 5),  # a symbol around it
        ([(0x1010, 7)], 0x10, 7),  # which is not of the function before
        ([(0x1050, 8)], 0x10, 8),
    ],
)
def test_a_row_does_not_run_on_into_the_head_of_a_function(
    rows: list[tuple[int, int]], size: int, line: int | None, tmp_path: Path
) -> None:
    """With -fpatchable-function-entry, the DIE of GCC begins behind the symbol."""
    whole = unit(
        function("f", 0x1000, 0x1010),
        function("g", 0x1058, 0x1060),
        version=4,
        lines=lines(*sequence((0x1000, 5), *rows, (0x1058, 6), end=0x1080)),
    )
    image = program(whole, symbols=[Symbol("head", 0x1050, size)])
    head = next(
        each
        for each in convert_bytes(tmp_path, image).functions
        if each.start == 0x1050
    )
    assert [each.line for each in head.line_table or ()][:1] == [line][
        : line is not None
    ]


@pytest.mark.parametrize(
    ("start", "end", "has_line"),
    [(0x1000, 0x1010, False), (0x1000, 0x1050, True), (0x2000, 0x2010, True)],
)
def test_a_row_does_not_run_on_out_of_the_ranges_of_its_unit(
    start: int, end: int, *, has_line: bool, tmp_path: Path
) -> None:
    """GCC does not describe the functions that it makes for Ada.

    Ranges that lack the row's function, too, say nothing: a unit of strict DWARF 2
    has those of one section only.
    """
    whole = unit(
        function("f", 0x1000, 0x1010),
        function("g", 0x1050, 0x1060),
        version=4,
        lines=lines(*sequence((0x1000, 5), (0x1050, 6), end=0x1060)),
    )
    whole.root.attributes[At.low_pc] = Form.addr(start)
    whole.root.attributes[At.high_pc] = Form.addr(end)
    image = program(whole, symbols=[Symbol("hidden", 0x1010, 0x38)])
    functions = convert_bytes(tmp_path, image).functions
    (hidden,) = (each for each in functions if each.name == "hidden")
    assert bool(hidden.line_table) == has_line


def test_rows_that_nothing_covers_are_counted(tmp_path: Path) -> None:
    elsewhere = Symbol("f", 0x1800, 0x10)
    image = program(unit(version=4, lines=UNCOVERED), symbols=[elsewhere])
    assert convert_bytes(tmp_path, image).report.line_rows_unused == 3
    image = program(
        unit(function("f", 0x1000, 0x1010), version=4, lines=UNCOVERED),
        symbols=[elsewhere],
    )
    assert convert_bytes(tmp_path, image).report.line_rows_unused == 2


def test_rows_of_a_table_of_several_units_are_for_functions_only(
    tmp_path: Path,
) -> None:
    """Which of the units is read first would decide otherwise."""
    first = unit(function("f", 0x1000, 0x1010), version=4, lines=UNCOVERED)
    second = unit(function("g", 0x1010, 0x1018), version=4)
    second.root.attributes[At.stmt_list] = Form.sec_offset(0)
    image = program(first, second, symbols=[Symbol("s", 0x1020, 0x10)])
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1010 f
          1000 /src/a.c:5
        1010-1018 g
          1010 /src/a.c:6
        1020-1030 s
    """)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_units_without_functions_have_the_rows_in_their_ranges(
    layout: Layout, tmp_path: Path
) -> None:
    """Line tables only, of several units that went through one assembly text."""
    version, dwarf64 = layout.version, layout.dwarf64
    rows_of_both = sequence((0x1000, 2, 1), (0x1010, 3, 2), (0x1018, 4), end=0x1020)
    table = lines(*rows_of_both, version=version)
    parts = ranges((0x1010, 0x1018), (0x1018, 0x1020))
    if version >= 5:
        parts = ranges(
            RangeEntry.start_end(0x1010, 0x1018), RangeEntry.start_end(0x1018, 0x1020)
        )
    second = {At.stmt_list: 0, **code(0x1010, 0x1020)}
    if version >= 3:
        second = {At.stmt_list: 0, At.low_pc: 0, At.ranges: parts}
    image = program(
        unit(
            version=version,
            lines=table,
            dwarf64=dwarf64,
            attributes=code(0x1000, 0x1010),
        ),
        unit(version=version, dwarf64=dwarf64, attributes=second),
        symbols=[Symbol("slow", 0x1000, 0x10), Symbol("kernel", 0x1010, 0x10)],
        byteorder=layout.byteorder,
        address_size=layout.address_size,
    )
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1010 slow
          1000 /src/a.c:2
        1010-1020 kernel
          1010 /src/b.h:3
          1018 /src/b.h:4
    """)


def test_rows_of_no_function_leave_nothing_if_units_share_their_table(
    tmp_path: Path,
) -> None:
    """Neither files nor warnings, by which the threads would change the output."""
    own = sequence((0x1000, 5), end=0x1010)
    others = sequence((0x1800, 6, 2), (0x1804, 7, 9), end=0x1808)
    first = unit(function("f", 0x1000, 0x1010), version=4, lines=lines(*own, *others))
    report = convert_bytes(tmp_path, program(first)).report
    assert (report.files, report.line_rows_unused) == (3, 1)  # "" is one of them
    assert list(report.warnings) == ["Invalid file index in DWARF line table"]
    second = unit(version=4, attributes={At.stmt_list: Form.sec_offset(0)})
    report = convert_bytes(tmp_path, program(first, second)).report
    assert (report.files, report.line_rows_unused, report.warnings) == (2, 0, {})


def test_a_part_of_several_units_has_no_rows_but_those_of_its_functions(
    tmp_path: Path,
) -> None:
    whole = unit(function("f", 0x1000, 0x1010), version=4, lines=UNCOVERED)
    part = unit(function("g", 0x1010, 0x1018), version=4)
    part.root.tag = Tag.partial_unit
    part.root.attributes[At.stmt_list] = Form.sec_offset(0)
    symbols = [Symbol("s", 0x1020, 0x10)]
    both = convert_bytes(tmp_path, program(whole, part, symbols=symbols))
    assert both.report.line_rows_unused == 0
    assert describe(both.functions) == words("""
        1000-1010 f
          1000 /src/a.c:5
        1010-1018 g
          1010 /src/a.c:6
        1020-1030 s
          1020 /src/b.h:7
    """)


def copies(*descriptions: tuple[LineProgram, int]) -> bytes:
    """A program of units that describe one function, by rows and a number of calls."""
    return program(
        *(
            unit(
                Die(Tag.subprogram, {At.name: "callee"}, label="callee"),
                function(
                    "f",
                    0x1000,
                    0x1010,
                    *(inlined(Ref("callee"), (0x1004, 0x1008)) for _ in range(calls)),
                ),
                version=4,
                lines=table,
            )
            for table, calls in descriptions
        )
    )


@pytest.mark.parametrize(
    ("second", "calls", "kept"),
    [
        (sequence((0x1000, 3), (0x1005, 4), end=0x1010), 0, "first"),
        (sequence((0x1000, 3), (0x1005, 4), (0x1006, 5), end=0x1010), 2, "first"),
        (sequence((0x1000, 3), (0x1004, 4), end=0x1010), 1, "first"),
        (sequence((0x1000, 3), (0x1004, 4), end=0x1010), 2, "second"),
    ],
    ids=["other code", "more of other code", "the same code", "more of the same"],
)
def test_of_copies_of_a_function_the_first_is_kept(
    second: list[Op], calls: int, kept: str, tmp_path: Path
) -> None:
    first = lines(*sequence((0x1000, 1), (0x1004, 2), end=0x1010))
    image = copies((first, 1), (lines(*second), calls))
    (whole,) = convert_bytes(tmp_path, image).functions
    assert whole.line_table is not None
    assert whole.line_table[0].line == {"first": 1, "second": 3}[kept]


def test_merged_functions_have_rows_of_their_own(tmp_path: Path) -> None:
    """The linker folded them; their sequences stay, in any order."""
    declared = {"x": 20, "y": 10, "z": 30}
    image = program(
        unit(
            *(
                function(name, 0x1000, 0x1010, attributes={At.decl_line: line})
                for name, line in declared.items()
            ),
            lines=lines(
                *sequence((0x1000, 31), end=0x1010),
                *sequence((0x1000, 11), end=0x1010),
                *sequence((0x1000, 21), end=0x1010),
                version=5,
            ),
        )
    )
    (parent,) = convert_bytes(tmp_path, image, {"merged_functions": True}).functions
    found = {
        each.name: [row.line for row in each.line_table or ()]
        for each in (parent, *parent.merged)
    }
    assert found == {name: [line + 1] for name, line in declared.items()}
