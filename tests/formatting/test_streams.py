"""Lines that are answered together get what each of them gets by itself."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.formatting import gsymutil as llvm
from gsym.formatting.formatter import Formatter
from gsym.formatting.styles import (
    SymbolizerOutput,
    addr2line_style,
    address_style,
    json_style,
    text_style,
)
from tests import oracle, strategies
from tests.engine.test_hostile_records import DAMAGED, END_OF_LIST, file_with
from tests.formatting.test_lookup_llvm import DIFFERENCES
from tests.handmade import file_of, function_of
from tests.hostile import ADDRESSES, SIZE, START, small_file
from tests.views import to_oracle

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from tests.inputs.encoding import ByteOrder

    Put = Callable[[Buffer], object]
    # Answers lines with what it gives to the other, and tells how many bytes of them.
    Stream = Callable[[bytes, Put], int]

pytestmark = pytest.mark.long

FILES = {
    (version, order): small_file(version, order)
    for version in strategies.VERSIONS
    for order in strategies.BYTE_ORDERS
}
NEAR = [*ADDRESSES, *range(START - 2, START + SIZE + 2)]


def gsymutil(reader: gsym.Reader, *, merged: bool) -> Stream:
    style = llvm.lookup_style(merged=merged, blank_line=True)
    return Formatter(reader, style, suffix=b" x").answer


def addr2line(reader: gsym.Reader, **options: Any) -> Stream:  # noqa: ANN401
    text = Formatter(reader, addr2line_style(**options))
    return lambda lines, put: text.answer(lines, put, line_size=99)


def symbolizer(reader: gsym.Reader, output: SymbolizerOutput, shift: int) -> Stream:
    return Formatter(reader, address_style(output, 'm"'), shift=shift).answer


def lookup(reader: gsym.Reader, output: SymbolizerOutput) -> Stream:
    demangle, merged = output.demangle, output.inlines
    style = (
        json_style(demangle=demangle, merged=merged)
        if output.json
        else text_style(demangle=demangle, merged=merged, escape=bytes)
    )
    return Formatter(reader, style, shift=output.gnu - 1, wraps=False).answer


OPTIONS = ("addresses", "functions", "inlines", "pretty", "basenames", "demangle")


class Style(NamedTuple):
    """Options of addr2line; those of symbolizer, and what it adds to addresses."""

    options: dict[str, Any]
    output: SymbolizerOutput
    shift: int


ALL = SymbolizerOutput(addresses=True, functions=True, inlines=True)
NONE = SymbolizerOutput(functions=False, inlines=False, demangle=False)


styles = st.builds(
    Style,
    st.fixed_dictionaries({name: st.booleans() for name in OPTIONS}),
    st.builds(SymbolizerOutput, *(st.booleans() for _ in SymbolizerOutput._fields)),
    st.sampled_from([0, 1, 2**64 - 16]),
)


def answered(stream: Stream, lines: bytes) -> tuple[bytes, int]:
    out = io.BytesIO()
    used = stream(lines, out.write)
    return out.getvalue(), used


def answered_one_by_one(stream: Stream, lines: bytes) -> tuple[bytes, int]:
    texts, used = [], 0
    for line in lines.splitlines(keepends=True):
        text, size = answered(stream, line)
        texts.append(text)
        used += size
        if size < len(line):
            break
    return b"".join(texts), used


def check(stream: Stream, lines: bytes) -> None:
    assert answered(stream, lines) == answered_one_by_one(stream, lines)


def check_all(data: bytes, asked: list[int], style: Style) -> None:
    """All streams, of a file that may be no GSYM file."""
    try:
        reader = gsym.Reader(data)
    except gsym.GsymError:
        return
    plain = b"".join(b"%#x\n" % address for address in asked)
    with_path = b"".join(b"%d x\n" % address for address in asked)
    with reader:
        for merged in (False, True):
            single = Formatter(reader, llvm.lookup_style(merged=merged))
            wanted = b"".join(b"%b\n" % single.one(address) for address in asked)
            text, used = answered(gsymutil(reader, merged=merged), with_path)
            assert (text, used) == (wanted, len(with_path))
        check(lookup(reader, style.output), plain)
        check(addr2line(reader, **style.options), plain)
        check(symbolizer(reader, style.output, style.shift), plain)


@given(
    functions=strategies.function_lists(),
    kind=st.sampled_from(sorted(FILES)),
    style=styles,
    data=st.data(),
)
def test_blocks_of_random_files_are_answered_as_single_lines(
    functions: list[gsym.FunctionInfo],
    kind: tuple[int, str],
    style: Style,
    data: st.DataObject,
) -> None:
    near = [
        st.integers(max(function.start - 2, 0), function.start + function.size + 2)
        for function in functions
    ]
    addresses = st.one_of(near).map(lambda address: min(address, 2**64 - 1))
    asked = data.draw(st.lists(addresses, max_size=60))
    check_all(oracle.encode_file(to_oracle(functions, *kind)), asked, style)


@given(
    file=st.sampled_from(sorted(FILES)),
    changes=st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=3),
    asked=st.lists(st.sampled_from(NEAR), max_size=80),
    style=styles,
)
def test_blocks_of_damaged_files_are_answered_as_single_lines(
    file: tuple[int, ByteOrder],
    changes: list[tuple[int, int]],
    asked: list[int],
    style: Style,
) -> None:
    data = bytearray(FILES[file])
    for at, value in changes:
        data[at % len(data)] = value
    check_all(bytes(data), asked, style)


@pytest.mark.parametrize("name", DAMAGED)
def test_blocks_of_damaged_records_are_answered_as_single_lines(name: str) -> None:
    for version, end in ((1, b""), (2, END_OF_LIST)):
        data = file_with(version, DAMAGED[name] + end)
        for output in (NONE, ALL, ALL._replace(json=True)):
            options = dict.fromkeys(OPTIONS, output != NONE)
            check_all(data, NEAR, Style(options, output, 0))


@pytest.mark.parametrize("name", DIFFERENCES)
def test_blocks_follow_the_rules_that_single_lines_do(name: str) -> None:
    for version in strategies.VERSIONS:
        data = oracle.encode_file(file_of(DIFFERENCES[name].function, version=version))
        options = dict.fromkeys(OPTIONS, True)
        check_all(data, NEAR, Style(options, ALL, 0))


def test_blocks_have_offsets_of_32_bits_where_llvm_has() -> None:
    data = oracle.encode_file(file_of(function_of(size=0)))
    far = [START + 2**40 + at for at in range(20)]
    check_all(data, far, Style({}, NONE, 0))


LINES = (
    *(b"0x1004 x\n", b"4100 x\n", b"1004\n", b"zz x\n", b"\n", b"x\n", b" 1004\n"),
    *(b"0x1004 y\n", b"0x1004\r\n", b"1" * 120 + b"\n", b"main+4\n", b"0x1004\0\n"),
    *(b"\0\n", b"0x\n", b"0x1" + b"0" * 16 + b"\n", b"-1\n", b"0b11 x\n", b"0x1004"),
)


@given(lines=st.lists(st.sampled_from(LINES), max_size=12).map(b"".join))
def test_lines_of_any_form_are_taken_or_left_as_single_ones_are(lines: bytes) -> None:
    with gsym.Reader(FILES[1, "little"]) as reader:
        check(gsymutil(reader, merged=False), lines)
        check(symbolizer(reader, ALL, 0), lines)
        # It cuts long lines, and the rest of one may be anything.
        if all(len(line) < 99 for line in lines.splitlines()):
            check(addr2line(reader, functions=True), lines)


def test_more_lines_than_one_block_are_all_answered() -> None:
    asked = list(itertools.islice(itertools.cycle(NEAR), 70_000))
    with gsym.Reader(FILES[1, "little"]) as reader:
        for stream, line in (
            (gsymutil(reader, merged=False), b"%d x\n"),
            (addr2line(reader, functions=True, inlines=True), b"%x\n"),
            (symbolizer(reader, ALL, 0), b"%d\n"),
        ):
            lines = b"".join(line % address for address in asked)
            once, used = answered(stream, b"".join(line % near for near in NEAR))
            text, all_used = answered(stream, lines)
            repeats = len(asked) // len(NEAR)
            assert text.startswith(once * repeats)
            assert (used > 0, all_used) == (True, len(lines))


def test_a_deep_chain_of_calls_does_not_take_memory_for_each_line() -> None:
    ranges = (gsym.Range(0x1000, 0x1010),)
    node = gsym.InlineInfo("inner", "a.c", 1, ranges)
    for _ in range(200):
        node = gsym.InlineInfo("call", "a.c", 1, ranges, (node,))
    root = gsym.InlineInfo("f", "", 0, ranges, (node,))
    lines = (gsym.LineEntry(0x1000, "a.c", 3),)
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 16, "f", lines, root))
        data = creator.to_bytes()
    with gsym.Reader(data) as reader:
        stream = addr2line(reader, inlines=True)
        one, _ = answered(stream, b"1008\n")
        pieces: list[int] = []
        count = 5_000  # a million frames
        stream(b"1008\n" * count, lambda text: pieces.append(len(memoryview(text))))
    assert sum(pieces) == count * len(one)
    assert max(pieces) < (1 << 20) + 2 * len(one)
