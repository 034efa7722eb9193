"""Damaged and hostile inputs end in an answer or a clean error, and soon."""

from __future__ import annotations

import faulthandler
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import convert_bytes, describe
from tests.inputs.dies import SIBLING, Die, Raw, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, Value
from tests.inputs.elf import Symbol, elf_of
from tests.inputs.encoding import Encoding, sleb, uleb
from tests.inputs.line_program import (
    COPY,
    END_SEQUENCE,
    File,
    LineProgram,
    Op,
    advance_line,
    advance_pc,
    extended,
    sequence,
    set_address,
)
from tests.inputs.program import function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECONDS = 60
HUGE = (1 << 64) - 1
SYMBOL = Symbol("symbol", 0x1F00, 0x10)


@pytest.fixture(autouse=True)
def _ends_soon() -> Iterator[None]:
    """A hang in the engine cannot be interrupted; it ends the run with a trace."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def settle(folder: Path, image: bytes) -> str | None:
    """What *image* converts to, or None where it is refused."""
    (folder / "input.gsym").unlink(missing_ok=True)
    try:
        return describe(convert_bytes(folder, image).functions)
    except gsym.GsymError:
        assert not (folder / "input.gsym").exists()
        return None


# ---- every prefix and many flips of a small file


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


def test_the_small_file_is_sound(tmp_path: Path) -> None:
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
    for place in [*range(64), *range(table, len(image), 3)]:
        changed = bytearray(image)
        changed[place] ^= (0x01, 0x80, 0xFF)[place % 3 - place // 64 % 3]
        settle(tmp_path, bytes(changed))


def test_every_prefix_of_the_container(tmp_path: Path) -> None:
    image = elf_of(SMALL, symbols=[SYMBOL])
    for size in range(0, len(image), 7):
        settle(tmp_path, image[:size])


# ---- unit headers


def good_unit_behind(data: bytes) -> bytes:
    """A program whose .debug_info starts with *data*."""
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    sections[".debug_info"] = data + sections[".debug_info"]
    return elf_of(sections, symbols=[SYMBOL])


HEADERS = {
    "length 0": bytes(4),
    "length 1": b"\x01\0\0\0\5",
    "many of length 0": bytes(400_000),
    "length past the end": b"\xff\xff\xff\x7f\5\0\1\x08",
    "reserved length": b"\xf0\xff\xff\xff" + bytes(20),
    "64-bit length past the end": b"\xff\xff\xff\xff" + b"\xff" * 8 + b"\5\0\1\x08",
    "64-bit length cut off": b"\xff\xff\xff\xff\1\0",
    "address size 0": b"\x09\0\0\0\5\0\1\0\0\0\0\0\1",
    "address size 255": b"\x09\0\0\0\5\0\1\xff\0\0\0\0\1",
    "unit type 0": b"\x09\0\0\0\5\0\0\x08\0\0\0\0\1",
    "nothing behind the header": b"\x08\0\0\0\5\0\1\x08\0\0\0\0",
}


@pytest.mark.parametrize("data", HEADERS.values(), ids=HEADERS)
def test_a_broken_unit_header(data: bytes, tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, good_unit_behind(data))
    assert "symbol" in describe(functions)
    assert len(functions) == 2 or sum(report.warnings.values()) >= 1


# ---- abbreviations


def with_abbreviations(table: bytes, dies: bytes, count: int = 1) -> bytes:
    """A program of *count* units made of these bytes."""
    encoding = Encoding()
    header = b"\5\0\1\x08" + bytes(4)
    info = encoding.with_length(header + dies) * count
    return elf_of({".debug_info": info, ".debug_abbrev": table}, symbols=[SYMBOL])


SUBPROGRAM = b"\x2e\0" + b"\x03\x08" + b"\x11\x01" + b"\x12\x0b" + b"\0\0"
F = b"f\0" + (0x1000).to_bytes(8, "little") + b"\x10"
UNIT = uleb(1) + b"\x11\x01\0\0"


def test_a_storm_of_sparse_codes(tmp_path: Path) -> None:
    codes = [2 + n * 7919 for n in range(100_000)]
    table = UNIT + b"".join(uleb(code) + SUBPROGRAM for code in codes) + b"\0"
    dies = b"\1" + b"".join(uleb(code) + F for code in codes[::2]) + b"\0"
    functions = convert_bytes(tmp_path, with_abbreviations(table, dies)).functions
    assert describe(functions) == "1000-1010 f\n1f00-1f10 symbol\n"


def test_many_units_share_a_huge_table(tmp_path: Path) -> None:
    codes = range(2, 30_000)
    table = UNIT + b"".join(uleb(code) + SUBPROGRAM for code in codes) + b"\0"
    dies = b"\1" + uleb(codes[-1]) + F + b"\0"
    image = with_abbreviations(table, dies, 5_000)
    assert "1000-1010 f\n" in describe(convert_bytes(tmp_path, image).functions)


def test_codes_that_are_declared_twice(tmp_path: Path) -> None:
    table = UNIT + 2 * (uleb(2) + SUBPROGRAM) + b"\0"
    text = settle(tmp_path, with_abbreviations(table, b"\1\2" + F + b"\0"))
    assert text == "1000-1010 f\n1f00-1f10 symbol\n"


ABBREVIATIONS = {
    "empty": b"",
    "no end": UNIT,
    "cut in a declaration": UNIT + b"\2\x2e",
    "cut in an attribute": UNIT + b"\2\x2e\0\x03",
    "endless code": UNIT + b"\x80" * 1000,
    "unknown form": UNIT + b"\2\x2e\0\x03\x77\0\0\0",
    "form 0 of an attribute": UNIT + b"\2\x2e\0\x03\0\0\0\0",
    "attribute 0 with a form": UNIT + b"\2\x2e\0\0\x08\0\0\0",
    "a tag of 2^63": UNIT + b"\2" + uleb(1 << 63) + b"\0\0\0\0",
    "many attributes": UNIT + b"\2\x2e\0" + b"\x03\x0b" * 100_000 + b"\0\0\0",
    "implicit_const cut off": UNIT + b"\2\x2e\0\x03\x21\x80",
}


@pytest.mark.parametrize("table", ABBREVIATIONS.values(), ids=ABBREVIATIONS)
def test_a_broken_table(table: bytes, tmp_path: Path) -> None:
    text = settle(tmp_path, with_abbreviations(table, b"\1\2" + F + b"\0"))
    assert text is not None
    assert "symbol" in text


def test_an_unknown_form_loses_its_unit_only(tmp_path: Path) -> None:
    odd = Die(Tag.variable, {0x3000: Value(0x77, b"\x01")})
    image = program(
        unit(function("a", 0x1000, 0x1010), odd, function("lost", 0x1010, 0x1020)),
        unit(function("b", 0x1020, 0x1030)),
    )
    report, functions = convert_bytes(tmp_path, image)
    assert "1020-1030 b\n" in describe(functions)
    assert sum(report.warnings.values()) >= 1


@pytest.mark.parametrize(
    "value",
    [
        Form.block(uleb(HUGE)),
        Form.exprloc(uleb(HUGE)),
        Form.indirect(Value(0x77, b"")),
        Form.string("unfinished"),
        Form.data16(bytes(3)),
        Value(Form.indirect, b"\x16" * 100_000),
        Value(Form.indirect, uleb(Form.implicit_const)),
        Form.udata(b"\x80" * 50_000),
    ],
    ids=str,
)
def test_a_value_that_runs_out_of_its_unit(value: Value, tmp_path: Path) -> None:
    last = Die(Tag.variable, {0x3000: value})
    sections = Dwarf([unit(function("f", 0x1000, 0x1010), last)]).sections()
    # Without the end markers and the string's end nothing stops the value.
    info = sections[".debug_info"][:-2]
    sections[".debug_info"] = Encoding().with_length(info[4:])
    text = settle(tmp_path, elf_of(sections, symbols=[SYMBOL]))
    assert text is not None
    assert "symbol" in text


# ---- trees


def nested(tag: Tag, depth: int, inner: Die, attributes: dict[int, object]) -> Die:
    for _ in range(depth):
        inner = Die(tag, attributes, inner)
    return inner


DEEP: dict[str, tuple[Tag, dict[int, object]]] = {
    "lexical blocks": (Tag.lexical_block, {}),
    "namespaces": (Tag.namespace, {At.name: "N"}),
    "classes": (Tag.class_type, {At.name: "C"}),
    "functions": (Tag.subprogram, {At.name: "g"}),
    "inlined calls": (
        Tag.inlined_subroutine,
        {At.low_pc: 0x1000, At.high_pc: 0x1010, At.call_file: 0, At.call_line: 1},
    ),
}


@pytest.mark.parametrize(
    ("shape", "depth"),
    [(shape, depth) for shape in DEEP for depth in (100, 10_000)]
    + [("lexical blocks", 100_000)],
)
def test_deep_nesting(shape: str, depth: int, tmp_path: Path) -> None:
    tag, attributes = DEEP[shape]
    inner = function("inner", 0x1800, 0x1810)
    outer = function("outer", 0x1000, 0x1010, nested(tag, depth, inner, attributes))
    lines = LineProgram(sequence((0x1000, 5, 0), end=0x1010))
    image = program(
        unit(outer, function("after", 0x1900, 0x1910), lines=lines), symbols=[SYMBOL]
    )
    report, functions = convert_bytes(tmp_path, image)
    names = {function.name.rpartition("::")[2] for function in functions}
    assert {"outer", "after", "symbol"} <= names
    assert "inner" in names or sum(report.warnings.values()) >= 1
    assert depth > 100 or "inner" in names


SIBLINGS = {
    "itself": Form.ref4(Ref("type")),
    "backwards": Form.ref4(Ref("f")),
    "the header": Form.ref4(0),
    "out of the unit": Form.ref4(0x7FFFFFFF),
    "the end of the unit": Form.ref_udata(HUGE),
    "into another DIE": Form.ref1(0x30),
    "an address": Form.ref_addr(Ref("f")),
}


@pytest.mark.parametrize("sibling", SIBLINGS.values(), ids=SIBLINGS)
@pytest.mark.parametrize("inside", [False, True], ids=["of the unit", "of a function"])
def test_a_sibling_that_leads_astray(
    sibling: Value, inside: object, tmp_path: Path
) -> None:
    stray = Die(
        Tag.structure_type,
        {At.sibling: sibling, At.name: "S"},
        Die(Tag.member, {At.name: "m"}),
        label="type",
    )
    f = function("f", 0x1000, 0x1010, *([stray] if inside else []), label="f")
    main = unit(
        f, stray if not inside else Die(Tag.variable), function("g", 0x1010, 0x1020)
    )
    image = program(main, unit(function("h", 0x1020, 0x1030)), symbols=[SYMBOL])
    text = settle(tmp_path, image)
    assert text is not None
    assert "1020-1030 h\n" in text


# ---- line programs


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
    "many sequences": (END_SEQUENCE,) * 10_000,
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


def test_a_program_of_nothing_but_rows(tmp_path: Path) -> None:
    ops = [set_address(0x1000), COPY * 500_000, b"\x4b" * 500_000, *ROWS]
    text = settle(tmp_path, with_lines(LineProgram(ops)))
    assert text is not None
    assert "1000-1040 f\n" in text


# ---- ranges and inlined calls


@pytest.mark.parametrize(
    "entries",
    [
        b"\3" + uleb(HUGE) + uleb(HUGE),
        b"\1" + uleb(HUGE) + b"\4" + uleb(HUGE) + uleb(HUGE),
        b"\4" + uleb(HUGE) + uleb(1),
        b"\7" + b"\xff" * 8 + uleb(HUGE),
        b"\x80" * 100,
    ],
    ids=["huge index", "huge base index", "wraps", "length wraps", "no kind"],
)
def test_a_broken_range_list(entries: bytes, tmp_path: Path) -> None:
    where = ranges(RangeEntry.start_length(0x1000, 0x10), entries)
    image = program(
        unit(
            Die(Tag.subprogram, {At.name: "f", At.ranges: where}),
            attributes={At.low_pc: 0x1000},
        ),
        symbols=[SYMBOL],
    )
    text = settle(tmp_path, image)
    assert text is not None
    assert "1000-1010 f\n" in text


def test_a_table_base_far_outside_of_its_section(tmp_path: Path) -> None:
    for base in (0x7FFFFFFF, 0xFFFFFFFF):
        far = {At.str_offsets_base: base, At.addr_base: base, At.rnglists_base: base}
        image = program(
            unit(
                function(None, 0x1000, 0x1010, attributes={At.name: Form.strx1("f")}),
                Die(
                    Tag.subprogram,
                    {At.name: "g", At.low_pc: Form.addrx(0x1010), At.high_pc: 0x1020},
                ),
                Die(
                    Tag.subprogram,
                    {At.name: "h", At.ranges: Form.rnglistx(Raw(HUGE >> 3))},
                ),
                attributes=far,
            ),
            symbols=[SYMBOL],
        )
        assert settle(tmp_path, image) == "1f00-1f10 symbol\n"


def test_many_pieces_and_many_calls(tmp_path: Path) -> None:
    pieces = [(0x1000 + 0x10 * n, 0x1008 + 0x10 * n) for n in range(3_000)]
    calls = [inlined(Ref("g"), piece, call=(0, 1)) for piece in pieces]
    where = ranges(*(RangeEntry.start_end(*piece) for piece in pieces))
    image = program(
        unit(
            Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
            Die(Tag.subprogram, {At.name: "f", At.ranges: where}, *calls),
            lines=LineProgram(directories=("/src",)),
        )
    )
    report, functions = convert_bytes(tmp_path, image)
    assert len(functions) == 0x1000 // 0x10
    assert sum(report.warnings.values()) >= 1


def test_many_functions_at_one_place(tmp_path: Path) -> None:
    rows = sequence(*((0x1000 + n, n) for n in range(500)), end=0x1200)
    dies = [function(f"f{n}", 0x1000, 0x1200) for n in range(2_000)]
    image = program(unit(*dies, version=4, lines=LineProgram(rows)))
    report, functions = convert_bytes(tmp_path, image)
    assert len(functions) == 1
    assert report.functions_pruned == 1_999


# ---- growth


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
def test_time_grows_with_the_size_of_the_input(
    shape: Callable[[int], bytes], count: int, tmp_path: Path
) -> None:
    once = convert_bytes(tmp_path, shape(count), {"threads": 1}).report.seconds
    four = convert_bytes(tmp_path, shape(4 * count), {"threads": 1}).report.seconds
    assert four < max(0.5, 8 * once)


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


def test_names_nested_without_end_do_not_grow_without_end(tmp_path: Path) -> None:
    scope = function("f", 0x1000, 0x1010)
    for _ in range(3_000):
        scope = Die(Tag.namespace, {At.name: "n" * 100}, scope)
    dies = [function(f"g{n}", 0x1100 + n, 0x1101 + n) for n in range(100)]
    image = program(unit(scope, *dies), symbols=[SYMBOL])
    text = settle(tmp_path, image)
    assert text is not None
    assert "symbol" in text


def test_a_language_and_a_unit_that_say_nothing(tmp_path: Path) -> None:
    empty = Unit(Die(Tag.compile_unit))
    odd = unit(function("f", 0x1000, 0x1010), language=None)
    odd.root.attributes[At.language] = Form.data8(HUGE)
    image = program(empty, odd, unit(language=Lang.C99))
    assert settle(tmp_path, image) == "1000-1010 f\n"


def test_rows_advance_by_everything_at_once(tmp_path: Path) -> None:
    ops = [set_address(0x1000), advance_line(-1), COPY, *ROWS]
    text = settle(tmp_path, with_lines(LineProgram(ops)))
    assert text is not None
    assert "f" in text
