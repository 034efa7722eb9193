"""Addresses of functions: low_pc and high_pc, range lists, dead and broken code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Lang, Tag
from tests.inputs.elf import NOBITS, WRITE, Section, Symbol, code_section, elf_of
from tests.inputs.encoding import Encoding, uleb
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import LAYOUTS, Layout, function, program, unit
from tests.inputs.range_lists import RangeEntry, RangeList, ranges

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inputs.dwarf import Unit

STOPS = "llvm-gsymutil drops the good ranges behind the first bad one"
ALL_ONES = {4: 0xFFFFFFFF, 8: 0xFFFFFFFFFFFFFFFF}


def spread(name: str, where: object) -> Die:
    return Die(Tag.subprogram, {At.name: name, At.ranges: where})


def lists(
    *lists: RangeList, version: int = 5, base: int | None = 0x1000, size: int = 8
) -> bytes:
    """A program of functions f0, f1 ... at these lists, in a unit at *base*."""
    attributes = {} if base is None else {At.low_pc: base}
    dies = [spread(f"f{n}", where) for n, where in enumerate(lists)]
    return program(
        unit(*dies, version=version, attributes=attributes), address_size=size
    )


def pair(low: object, high: object, version: int = 5) -> bytes:
    attributes = {At.name: "f", At.low_pc: low, At.high_pc: high}
    return program(unit(Die(Tag.subprogram, attributes), version=version))


LOW_AND_HIGH = [
    Case(
        f"high_pc as {value.form!r}",
        pair(0x1000, value, version),
        "1000-1010 f\n",
    )
    for version, value in [
        (2, Form.addr(0x1010)),
        (3, Form.addr(0x1010)),
        (4, Form.addr(0x1010)),
        (4, Form.data1(0x10)),
        (4, Form.data2(0x10)),
        (4, Form.data4(0x10)),
        (4, Form.data8(0x10)),
        (4, Form.udata(0x10)),
        (5, Form.implicit_const(0x10)),
        (5, Form.addrx(0x1010)),
        (5, Form.addrx4(0x1010)),
    ]
]

OLD_LISTS = [
    Case(
        "pairs count from the unit's low_pc",
        lists(ranges((0x00, 0x10), (0x100, 0x120)), version=4),
        words("""
            1000-1010 f0
            1100-1120 f0
        """),
    ),
    Case(
        "pairs are addresses where the unit has no low_pc",
        lists(ranges((0x1000, 0x1010), (0x1100, 0x1120)), version=4, base=None),
        words("""
            1000-1010 f0
            1100-1120 f0
        """),
    ),
    Case(
        "a base selection holds until the next and not for the next list",
        lists(
            ranges(
                RangeEntry.base_address(0x1800),
                (0x0, 0x10),
                (0x20, 0x30),
                RangeEntry.base_address(0x1900),
                (0x0, 0x10),
            ),
            ranges((0x0, 0x10)),
            version=3,
        ),
        words("""
            1000-1010 f1
            1800-1810 f0
            1820-1830 f0
            1900-1910 f0
        """),
    ),
    Case(
        "an empty pair that is not the end is passed over",
        lists(ranges((0x20, 0x20), (0x30, 0x40)), version=4),
        "1030-1040 f0\n",
        STOPS,
    ),
]

NEW_LISTS = [
    Case(
        "start_end",
        lists(ranges(RangeEntry.start_end(0x1100, 0x1120))),
        "1100-1120 f0\n",
    ),
    Case(
        "start_length",
        lists(ranges(RangeEntry.start_length(0x1100, 0x20))),
        "1100-1120 f0\n",
    ),
    Case(
        "startx_endx",
        lists(ranges(RangeEntry.startx_endx(0x1100, 0x1120))),
        "1100-1120 f0\n",
    ),
    Case(
        "startx_length",
        lists(ranges(RangeEntry.startx_length(0x1100, 0x20))),
        "1100-1120 f0\n",
    ),
    Case(
        "offset_pair from the unit's low_pc",
        lists(ranges((0x100, 0x120))),
        "1100-1120 f0\n",
    ),
    Case(
        "offset_pair from base_address",
        lists(ranges(RangeEntry.base_address(0x1800), (0x0, 0x10), (0x20, 0x30))),
        words("""
            1800-1810 f0
            1820-1830 f0
        """),
    ),
    Case(
        "offset_pair from base_addressx, not inherited by the next list",
        lists(
            ranges(RangeEntry.base_addressx(0x1800), (0x0, 0x10)),
            ranges((0x0, 0x10)),
        ),
        words("""
            1000-1010 f1
            1800-1810 f0
        """),
    ),
    Case(
        "all kinds in one list",
        lists(
            ranges(
                (0x00, 0x10),
                RangeEntry.start_end(0x1100, 0x1110),
                RangeEntry.base_address(0x1200),
                (0x10, 0x20),
                RangeEntry.start_length(0x1300, 0x10),
                RangeEntry.startx_endx(0x1400, 0x1410),
                (0x30, 0x40),
                RangeEntry.base_addressx(0x1500),
                (0x00, 0x10),
                RangeEntry.startx_length(0x1600, 0x10),
            )
        ),
        words("""
            1000-1010 f0
            1100-1110 f0
            1210-1220 f0
            1230-1240 f0
            1300-1310 f0
            1400-1410 f0
            1500-1510 f0
            1600-1610 f0
        """),
    ),
    Case(
        "lists by index in two units, each with a table of its own",
        program(
            unit(
                spread("f", Form.rnglistx(ranges((0x1000, 0x1010)))),
                spread("g", Form.rnglistx(ranges((0x1010, 0x1020)))),
            ),
            unit(
                spread("h", Form.rnglistx(ranges((0x1020, 0x1030)))),
                spread("i", Form.rnglistx(ranges((0x1030, 0x1040)))),
            ),
        ),
        words("""
            1000-1010 f
            1010-1020 g
            1020-1030 h
            1030-1040 i
        """),
    ),
    Case(
        "the low_pc of the unit by index is a base as well",
        program(
            unit(
                spread("f", Form.rnglistx(ranges((0x0, 0x10)))),
                attributes={At.low_pc: Form.addrx(0x1400)},
            )
        ),
        "1400-1410 f\n",
    ),
]

BAD_AMONG_GOOD = [
    Case(
        "a range that ends before it starts",
        lists(
            ranges(
                RangeEntry.start_end(0x1000, 0x1010),
                RangeEntry.start_end(0x1100, 0x10F0),
                RangeEntry.start_end(0x1200, 0x1210),
            )
        ),
        words("""
            1000-1010 f0
            1200-1210 f0
        """),
        STOPS,
    ),
    Case(
        "an empty range",
        lists(
            ranges(
                RangeEntry.start_length(0x1000, 0),
                RangeEntry.start_length(0x1200, 0x10),
            )
        ),
        "1200-1210 f0\n",
        STOPS,
    ),
    Case(
        "a range that starts outside of the code",
        lists(
            ranges(
                RangeEntry.start_end(0x5000, 0x5010),
                RangeEntry.start_end(0x1200, 0x1210),
            )
        ),
        "1200-1210 f0\n",
        STOPS,
    ),
    Case(
        "a range of a discarded section",
        lists(
            ranges(
                RangeEntry.start_length(0, 0x10),
                RangeEntry.start_length(0x1200, 0x10),
            )
        ),
        "1200-1210 f0\n",
        STOPS,
    ),
    Case(
        "an index past the end of the addresses",
        lists(
            ranges(
                b"\x03\x7f\x10",  # startx_length of address 127
                RangeEntry.startx_length(0x1100, 0x10),
                RangeEntry.start_length(0x1200, 0x10),
            )
        ),
        words("""
            1100-1110 f0
            1200-1210 f0
        """),
        "llvm-gsymutil drops the whole list",
    ),
]

DEAD = [
    Case(
        f"low_pc {low:#x} marks a dead function",
        program(
            unit(
                function("dead", low, low + 0x10),
                function("alive", 0x1000, 0x1010),
                version=4,
            ),
        ),
        "1000-1010 alive\n",
    )
    for low in (0, ALL_ONES[8], ALL_ONES[8] - 1)
]

DEAD_LISTS = [
    Case(
        f"base {dead:#x} in a list of version {version} is dead",
        lists(
            ranges(
                RangeEntry.base_address(dead),
                (0x1102, 0x1112),  # in the code, if the base were an address
                RangeEntry.base_address(0x1200),
                (0x0, 0x10),
            ),
            version=version,
            size=size,
        ),
        "1200-1210 f0\n",
        STOPS if (version == 4) == (dead == ALL_ONES[size]) else "",
    )
    for version in (4, 5)
    for size in (4, 8)
    for dead in (ALL_ONES[size], ALL_ONES[size] - 1)
]
DEAD_LISTS += [
    Case(
        f"a base of -3 in {size} bytes is an address, in version {version}",
        lists(
            ranges(RangeEntry.base_address(ALL_ONES[size] - 2), (0x1003, 0x1013)),
            version=version,
            size=size,
        ),
        "1000-1010 f0\n",
        differs="" if size == 8 else "sums have 64 bits there",
    )
    for version in (4, 5)
    for size in (4, 8)
]
DEAD_LISTS += [
    Case(
        f"a pair of {size} bytes that starts at -2 is dead, whatever the base",
        lists(
            ranges((ALL_ONES[size] - 1, 0x10), (0x80, 0x90)),
            version=4,
            base=0x1100,
            size=size,
        ),
        "1180-1190 f0\n",
    )
    for size in (4, 8)
]

TEXT = [
    Case(
        "a function that runs out of its section is kept whole",
        program(unit(function("f", 0x1FF0, 0x2010))),
        "1ff0-2010 f\n",
    ),
    Case(
        "every executable section holds code, a writable or an empty one does not",
        program(
            unit(
                function("text", 0x1000, 0x1010),
                function("init", 0x3000, 0x3010),
                function("data", 0x4000, 0x4010),
                function("empty", 0x5000, 0x5010),
                function("gap", 0x2000, 0x2010),
            ),
            text=[
                code_section(),
                code_section(0x3000, 0x100, ".init.text"),
                Section(
                    ".data", kind=NOBITS, flags=2 | WRITE, address=0x4000, size=0x100
                ),
                code_section(0x5000, 0, ".empty"),
            ],
        ),
        words("""
            1000-1010 text
            3000-3010 init
        """),
    ),
]

CASES = [
    *LOW_AND_HIGH,
    *OLD_LISTS,
    *NEW_LISTS,
    *BAD_AMONG_GOOD,
    *DEAD,
    *DEAD_LISTS,
    *TEXT,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_ranges(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_list_reads_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    where = ranges((0x1000, 0x1010), RangeEntry.base_address(0x1100), (0x8, 0x18))
    image = layout.program(spread("f", where))
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1010 f
        1108-1118 f
    """)


def test_a_function_too_large_for_the_format_is_left_out_and_counted(
    tmp_path: Path,
) -> None:
    image = program(
        unit(function("huge", 0x1000, 1 << 33), function("f", 0x1100, 0x1110))
    )
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == "1100-1110 f\n"
    assert sum(report.warnings.values()) == 1


@pytest.mark.parametrize("low", [0xFFFFFFFE, 0xFFFFFFFF, 0])
def test_dead_functions_of_a_32_bit_program_are_left_out(
    low: int, tmp_path: Path
) -> None:
    image = program(
        unit(function("dead", low, low + 1), function("alive", 0x1000, 0x1010)),
        address_size=4,
    )
    assert describe(convert_bytes(tmp_path, image).functions) == "1000-1010 alive\n"


@pytest.mark.parametrize(
    ("version", "where", "text"),
    [
        (4, Form.sec_offset(0x7FFF), ""),
        (5, Form.sec_offset(0x7FFF), ""),
        (4, Form.sec_offset(ranges((0x0, 0x10), terminated=False)), "1000-1010 f\n"),
        (
            4,
            Form.sec_offset(ranges((0x0, 0x10), b"\x20" + bytes(7), terminated=False)),
            "1000-1010 f\n",
        ),
        (5, Form.sec_offset(ranges((0x0, 0x10), terminated=False)), "1000-1010 f\n"),
        (5, Form.rnglistx(Raw(99)), ""),
        (5, ranges(b"\x03\x7f\x10"), ""),
        (
            5,
            ranges(RangeEntry.startx_length(0x1000, 16), b"\x02\0\x7f"),
            "1000-1010 f\n",
        ),
        (5, ranges((0x0, 0x10), b"\x63"), "1000-1010 f\n"),
    ],
    ids=[
        "offset past the end, version 4",
        "offset past the end",
        "no end marker, version 4",
        "no end of a range, version 4",
        "no end marker",
        "index past the end",
        "start past the end of the addresses",
        "end past the end of the addresses",
        "unknown kind",
    ],
)
def test_a_damaged_list_is_counted_and_harms_no_other_function(
    version: int, where: object, text: str, tmp_path: Path
) -> None:
    image = program(
        unit(
            function("good", 0x1100, 0x1110),
            spread("f", where),
            attributes={At.low_pc: 0x1000},
            version=version,
        )
    )
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == f"{text}1100-1110 good\n"
    assert sum(report.warnings.values()) == 1


def test_without_any_executable_section_every_address_may_hold_code(
    tmp_path: Path,
) -> None:
    image = program(
        unit(function("f", 0x1000, 0x1010), function("zero", 0, 0x10), version=4),
        text=[Section(".data", b"data", flags=2, address=0x5000)],
    )
    functions = convert_bytes(tmp_path, image).functions
    assert describe(functions).endswith("1000-1010 f\n")


def test_code_at_address_zero_is_code_where_a_section_says_so(tmp_path: Path) -> None:
    image = program(
        unit(function("reset", 0, 0x10), version=4), text=[code_section(0, 0x100)]
    )
    assert describe(convert_bytes(tmp_path, image).functions) == "0-10 reset\n"


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize("size", [2, 4])
def test_code_may_end_with_the_address_space(
    version: int, size: int, tmp_path: Path
) -> None:
    """Its end is 0, or one more than the last address."""
    start = (1 << 8 * size) - 0x10
    ends = [Form.addr(0)] if version < 4 else [Form.addr(0), Form.data1(0x10)]
    for end in ends:
        die = Die(Tag.subprogram, {At.name: "f", At.low_pc: start, At.high_pc: end})
        main = Dwarf([unit(die, version=version)], address_size=size)
        image = elf_of(main.sections(), code_section(start - 0x10, 0x20), bits=32)
        functions = convert_bytes(tmp_path, image).functions
        assert describe(functions) == f"{start:x}-{start + 0x10:x} f\n"


TOP = (1 << 32) - 0x20
ENDING_AT_THE_TOP = {
    3: [ranges((TOP, 0))],
    5: [
        ranges(RangeEntry.base_address(TOP), RangeEntry.offset_pair(0, 0x20)),
        ranges(RangeEntry.start_length(TOP, 0x20)),
        ranges(RangeEntry.start_end(TOP, 0)),
        ranges(RangeEntry.startx_length(TOP, 0x20)),
        ranges(RangeEntry.startx_endx(TOP, 0)),
    ],
}
ENDING_AT_THE_TOP[4] = ENDING_AT_THE_TOP[3]


@pytest.mark.parametrize(
    ("layout", "where"),
    [
        (layout, where)
        for layout in LAYOUTS
        if layout.address_size == 4
        for where in ENDING_AT_THE_TOP.get(layout.version, ())
    ],
    ids=str,
)
def test_rows_and_calls_may_end_with_the_address_space(
    layout: Layout, where: RangeList, tmp_path: Path
) -> None:
    end = Form.addr(0) if layout.version < 4 else Form.data1(0x10)
    call = {
        At.abstract_origin: Ref("g"),
        At.low_pc: TOP + 0x10,
        At.high_pc: end,
        At.call_file: 1,
        At.call_line: 9,
    }
    main = unit(
        Die(
            Tag.subprogram,
            {At.name: "f", At.ranges: where},
            Die(Tag.inlined_subroutine, call),
        ),
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        version=layout.version,
        dwarf64=layout.dwarf64,
        attributes={} if layout.version >= 5 else {At.low_pc: 0},
        lines=LineProgram(
            sequence((TOP, 3), (TOP + 0x10, 4), end=1 << 32),
            files=(File("a.c"), File("a.c")),
            directories=("/src",),
        ),
    )
    image = program(
        main,
        text=[code_section(TOP - 0x10, 0x30)],
        symbols=[Symbol("f", TOP, 0x20), Symbol("before", TOP - 0x10, 0x10)],
        byteorder=layout.byteorder,
        address_size=4,
    )
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    assert describe(converted.functions) == words("""
        ffffffd0-ffffffe0 before
        ffffffe0-100000000 f
          ffffffe0 /src/a.c:3
          fffffff0 /src/a.c:4
          inlined g fffffff0-100000000 from /src/a.c:9
    """)


def test_an_end_of_0_is_no_end_elsewhere(tmp_path: Path) -> None:
    die = Die(
        Tag.subprogram, {At.name: "f", At.low_pc: 0x1000, At.high_pc: Form.addr(0)}
    )
    image = program(unit(die, function("g", 0x1800, 0x1810)), address_size=4)
    assert describe(convert_bytes(tmp_path, image).functions) == "1800-1810 g\n"


ADDR, CONST1U, CONST4U, PLUS, PLUS_UCONST, ADDRX = 0x03, 0x08, 0x0C, 0x22, 0x23, 0xA1
# Of an address with this index in .debug_addr; 0x1000 has index 0.
EXPRESSIONS: dict[str, Callable[[Encoding, int, int], bytes]] = {
    "the address": lambda as_, _, address: bytes([ADDR]) + as_.address(address),
    "an address and a number": lambda as_, _, address: (
        bytes([ADDR]) + as_.address(0x1000) + bytes([PLUS_UCONST, address - 0x1000])
    ),
    "an address and a number with which it wraps": lambda as_, _, address: (
        bytes([ADDR])
        + as_.address(address + 8)
        + bytes([PLUS_UCONST])
        + uleb((1 << 8 * len(as_.address(0))) - 8)
    ),
    "the index": lambda _, index, __: bytes([ADDRX, index]),
    "an index and four bytes": lambda as_, _, address: (
        bytes([ADDRX, 0, CONST4U]) + as_.uint(address - 0x1000, 4) + bytes([PLUS])
    ),
    "an index and one byte": lambda _, __, address: bytes(
        [ADDRX, 0, CONST1U, address - 0x1000, PLUS]
    ),
    "an index and a number": lambda _, __, address: bytes(
        [ADDRX, 0, PLUS_UCONST, address - 0x1000]
    ),
}


@pytest.mark.parametrize(
    ("name", "layout"),
    [
        (name, layout)
        for name in EXPRESSIONS
        for layout in LAYOUTS
        if layout.version >= (5 if "index" in name else 4)
    ],
    ids=str,
)
def test_an_address_may_be_an_expression(
    name: str, layout: Layout, tmp_path: Path
) -> None:
    """Expressions that need no registers are the same number everywhere."""
    encoding = Encoding(layout.byteorder, layout.address_size, layout.dwarf64)
    form = Form.addrx if layout.version >= 5 else Form.addr

    def code(index: int, address: int) -> dict[int, object]:
        return {
            At.entry_pc: form(address),
            At.low_pc: Form.exprloc(EXPRESSIONS[name](encoding, index, address)),
            At.high_pc: Form.data1(8),
        }

    origin = {At.abstract_origin: Ref("g"), At.call_file: 1, At.call_line: 7}
    whole = {At.low_pc: form(0x1000), At.high_pc: Form.data1(0x20)}
    image = layout.program(
        Die(
            Tag.subprogram,
            {At.name: "f", **whole},
            Die(Tag.inlined_subroutine, {**origin, **code(1, 0x1008)}),
        ),
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        Die(Tag.subprogram, {At.name: "e", **code(2, 0x1020)}),
        lines=LineProgram(
            sequence((0x1000, 3), (0x1008, 4), end=0x1028),
            files=(File("a.c"), File("a.c")),
            directories=("/src",),
        ),
    )
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    file = "/src/a.c"
    assert describe(converted.functions) == words(f"""
        1000-1020 f
          1000 {file}:3
          1008 {file}:4
          inlined g 1008-1010 from {file}:7
        1020-1028 e
          1020 {file}:4
    """)


@pytest.mark.parametrize("dwarf64", [False, True])
def test_indexes_without_a_base_are_of_the_only_table(
    tmp_path: Path, *, dwarf64: bool
) -> None:
    """llvm-dwarfutil --linker=parallel writes no DW_AT_addr_base."""

    def indexed(name: str, start: int) -> Unit:
        entries = ranges(RangeEntry.base_addressx(start), (0, 0x10), (0x20, 0x30))
        die = spread(name, Form.sec_offset(entries))
        return unit(die, attributes={At.addr_base: None}, dwarf64=dwarf64)

    one = convert_bytes(tmp_path, program(indexed("f", 0x1000)))
    assert describe(one.functions) == "1000-1010 f\n1020-1030 f\n"
    assert not one.report.warnings
    known = unit(function("h", 0x1800, 0x1810))
    image = program(indexed("f", 0x1000), indexed("g", 0x1100), known)
    several = convert_bytes(tmp_path, image)
    assert describe(several.functions) == "1800-1810 h\n"
    assert several.report.warnings == {"Damaged range list": 2}


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (Lang.Haskell, "1000-1030 f\n1040-1060 g\n1080-1088 k\n1090-1098 m\n"),
        (Lang.C11, "1000-1008 f\n1080-1088 k\n1090-1098 m\n"),
    ],
)
def test_a_function_of_ghc_has_all_its_blocks(
    language: Lang, expected: str, tmp_path: Path
) -> None:
    """The first block, which may be empty, is the range of the function itself."""

    def code(tag: Tag, name: str, start: int, end: int, *below: Die) -> Die:
        extent = {At.low_pc: Form.addr(start), At.high_pc: Form.addr(end)}
        return Die(tag, {At.name: name, **extent}, *below)

    def block(start: int, end: int, *below: Die) -> Die:
        return code(Tag.lexical_block, "_c1", start, end, *below)

    without_code = Die(Tag.lexical_block, {At.name: "_c2"})
    dropped, outside = block(0, 0x10), block(0x3000, 0x3010)
    blocks = (
        block(0x1008, 0x1010, block(0x1028, 0x1030)),
        without_code,
        block(0x1018, 0x1020),
        dropped,
        outside,
    )
    image = program(
        unit(
            code(Tag.subprogram, "f", 0x1000, 0x1008, *blocks),
            code(
                Tag.subprogram,
                "g",
                0x1050,
                0x1050,
                block(0x1050, 0x1060),
                block(0x1040, 0x1050),
            ),
            code(Tag.subprogram, "h", 0x1070, 0x1070, without_code),
            code(Tag.subprogram, "k", 0x1080, 0x1088),
            spread("m", ranges((0x1088, 0x1088), (0x1090, 0x1098))),
            language=language,
        )
    )
    assert describe(convert_bytes(tmp_path, image).functions) == expected
