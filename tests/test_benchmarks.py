"""What benchmarks conclude from their measurements."""

from __future__ import annotations

import pytest

from benchmarks.crossing import crossing

NUMBERS = (1, 10, 100, 1_000)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ((1, 1, 1, 1), (2, 3, 4, 5), "1"),
        ((1, 1, 1, 1), (1, 1, 1, 1), "1"),
        ((1, 1, 1, 1), (0.1, 1, 10, 100), "10"),
        ((1, 1, 1, 1), (0.1, 0.1, 10), "32"),  # half way between 10 and 100
        ((1, 1, 1, 1), (0.1, 0.2), "> 10"),
        ((4, 4, 4, 4), (1, 1, 1, 2), "> 1000"),
    ],
)
def test_series_cross_where_ours_take_less_time(
    ours: tuple[float, ...], theirs: tuple[float, ...], expected: str
) -> None:
    assert crossing(NUMBERS, ours, theirs) == expected
