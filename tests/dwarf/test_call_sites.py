"""Call sites: where a function returns to, and the name of what was called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conversions import Case, Options, convert_bytes, describe, words
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.line_program import File, LineProgram
from tests.inputs.program import LAYOUTS, Layout, function, inlined, program, unit
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

FILES = LineProgram(directories=("/src",), files=(File("a.c"), File("b.h")))
CALLEES = (
    Die(Tag.subprogram, {At.name: "g", At.external: True}, label="g"),
    Die(
        Tag.subprogram,
        {At.name: "h", At.linkage_name: "_Z1hv", At.external: True},
        label="h",
    ),
)
DIRECT_ONLY = "llvm-gsymutil reads call sites directly below the function only"
STANDARD_ONLY = "llvm-gsymutil knows no DW_TAG_GNU_call_site"
OPTIONS: Options = {"call_sites": True}


def call(return_address: int, callee: str | None = "g", *children: Die) -> Die:
    target = {} if callee is None else {At.call_origin: Ref(callee)}
    return Die(Tag.call_site, {At.call_return_pc: return_address, **target}, *children)


def gnu_call(return_address: int, callee: str | None = "g", *children: Die) -> Die:
    target = {} if callee is None else {At.abstract_origin: Ref(callee)}
    return Die(Tag.GNU_call_site, {At.low_pc: return_address, **target}, *children)


def case(name: str, expected: str, *dies: Die, differs: str = "") -> Case:
    image = program(unit(*CALLEES, *dies, lines=FILES))
    return Case(name, image, words(expected), differs, OPTIONS)


CASES = [
    case(
        "calls in the order of the debug information, by linkage name first",
        """
            1000-1040 f
              call +10 to g
              call +8 to _Z1hv
        """,
        function("f", 0x1000, 0x1040, call(0x1010), call(0x1008, "h")),
    ),
    case(
        "an indirect call has no name",
        """
            1000-1040 f
              call +10 to
        """,
        function("f", 0x1000, 0x1040, call(0x1010, None)),
    ),
    case(
        "a call that returns elsewhere belongs to no function",
        """
            1000-1040 f
              call +3f to g
        """,
        function("f", 0x1000, 0x1040, call(0x103F), call(0x1041), call(0xFFF), call(0)),
    ),
    case(
        "parameters of a call are stepped over",
        """
            1000-1040 f
              call +10 to g
              call +20 to g
        """,
        function(
            "f",
            0x1000,
            0x1040,
            call(
                0x1010,
                "g",
                Die(Tag.call_site_parameter, {At.location: b"\x55"}),
                Die(Tag.call_site_parameter, {At.location: b"\x54"}),
            ),
            call(0x1020),
        ),
    ),
    case(
        "calls in blocks and in inlined calls",
        """
            1000-1040 f
              inlined g 1008-1018 from /src/b.h:1
              call +8 to g
              call +10 to _Z1hv
              call +20 to g
        """,
        function(
            "f",
            0x1000,
            0x1040,
            Die(Tag.lexical_block, {}, call(0x1008)),
            inlined(Ref("g"), (0x1008, 0x1018), children=[call(0x1010, "h")]),
            call(0x1020),
        ),
        differs=DIRECT_ONLY,
    ),
    case(
        "the older kind of call site",
        """
            1000-1040 f
              call +10 to _Z1hv
              call +20 to
        """,
        function(
            "f",
            0x1000,
            0x1040,
            gnu_call(
                0x1010, "h", Die(Tag.GNU_call_site_parameter, {At.location: b"\x55"})
            ),
            gnu_call(0x1020, None),
        ),
        differs=STANDARD_ONLY,
    ),
    case(
        "a nested function keeps its calls to itself",
        """
            1000-1040 f
              call +10 to g
              call +20 to g
            1100-1140 f::inner
              call +10 to _Z1hv
        """,
        function(
            "f",
            0x1000,
            0x1040,
            call(0x1010),
            function("inner", 0x1100, 0x1140, call(0x1110, "h")),
            call(0x1020),
        ),
    ),
    case(
        "each part of a function has the calls that return into it",
        """
            1000-1040 f
              call +10 to g
            1800-1810 f
              call +8 to _Z1hv
        """,
        Die(
            Tag.subprogram,
            {
                At.name: "f",
                At.ranges: ranges(
                    RangeEntry.start_end(0x1000, 0x1040),
                    RangeEntry.start_end(0x1800, 0x1810),
                ),
            },
            call(0x1010),
            call(0x1808, "h"),
        ),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_call_sites(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_call_sites_are_left_out_unless_asked_for(case: Case, tmp_path: Path) -> None:
    functions = convert_bytes(tmp_path, case.image).functions
    lines = [line for line in case.expected.splitlines() if "  call" not in line]
    assert describe(functions).splitlines() == lines


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_both_kinds_read_the_same_in_every_layout(
    layout: Layout, tmp_path: Path
) -> None:
    image = layout.program(
        *CALLEES,
        function("f", 0x1000, 0x1040, call(0x1010), gnu_call(0x1020, "h")),
    )
    functions = convert_bytes(tmp_path, image, OPTIONS).functions
    assert describe(functions) == words("""
        1000-1040 f
          call +10 to g
          call +20 to _Z1hv
    """)


def test_a_callee_of_another_unit_is_named_as_its_own_unit_names_it(
    tmp_path: Path,
) -> None:
    site = {At.call_return_pc: 0x1010, At.call_origin: Form.ref_addr(Ref("g"))}
    image = program(
        unit(function("f", 0x1000, 0x1040, Die(Tag.call_site, site))), unit(*CALLEES)
    )
    functions = convert_bytes(tmp_path, image, OPTIONS).functions
    assert functions[0].call_sites == (gsym.CallSite(0x10, 0, ("g",)),)


def test_a_lookup_of_the_return_address_gives_the_patterns(tmp_path: Path) -> None:
    image = program(unit(*CALLEES, function("f", 0x1000, 0x1040, call(0x1010, "h"))))
    convert_bytes(tmp_path, image, OPTIONS)
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        found = reader.lookup(0x1010)
        near = reader.lookup(0x100F)
    assert found is not None
    assert found.call_site_patterns == ("_Z1hv",)
    assert near is not None
    assert near.call_site_patterns == ()
