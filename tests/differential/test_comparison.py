"""The comparison itself: it must see a difference, and excuse only known ones."""

from __future__ import annotations

import pytest

from tests.differential.differences import CLASSES, Case, Symbol, agrees
from tests.differential.peers import Frame, parse_frames
from tests.differential.sampling import Function, function_at, random_addresses, union

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


def test_functions_that_touch_are_joined() -> None:
    functions = extents((5, 8), (1, 3), (3, 4), (2, 4), (30, 40), (35, 36))
    assert union(functions) == [(1, 4), (5, 8), (30, 40)]


def test_an_empty_function_reaches_to_the_next_one_or_sixteen_bytes() -> None:
    functions = extents((5, 5), (7, 9), (9, 9), (9, 10), (20, 20))
    assert union(functions) == [(5, 10), (20, 36)]


def test_random_addresses_reach_every_byte_and_nothing_else() -> None:
    functions = extents((10, 13), (12, 14), (20, 21))
    assert set(random_addresses(functions, 500, seed=1)) == {10, 11, 12, 13, 20}


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (0, []),
        (10, [(10, 12)]),
        (12, [(10, 20)]),
        (15, [(15, 16)]),
        (16, []),
        (30, [(30, 30)]),
        (99, [(30, 30)]),
    ],
)
def test_the_function_of_an_address_is_the_one_llvm_chooses(
    address: int, expected: list[tuple[int, int]]
) -> None:
    functions = extents((10, 12), (10, 20), (15, 16), (30, 30))
    found = function_at(functions, address)
    assert ([found] if found else []) == extents(*expected)


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
