"""Ranges of addresses: which has one; later ones hide or replace earlier ones."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.model import Range
from gsym.ranges import AddressRanges, merged, range_at

pytestmark = pytest.mark.no_engine

_BOUNDS = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted).map(tuple)


@given(st.lists(_BOUNDS))
def test_the_last_range_that_covers_an_address_is_found(
    ranges: list[tuple[int, int]],
) -> None:
    found = AddressRanges((*each, number) for number, each in enumerate(ranges))
    for address in range(-1, 32):
        covering = [
            number
            for number, (start, end) in enumerate(ranges)
            if start <= address < end
        ]
        assert found.find(address) == (covering[-1] if covering else None)


@given(st.lists(_BOUNDS))
def test_a_range_may_replace_all_that_it_meets(ranges: list[tuple[int, int]]) -> None:
    found: AddressRanges[int] = AddressRanges()
    left: dict[int, tuple[int, int]] = {}
    for number, (start, end) in enumerate(ranges):
        found.replace(start, end, number)
        if start < end:
            left = {n: (s, e) for n, (s, e) in left.items() if e <= start or s >= end}
            left[number] = start, end
    expected = sorted((start, end, number) for number, (start, end) in left.items())
    assert [*found] == expected


@given(st.lists(_BOUNDS))
def test_ranges_may_be_added_one_by_one(ranges: list[tuple[int, int]]) -> None:
    added: AddressRanges[int] = AddressRanges()
    for number, each in enumerate(ranges):
        added.add(*each, number)
    given = AddressRanges((*each, number) for number, each in enumerate(ranges))
    for address in range(-1, 32):
        assert added.find(address) == given.find(address)


@given(st.lists(_BOUNDS), _BOUNDS)
def test_a_range_meets_what_is_not_hidden(
    ranges: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    found = AddressRanges((*each, number) for number, each in enumerate(ranges))
    met = {
        address: number
        for low, high, number in found.meeting(*asked)
        for address in range(low, high)
    }
    values = {address: found.find(address) for address in range(*asked)}
    assert met == {key: each for key, each in values.items() if each is not None}


@given(st.lists(_BOUNDS))
def test_one_of_sorted_ranges_has_an_address(bounds: list[tuple[int, int]]) -> None:
    ranges = merged(Range(*each) for each in bounds)
    starts = [each.start for each in ranges]
    for address in range(-1, 32):
        covering = [each for each in ranges if each.start <= address < each.end]
        expected = covering[0] if covering else None
        assert range_at(ranges, address) == expected
        assert range_at(ranges, address, starts) == expected
