"""Every form of an attribute: read where it matters, stepped over where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf_constants import At, Form, Tag, Value
from tests.inputs.encoding import uleb
from tests.inputs.line_program import File, LineProgram
from tests.inputs.program import LAYOUTS, Layout, function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

VENDOR = 0x3000  # the first of the attributes that nobody gave a meaning to

FILES = LineProgram(directories=("/src",), files=(File("a.c"), File("b.h")))
OLD_FILES = LineProgram(files=(File("b.h"),))


class Stored(NamedTuple):
    """A value in one form, and the first version that has the form."""

    value: Value
    since: int = 2

    def __str__(self) -> str:
        form, inner = self.value
        name = form.name if isinstance(form, Form) else hex(form)
        return f"{name}-{Form(inner.form).name}" if isinstance(inner, Value) else name

    def layouts(self) -> list[Layout]:
        return [layout for layout in LAYOUTS if layout.version >= self.since]


STRINGS = [
    Stored(Form.string("main")),
    Stored(Form.strp("main")),
    Stored(Form.line_strp("main"), 5),
    Stored(Form.strx("main"), 5),
    Stored(Form.strx1("main"), 5),
    Stored(Form.strx2("main"), 5),
    Stored(Form.strx3("main"), 5),
    Stored(Form.strx4("main"), 5),
    Stored(Form.GNU_str_index("main"), 5),
    Stored(Form.indirect(Form.string("main"))),
    Stored(Form.indirect(Form.strp("main"))),
    Stored(Form.indirect(Form.strx1("main")), 5),
]


@pytest.mark.parametrize("stored", STRINGS, ids=str)
def test_a_name_in_every_form(stored: Stored, tmp_path: Path) -> None:
    f = function(None, 0x1000, 0x1010, attributes={At.name: stored.value})
    # Another string before it, so that no offset and no index is 0.
    other = Die(Tag.variable, {At.name: stored.value._replace(value="other")})
    if isinstance(stored.value.value, Value):
        other = Die(Tag.variable, {At.name: Form.strp("other")})
    for layout in stored.layouts():
        functions = convert_bytes(tmp_path, layout.program(other, f)).functions
        assert describe(functions) == "1000-1010 main\n", layout


ADDRESSES = [
    Stored(Form.addr(0x1800)),
    Stored(Form.addrx(0x1800), 5),
    Stored(Form.addrx1(0x1800), 5),
    Stored(Form.addrx2(0x1800), 5),
    Stored(Form.addrx3(0x1800), 5),
    Stored(Form.addrx4(0x1800), 5),
    Stored(Form.GNU_addr_index(0x1800), 4),
    Stored(Form.indirect(Form.addr(0x1800))),
    Stored(Form.indirect(Form.addrx(0x1800)), 5),
]


@pytest.mark.parametrize("stored", ADDRESSES, ids=str)
def test_an_address_in_every_form(stored: Stored, tmp_path: Path) -> None:
    attributes: dict[int, object] = {
        At.name: "f",
        At.low_pc: stored.value,
        At.high_pc: Form.addr(0x1810),
    }
    other = {At.low_pc: stored.value._replace(value=0x1400)}
    if isinstance(stored.value.value, Value):
        other = {}
    dies = Die(Tag.label, other), Die(Tag.subprogram, attributes)
    for layout in stored.layouts():
        functions = convert_bytes(tmp_path, layout.program(*dies)).functions
        assert describe(functions) == "1800-1810 f\n", layout


CONSTANTS = [
    Stored(Form.data1(1)),
    Stored(Form.data2(1)),
    Stored(Form.data4(1)),
    Stored(Form.data8(1)),
    Stored(Form.udata(1)),
    Stored(Form.udata(uleb(1, pad_to=12))),
    Stored(Form.sdata(1)),
    Stored(Form.implicit_const(1), 5),
    Stored(Form.indirect(Form.data2(1))),
    Stored(Form.indirect(Form.udata(1))),
    Stored(Form.indirect(Form.indirect(Form.udata(1)))),
]


@pytest.mark.parametrize("stored", CONSTANTS, ids=str)
def test_a_constant_in_every_form(stored: Stored, tmp_path: Path) -> None:
    """The file and line of a call."""
    call = inlined(Ref("f"), (0x1000, 0x1010))
    call.attributes |= {At.call_file: stored.value, At.call_line: stored.value}
    f = function("f", 0x1000, 0x1010, call, label="f")
    for layout in stored.layouts():
        image = layout.program(f, lines=FILES if layout.version >= 5 else OLD_FILES)
        functions = convert_bytes(tmp_path, image).functions
        assert describe(functions) == words("""
            1000-1010 f
              inlined f 1000-1010 from /src/b.h:1
        """), layout


REFERENCES = [
    Stored(Form.ref1(Ref("g"))),
    Stored(Form.ref2(Ref("g"))),
    Stored(Form.ref4(Ref("g"))),
    Stored(Form.ref8(Ref("g"))),
    Stored(Form.ref_udata(Ref("g"))),
    Stored(Form.ref_addr(Ref("g"))),
    Stored(Form.indirect(Form.ref4(Ref("g")))),
    Stored(Form.indirect(Form.ref_addr(Ref("g")))),
]


@pytest.mark.parametrize("stored", REFERENCES, ids=str)
def test_a_reference_in_every_form(stored: Stored, tmp_path: Path) -> None:
    dies = (
        Die(Tag.subprogram, {At.name: "g", At.declaration: True}, label="g"),
        function(None, 0x1000, 0x1010, attributes={At.specification: stored.value}),
    )
    for layout in stored.layouts():
        functions = convert_bytes(tmp_path, layout.program(*dies)).functions
        assert describe(functions) == "1000-1010 g\n", layout


WHERE = ranges((0x1000, 0x1010), (0x1100, 0x1110))
INDEXED = ranges(
    RangeEntry.startx_length(0x1000, 0x10), RangeEntry.startx_endx(0x1100, 0x1110)
)
OLD = [layout for layout in LAYOUTS if layout.version < 4]
RANGES = [
    (Stored(Form.data4(WHERE)), [each for each in OLD if not each.dwarf64]),
    (Stored(Form.data8(WHERE)), [each for each in OLD if each.dwarf64]),
    *(
        (stored, stored.layouts())
        for stored in (
            Stored(Form.sec_offset(WHERE), 4),
            Stored(Form.rnglistx(WHERE), 5),
            Stored(Form.rnglistx(INDEXED), 5),
            Stored(Form.indirect(Form.sec_offset(WHERE)), 4),
        )
    ),
]


@pytest.mark.parametrize(
    ("stored", "layouts"), RANGES, ids=[str(each) for each, _ in RANGES]
)
def test_a_range_list_in_every_form(
    stored: Stored, layouts: list[Layout], tmp_path: Path
) -> None:
    other = ranges((0x1200, 0x1210))
    dies = (
        Die(Tag.subprogram, {At.name: "g", At.ranges: other}),
        Die(Tag.subprogram, {At.name: "f", At.ranges: stored.value}),
    )
    for layout in layouts:
        functions = convert_bytes(tmp_path, layout.program(*dies)).functions
        expected = "1000-1010 f\n1100-1110 f\n1200-1210 g\n"
        assert describe(functions) == expected, layout


# What can stand in an attribute that is not read. LLVM_addrx_offset has no member.
SKIPPED = [
    Stored(Form.addr(0x1234)),
    Stored(Form.block1(b"\x01\x02\x03")),
    Stored(Form.block2(b"\x01\x02\x03")),
    Stored(Form.block4(b"\x01\x02\x03")),
    Stored(Form.block(b"\x01" * 200)),
    Stored(Form.data1(0x11)),
    Stored(Form.data2(0x11)),
    Stored(Form.data4(0x11)),
    Stored(Form.data8(0x11)),
    Stored(Form.string("")),
    Stored(Form.string("x" * 300)),
    Stored(Form.flag(True)),  # noqa: FBT003
    Stored(Form.sdata(-70_000)),
    Stored(Form.strp("text")),
    Stored(Form.udata(70_000)),
    Stored(Form.ref_addr(0x11)),
    Stored(Form.ref1(0x11)),
    Stored(Form.ref2(0x11)),
    Stored(Form.ref4(0x11)),
    Stored(Form.ref8(0x11)),
    Stored(Form.ref_udata(0x1111)),
    Stored(Form.indirect(Form.block1(b"\x01\x02\x03"))),
    Stored(Form.indirect(Form.string("text"))),
    Stored(Form.sec_offset(0x11), 4),
    Stored(Form.exprloc(b"\x91\x70"), 4),
    Stored(Form.flag_present(), 4),
    Stored(Form.ref_sig8(0x1122334455667788), 4),
    Stored(Form.strx(Raw(300)), 5),
    Stored(Form.addrx(Raw(300)), 5),
    Stored(Form.ref_sup4(0x11), 5),
    Stored(Form.ref_sup8(0x11), 5),
    Stored(Form.strp_sup(0x11), 5),
    Stored(Form.data16(1 << 100), 5),
    Stored(Form.line_strp("text"), 5),
    Stored(Form.implicit_const(-5), 5),
    Stored(Form.loclistx(300), 5),
    Stored(Form.rnglistx(Raw(300)), 5),
    Stored(Form.strx1(Raw(7)), 5),
    Stored(Form.strx2(Raw(7)), 5),
    Stored(Form.strx3(Raw(7)), 5),
    Stored(Form.strx4(Raw(7)), 5),
    Stored(Form.addrx1(Raw(7)), 5),
    Stored(Form.addrx2(Raw(7)), 5),
    Stored(Form.addrx3(Raw(7)), 5),
    Stored(Form.addrx4(Raw(7)), 5),
    Stored(Form.GNU_addr_index(Raw(300)), 4),
    Stored(Form.GNU_str_index(Raw(300)), 4),
    Stored(Form.GNU_ref_alt(0x11), 4),
    Stored(Form.GNU_strp_alt(0x11), 4),
    Stored(Value(0x2001, uleb(300) + bytes(4)), 5),
]


def around(layout: Layout, *values: Value) -> bytes:
    """A program with these attributes before and between those that matter."""
    first = {VENDOR + n: value for n, value in enumerate(values)}
    between = {VENDOR + 100 + n: value for n, value in enumerate(values)}
    last = {VENDOR + 200 + n: value for n, value in enumerate(values)}
    call = inlined(Ref("g"), (0x1004, 0x1008))
    call.attributes = {**first, **call.attributes, **last}
    extent = {At.low_pc: 0x1000, **between, At.high_pc: Form.addr(0x1010)}
    f = Die(
        Tag.subprogram,
        {**first, At.name: "f", **extent, **last},
        Die(Tag.formal_parameter, first, Die(Tag.variable, between)),
        call,
    )
    main = unit(
        Die(Tag.structure_type, first, Die(Tag.member, last)),
        Die(Tag.subprogram, {**first, At.name: "g", **last}, label="g"),
        f,
        version=layout.version,
        attributes={**first, At.comp_dir: "/src", **last},
        lines=FILES if layout.version >= 5 else OLD_FILES,
        dwarf64=layout.dwarf64,
    )
    return program(main, byteorder=layout.byteorder, address_size=layout.address_size)


AROUND = """\
1000-1010 f
  inlined g 1004-1008 from /src/b.h:1
"""


def test_each_form_is_skipped(tmp_path: Path) -> None:
    layout = Layout(5, "big", 4, dwarf64=True)
    for stored in SKIPPED:
        functions = convert_bytes(tmp_path, around(layout, stored.value)).functions
        assert describe(functions) == AROUND, stored


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_all_forms_together_are_skipped(layout: Layout, tmp_path: Path) -> None:
    values = [each.value for each in SKIPPED if each.since <= layout.version]
    functions = convert_bytes(tmp_path, around(layout, *values)).functions
    assert describe(functions) == AROUND


@pytest.mark.parametrize(
    "value",
    [
        Form.strp(0x7FFFFFF0),
        Form.line_strp(0x7FFFFFF0),
        Form.strx1(Raw(0xFF)),
        Form.strx4(Raw(0xFFFFFFFF)),
        Form.strx(Raw(0xFFFFFFFFFFFFFFFF)),
        Form.udata(7),  # not a form of strings
    ],
    ids=str,
)
def test_a_name_outside_of_its_section_is_ignored(value: Value, tmp_path: Path) -> None:
    image = program(
        unit(
            function(None, 0x1000, 0x1010, attributes={At.name: value}),
            Die(Tag.variable, {At.name: Form.strx1("s")}),
            Die(Tag.variable, {At.name: Form.strp("s")}),
            Die(Tag.variable, {At.name: Form.line_strp("s")}),
            function("g", 0x1010, 0x1020),
        )
    )
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == "1010-1020 g\n"
    assert sum(report.warnings.values()) >= 1


def test_an_address_index_past_the_table_is_ignored(tmp_path: Path) -> None:
    attributes = {
        At.name: "f",
        At.low_pc: Form.addrx(Raw(9)),
        At.high_pc: Form.data1(9),
    }
    image = program(
        unit(
            Die(Tag.subprogram, attributes),
            function("g", 0x1010, 0x1020, attributes={At.low_pc: Form.addrx(0x1010)}),
        )
    )
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == "1010-1020 g\n"
    assert sum(report.warnings.values()) >= 1


CASES = [
    Case(
        f"all forms of version {layout.version} at once",
        around(
            layout,
            *(
                each.value
                for each in SKIPPED
                if each.since <= layout.version and each.value.form != 0x2001
            ),
        ),
        AROUND,
    )
    for layout in (
        Layout(version, "little", 8, dwarf64=False) for version in range(2, 6)
    )
]
