"""An address is in the last range that covers it."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.trace.profiles.binaries import AddressRanges

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
