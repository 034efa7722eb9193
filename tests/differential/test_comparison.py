"""The comparison itself: it must see a difference, and excuse only known ones."""

from __future__ import annotations

import pytest

from tests.differential.differences import CLASSES, Case, Symbol, agrees
from tests.differential.peers import Frame, parse_frames
from tests.differential.sampling import Function

ANSWERS = (
    ("error: address 0x1 is not in GSYM", ()),
    ("main", (Frame("main", "", 0, 0),)),
    ("main + 7", (Frame("main", "", 0, 7),)),
    ("main @ /a/b.c:3", (Frame("main", "/a/b.c", 3, 0),)),
    ("main + 12 @ a @ b.c:0", (Frame("main", "a @ b.c", 0, 12),)),
    (
        "f + 1 @ //r.c:9 [inlined]\n" + " " * 20 + "A::g(int) + 2 @ C:\\x.c:8",
        (Frame("f", "//r.c", 9, 1), Frame("A::g(int)", "C:\\x.c", 8, 2)),
    ),
)


@pytest.mark.parametrize(("text", "frames"), ANSWERS)
def test_an_answer_of_gsymutil_gives_its_frames(
    text: str, frames: tuple[Frame, ...]
) -> None:
    assert parse_frames(text) == frames


def extents(*ranges: tuple[int, int]) -> list[Function]:
    return [Function(start, end, is_bare=False) for start, end in ranges]


INNER, OUTER = Frame("inner", "i.h", 5, 4), Frame("outer", "o.c", 9, 36)
PLAIN = (INNER, OUTER)


def case(theirs: tuple[Frame, ...], ours: tuple[Frame, ...]) -> Case:
    """Answers from the same record, whose DWARF says what ours says."""
    judge = tuple(frame._replace(offset=-1) for frame in ours)
    symbols = (Symbol(100, 50, "FUNC", "outer"),)
    (function,) = extents((100, 150))
    return Case(136, theirs, ours, function, function, judge, judge, symbols)


@pytest.mark.parametrize(
    "ours",
    [
        (INNER._replace(line=6), OUTER),
        (INNER._replace(path="j.h"), OUTER),
        (INNER._replace(name="other"), OUTER),
        (INNER, OUTER._replace(line=8)),
        (INNER, OUTER._replace(name="other")),
        (OUTER,),
        (),
    ],
)
def test_an_answer_that_the_dwarf_denies_is_not_confirmed(
    ours: tuple[Frame, ...],
) -> None:
    right = case(PLAIN, PLAIN)
    assert agrees(right)
    assert not agrees(right._replace(ours=ours))


@pytest.mark.parametrize(
    "ours",
    [
        (INNER._replace(offset=5), OUTER),
        (INNER, OUTER._replace(line=8)),
        (INNER, OUTER._replace(path="p.c")),
        (INNER._replace(name="other"), OUTER),
        (OUTER,),
        (),
    ],
)
def test_a_difference_that_is_not_deliberate_has_no_class(
    ours: tuple[Frame, ...],
) -> None:
    different = case(PLAIN, ours)
    assert [each.__name__ for each in CLASSES if each(different)] == []
