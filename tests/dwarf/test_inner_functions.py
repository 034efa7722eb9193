"""Functions in parts, and functions inside of functions, with their inlined calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import Case, Options, convert_bytes, describe, words
from tests.dwarf.test_inlines import G, H, J, K, block, inlines
from tests.inputs.dies import Die
from tests.inputs.dwarf_constants import At, Tag
from tests.inputs.program import (
    function,
    inlined,
)
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from pathlib import Path

# File 0 is /src/a.c, file 1 is /src/b.h.


def two_parts(*children: Die) -> Die:
    """A function f with a hot part at 1000-1040 and a cold one at 1800-1810."""
    parts = ranges(
        RangeEntry.start_end(0x1000, 0x1040), RangeEntry.start_end(0x1800, 0x1810)
    )
    return Die(Tag.subprogram, {At.name: "f", At.ranges: parts}, *children)


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
            1020-1040 outer
        """),
        differs="addresses after a nested function have no answer there",
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


CASES = [*PARTS, *FUNCTIONS_INSIDE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_functions(case: Case, tmp_path: Path) -> None:
    for options in (case.options, Options(full_walk=True)):
        converted = convert_bytes(tmp_path, case.image, options)
        assert describe(converted.functions) == case.expected
