"""Trees of inlined calls, and the functions around and inside of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import Die, Ref, code
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.line_program import File, LineProgram
from tests.inputs.program import (
    LAYOUTS,
    Layout,
    function,
    inlined,
    program,
    unit,
)
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

# File 0 is /src/a.c, file 1 is /src/b.h.
FILES = LineProgram(directories=("/src",), files=(File("a.c"), File("b.h")))
OLD_FILES = LineProgram(files=(File("b.h"),))


def abstract(name: str | None) -> Die:
    """What inlined calls of *name* refer to."""
    named = {} if name is None else {At.name: name}
    return Die(Tag.subprogram, {**named, At.inline: 1}, label=name or "nameless")


G, H, J, K = (Ref(name) for name in "ghjk")


def inlines(*dies: Die) -> bytes:
    """A program of these functions, where g, h, j and k can be inlined."""
    return program(unit(*map(abstract, "ghjk"), *dies, lines=FILES))


def block(*children: Die, tag: Tag = Tag.lexical_block) -> Die:
    return Die(tag, {}, *children)


def two_parts(*children: Die) -> Die:
    """A function f with a hot part at 1000-1040 and a cold one at 1800-1810."""
    parts = ranges(
        RangeEntry.start_end(0x1000, 0x1040), RangeEntry.start_end(0x1800, 0x1810)
    )
    return Die(Tag.subprogram, {At.name: "f", At.ranges: parts}, *children)


NESTING = [
    Case(
        "calls nest, siblings keep their order",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(
                    G,
                    (0x1004, 0x1020),
                    call=(0, 10),
                    children=[
                        inlined(
                            H,
                            (0x1004, 0x1010),
                            call=(1, 20),
                            children=[inlined(K, (0x1008, 0x100C), call=(1, 30))],
                        ),
                        inlined(J, (0x1010, 0x1014), call=(1, 21)),
                    ],
                ),
                inlined(H, (0x1030, 0x1038), call=(0, 12)),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1020 from /src/a.c:10
                inlined h 1004-1010 from /src/b.h:20
                  inlined k 1008-100c from /src/b.h:30
                inlined j 1010-1014 from /src/b.h:21
              inlined h 1030-1038 from /src/a.c:12
        """),
    ),
    Case(
        "a call may fill its caller",
        inlines(
            function(
                "f",
                0x1000,
                0x1010,
                inlined(G, (0x1000, 0x1010), children=[inlined(H, (0x1000, 0x1010))]),
            )
        ),
        words("""
            1000-1010 f
              inlined g 1000-1010 from /src/b.h:1
                inlined h 1000-1010 from /src/b.h:1
        """),
    ),
    Case(
        "a call in several pieces, in order and joined where they touch",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(
                    G,
                    (0x1020, 0x1028),
                    (0x1004, 0x1008),
                    (0x1008, 0x100C),
                    children=[inlined(H, (0x1022, 0x1024), (0x1006, 0x1007))],
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-100c,1020-1028 from /src/b.h:1
                inlined h 1006-1007,1022-1024 from /src/b.h:1
        """),
    ),
    Case(
        "the blocks between calls leave no trace",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                block(
                    block(
                        inlined(
                            G,
                            (0x1004, 0x1010),
                            children=[block(inlined(H, (0x1004, 0x1008)))],
                        )
                    ),
                    inlined(K, (0x1010, 0x1014)),
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1010 from /src/b.h:1
                inlined h 1004-1008 from /src/b.h:1
              inlined k 1010-1014 from /src/b.h:1
        """),
    ),
    *[
        Case(
            f"a {tag.name} is a block as well",
            inlines(
                function(
                    "f", 0x1000, 0x1040, block(inlined(G, (0x1004, 0x1010)), tag=tag)
                )
            ),
            words("""
                1000-1040 f
                  inlined g 1004-1010 from /src/b.h:1
            """),
            "llvm-gsymutil looks for inlined calls in lexical blocks only",
        )
        for tag in (Tag.try_block, Tag.catch_block, Tag.with_stmt)
    ],
    Case(
        "data between the calls",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                Die(Tag.formal_parameter, {At.name: "p"}),
                Die(
                    Tag.variable,
                    {At.name: "v", At.location: b"\x91\x00"},
                ),
                inlined(
                    G,
                    (0x1004, 0x1010),
                    children=[
                        Die(Tag.formal_parameter, {At.name: "q"}),
                        inlined(H, (0x1004, 0x1008)),
                        Die(Tag.label, {At.name: "l", At.low_pc: 0x1006}),
                    ],
                ),
                Die(
                    Tag.call_site,
                    {At.call_return_pc: 0x1020},
                    Die(Tag.call_site_parameter, {At.location: b"\x55"}),
                ),
                inlined(K, (0x1020, 0x1028)),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1010 from /src/b.h:1
                inlined h 1004-1008 from /src/b.h:1
              inlined k 1020-1028 from /src/b.h:1
        """),
    ),
]

CALLS = [
    Case(
        "a call without a line is at line 0",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                Die(
                    Tag.inlined_subroutine,
                    {At.abstract_origin: G, **code(0x1004, 0x1008), At.call_file: 1},
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1008 from /src/b.h:0
        """),
    ),
    Case(
        "lines and files of any size",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                Die(
                    Tag.inlined_subroutine,
                    {
                        At.abstract_origin: G,
                        **code(0x1004, 0x1008),
                        At.call_file: Form.data8(1),
                        At.call_line: Form.data4(4_000_000_000),
                    },
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1008 from /src/b.h:4000000000
        """),
    ),
    Case(
        "a call from a file that is not in the table",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(
                    G,
                    (0x1004, 0x1010),
                    call=(77, 5),
                    children=[inlined(H, (0x1004, 0x1008))],
                ),
                inlined(K, (0x1010, 0x1014)),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1010 from :5
                inlined h 1004-1008 from /src/b.h:1
              inlined k 1010-1014 from /src/b.h:1
        """),
        "llvm-gsymutil drops such a call and what is below",
    ),
    Case(
        "a call without a file",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                Die(
                    Tag.inlined_subroutine,
                    {At.abstract_origin: G, **code(0x1004, 0x1008), At.call_line: 5},
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1008 from :5
        """),
        "llvm-gsymutil drops such a call",
    ),
    Case(
        "an inlined function without a name",
        program(
            unit(
                abstract(None),
                function(
                    "f", 0x1000, 0x1040, inlined(Ref("nameless"), (0x1004, 0x1008))
                ),
                lines=FILES,
            )
        ),
        words("""
            1000-1040 f
              inlined  1004-1008 from /src/b.h:1
        """),
    ),
    Case(
        "an abstract instance in another unit",
        program(
            unit(
                function(
                    "f", 0x1000, 0x1040, inlined(Form.ref_addr(G), (0x1004, 0x1008))
                ),
                lines=FILES,
            ),
            unit(Die(Tag.namespace, {At.name: "N"}, abstract("g"))),
        ),
        words("""
            1000-1040 f
              inlined N::g 1004-1008 from /src/b.h:1
        """),
    ),
]

CONTAINMENT = [
    Case(
        "what lies outside of the caller is dropped with what is below",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(G, (0x1100, 0x1110), children=[inlined(H, (0x1008, 0x100C))]),
                inlined(K, (0x1010, 0x1014)),
            )
        ),
        words("""
            1000-1040 f
              inlined k 1010-1014 from /src/b.h:1
        """),
    ),
    Case(
        "what lies partly outside keeps the pieces inside",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(
                    G,
                    (0x1004, 0x1008),
                    (0x103C, 0x1044),
                    (0x1100, 0x1110),
                    children=[inlined(H, (0x1004, 0x1006), (0x103C, 0x1040))],
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1008 from /src/b.h:1
                inlined h 1004-1006 from /src/b.h:1
        """),
    ),
    Case(
        "what lies in a gap of the caller is dropped",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(
                    G,
                    (0x1004, 0x1008),
                    (0x1010, 0x1018),
                    children=[
                        inlined(H, (0x1009, 0x100A)),
                        inlined(K, (0x1006, 0x1012)),
                        inlined(J, (0x1010, 0x1011)),
                    ],
                ),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1008,1010-1018 from /src/b.h:1
                inlined j 1010-1011 from /src/b.h:1
        """),
    ),
    Case(
        "empty pieces are none",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                inlined(G, (0x1004, 0x1004), children=[inlined(H, (0x1004, 0x1004))]),
                inlined(K, (0x1008, 0x1008), (0x100C, 0x1010)),
            )
        ),
        words("""
            1000-1040 f
              inlined k 100c-1010 from /src/b.h:1
        """),
    ),
    Case(
        "a call without addresses is dropped with what is below",
        inlines(
            function(
                "f",
                0x1000,
                0x1040,
                Die(
                    Tag.inlined_subroutine,
                    {At.abstract_origin: G, At.call_file: 1, At.call_line: 1},
                    inlined(H, (0x1008, 0x100C)),
                ),
                inlined(K, (0x1010, 0x1014)),
            )
        ),
        words("""
            1000-1040 f
              inlined k 1010-1014 from /src/b.h:1
        """),
    ),
    Case(
        "no call that holds: no tree",
        inlines(function("f", 0x1000, 0x1040, inlined(G, (0x1100, 0x1110)))),
        "1000-1040 f\n",
    ),
]

PARTS = [
    Case(
        "each part of a function has the calls that lie in it",
        inlines(
            two_parts(
                inlined(
                    G,
                    (0x1004, 0x1010),
                    (0x1800, 0x1808),
                    children=[
                        inlined(H, (0x1004, 0x1008)),
                        inlined(K, (0x1802, 0x1804)),
                    ],
                ),
                inlined(J, (0x1808, 0x180C)),
            )
        ),
        words("""
            1000-1040 f
              inlined g 1004-1010 from /src/b.h:1
                inlined h 1004-1008 from /src/b.h:1
            1800-1810 f
              inlined g 1800-1808 from /src/b.h:1
                inlined k 1802-1804 from /src/b.h:1
              inlined j 1808-180c from /src/b.h:1
        """),
    ),
    Case(
        "a part that no call touches has no tree",
        inlines(two_parts(inlined(G, (0x1804, 0x1808)))),
        words("""
            1000-1040 f
            1800-1810 f
              inlined g 1804-1808 from /src/b.h:1
        """),
    ),
]

FUNCTIONS_INSIDE = [
    Case(
        "a nested function keeps its calls to itself",
        inlines(
            function(
                "outer",
                0x1000,
                0x1040,
                inlined(G, (0x1004, 0x1008)),
                function("inner", 0x1100, 0x1140, inlined(H, (0x1104, 0x1108))),
                inlined(K, (0x1010, 0x1014)),
            )
        ),
        words("""
            1000-1040 outer
              inlined g 1004-1008 from /src/b.h:1
              inlined k 1010-1014 from /src/b.h:1
            1100-1140 outer::inner
              inlined h 1104-1108 from /src/b.h:1
        """),
    ),
    Case(
        "a nested function inside of the outer one's addresses",
        inlines(
            function(
                "outer",
                0x1000,
                0x1040,
                function("inner", 0x1010, 0x1020, inlined(H, (0x1014, 0x1018))),
                inlined(G, (0x1004, 0x1008)),
            )
        ),
        words("""
            1000-1040 outer
              inlined g 1004-1008 from /src/b.h:1
            1010-1020 outer::inner
              inlined h 1014-1018 from /src/b.h:1
        """),
    ),
    Case(
        "methods of local classes, deep in blocks and inlined calls",
        inlines(
            function(
                "outer",
                0x1000,
                0x1040,
                block(
                    Die(
                        Tag.structure_type,
                        {At.name: "Local"},
                        Die(Tag.member, {At.name: "m"}),
                        function("f", 0x1100, 0x1110, inlined(G, (0x1104, 0x1108))),
                        Die(
                            Tag.class_type,
                            {At.name: "Deeper"},
                            function("g", 0x1120, 0x1130),
                        ),
                    ),
                    inlined(
                        H,
                        (0x1004, 0x1010),
                        children=[
                            Die(
                                Tag.structure_type,
                                {At.name: "InCall"},
                                function("f", 0x1140, 0x1150),
                            ),
                            inlined(K, (0x1004, 0x1008)),
                        ],
                    ),
                ),
            )
        ),
        words("""
            1000-1040 outer
              inlined h 1004-1010 from /src/b.h:1
                inlined k 1004-1008 from /src/b.h:1
            1100-1110 outer::Local::f
              inlined g 1104-1108 from /src/b.h:1
            1120-1130 outer::Local::Deeper::g
            1140-1150 InCall::f
        """),
    ),
    Case(
        "functions inside of an abstract or dead one are alive",
        inlines(
            Die(
                Tag.subprogram,
                {At.name: "shape", At.inline: 1},
                Die(
                    Tag.structure_type,
                    {At.name: "Local"},
                    function("f", 0x1100, 0x1110),
                ),
            ),
            function(
                "dead",
                0,
                0x10,
                inlined(G, (0x4, 0x8)),
                block(function("g", 0x1120, 0x1130, inlined(H, (0x1122, 0x1124)))),
            ),
        ),
        words("""
            1100-1110 shape::Local::f
            1120-1130 dead::g
              inlined h 1122-1124 from /src/b.h:1
        """),
    ),
    Case(
        "code in classes, below declarations and types of the unit",
        inlines(
            Die(
                Tag.namespace,
                {At.name: "N"},
                Die(
                    Tag.class_type,
                    {At.name: "C"},
                    Die(Tag.subprogram, {At.name: "d", At.declaration: True}),
                    function("f", 0x1100, 0x1110, inlined(G, (0x1104, 0x1108))),
                ),
                function("g", 0x1120, 0x1130),
            )
        ),
        words("""
            1100-1110 N::C::f
              inlined g 1104-1108 from /src/b.h:1
            1120-1130 N::g
        """),
    ),
]

CASES = [*NESTING, *CALLS, *CONTAINMENT, *PARTS, *FUNCTIONS_INSIDE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inlined_calls(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_walk_over_every_die_finds_the_same(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, {"full_walk": True})
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_a_tree_reads_the_same_in_every_layout(layout: Layout, tmp_path: Path) -> None:
    image = layout.program(
        abstract("g"),
        abstract("h"),
        function(
            "f",
            0x1000,
            0x1040,
            inlined(G, (0x1004, 0x1010), children=[inlined(H, (0x1006, 0x1008))]),
        ),
        lines=FILES if layout.version >= 5 else OLD_FILES,
    )
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1040 f
          inlined g 1004-1010 from /src/b.h:1
            inlined h 1006-1008 from /src/b.h:1
    """)


@pytest.mark.parametrize(
    "name",
    [
        "a call from a file that is not in the table",
        "what lies outside of the caller is dropped with what is below",
        "what lies partly outside keeps the pieces inside",
        "no call that holds: no tree",
    ],
)
def test_what_is_wrong_with_a_call_is_counted(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    report = convert_bytes(tmp_path, case.image).report
    assert sum(report.warnings.values()) >= 1
