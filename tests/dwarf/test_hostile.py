"""Damaged and hostile units, abbreviations, trees and lists end in an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import convert_bytes, describe, settle
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, Value
from tests.inputs.elf import Symbol, elf_of
from tests.inputs.encoding import Encoding, uleb
from tests.inputs.line_program import (
    LineProgram,
    sequence,
)
from tests.inputs.program import function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long


HUGE = (1 << 64) - 1
SYMBOL = Symbol("symbol", 0x1F00, 0x10)


def good_unit_behind(data: bytes) -> bytes:
    """A program whose .debug_info starts with *data*."""
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    sections[".debug_info"] = data + sections[".debug_info"]
    return elf_of(sections, symbols=[SYMBOL])


HEADERS = {
    "length 0": bytes(4),
    "length 1": b"\x01\0\0\0\5",
    "many of length 0": bytes(100_000),
    "length past the end": b"\xff\xff\xff\x7f\5\0\1\x08",
    "reserved length": b"\xf0\xff\xff\xff" + bytes(20),
    "64-bit length past the end": b"\xff\xff\xff\xff" + b"\xff" * 8 + b"\5\0\1\x08",
    "64-bit length cut off": b"\xff\xff\xff\xff\1\0",
    "address size 0": b"\x09\0\0\0\5\0\1\0\0\0\0\0\1",
    "address size 255": b"\x09\0\0\0\5\0\1\xff\0\0\0\0\1",
    "unit type 0": b"\x09\0\0\0\5\0\0\x08\0\0\0\0\1",
    "nothing after the header": b"\x08\0\0\0\5\0\1\x08\0\0\0\0",
}


@pytest.mark.parametrize("data", HEADERS.values(), ids=HEADERS)
def test_a_broken_unit_header(data: bytes, tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, good_unit_behind(data))
    assert "symbol" in describe(functions)
    assert len(functions) == 2 or sum(report.warnings.values()) >= 1


def with_abbreviations(table: bytes, dies: bytes, count: int = 1) -> bytes:
    """A program of *count* units made of these bytes."""
    encoding = Encoding()
    header = b"\5\0\1\x08" + bytes(4)
    info = encoding.with_length(header + dies) * count
    return elf_of({".debug_info": info, ".debug_abbrev": table}, symbols=[SYMBOL])


SUBPROGRAM = b"\x2e\0" + b"\x03\x08" + b"\x11\x01" + b"\x12\x0b" + b"\0\0"
F = b"f\0" + (0x1000).to_bytes(8, "little") + b"\x10"
UNIT = uleb(1) + b"\x11\x01\0\0"


def test_many_sparse_codes(tmp_path: Path) -> None:
    codes = [2 + n * 7919 for n in range(20_000)]
    table = UNIT + b"".join(uleb(code) + SUBPROGRAM for code in codes) + b"\0"
    dies = b"\1" + b"".join(uleb(code) + F for code in codes[::2]) + b"\0"
    functions = convert_bytes(tmp_path, with_abbreviations(table, dies)).functions
    assert describe(functions) == "1000-1010 f\n1f00-1f10 symbol\n"


def test_many_units_share_a_huge_table(tmp_path: Path) -> None:
    codes = range(2, 8_000)
    table = UNIT + b"".join(uleb(code) + SUBPROGRAM for code in codes) + b"\0"
    dies = b"\1" + uleb(codes[-1]) + F + b"\0"
    image = with_abbreviations(table, dies, 1_000)
    assert "1000-1010 f\n" in describe(convert_bytes(tmp_path, image).functions)


def test_codes_that_are_declared_twice(tmp_path: Path) -> None:
    table = UNIT + 2 * (uleb(2) + SUBPROGRAM) + b"\0"
    text = settle(tmp_path, with_abbreviations(table, b"\1\2" + F + b"\0"))
    assert text == "1000-1010 f\n1f00-1f10 symbol\n"


def test_the_first_of_attributes_alike_is_read(tmp_path: Path) -> None:
    table = UNIT + b"\2" + SUBPROGRAM[:-2] + b"\x03\x08\0\0" + b"\0"
    text = settle(tmp_path, with_abbreviations(table, b"\1\2" + F + b"g\0" + b"\0"))
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


SLOW = (pytest.mark.slow, pytest.mark.hostile)


@pytest.mark.parametrize(
    ("shape", "depth"),
    [(shape, depth) for shape in DEEP for depth in (100, 5_000)]
    + [pytest.param("lexical blocks", 100_000, marks=SLOW)],
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


@pytest.mark.parametrize("beyond", [0, 1])
def test_dies_are_nested_4096_deep(beyond: int, tmp_path: Path) -> None:
    """Calls in a function; the innermost of them is too deep."""
    tag, attributes = DEEP["inlined calls"]
    attributes = {**attributes, At.abstract_origin: Ref("g")}
    calls = nested(tag, 4095 + beyond, Die(tag, attributes), attributes)
    origin = Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g")
    outer = function("outer", 0x1000, 0x1010, calls)
    lines = LineProgram(sequence((0x1000, 5, 0), end=0x1010))
    after = function("after", 0x1900, 0x1910)
    image = program(unit(origin, outer, after, lines=lines))
    report, functions = convert_bytes(tmp_path, image)
    assert [function.name for function in functions] == ["outer", "after"]
    assert list(report.warnings.values()) == [1] * beyond
    assert report.warnings.keys() <= {"DIEs nested too deeply"}
    depth, node = 0, functions[0].inline
    while node is not None:
        depth, node = depth + 1, next(iter(node.children), None)
    assert depth == 1 + 4096


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
def test_a_wrong_sibling(sibling: Value, inside: object, tmp_path: Path) -> None:
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


def test_a_die_without_children_has_no_sibling_to_go_to(tmp_path: Path) -> None:
    stray = Die(Tag.structure_type, {At.sibling: Form.ref4(Ref("h")), At.name: "S"})
    h = function("h", 0x1020, 0x1030, label="h")
    main = unit(stray, function("g", 0x1010, 0x1020), h, language=Lang.C99)
    functions = convert_bytes(tmp_path, program(main)).functions
    assert [each.name for each in functions] == ["g", "h"]


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


@pytest.mark.parametrize("base", [0x7FFFFFFF, 0xFFFFFFFF])
def test_a_table_base_far_outside_of_its_section(tmp_path: Path, base: int) -> None:
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
    pieces = [(0x1000 + 0x10 * n, 0x1008 + 0x10 * n) for n in range(1_000)]
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


def test_names_nested_without_end_do_not_grow_without_end(tmp_path: Path) -> None:
    scope = function("f", 0x1000, 0x1010)
    for _ in range(3_000):
        scope = Die(Tag.namespace, {At.name: "n" * 100}, scope)
    dies = [function(f"g{n}", 0x1100 + n, 0x1101 + n) for n in range(100)]
    image = program(unit(scope, *dies), symbols=[SYMBOL])
    text = settle(tmp_path, image)
    assert text is not None
    assert "symbol" in text


def test_an_unknown_language_and_an_empty_unit(tmp_path: Path) -> None:
    empty = Unit(Die(Tag.compile_unit))
    odd = unit(function("f", 0x1000, 0x1010), language=None)
    odd.root.attributes[At.language] = Form.data8(HUGE)
    image = program(empty, odd, unit(language=Lang.C99))
    assert settle(tmp_path, image) == "1000-1010 f\n"
