"""Numbers in LEB128, as one reader has them for all formats."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.leb128 import read_leb

pytestmark = pytest.mark.no_engine


@pytest.mark.parametrize(
    ("digits", "signed", "value"),
    [
        ("00", False, 0),
        ("7f", False, 127),
        ("8001", False, 128),
        ("e58e26", False, 624485),
        ("8000", False, 0),  # padded
        ("7f", True, -1),
        ("3f", True, 63),
        ("8001", True, 128),
        ("c0bb78", True, -123456),
    ],
)
def test_numbers_are_as_in_the_standard(
    digits: str, value: int, *, signed: bool
) -> None:
    data = bytes.fromhex(f"ff{digits}ff")
    assert read_leb(data, 1, signed=signed) == (value, len(data) - 1)


@given(st.binary(max_size=24), st.integers(0, 24), st.integers(0, 12))
def test_what_does_not_end_in_time_is_refused(data: bytes, at: int, most: int) -> None:
    ends = [place for place, byte in enumerate(data) if at <= place and byte < 128]
    end = ends[0] + 1 if ends and ends[0] < at + most else 0
    value, after = read_leb(data, at, most)
    assert after == end
    assert 0 <= value < 1 << 7 * max(end - at, 1)
    assert read_leb(memoryview(data), at, most) == (value, after)
