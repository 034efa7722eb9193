"""Sizes and times as text, gsym/sizes.py."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from gsym.sizes import (
    BINARY_UNITS,
    DECIMAL_UNITS,
    exact_size,
    read_size,
    rounded_size,
)

pytestmark = pytest.mark.no_engine

SIZES = st.integers(0, (1 << 64) - 1)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500000", 500_000),
        ("007", 7),
        ("64B", 64),
        ("0b", 0),
        ("500k", 500_000),
        ("500K", 500_000),
        ("2GB", 2_000_000_000),
        ("1.5GB", 1_500_000_000),
        ("1.5 MB", 1_500_000),
        ("3t", 3 * 10**12),
        ("10Ki", 10 << 10),
        ("10 KiB", 10 << 10),
        ("1gib", 1 << 30),
        ("1GiB", 1 << 30),
        ("1.5mi", 3 << 19),
        ("2TiB", 2 << 40),
        ("0.0001K", 0),
        ("0x10", 16),
        ("0x1B", 27),
        ("0b11", 3),
        ("0o17", 15),
    ],
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert read_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", "M", "B", "5Q", "1GiBs", "-1", "+1", "1iB", "1.", ".5", "1e6", "1_000"),
        *("1,5M", "0x", "0x1K", "0b12", "1  M", " 1", "1M ", "\u0661M", "9" * 25),
    ],
)
def test_other_texts_are_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="invalid size ") as error:
        read_size(text)
    assert f"'{text}'" in str(error.value)


@given(SIZES, st.sampled_from([*DECIMAL_UNITS, *BINARY_UNITS, (1, "B")]), st.data())
def test_case_and_the_letter_b_do_not_matter(
    number: int, unit: tuple[int, str], data: st.DataObject
) -> None:
    scale, name = unit
    letters = [data.draw(st.sampled_from([each, each.swapcase()])) for each in name]
    if data.draw(st.booleans()):
        letters.pop()
    space = data.draw(st.sampled_from(["", " "]))
    assert read_size(f"{number}{space}{''.join(letters)}") == number * scale


@given(SIZES)
def test_an_exact_size_is_read_as_it_was_written(size: int) -> None:
    assert read_size(exact_size(size)) == size


@given(SIZES)
def test_a_rounded_size_is_read_as_one_at_most_a_twentieth_of_its_unit_away(
    size: int,
) -> None:
    text = rounded_size(size)
    scale = {name: scale for scale, name in DECIMAL_UNITS}.get(text.split()[1], 0)
    # A float has 53 bits.
    assert abs(read_size(text) - size) <= scale // 20 + (size >> 52)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KB"),
        (999_949, "999.9 KB"),
        (999_951, "1.0 MB"),
        (1_500_000_000, "1.5 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_a_rounded_size_is_short(size: int, text: str) -> None:
    assert rounded_size(size) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1 << 10, "1KiB"),
        (8 << 20, "8MiB"),
        (1536 << 20, "1536MiB"),
        (3 << 40, "3TiB"),
    ],
)
def test_an_exact_size_has_the_largest_unit(size: int, text: str) -> None:
    assert exact_size(size) == text
