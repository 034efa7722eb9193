"""Random Breakpad files answer as their records mean; damaged ones answer at all."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.conversion.inputs import breakpad as breakpad_conversion
from gsym.conversion.inputs.breakpad import _CATEGORIES
from gsym.engine.native import lib
from tests.conversion.breakpad_meaning import answer, frames_of
from tests.conversions import convert_bytes, describe, settle
from tests.guarded import GuardedMemory
from tests.inputs.breakpad import (
    MODULE,
    Call,
    Func,
    Public,
    Range,
    Row,
    Symbols,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.long

FILES = {0: "/src/a.c", 1: "b.h", 7: "C:\\c.c"}
ORIGINS = {0: "outer", 1: "inner", 5: "operator ()(int)"}
LIMIT = _CATEGORIES[lib.GSYM_BREAKPAD_LIMIT]
SPAN = 64  # bytes of the largest function

numbers = st.sampled_from([0, 1, 5, 7, 9])
lines = st.integers(0, 5) | st.just(2**32 - 1)


def ranges_near(start: int, size: int) -> st.SearchStrategy[Range]:
    """Mostly in the function, sometimes not."""
    first = max(0, start - 4)
    return st.builds(
        Range, st.integers(first, start + size + 4), st.integers(1, SPAN // 2)
    )


@st.composite
def functions(draw: st.DrawFn, start: int) -> Func:
    size = draw(st.integers(1, SPAN))
    near = ranges_near(start, size)
    rows = st.builds(Row, near, lines, numbers)
    files = numbers | st.none()
    spans = st.lists(near, min_size=1, max_size=3).map(tuple)
    calls = st.builds(Call, st.integers(0, 3), lines, files, numbers, spans)
    return Func(
        Range(start, size),
        draw(st.sampled_from(["main", "f(int, char const*)", "_ZN1a1bEv"])),
        tuple(draw(st.lists(rows, max_size=8))),
        tuple(draw(st.lists(calls, max_size=8))),
        draw(st.booleans()),
    )


@st.composite
def symbol_files(draw: st.DrawFn) -> Symbols:
    base = draw(st.sampled_from([0, 8, 0x1000, 2**32 - 40, 2**40]))
    made = []
    at = base
    for gap in draw(st.lists(st.integers(0, 20), max_size=4)):
        made.append(draw(functions(at + gap)))
        at += gap + made[-1].range.size
    addresses = st.integers(max(0, base - 8), at + 20)
    publics = st.builds(Public, addresses, st.sampled_from(["p", "q r"]), st.booleans())
    return Symbols(
        FILES, ORIGINS, tuple(made), tuple(draw(st.lists(publics, max_size=6)))
    )


def boundaries(symbols: Symbols) -> Iterator[int]:
    """Addresses at which an answer may change, and those beside them."""
    extents = [
        *(function.range for function in symbols.functions),
        *(row.range for function in symbols.functions for row in function.rows),
        *(
            span
            for function in symbols.functions
            for call in function.calls
            for span in call.ranges
        ),
        *(Range(public.address, 1) for public in symbols.publics),
    ]
    for start, size in sorted(set(extents)):
        for edge in (start, start + size):
            yield from (near for near in (edge - 1, edge, edge + 1) if near >= 0)


def convert_in_blocks(text: bytes, block: int) -> bytes:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(breakpad_conversion, "_BLOCK_SIZE", block)
        path = Path(folder) / "app.sym"
        path.write_bytes(text)
        return Path(gsym.convert(path).outputs[0]).read_bytes()


@given(
    symbol_files(),
    st.randoms(use_true_random=False),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from([1, 7, 64, 256 << 10]),
)
def test_a_random_file_answers_as_its_records_mean(
    symbols: Symbols, shuffler: random.Random, end: str, block: int
) -> None:
    records = symbols.records()
    shuffler.shuffle(records)
    # The first of several PUBLIC records at one address counts.
    order = {str(each): records.index(str(each)) for each in symbols.publics}
    publics = tuple(sorted(symbols.publics, key=lambda each: order[str(each)]))
    symbols = symbols._replace(publics=publics)
    text = text_of(*records, end=end)
    if not symbols.functions and not symbols.publics:
        with pytest.raises(gsym.EmptyError):
            convert_in_blocks(text, block)
        return
    with gsym.Reader(convert_in_blocks(text, block)) as reader:
        for address in boundaries(symbols):
            expected = answer(symbols, address)
            assert frames_of(reader.lookup(address)) == expected, hex(address)


def spoilt_fields() -> Iterator[list[bytes]]:
    """Address, size, line and file, one of them with any byte at its end."""
    for place in range(4):
        for digits in (1, 2, 8, 9):
            for byte in set(range(256)) - {ord("\n")}:
                fields = [b"1", b"4", b"7", b"0"]
                fields[place] = fields[place].zfill(digits)[:-1] + bytes([byte])
                yield fields


@pytest.mark.slow
def test_both_ways_to_read_a_number_agree_on_every_byte() -> None:
    """In blocks of one byte no record comes whole, so each field is read alone."""
    text = f"{MODULE}\nFILE 0 a.c\nINLINE_ORIGIN 0 i\n".encode()
    for n, (address, size, line, file) in enumerate(spoilt_fields()):
        text += b"FUNC 0 %x 0 f\n" % (0x10000 + n)
        text += b"%s %s %s %s\n" % (address, size, line, file)
        text += b"INLINE 0 %s %s 0 %s %s\n" % (line, file, address, size)
    whole = convert_in_blocks(text, len(text))
    assert convert_in_blocks(text, 1) == whole
    with gsym.Reader(whole) as reader:
        assert len({str(each.line_table) for each in reader.functions()}) > 30


# ---- hostile input


SAMPLE = text_of(
    *("INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B64", "FILE 0 /src/a.c"),
    *("FILE 1 b.h", "INLINE_ORIGIN 0 outer", "INLINE_ORIGIN 1 inner"),
    Func(
        Range(0x1000, 0x40),
        "main(int)",
        (
            Row(Range(0x1000, 8), 10, 0),
            Row(Range(0x1008, 0x20), 3, 1),
            Row(Range(0x1030, 0x10), 12, 0),
        ),
        (
            Call(0, 11, 0, 0, (Range(0x1008, 0x10), Range(0x1020, 8))),
            Call(1, 4, 1, 1, (Range(0x1008, 4),)),
        ),
    ),
    *("STACK CFI INIT 1000 40 .cfa: $rsp 8 +", Public(0x1040, "label")),
)


def test_every_prefix_ends_in_an_answer_or_an_error(tmp_path: Path) -> None:
    outcomes = [
        settle(tmp_path, SAMPLE[:size]) for size in range(0, len(SAMPLE) + 1, 2)
    ]
    assert outcomes[0] is None
    whole = outcomes[-1]
    assert whole is not None
    assert "main(int)" in whole
    assert len(set(outcomes)) > 20


@pytest.mark.parametrize("seed", range(6))
def test_changed_bytes_end_in_an_answer_or_an_error(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)  # noqa: S311 - no secret
    whole = settle(tmp_path, SAMPLE)
    outcomes = []
    for _ in range(40):
        damaged = bytearray(SAMPLE)
        for _ in range(source.randint(1, 6)):
            damaged[source.randrange(len(damaged))] = source.choice(
                [source.randrange(256), *b"0123456789abcdef \n\r\t\0-mFIPS"]
            )
        outcomes.append(settle(tmp_path, bytes(damaged)))
    assert outcomes.count(whole) < len(outcomes)


@pytest.mark.parametrize("digits", range(1, 9))
@pytest.mark.parametrize(
    "record", ["00001000 00000010 00000007 {0}", "INLINE {0} {0} {0} {0} 00001000 {0}"]
)
def test_nothing_is_read_after_the_last_number(
    record: str, digits: int, tmp_path: Path
) -> None:
    head = text_of("FILE 0 a.c", "INLINE_ORIGIN 0 i", Func(Range(0x1000, 0x10), "f"))
    text = head + record.format("0" * digits).encode() + b"\n"
    output = tmp_path / "made.gsym"
    gsym.convert(GuardedMemory(len(text)).hold(text), output, name="made.sym")
    with gsym.open(output) as reader:
        assert [each.name for each in reader.functions()] == ["f"]


def test_lines_cut_and_joined_end_in_an_answer(tmp_path: Path) -> None:
    for at in range(1, len(SAMPLE), 3):
        settle(tmp_path, SAMPLE[:at] + b"\n" + SAMPLE[at:])
        if SAMPLE[at : at + 1] == b"\n":
            settle(tmp_path, SAMPLE[:at] + SAMPLE[at + 1 :])


def test_many_levels_below_many_calls_stay_linear(tmp_path: Path) -> None:
    """Each level spans all calls of level 0: cut at each of them it would be square."""
    width, depth = 1000, 1000
    calls = [Call(0, 1, 0, 0, (Range(0x1000 + at, 1),)) for at in range(width)]
    calls += [Call(n, 2, 0, 1, (Range(0x1000, width),)) for n in range(1, depth)]
    function = Func(Range(0x1000, width), "f", (), tuple(calls))
    report, functions = convert_bytes(
        tmp_path,
        text_of("FILE 0 a.c", "INLINE_ORIGIN 0 i", "INLINE_ORIGIN 1 j", function),
    )
    assert report.warnings[LIMIT] > 900
    assert describe(functions).count("inlined") < 10 * (width + depth)


def test_calls_nest_up_to_a_limit(tmp_path: Path) -> None:
    depth = 4100
    calls = tuple(Call(n, n, 0, 0, (Range(0x1000, 8),)) for n in range(depth))
    function = Func(Range(0x1000, 8), "f", (), calls)
    report, _ = convert_bytes(
        tmp_path, text_of("FILE 0 a.c", "INLINE_ORIGIN 0 i", function)
    )
    assert report.warnings == {LIMIT: depth - 4096}
    with gsym.open(report.outputs[0]) as reader:
        lookup = reader.lookup(0x1000)
        assert lookup is not None
        assert len(lookup.frames) == 4097
