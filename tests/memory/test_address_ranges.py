"""Ranges of addresses, of which later ones hide or replace earlier ones."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.memory.address_ranges import AddressRanges

pytestmark = pytest.mark.no_engine

_BOUNDS = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted).map(tuple)


@given(st.lists(_BOUNDS))
def test_the_last_range_that_covers_an_address_is_found(
    ranges: list[tuple[int, int]],
) -> None:
    found = AddressRanges(ranges)
    for address in range(-1, 32):
        covering = [
            number
            for number, (start, end) in enumerate(ranges)
            if start <= address < end
        ]
        assert found.find(address) == (covering[-1] if covering else None)


@given(st.lists(_BOUNDS))
def test_a_range_may_replace_all_that_it_meets(ranges: list[tuple[int, int]]) -> None:
    found = AddressRanges()
    left: dict[int, tuple[int, int]] = {}
    for number, (start, end) in enumerate(ranges):
        found.replace(start, end, number)
        if start < end:
            left = {n: (s, e) for n, (s, e) in left.items() if e <= start or s >= end}
            left[number] = start, end
    expected = sorted((start, end, number) for number, (start, end) in left.items())
    assert [*found.parts()] == expected
