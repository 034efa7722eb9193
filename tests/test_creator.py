"""The creator: layout to the byte, limits, and which of several functions is kept."""

from __future__ import annotations

import struct
import subprocess
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsym._native import check, ffi, lib, new_error
from gsym.creator import Creator, iter_finished
from gsym.errors import ClosedError, EmptyError, LimitError
from gsym.model import (
    CallSite,
    FunctionInfo,
    InlineInfo,
    LineEntry,
    Range,
    join_path,
)
from tests import oracle
from tests.views import functions_from_oracle, text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

KINDS = [(version, order) for version in (1, 2) for order in ("little", "big")]
U32_MAX, U64_MAX = 2**32 - 1, 2**64 - 1


def create(functions: Iterable[FunctionInfo], **options: Any) -> bytes:  # noqa: ANN401
    with Creator(**options) as creator:
        for function in functions:
            creator.add(function)
        return creator.to_bytes()


def decoded(data: bytes) -> list[FunctionInfo]:
    return functions_from_oracle(oracle.decode_file(data))


# ---- layout ---------------------------------------------------------------------

START = 0x401000
WORK = FunctionInfo(
    START,
    0x30,
    "work",
    (
        LineEntry(START, "/a/bc/inlined.c", 4),
        LineEntry(START + 6, "/a/bc/inlined.c", 3),
        LineEntry(START + 19, "/a/bc/inlined.c", 4),
    ),
    InlineInfo(
        "work",
        "",
        0,
        (Range(START, START + 0x30),),
        (InlineInfo("leaf", "/a/bc/inlined.c", 4, (Range(START + 6, START + 19),)),),
    ),
)
HEAD = FunctionInfo(START - 0x10, 0, "end", extra={9: b"x"})
UUID = bytes(range(1, 8))

STRINGS = b"\0work\0/a/bc\0inlined.c\0leaf\0end\0"
LINE_TABLE = bytes.fromhex("7f 01 04 05 16 2d 00")


def packed(byteorder: str, *fields: tuple[str, int] | bytes) -> bytes:
    """Fields as (struct code, value), and bytes as they are, one after the other."""
    order = "<" if byteorder == "little" else ">"
    return b"".join(
        field if isinstance(field, bytes) else struct.pack(order + field[0], field[1])
        for field in fields
    )


def work_record(byteorder: str, strp: str) -> bytes:
    """The worked example of the format description, but for the number of `leaf`."""
    inline = packed(
        byteorder,
        *(bytes.fromhex("01 00 30 01"), (strp, 1), bytes.fromhex("00 00")),
        *(bytes.fromhex("01 06 0d 00"), (strp, 0x16), bytes.fromhex("01 04")),
        bytes.fromhex("00"),
    )
    return packed(
        byteorder,
        *(("I", 0x30), (strp, 1)),
        *(("I", 1), ("I", len(LINE_TABLE)), LINE_TABLE),
        *(("I", 2), ("I", len(inline)), inline),
        *(("I", 0), ("I", 0)),
    )


def head_record(byteorder: str, strp: str) -> bytes:
    fields = ("I", 0), (strp, 0x1B), ("I", 9), ("I", 1), b"x", ("I", 0), ("I", 0)
    return packed(byteorder, *fields)


def version_1_file(byteorder: str) -> bytes:
    header = packed(
        byteorder,
        *(("I", 0x4753594D), ("H", 1), ("B", 1), ("B", 7)),
        *(("Q", START - 0x10), ("I", 2), ("I", 0x50), ("I", 0x1F), UUID, bytes(13)),
    )
    tables = packed(
        byteorder,
        *(("B", 0), ("B", 0x10), bytes(2)),
        *(("I", 0x70), ("I", 0x8C)),
        *(("I", 2), ("I", 0), ("I", 0), ("I", 6), ("I", 12)),
    )
    records = head_record(byteorder, "I") + bytes(3) + work_record(byteorder, "I")
    return header + tables + STRINGS + bytes(1) + records


def version_2_file(byteorder: str) -> bytes:
    records = head_record(byteorder, "Q") + bytes(3) + work_record(byteorder, "Q")
    directory = [
        *((6, 160, 7), (1, 167, 2), (2, 176, 16), (4, 192, 36), (3, 228, 0x1F)),
        *((5, 260, len(records)), (0, 0, 0)),
    ]
    return packed(
        byteorder,
        *(("I", 0x4753594D), ("H", 2), ("B", 1), ("B", 0)),
        *(("Q", START - 0x10), ("I", 2)),
        *(
            field
            for kind, at, size in directory
            for field in (("I", kind), ("Q", at), ("Q", size))
        ),
        *(UUID, ("B", 0), ("B", 0x10), bytes(7)),
        *(("Q", 0), ("Q", 32)),
        *(("I", 2), ("Q", 0), ("Q", 0), ("Q", 6), ("Q", 12)),
        *(STRINGS, bytes(1), records),
    )


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_file_is_what_the_format_description_says(
    version: int, byteorder: str
) -> None:
    expected = (version_1_file if version == 1 else version_2_file)(byteorder)
    made = create([WORK, HEAD], version=version, byteorder=byteorder, uuid=UUID)
    assert made.hex(" ") == expected.hex(" ")
    assert oracle.encode_file(oracle.decode_file(expected)) == expected


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
@pytest.mark.parametrize("capacity", [1, 7, 64, 1 << 16])
def test_a_file_is_read_out_in_pieces_of_any_size(
    version: int, byteorder: str, capacity: int
) -> None:
    whole = create([WORK, HEAD], version=version, byteorder=byteorder)
    with Creator(version=version, byteorder=byteorder) as creator:
        creator.add(WORK)
        creator.add(HEAD)
        handle = handle_of(creator)
        finish(handle)
        piece, size, error = bytearray(capacity), ffi.new("size_t *"), new_error()
        target = ffi.from_buffer("uint8_t[]", piece)
        pieces = b""
        while True:
            status = lib.gsym_creator_read(handle, target, capacity, size, error)
            check(status, error)
            if size[0] == 0:
                break
            pieces += piece[: size[0]]
    assert pieces == whole


@pytest.mark.parametrize(
    ("span", "width"),
    [
        (0, 1),
        (0xFF, 1),
        (0x100, 2),
        (0xFFFF, 2),
        (0x10000, 4),
        (U32_MAX, 4),
        (U32_MAX + 1, 8),
        (U64_MAX - 0x20, 8),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_address_offsets_are_as_narrow_as_the_last_start_allows(
    span: int, width: int, version: int
) -> None:
    functions = [FunctionInfo(0x10, 4, "a"), FunctionInfo(0x10 + span, 4, "z")]
    data = create(functions[-1:] if span == 0 else functions, version=version)
    file = oracle.decode_file(data)
    assert file.addr_off_size == width
    assert file.functions[-1].start == 0x10 + span
    assert oracle.encode_file(file) == data


def test_offsets_count_from_the_base_address_that_was_asked_for() -> None:
    file = oracle.decode_file(create([WORK], base_address=0x400000))
    assert file.base_address == 0x400000
    assert file.addr_off_size == 2
    assert file.functions[0].start == START


def test_a_function_below_the_base_address_is_refused() -> None:
    with pytest.raises(ValueError, match=r"0x401000 is below the base address 0x401001"):
        create([WORK], base_address=START + 1)


@pytest.mark.parametrize(
    ("version", "size", "fits"),
    [(1, 0, True), (1, 20, True), (1, 21, False), (2, 21, True), (2, 300, True)],
)
def test_a_uuid_may_be_as_long_as_the_version_allows(
    version: int, size: int, fits: bool
) -> None:
    uuid = bytes(range(1, 251))[:size].ljust(size, b"u")
    if fits:
        assert oracle.decode_file(create([WORK], version=version, uuid=uuid)).uuid == uuid
    else:
        with pytest.raises(LimitError, match="--output-version 2"):
            create([WORK], version=version, uuid=uuid)


@pytest.mark.parametrize("options", [{"version": 0}, {"version": 3}, {"byteorder": "le"}])
def test_an_unknown_version_or_byte_order_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"version|byte order"):
        Creator(**options)


# ---- what is refused ---------------------------------------------------------------


def with_inline(*children: InlineInfo) -> FunctionInfo:
    root = InlineInfo("f", "", 0, (Range(0x10, 0x20),), children)
    return FunctionInfo(0x10, 0x10, "f", None, root)


REFUSED = {
    "a name is missing": FunctionInfo(0x10, 4, ""),
    "NUL in a name": FunctionInfo(0x10, 4, "a\0b"),
    "NUL in a path": FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "/a\0/b.c", 1),)),
    "rows go down": FunctionInfo(
        0x10, 4, "f", (LineEntry(0x12, "a.c", 1), LineEntry(0x11, "a.c", 2))
    ),
    "a row is below the start": FunctionInfo(
        0x10, 4, "f", (LineEntry(0xF, "a.c", 1),)
    ),
    "a row is above all addresses": FunctionInfo(
        0x10, 4, "f", (LineEntry(2**64, "a.c", 1),)
    ),
    "a line is negative": FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "a.c", -1),)),
    "a line exceeds 32 bits": FunctionInfo(
        0x10, 4, "f", (LineEntry(0x10, "a.c", 2**32),)
    ),
    "an address is negative": FunctionInfo(-1, 4, "f"),
    "a function runs past the last address": FunctionInfo(U64_MAX, 2, "f"),
    "a call lies outside of its caller": with_inline(
        InlineInfo("g", "a.c", 1, (Range(0x1F, 0x21),))
    ),
    "a call has no range": with_inline(InlineInfo("g", "a.c", 1, ())),
    "a merged function holds merged ones": FunctionInfo(
        0x10,
        4,
        "f",
        merged=(FunctionInfo(0x10, 4, "g", merged=(FunctionInfo(0x10, 4, "h"),)),),
    ),
    "a merged function starts elsewhere": FunctionInfo(
        0x10, 4, "f", merged=(FunctionInfo(0x11, 4, "g"),)
    ),
    **{
        f"an extra of type {kind}": FunctionInfo(0x10, 4, "f", extra={kind: b"x"})
        for kind in (-1, 0, 1, 2, 3, 4, 2**32)
    },
}


@pytest.mark.parametrize("function", REFUSED.values(), ids=REFUSED.keys())
def test_a_function_that_contradicts_itself_is_refused_and_leaves_no_trace(
    function: FunctionInfo,
) -> None:
    with Creator() as creator:
        with pytest.raises(ValueError, match=r"."):
            creator.add(function)
        creator.add(WORK)
        assert decoded(creator.to_bytes()) == [WORK]


@pytest.mark.parametrize("version", [1, 2])
def test_a_function_of_4_gib_is_refused(version: int) -> None:
    assert decoded(create([FunctionInfo(0, U32_MAX, "f")], version=version))[0].size == (
        U32_MAX
    )
    with pytest.raises(LimitError, match="size 0x100000000"):
        create([FunctionInfo(0, U32_MAX + 1, "f")], version=version)


def test_a_file_without_functions_is_refused() -> None:
    with pytest.raises(EmptyError, match="no functions to encode"):
        create([])


def test_the_last_address_may_be_covered() -> None:
    function = FunctionInfo(U64_MAX - 3, 4, "f", (LineEntry(U64_MAX, "a.c", 1),))
    assert decoded(create([function])) == [function]


# ---- paths ----------------------------------------------------------------------

PATHS = {
    "a.c": ("", "a.c"),
    "/src/a.c": ("/src", "a.c"),
    "src/a.c": ("src", "a.c"),
    "/r.c": ("", "/r.c"),
    "/": ("", "/"),
    "//": ("", "//"),
    "//r.c": ("/", "r.c"),
    "//net/n.c": ("//net", "n.c"),
    "/d//e.c": ("/d/", "e.c"),
    "t/": ("", "t/"),
    "/t/u/": ("", "/t/u/"),
    "..": ("", ".."),
    "../a.c": ("..", "a.c"),
    "a/./b/../c.c": ("a/./b/..", "c.c"),
    "C:\\x": ("", "C:\\x"),
    "C:\\src\\a.c": ("", "C:\\src\\a.c"),
    "C:\\src/a.c": ("", "C:\\src/a.c"),
    "C:/src/a.c": ("C:/src", "a.c"),
    "C:/s\\t/a.c": ("C:/s\\t", "a.c"),
    "/s/a\\b.c": ("/s", "a\\b.c"),
    "hg:host/repo:dir/a.c:0f3": ("hg:host/repo:dir", "a.c:0f3"),
    "<built-in>": ("", "<built-in>"),
    " ": ("", " "),
    "/\udcff/\N{SNOWMAN}": ("/\udcff", "\N{SNOWMAN}"),
}


@pytest.mark.parametrize(("path", "parts"), PATHS.items(), ids=map(ascii, PATHS))
def test_a_path_is_split_only_where_joining_restores_it(
    path: str, parts: tuple[str, str]
) -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, path, 1),))
    file = oracle.decode_file(create([function]))
    stored = tuple(text(file.string(strp)) for strp in file.files[1])
    assert stored == parts
    assert join_path(*stored) == path


@given(st.text(st.sampled_from("ab/\\:. "), min_size=1, max_size=12))
def test_any_path_comes_out_as_it_went_in(path: str) -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, path, 1),))
    assert decoded(create([function])) == [function]


def test_the_empty_path_is_no_file() -> None:
    function = FunctionInfo(0x10, 4, "f", (LineEntry(0x10, "", 1),))
    file = oracle.decode_file(create([function]))
    assert file.files == ((0, 0),)
    assert file.functions[0].line_table == (oracle.LineRow(0x10, 0, 1),)


# ---- strings and files ------------------------------------------------------------


def test_equal_strings_and_files_are_stored_once_in_order_of_first_use() -> None:
    rows = tuple(
        LineEntry(0x10 + at, path, at)
        for at, path in enumerate(["/s/b.c", "/s/a.c", "/s/b.c", "/t/b.c", "f"])
    )
    file = oracle.decode_file(create([FunctionInfo(0x10, 8, "f", rows)]))
    assert file.strings == b"\0f\0/s\0b.c\0a.c\0/t\0"
    assert [
        tuple(file.string(strp).decode() for strp in entry) for entry in file.files
    ] == [("", ""), ("/s", "b.c"), ("/s", "a.c"), ("/t", "b.c"), ("", "f")]
    assert [row.file for row in file.functions[0].line_table or ()] == [1, 2, 1, 3, 4]


def test_tables_stay_right_while_they_grow() -> None:
    count = 20_000
    functions = [
        FunctionInfo(16 * i, 16, f"f{i}" * (1 + i % 9), (LineEntry(16 * i, f"/{i % 5000}/{i}.c", i),))
        for i in range(count)
    ]
    assert decoded(create(functions)) == functions


# ---- which function is kept -------------------------------------------------------


def handle_of(creator: Creator) -> Any:  # noqa: ANN401
    """The engine's creator: symbols of a symbol table have no way in from Python."""
    return creator._handle  # noqa: SLF001


def finish(handle: Any) -> Any:  # noqa: ANN401
    report, error = ffi.new("gsym_creator_report *"), new_error()
    check(lib.gsym_creator_finish(handle, report, error), error)
    return report


def add_symbol(creator: Creator, symbol: FunctionInfo) -> None:
    handle, error = handle_of(creator), new_error()
    strp, raw = ffi.new("uint64_t *"), symbol.name.encode()
    check(lib.gsym_creator_add_string(handle, raw, len(raw), strp, error), error)
    function = ffi.new("gsym_function *")
    function.address, function.size = symbol.address, symbol.size
    function.name = strp[0]
    origin = lib.GSYM_ORIGIN_SYMBOL_TABLE
    check(lib.gsym_creator_add_function(handle, function, origin, error), error)


def merge(creator: Creator) -> None:
    error = new_error()
    check(lib.gsym_creator_merge_functions(handle_of(creator), error), error)


def keep(
    functions: Iterable[FunctionInfo],
    symbols: Iterable[FunctionInfo] = (),
    *,
    is_merging: bool = False,
    **options: Any,  # noqa: ANN401
) -> tuple[list[FunctionInfo], Any]:
    """What is left of functions and symbols, and the report."""
    with Creator(**options) as creator:
        for function in functions:
            creator.add(function)
        if is_merging:
            merge(creator)
        for symbol in symbols:
            add_symbol(creator, symbol)
        return decoded(creator.to_bytes()), creator.report


def lines(name: str, *rows: tuple[int, int], size: int = 0x20) -> FunctionInfo:
    table = tuple(LineEntry(0x100 + at, "a.c", line) for at, line in rows)
    return FunctionInfo(0x100, size, name, table or None)


def inlines(name: str, count: int, *rows: tuple[int, int]) -> FunctionInfo:
    """A function with *count* nodes below the root; 0: the root alone."""
    whole = (Range(0x100, 0x120),)
    calls = tuple(InlineInfo(f"g{i}", "a.c", i, whole) for i in range(count))
    return lines(name, *rows)._replace(inline=InlineInfo(name, "", 0, whole, calls))


# Functions of one range, each richer than all before it.
BY_RICHNESS = [
    lines("bare"),
    lines("site")._replace(call_sites=(CallSite(4, 0, ("g",)),)),
    lines("one row", (0, 1)),
    lines("two rows", (0, 1), (4, 2)),
    lines("two rows, the second further on", (0, 1), (5, 2)),
    lines("two rows, both further on", (2, 1), (3, 2)),
    lines("three rows", (0, 1), (1, 2), (2, 3)),
    inlines("root", 0),
    inlines("call", 1),
    inlines("calls", 2),
]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("richer", range(1, len(BY_RICHNESS)))
def test_the_richer_of_two_equal_ranges_is_kept(richer: int, version: int) -> None:
    best = BY_RICHNESS[richer]
    for poorer in BY_RICHNESS[:richer]:
        for order in permutations([poorer, best]):
            kept, report = keep(order, version=version)
            assert kept == [best], poorer.name
            assert report.functions_pruned == 1
            assert report.duplicates_different == (poorer.name != "bare")


def test_the_richest_of_many_is_kept_whatever_their_order() -> None:
    for shift in range(len(BY_RICHNESS)):
        turned = BY_RICHNESS[shift:] + BY_RICHNESS[:shift]
        assert keep(turned)[0] == [BY_RICHNESS[-1]]
        assert keep(reversed(turned))[0] == [BY_RICHNESS[-1]]


def test_inlined_calls_weigh_more_than_rows() -> None:
    calls, rows = inlines("calls", 1), lines("rows", *((i, i) for i in range(9)))
    for order in permutations([calls, rows]):
        assert keep(order)[0] == [calls]


def test_rows_decide_where_inlined_calls_are_equal() -> None:
    few = inlines("f", 2, (0, 1))
    many = inlines("f", 2, (0, 1), (4, 2))
    for order in permutations([few, many]):
        assert keep(order)[0] == [many]


def test_rows_do_not_decide_between_different_trees_of_one_size() -> None:
    many = inlines("f", 2, (0, 1), (4, 2))
    few = inlines("other", 2, (0, 1))
    assert keep([many, few])[0] == [few]
    assert keep([few, many])[0] == [many]


def test_lines_and_files_do_not_decide_between_rows() -> None:
    one, other = lines("f", (0, 1), (4, 9)), lines("f", (0, 7), (4, 2))
    assert keep([one, other])[0] == [other]
    assert keep([other, one])[0] == [one]


def test_equal_content_is_no_difference() -> None:
    kept, report = keep([WORK, WORK, WORK])
    assert kept == [WORK]
    assert (report.duplicates_different, report.functions_pruned) == (0, 2)


def test_of_bare_functions_the_last_is_kept() -> None:
    names = ["a", "b", "c"]
    kept, report = keep(FunctionInfo(0x10, 4, name) for name in names)
    assert kept == [FunctionInfo(0x10, 4, "c")]
    assert report.duplicates_different == 0


def test_of_equal_symbols_the_last_is_kept_and_beats_a_bare_function() -> None:
    symbols = [FunctionInfo(0x10, 4, name) for name in ("b", "c")]
    assert keep([FunctionInfo(0x10, 4, "a")], symbols)[0] == symbols[1:]


def test_an_empty_function_yields_to_a_range_with_its_start() -> None:
    empty, whole = FunctionInfo(0x10, 0, "label"), FunctionInfo(0x10, 4, "f")
    after = FunctionInfo(0x20, 0, "g")
    for order in permutations([empty, whole, after]):
        kept, report = keep(order)
        assert kept == [whole, after]
        assert report.overlapping == 0
    assert keep([whole], [empty])[0] == [whole]


def test_other_functions_that_overlap_are_all_kept_and_counted() -> None:
    functions = [
        FunctionInfo(0x10, 0x10, "short"),
        FunctionInfo(0x10, 0x20, "long"),
        FunctionInfo(0x18, 4, "inside"),
        FunctionInfo(0x1A, 0, "empty inside"),
        FunctionInfo(0x1C, 4, "behind inside"),
        FunctionInfo(0x20, 4, "adjacent"),
    ]
    kept, report = keep(functions)
    assert kept == functions
    assert report.overlapping == 3


# ---- symbols ----------------------------------------------------------------------

DEBUG = lines("f", (0, 1))  # [0x100, 0x120)

INSIDE = {
    "at its start, shorter": (0x100, 0x10, True),
    "within": (0x104, 4, False),
    "up to its end": (0x110, 0x10, False),
    "past its end": (0x110, 0x11, True),
    "empty": (0x110, 0, False),
    "empty at its last byte": (0x11F, 0, False),
    "empty at its end": (0x120, 0, True),
    "behind": (0x120, 4, True),
    "around": (0xF0, 0x80, True),
}


@pytest.mark.parametrize(("start", "size", "is_kept"), INSIDE.values(), ids=INSIDE)
def test_a_symbol_inside_a_function_of_the_debug_information_is_dropped(
    start: int, size: int, is_kept: bool
) -> None:
    symbol = FunctionInfo(start, size, "symbol")
    kept, report = keep([DEBUG], [symbol])
    assert set(kept) == ({DEBUG, symbol} if is_kept else {DEBUG})
    assert report.functions_pruned == (0 if is_kept else 1)
    assert (report.functions_debug_info, report.functions_symbol_table) == (1, 1)


def test_a_symbol_inside_of_another_symbol_is_kept() -> None:
    symbols = [FunctionInfo(0x10, 0x20, "outer"), FunctionInfo(0x18, 4, "inner")]
    assert keep([], symbols)[0] == symbols


def test_an_earlier_long_function_covers_symbols_behind_a_later_short_one() -> None:
    functions = [FunctionInfo(0x10, 0x40, "long"), FunctionInfo(0x18, 4, "short")]
    assert keep(functions, [FunctionInfo(0x20, 4, "symbol")])[0] == functions


def test_an_empty_function_of_the_debug_information_covers_nothing() -> None:
    empty, symbol = FunctionInfo(0x10, 0, "empty"), FunctionInfo(0x11, 4, "symbol")
    assert keep([empty], [symbol])[0] == [empty, symbol]


def test_a_symbol_at_address_0_is_kept() -> None:
    symbols = [FunctionInfo(0, 0, "zero"), FunctionInfo(1, 1, "one")]
    assert keep([], symbols)[0] == symbols


def test_a_bare_function_keeps_its_place_when_a_symbol_names_it() -> None:
    outer = FunctionInfo(0x10, 0x40, "outer")
    bare, symbol = FunctionInfo(0x20, 4, "bare"), FunctionInfo(0x20, 4, "symbol")
    assert keep([outer, bare], [symbol])[0] == [outer, symbol]


RENAMES = {
    ("foo", "_Z3foov"): "_Z3foov",
    ("foo", "_ZN1a3fooEi"): "_ZN1a3fooEi",
    ("foo", "$s1m3fooyyF"): "$s1m3fooyyF",
    ("foo", "$S1m3fooyyF"): "$S1m3fooyyF",
    ("foo", "foo"): "foo",
    ("foo", "__foo"): "foo",
    ("foo", "_Z3barv"): "foo",
    ("foo", "_Z4foo2v"): "foo",
    ("a::foo", "_ZN1a3fooEi"): "a::foo",
    ("_Z3foov", "_ZN1a7_Z3foovEi"): "_Z3foov",
    ("$s3foo", "_Z6$s3foov"): "$s3foo",
}


@pytest.mark.parametrize(("names", "expected"), RENAMES.items(), ids=map(str, RENAMES))
@pytest.mark.parametrize("version", [1, 2])
def test_a_mangled_name_of_the_symbol_table_moves_to_the_function(
    names: tuple[str, str], expected: str, version: int
) -> None:
    function = lines(names[0], (0, 1))
    kept, _ = keep([function], [lines(names[1])], version=version)
    assert kept == [function._replace(name=expected)]


def test_the_last_mangled_name_that_fits_is_taken() -> None:
    symbols = [lines(name) for name in ("_ZN3fooC1Ev", "_ZN3fooC2Ev", "alias")]
    (kept,), _ = keep([lines("foo", (0, 1))], symbols)
    assert kept.name == "_ZN3fooC2Ev"


# ---- the rules once more, said another way ---------------------------------------


def richness(function: FunctionInfo) -> tuple[int, int]:
    """Enough for the functions made below: distinct pairs, no call sites."""
    calls = -1 if function.inline is None else len(function.inline.children)
    return calls, len(function.line_table or ())


def kept_by_the_rules(
    functions: list[FunctionInfo], symbols: list[FunctionInfo]
) -> list[FunctionInfo]:
    """Every rule applied to every pair."""
    best: dict[tuple[int, int], FunctionInfo] = {}
    for info in (*functions, *symbols):
        key = info.address, info.size
        if key not in best or richness(info) >= richness(best[key]):
            best[key] = info
    described = {(info.address, info.size) for info in functions}
    ranges = [
        (start, size)
        for start, size in best
        if size or not any(other == start and more for other, more in best)
    ]
    return [
        best[start, size]
        for start, size in sorted(ranges)
        if (start, size) in described
        or not any(
            other < start < other + more and start + size <= other + more
            for other, more in described
        )
    ]


def some_function(
    address: int, size: int, calls: int, rows: int, number: int
) -> FunctionInfo:
    whole = (Range(address, address + size),)
    table = tuple(LineEntry(address, "a.c", i) for i in range(rows))
    tree = tuple(InlineInfo("g", "a.c", 1, whole) for _ in range(calls))
    return FunctionInfo(
        address,
        size,
        f"f{number}",
        table or None,
        InlineInfo("f", "", 0, whole, tree) if calls and size else None,
    )


_starts, _lengths, _few = st.integers(0, 12), st.integers(0, 8), st.integers(0, 2)


@given(
    st.lists(st.tuples(_starts, _lengths, _few, _few), max_size=12),
    st.lists(st.tuples(_starts, _lengths), max_size=12),
)
def test_what_is_kept_follows_from_the_rules_for_pairs(
    functions: list[tuple[int, int, int, int]], symbols: list[tuple[int, int]]
) -> None:
    infos = [some_function(*shape, i) for i, shape in enumerate(functions)]
    names = [FunctionInfo(*place, f"s{i}") for i, place in enumerate(symbols)]
    if not infos and not names:
        return
    kept, report = keep(infos, names)
    assert kept == kept_by_the_rules(infos, names)
    assert report.functions == len(kept)
    assert report.functions_pruned == len(infos) + len(names) - len(kept)
    assert report.functions_with_lines == sum(
        info.line_table is not None for info in kept
    )


# ---- merged functions --------------------------------------------------------------


@pytest.mark.parametrize(("version", "byteorder"), KINDS)
def test_functions_of_one_range_become_children_of_the_poorest(
    version: int, byteorder: str
) -> None:
    other = FunctionInfo(0x200, 8, "other")
    added = [*reversed(BY_RICHNESS), other]
    kept, report = keep(added, is_merging=True, version=version, byteorder=byteorder)
    site, bare, *rest = BY_RICHNESS[1], BY_RICHNESS[0], *BY_RICHNESS[2:]
    # Call sites do not count here, so the order of these two is that of adding.
    assert kept == [site._replace(merged=(bare, *rest)), other]
    assert report.functions_merged == len(BY_RICHNESS) - 1
    assert report.functions_pruned == 0


def test_a_symbol_of_the_same_range_does_not_replace_merged_functions() -> None:
    one, two = FunctionInfo(0x10, 4, "one"), FunctionInfo(0x10, 4, "two")
    kept, report = keep([one, two], [FunctionInfo(0x10, 4, "sym")], is_merging=True)
    assert kept == [one._replace(merged=(two,))]
    assert (report.functions_merged, report.functions_pruned) == (1, 1)


def test_a_child_equal_to_the_child_before_it_is_left_out() -> None:
    one, two = FunctionInfo(0x10, 4, "one"), FunctionInfo(0x10, 4, "two")
    kept, report = keep([one, one, one, two, two, one], is_merging=True)
    assert kept == [one._replace(merged=(one, two, one))]
    assert report.functions_merged == 5


def test_merged_functions_stand_between_inline_info_and_call_sites() -> None:
    sites = (CallSite(4, 2, ("g",)),)
    parent = inlines("parent", 1)._replace(call_sites=sites, extra={9: b"nine"})
    child = inlines("child", 2)
    (kept,), _ = keep([parent, child], is_merging=True)
    assert kept == parent._replace(merged=(child,))
    record = create([kept])
    at = [record.index(struct.pack("<I", kind), 0x60) for kind in (2, 3)]
    assert at == sorted(at)
    assert create([parent._replace(merged=(child,))]) == record


def test_children_of_children_become_siblings() -> None:
    one, two, three, four = (FunctionInfo(0x10, 4, name) for name in "abcd")
    first, second = one._replace(merged=(two,)), three._replace(merged=(four,))
    kept, report = keep([first, second], is_merging=True)
    assert kept == [one._replace(merged=(two, three, four))]
    assert report.functions_merged == 1


def test_merging_leaves_different_ranges_alone() -> None:
    functions = [FunctionInfo(0x10, size, f"f{size}") for size in (4, 5, 6)]
    kept, report = keep(reversed(functions), is_merging=True)
    assert kept == functions
    assert report.functions_merged == 0


def test_thousands_of_equal_ranges_are_merged_and_pruned_in_no_time() -> None:
    names = [FunctionInfo(0x10, 4, f"f{i}") for i in range(20_000)]
    assert keep(names)[0] == names[-1:]
    (kept,), _ = keep(names, is_merging=True)
    assert [child.name for child in kept.merged] == [info.name for info in names[1:]]


# ---- the creator's life ---------------------------------------------------------------


@pytest.mark.parametrize(
    "use",
    [
        lambda creator: creator.add(WORK),
        lambda creator: creator.to_bytes(),
        lambda creator: creator.save("/nowhere"),
    ],
)
def test_a_creator_is_used_up_once_its_file_is_made(use: Any) -> None:  # noqa: ANN401
    with Creator() as creator:
        creator.add(WORK)
        assert creator.report is None
        creator.to_bytes()
        assert creator.report is not None
        assert creator.report.functions == 1
        with pytest.raises(ClosedError):
            use(creator)


def test_a_creator_is_closed_by_its_block() -> None:
    with Creator() as creator:
        creator.add(WORK)
    with pytest.raises(ClosedError):
        creator.to_bytes()
    creator.close()


def test_the_report_counts_what_the_file_holds() -> None:
    with Creator(version=2) as creator:
        for function in (WORK, HEAD, HEAD):
            creator.add(function)
        data = creator.to_bytes()
        report = creator.report
    file = oracle.decode_file(data)
    assert report is not None
    assert report._asdict() == {
        "functions_debug_info": 3,
        "functions_symbol_table": 0,
        "functions_merged": 0,
        "functions_pruned": 1,
        "functions": 2,
        "functions_with_lines": 1,
        "functions_with_inlines": 1,
        "duplicates_different": 0,
        "overlapping": 0,
        "strings": file.strings.count(b"\0"),
        "files": len(file.files),
        "file_size": len(data),
    }


def test_pieces_of_a_finished_file_are_about_a_megabyte() -> None:
    blob = bytes(range(256)) * (1 << 12)
    with Creator() as creator:
        for start in range(3):
            creator.add(FunctionInfo(start, 1, f"f{start}", extra={7: blob}))
        finish(handle_of(creator))
        sizes = [len(piece) for piece in iter_finished(handle_of(creator))]
    assert sizes[:-1] == [1 << 20] * 3
    assert 0 < sizes[-1] < 1 << 20


# ---- LLVM reads what we write ---------------------------------------------------------


def test_llvm_reads_a_version_1_file(llvm_gsymutil: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gsym"
    for byteorder in ("little", "big"):
        path.write_bytes(create([WORK, HEAD], byteorder=byteorder, uuid=UUID))
        dump = run(llvm_gsymutil, str(path))
        assert '[0x0000000000401000 - 0x0000000000401030) "work"' in dump
        assert "0x0000000000401013 /a/bc/inlined.c:4" in dump
        assert "leaf called from /a/bc/inlined.c:4" in dump
        answer = run(llvm_gsymutil, "--address=0x401007", str(path))
        assert "leaf + 1 @ /a/bc/inlined.c:3 [inlined]" in answer
        assert "work + 7 @ /a/bc/inlined.c:4" in answer


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


# ---- real files ----------------------------------------------------------------------


def test_real_files_are_written_again_byte_for_byte(gsym_fixtures: Path) -> None:
    """Functions added in the order in which their names came into the file."""
    paths = sorted(gsym_fixtures.glob("*.gsym"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        file = oracle.decode_file(data)
        order = sorted(
            zip(file.functions, decoded(data), strict=True), key=lambda pair: pair[0].name
        )
        again = create(
            [info for _, info in order],
            version=file.version,
            byteorder=file.byteorder,
            base_address=file.base_address,
            uuid=file.uuid,
        )
        assert decoded(again) == decoded(data), path.name
        print(path.name, again == data, len(again), len(data))
