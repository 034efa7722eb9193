"""Addresses to frames: which function, which row, which inlined calls."""

from __future__ import annotations

import bisect
import random
from itertools import accumulate

import pytest

import gsym
from tests import oracle
from tests.engine_image import Image
from tests.handmade import (
    END,
    HEAD,
    MAIN,
    ONE,
    SIZE,
    START,
    TWO,
    file_of,
    frame_text,
    function_of,
    info,
)

# ---- which function, which row ------------------------------------------------------


def named(start: int, size: int, name: str) -> gsym.FunctionInfo:
    return gsym.FunctionInfo(start, size, name)


def name_at(reader: gsym.Reader, address: int) -> str | None:
    answer = reader.lookup(address)
    return None if answer is None else answer.function.name


def reader_of(*functions: gsym.FunctionInfo, version: int = 1) -> gsym.Reader:
    with gsym.Creator(version=version) as creator:
        for function in functions:
            creator.add(function)
        return gsym.Reader(creator.to_bytes())


def test_a_function_covers_its_range_and_nothing_else() -> None:
    reader = reader_of(named(0x10, 4, "one"), named(0x20, 4, "two"))
    names = {address: name_at(reader, address) for address in range(0xE, 0x26)}
    assert [at for at, name in names.items() if name == "one"] == [*range(0x10, 0x14)]
    assert [at for at, name in names.items() if name == "two"] == [*range(0x20, 0x24)]
    assert name_at(reader, 0) is None
    assert name_at(reader, 2**64 - 1) is None


def test_of_functions_with_one_start_the_first_that_covers_answers() -> None:
    starts = (
        named(0x10, 4, "short"),
        named(0x10, 8, "middle"),
        named(0x10, 16, "long"),
    )
    reader = reader_of(*starts)
    assert [name_at(reader, 0x10 + at) for at in (0, 3, 4, 7, 8, 15, 16)] == [
        *("short", "short", "middle", "middle", "long", "long", None)
    ]


def test_a_function_hides_the_outer_one_up_to_its_end() -> None:
    reader = reader_of(named(0x10, 0x40, "outer"), named(0x20, 4, "inner"))
    assert name_at(reader, 0x1F) == "outer"
    assert name_at(reader, 0x23) == "inner"
    assert name_at(reader, 0x24) == "outer"
    assert name_at(reader, 0x50) is None


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_tables_of_every_width_are_searched(width: int, byteorder: str) -> None:
    generator = random.Random(width)  # noqa: S311 - a reproducible sample
    for version, count in ((1, 1), (2, 2), (1, 3), (2, 7), (1, 64), (2, 100)):
        limit = min(2 ** (8 * width), 2**63)
        offsets = sorted({generator.randrange(limit - 2) for _ in range(count)})
        functions = tuple(
            oracle.FunctionInfo(START + offset, 1, MAIN) for offset in offsets
        )
        file = file_of(
            *functions, version=version, byteorder=byteorder, addr_off_size=width
        )
        reader = gsym.Reader(oracle.encode_file(file))
        for offset in offsets:
            for probe in (offset - 1, offset, offset + 1):
                at = bisect.bisect_left(offsets, probe)
                is_start = at < len(offsets) and offsets[at] == probe
                assert (reader.lookup(START + probe) is not None) == is_start


def test_the_last_row_at_or_below_the_address_answers() -> None:
    rows = ((0, 10), (4, 11), (4, 12), (8, 13))
    lines = tuple(gsym.LineEntry(START + at, "/a.c", line) for at, line in rows)
    reader = reader_of(gsym.FunctionInfo(START, 16, "main", lines))
    found = [reader.lookup(START + at) for at in (0, 3, 4, 7, 8, 15)]
    assert [answer and answer.frames[0].line for answer in found] == [
        *(10, 10, 12, 12, 13, 13)
    ]


def test_a_line_may_be_any_32_bit_number() -> None:
    lines = (0, 2**32 - 1, 1, 2**31, 0, 2**31 - 1, 2**32 - 1)
    rows = tuple(
        gsym.LineEntry(START + at, "/a.c", line) for at, line in enumerate(lines)
    )
    reader = reader_of(gsym.FunctionInfo(START, 16, "main", rows))
    assert reader.function(0).line_table == rows
    found = [reader.lookup(row.address) for row in rows]
    assert [answer and answer.frames[0].line for answer in found] == list(lines)


def test_an_inlined_offset_counts_from_the_first_range() -> None:
    ranges = (gsym.Range(START + 4, START + 6), gsym.Range(START + 8, START + 12))
    call = gsym.InlineInfo("one", "/a.c", 3, ranges)
    root = gsym.InlineInfo("main", "", 0, (gsym.Range(START, START + 16),), (call,))
    reader = reader_of(gsym.FunctionInfo(START, 16, "main", None, root))
    answers = {at: reader.lookup(START + at) for at in range(16)}
    offsets = {
        at: answer.frames[0].offset
        for at, answer in answers.items()
        if answer is not None and answer.frames[0].inlined
    }
    assert offsets == {4: 0, 5: 1, 8: 4, 9: 5, 10: 6, 11: 7}


def test_only_the_first_of_siblings_that_cover_an_address_is_entered() -> None:
    siblings = tuple(
        oracle.InlineInfo(((START, START + 8),), name, 1, line)
        for name, line in ((ONE, 3), (TWO, 4))
    )
    root = oracle.InlineInfo(((START, START + SIZE),), MAIN, 0, 0, siblings)
    data = oracle.encode_file(
        file_of(function_of((oracle.LineRow(START, 1, 5),), root))
    )
    answer = gsym.Reader(data).lookup(START)
    assert answer is not None
    assert [frame.name for frame in answer.frames] == ["one", "main"]


def nested(depth: int) -> gsym.FunctionInfo:
    """A function with a chain of *depth* inlined calls at its first byte."""
    extent = (gsym.Range(START, START + 16),)
    children: tuple[gsym.InlineInfo, ...] = ()
    for level in range(depth, 0, -1):
        children = (gsym.InlineInfo(f"f{level}", "/a.c", level, extent, children),)
    root = gsym.InlineInfo("main", "", 0, extent, children)
    row = gsym.LineEntry(START, "/a.c", 99)
    return gsym.FunctionInfo(START, 16, "main", (row,), root)


@pytest.mark.parametrize("depth", [1, 62, 63, 64, 65, 1000])
def test_frames_of_any_depth_are_returned_innermost_first(depth: int) -> None:
    reader = reader_of(nested(depth))
    for _ in range(2):  # the second time with room that is large enough
        answer = reader.lookup(START + 1)
        assert answer is not None
        names = [f"f{level}" for level in range(depth, 0, -1)]
        assert [frame.name for frame in answer.frames] == [*names, "main"]
        assert [frame.line for frame in answer.frames] == [99, *range(depth, 0, -1)]
        assert [frame.inlined for frame in answer.frames] == [True] * depth + [False]
    assert len(reader.lookup_many([START])) == depth + 1


def test_deep_nesting_needs_no_stack() -> None:
    depth = 20_000
    node = b"\1\0\x10\1" + ONE.to_bytes(4, "little") + b"\1\1"
    leaf = node.replace(b"\x10\1", b"\x10\0")
    tree = node * depth + leaf + bytes(depth)
    record = HEAD + info(2, tree) + END
    reader = gsym.Reader(oracle.encode_file(file_of(function_of()), [record]))
    answer = reader.lookup(START)
    assert answer is not None
    assert len(answer.frames) == depth + 2
    inline = reader.function(0).inline
    levels = 0
    while inline is not None:
        levels += 1
        inline = inline.children[0] if inline.children else None
    assert levels == depth + 1


# ---- merged functions and call sites -----------------------------------------------

TWIN_ROWS = (gsym.LineEntry(START, "/src/twin.c", 7),)
FOLDED = gsym.FunctionInfo(
    *(START, 16, "main", (gsym.LineEntry(START, "/main.c", 5),), None),
    (
        gsym.FunctionInfo(START, 16, "twin", TWIN_ROWS),
        gsym.FunctionInfo(START, 16, "bare"),
    ),
    (gsym.CallSite(4, 1, ("callee", "other.*")), gsym.CallSite(4, 2, ("late",))),
)


def test_merged_functions_answer_only_when_asked_for() -> None:
    reader = reader_of(FOLDED)
    alone = reader.lookup(START + 1)
    together = reader.lookup(START + 1, merged=True)
    assert alone is not None
    assert together is not None
    assert alone.merged == ()
    assert together._replace(merged=()) == alone
    assert [answer.function.name for answer in together.merged] == ["twin", "bare"]
    assert [frame_text(answer.frames[0]) for answer in together.merged] == [
        *("twin + 1 @ /src/twin.c:7", "bare + 1")
    ]


def test_a_child_that_does_not_exist_is_refused() -> None:
    image = Image(reader_bytes(FOLDED))
    assert image.lookup(START, 0, child=2) is not None
    with pytest.raises(ValueError, match="invalid merged function 3"):
        image.lookup(START, 0, child=3)


def reader_bytes(function: gsym.FunctionInfo) -> bytes:
    with gsym.Creator() as creator:
        creator.add(function)
        return creator.to_bytes()


def test_patterns_belong_to_the_return_address_alone() -> None:
    reader = reader_of(FOLDED)
    patterns = {
        at: answer.call_site_patterns
        for at in range(16)
        if (answer := reader.lookup(START + at)) is not None
    }
    assert patterns.pop(4) == ("callee", "other.*")
    assert set(patterns.values()) == {()}


def test_unknown_kinds_of_information_are_skipped() -> None:
    lines = info(1, b"\0\0\5\4\0")
    for around in ((9, 9), (5, 0x80000001), (0xFFFFFFFF, 7)):
        before, after = (info(kind, b"payload") for kind in around)
        record = HEAD + before + lines + after + END
        reader = gsym.Reader(oracle.encode_file(file_of(function_of()), [record]))
        answer = reader.lookup(START)
        assert answer is not None
        assert answer.frames[0].line == 5
        assert reader.function(0).extra == dict.fromkeys(around, b"payload")


def test_the_complete_function_is_found_by_any_of_its_addresses() -> None:
    reader = reader_of(FOLDED)
    for address in range(START - 1, START + 20):
        answer, function = reader.lookup(address), reader.function_at(address)
        if answer is None:
            assert function is None
        else:
            assert function is not None
            assert function.start == answer.function.start
            assert function == reader.function(0)
    assert reader.function_at(-1) is None
    assert reader.function_at(1 << 64) is None
    with pytest.raises(TypeError):
        reader.function_at("main")  # type: ignore[arg-type]


def test_payloads_of_unknown_kinds_are_found_by_address() -> None:
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(START, 8, "f", extra={99: b"payload"}))
        creator.add(gsym.FunctionInfo(START + 8, 8, "g"))
        reader = gsym.Reader(creator.to_bytes())
    f, g = reader.function_at(START + 3), reader.function_at(START + 9)
    assert f is not None
    assert g is not None
    assert (f.extra, g.extra) == ({99: b"payload"}, {})


def test_lines_that_lie_far_apart_come_out_as_they_went_in() -> None:
    """Where special opcodes are best spent on long steps, of which there are many."""
    numbers = accumulate(1000 * (1 + at % 2) + at % 7 for at in range(600))
    rows = tuple(
        gsym.LineEntry(0x1000 + 4 * at, "/a.c", line) for at, line in enumerate(numbers)
    )
    with gsym.Creator() as creator:
        creator.add(gsym.FunctionInfo(0x1000, 4 * 600, "f", line_table=rows))
        data = creator.to_bytes()
    with gsym.Reader(data) as reader:
        (function,) = reader.functions()
    assert function.line_table == rows
    assert len(data) < 4000
