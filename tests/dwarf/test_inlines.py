"""Trees of inlined calls: nesting, call sites, what lies outside of the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import Case, Options, convert_bytes, describe, words
from tests.inputs.dies import Die, Ref, code
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.line_program import File, LineProgram, sequence
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
CLIPS = "llvm-gsymutil drops a piece of which some lies outside of the caller"
OLD_FILES = LineProgram(files=(File("b.h"),))


def abstract(name: str | None) -> Die:
    """What inlined calls of *name* refer to."""
    named = {} if name is None else {At.name: name}
    return Die(Tag.subprogram, {**named, At.inline: 1}, label=name or "nameless")


G, H, J, K = (Ref(name) for name in "ghjk")


def inlines(*dies: Die) -> bytes:
    """A program of these functions, where g, h, j and k can be inlined."""
    return program(unit(*map(abstract, "ghjk"), *dies, lines=FILES))


def without_file(origin: Ref, start: int, end: int, line: int, *inner: Die) -> Die:
    """An inlined call without DW_AT_call_file."""
    where = {At.abstract_origin: origin, **code(start, end), At.call_line: line}
    return Die(Tag.inlined_subroutine, where, *inner)


def block(*children: Die, tag: Tag = Tag.lexical_block) -> Die:
    return Die(tag, {}, *children)


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
        "an inlined function with an empty name, and a call in it",
        program(
            unit(
                abstract(""),
                abstract("g"),
                function(
                    "f",
                    0x1000,
                    0x1040,
                    inlined(
                        Ref("nameless"),
                        (0x1004, 0x1010),
                        children=[inlined(Ref("g"), (0x1008, 0x100C))],
                    ),
                ),
                lines=FILES,
            )
        ),
        words("""
            1000-1040 f
              inlined  1004-1010 from /src/b.h:1
                inlined g 1008-100c from /src/b.h:1
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
              inlined g 1004-1008,103c-1040 from /src/b.h:1
                inlined h 1004-1006,103c-1040 from /src/b.h:1
        """),
        CLIPS,
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
                inlined k 1006-1008,1010-1012 from /src/b.h:1
                inlined j 1010-1011 from /src/b.h:1
        """),
        CLIPS,
    ),
    Case(
        "a call over the seam of two ranges of its caller",
        inlines(
            Die(
                Tag.subprogram,
                {
                    At.name: "f",
                    At.ranges: ranges(
                        RangeEntry.start_end(0x1000, 0x1010),
                        RangeEntry.start_end(0x1010, 0x1020),
                    ),
                },
                inlined(G, (0x1004, 0x1018), children=[inlined(H, (0x100C, 0x1014))]),
            )
        ),
        words("""
            1000-1010 f
              inlined g 1004-1010 from /src/b.h:1
                inlined h 100c-1010 from /src/b.h:1
            1010-1020 f
              inlined g 1010-1018 from /src/b.h:1
                inlined h 1010-1014 from /src/b.h:1
        """),
        CLIPS,
    ),
    Case(
        "a call that starts before its caller",
        inlines(function("f", 0x1000, 0x1020, inlined(G, (0xFF0, 0x1004)))),
        words("""
            1000-1020 f
              inlined g 1000-1004 from /src/b.h:1
        """),
        CLIPS,
    ),
    Case(
        "a call without a file is in the file where its caller is declared",
        inlines(
            function(
                "f",
                0x1000,
                0x1020,
                Die(
                    Tag.inlined_subroutine,
                    {
                        At.abstract_origin: Ref("outer"),
                        **code(0x1004, 0x1010),
                        At.call_line: 7,
                    },
                    Die(
                        Tag.inlined_subroutine,
                        {
                            At.abstract_origin: G,
                            **code(0x1004, 0x1008),
                            At.call_line: 9,
                        },
                    ),
                ),
                attributes={At.decl_file: 0, At.decl_line: 3},
            ),
            Die(
                Tag.subprogram,
                {At.name: "o", At.inline: 1, At.decl_file: 1, At.decl_line: 8},
                label="outer",
            ),
        ),
        words("""
            1000-1020 f
              inlined o 1004-1010 from /src/a.c:7
                inlined g 1004-1008 from /src/b.h:9
        """),
        "llvm-gsymutil leaves the file out",
    ),
    *(
        Case(
            f"a call without a file is in the file of the code around it, {version}",
            program(
                unit(
                    abstract("g"),
                    abstract("h"),
                    function(
                        "f",
                        0x1000,
                        0x1020,
                        without_file(G, 0x1000, 0x1004, 5),
                        without_file(
                            G, 0x1004, 0x1010, 9, without_file(H, 0x1008, 0x100C, 7)
                        ),
                        without_file(H, 0x1018, 0x1020, 3),
                    ),
                    version=version,
                    lines=LineProgram(
                        sequence(
                            *((0x1000, 30, 2), (0x1004, 40, 2), (0x1008, 50, 1)),
                            *((0x1010, 4, 1), (0x1018, 60, 2)),
                            end=0x1020,
                        ),
                        files=(*before, File("b.h"), File("a.c")),
                        directories=("/src",)[: len(before)],
                    ),
                )
            ),
            words("""
                1000-1020 f
                  1000 /src/a.c:30
                  1004 /src/a.c:40
                  1008 /src/b.h:50
                  1010 /src/b.h:4
                  1018 /src/a.c:60
                  inlined g 1000-1004 from :5
                  inlined g 1004-1010 from /src/b.h:9
                    inlined h 1008-100c from /src/a.c:7
                  inlined h 1018-1020 from /src/b.h:3
            """),
            "llvm-gsymutil drops such calls",
        )
        for version, before in ((4, ()), (5, (File("unit.c"),)))
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

CASES = [*NESTING, *CALLS, *CONTAINMENT]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_inlined_calls(case: Case, tmp_path: Path) -> None:
    for options in (case.options, Options(full_walk=True)):
        converted = convert_bytes(tmp_path, case.image, options)
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
