"""What every way to ask answers for every kind of id: the table in docs/identity.md.

After an intended change: python -m tests.modules.doors
"""

from __future__ import annotations

import re

import pytest

from tests.modules.builds import CASES, KINDS, RIGHT, Kind
from tests.modules.doors import (
    ANSWER,
    BOTH,
    DOORS,
    GUESS,
    NOTHING,
    UNSURE,
    WRONG,
    outcomes,
    page,
    table,
    title,
)

pytestmark = pytest.mark.long

ROW = re.compile(r"^\| (.+) \|$", re.MULTILINE)


def shown(kind: Kind) -> dict[str, list[str]]:
    """The rows of a kind in the manual."""
    heading = f"### {str(kind)[:1].upper()}{str(kind)[1:]}\n"
    part = page()[1].partition(heading)[2].partition("\n### ")[0]
    rows = [row.split(" | ") for row in ROW.findall(part)]
    return {row[0]: row[1:] for row in rows[1:]}


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_manual_shows_what_is_answered(kind: Kind) -> None:
    expected = shown(kind)
    for door in DOORS:
        found = list(outcomes(kind, door))
        assert found == expected.pop(title(door)), door.__doc__
    assert not expected


def test_no_cell_answers_from_another_build() -> None:
    words = {word for kind in KINDS for row in shown(kind).values() for word in row}
    assert words == {"-", ANSWER, UNSURE, GUESS, BOTH, NOTHING}
    assert WRONG not in page()[1]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_only_what_can_be_right_is_sure(kind: Kind) -> None:
    for name, row in shown(kind).items():
        for case, word in zip(CASES, row, strict=True):
            # The cache reads the file itself, which is the right one.
            is_own = name.startswith("`gsym lookup BINARY` twice")
            may_be_sure = is_own or case in {RIGHT, "two of one id"}
            assert may_be_sure or word != ANSWER, (name, case)


def test_the_page_has_all_of_the_table() -> None:
    kinds = sum(line.startswith("### ") for line in page()[1].splitlines())
    assert kinds == len(KINDS)
    assert next(iter(table(KINDS[:1]))).startswith("### ")
