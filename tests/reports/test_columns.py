"""Columns of lines that the engine reads, beside a plain model of them."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.engine.native import ffi, lib
from gsym.reports.stacks.repeated_lines import NO_SHAPE, LineKeys, Spans
from gsym.reports.stacks.tokens import encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

TEXTS = st.text(st.sampled_from("0x1a9AF`$_ .-+é\udcff\n"), max_size=24)
LINES = st.lists(TEXTS, max_size=8)
BEGINS, SIZES = st.integers(0, 30), st.integers(0, 20)
PLACES = st.builds(lambda at, size: (at, at + size), BEGINS, SIZES)
BASES = st.sampled_from((10, 16))
DIGITS = st.builds(lambda at, base: (*at, base), PLACES, BASES)
ADDRESSES = st.sampled_from((0, 1, 9, 0x11, 0x1A, 0x10000, 0x11000, (1 << 64) - 1))


@st.composite
def regions(draw: st.DrawFn) -> list[tuple[int, int, int]]:
    """Regions that do not overlap: start, last and address."""
    bounds = sorted(draw(st.sets(ADDRESSES, max_size=6)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return [(start, end - 1, draw(ADDRESSES)) for start, end in pairs if start < end]


def masked(line: str) -> bytes:
    """A line without the values of its numbers."""
    plain = encoded(line.removesuffix("\n"))
    found = bytearray(len(plain) + 1)
    lib.gsym_text_mask_numbers(plain, len(plain), ffi.from_buffer(found))
    return bytes(found)


@given(LINES, LINES, st.integers(0, 30))
def test_lines_of_one_shape_have_one_number(
    lines: list[str], others: list[str], longest: int
) -> None:
    keys, known = LineKeys(), dict[bytes, int]()
    for several in (lines, others):
        expected = [
            known.setdefault(masked(each), len(known))
            if len(encoded(each)) <= longest
            else NO_SHAPE
            for each in several
        ]
        assert [*keys.shapes(several, longest)] == expected


class Model:
    """What the engine reads, in plain steps."""

    def __init__(self) -> None:
        self.known: dict[object, int] = {}

    def read(
        self,
        lines: Sequence[str],
        spans: Spans,
        context: int,
        placed: Sequence[Sequence[tuple[int, int, int]]],
        starts: set[int],
    ) -> tuple[list[list[int]], list[int], list[int]]:
        """The rows of numbers, the kinds, and which may place a module."""
        rows, kinds, placing = [], [], []
        every = encoded("".join(lines))
        begin = 0
        for line in lines:
            text = every[begin:]
            begin += len(encoded(line))
            row = [number(text[start:end], base) for start, end, base in spans.digits]
            new = [*row, *(abs(one - other) for one, other in combinations(row, 2))]
            placing.append(
                int(any(is_start(each) and each not in starts for each in new))
            )
            facts: list[object] = [context]
            places = []
            for first, second, back in spans.sums:
                address = row[first] + (row[second] if second != first else 0)
                region, place = None, 0
                if address >= back:
                    region, place = found(address - back, placed)
                places.append(place if region is None else (place + back) % (1 << 64))
                facts += region, is_start(row[first])
            row += places
            facts += ([0, *row].index(each) for each in row)
            words = b"".join(text[start:end] for start, end in spans.words)
            kinds.append(self.known.setdefault((*facts, words), len(self.known)))
            rows.append(row)
        return rows, kinds, placing


def number(text: bytes, base: int) -> int:
    """The value of the digits in a text."""
    digits = [chr(each) for each in text if chr(each) in "0123456789abcdefABCDEF"]
    own = [int(each, 16) for each in digits if int(each, 16) < base]
    value = 0
    for each in own:
        value = (value * base + each) % (1 << 64)
    return value


def is_start(address: int) -> bool:
    """Whether a module may start at an address."""
    return address >= 0x10000 and address % 4096 == 0


def found(
    address: int, placed: Sequence[Sequence[tuple[int, int, int]]]
) -> tuple[object, int]:
    """The region of an address, and the place in its module."""
    for number_of, own in enumerate(placed):
        for start, last, at in own:
            if start <= address <= last:
                return (number_of, start), (address - start + at) % (1 << 64)
    return None, 0


@given(st.data())
def test_columns_are_those_of_a_plain_model(data: st.DataObject) -> None:
    digits = data.draw(st.lists(DIGITS, max_size=4))
    several = st.integers(0, len(digits) - 1)
    sums = (
        st.lists(st.tuples(several, several, st.integers(0, 1)), max_size=3)
        if digits
        else st.just([])
    )
    words = data.draw(st.lists(PLACES, max_size=2))
    spans = Spans(digits, words, data.draw(sums))
    placed = [data.draw(regions()), data.draw(regions())]
    starts = data.draw(st.sets(ADDRESSES))
    keys, model = LineKeys(), Model()
    kept: list[Any] = []

    def place(job: Any) -> None:  # noqa: ANN401 - of the engine
        tables = [ffi.new("gsym_line_region[]", each) for each in placed]
        known = ffi.new("uint64_t[]", sorted(starts))
        kept.extend((*tables, known))
        job.regions, job.region_counts = tables, [*map(len, placed)]
        job.starts, job.start_count = known, len(starts)

    for _ in range(2):
        lines, context = data.draw(LINES), data.draw(st.integers(0, 1))
        read = keys.columns(lines, spans, context, place)
        rows, kinds, placing = model.read(lines, spans, context, placed, starts)
        assert [*map(list, read.rows())] == rows
        assert [*read.kinds] == kinds
        assert [*read.placing] == placing


def test_sum_of_numbers_that_are_not_read_is_refused() -> None:
    with pytest.raises(ValueError, match="a sum of no numbers"):
        LineKeys().columns(["0x12"], Spans([(0, 4, 16)], [], [(0, 1, 0)]), 0)


def test_line_outside_its_text_is_refused() -> None:
    ends, found_ = ffi.new("uint64_t[]", [2, 5]), ffi.new("uint32_t[2]")
    keys, error = LineKeys(), ffi.new("gsym_error *")
    status = lib.gsym_line_shapes(keys._keys, b"0x12", 4, ends, 2, 99, found_, error)  # noqa: SLF001
    assert status == lib.GSYM_E_ARGUMENT
