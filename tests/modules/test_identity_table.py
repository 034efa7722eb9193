"""What every way to ask answers for every kind of id, as it is recorded.

After an intended change: python -m tests.modules.doors
"""

from __future__ import annotations

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
    recorded,
    shown,
    title,
    with_summary,
)

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_what_is_answered(kind: Kind) -> None:
    expected = shown(kind)
    for door in DOORS:
        found = list(outcomes(kind, door))
        assert found == expected.pop(title(door)), door.__doc__
    assert not expected


def test_no_cell_answers_from_another_build() -> None:
    words = {word for kind in KINDS for row in shown(kind).values() for word in row}
    assert words == {"-", ANSWER, UNSURE, GUESS, BOTH, NOTHING}
    assert WRONG not in recorded()


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_only_what_can_be_right_is_sure(kind: Kind) -> None:
    for name, row in shown(kind).items():
        for case, word in zip(CASES, row, strict=True):
            # The cache reads the file itself, which is the right one.
            is_own = name.startswith("`gsym lookup BINARY` twice")
            may_be_sure = is_own or case in {RIGHT, "two of one id"}
            assert may_be_sure or word != ANSWER, (name, case)


def test_the_summary_is_that_of_the_recorded_answers() -> None:
    assert with_summary(recorded()) == recorded()
