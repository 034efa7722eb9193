"""Rows in order, and rows that are taken out of a column, beside Python's own."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given, strategies as st

from gsym.memory.stack_parts import ordered, taken

NUMBERS = st.lists(st.one_of(st.integers(0, 3), st.integers(0, (1 << 32) - 1)))


@given(NUMBERS)
def test_rows_are_ordered_by_their_keys(keys: list[int]) -> None:
    found = ordered(array("I", keys))
    assert [*found] == sorted(range(len(keys)), key=keys.__getitem__)


@given(st.data(), st.sampled_from("BIQ"), st.integers(0, 2))
def test_items_are_taken_after_rows(data: st.DataObject, code: str, after: int) -> None:
    column = array(code, data.draw(st.lists(st.integers(0, 255), max_size=9)))
    last = len(column) - after - 1
    rows = data.draw(st.lists(st.integers(0, last))) if last >= 0 else []
    found = taken(column, rows, after)
    assert found.typecode == code
    assert [*found] == [column[each + after] for each in rows]


@pytest.mark.parametrize(("row", "after"), [(3, 0), (2, 1), (0, 3), (0, (1 << 64) - 1)])
def test_no_item_outside_a_column_is_taken(row: int, after: int) -> None:
    with pytest.raises(ValueError, match="outside its column"):
        taken(array("I", [1, 2, 3]), [row], after)
