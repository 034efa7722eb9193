"""Which of several functions is kept, and what becomes of the others."""

from __future__ import annotations

import struct
from dataclasses import replace
from itertools import permutations, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.model import CallSite, FunctionInfo, InlineInfo, LineEntry, Range
from tests.conversions import convert_bytes
from tests.creations import create, keep
from tests.inputs.elf import FUNC, NOTYPE, Elf, Symbol, code_section
from tests.strategies import BYTE_ORDERS, VERSIONS

if TYPE_CHECKING:
    from pathlib import Path

KINDS = [(version, order) for version in VERSIONS for order in BYTE_ORDERS]


# ---- which function is kept -----------------------------------------------------


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
    inlines("call", 1),
    inlines("calls", 2),
]


@pytest.mark.parametrize("richer", range(1, len(BY_RICHNESS)))
def test_the_richer_of_two_equal_ranges_is_kept(richer: int) -> None:
    best = BY_RICHNESS[richer]
    for poorer in BY_RICHNESS[:richer]:
        for version, order in product(VERSIONS, permutations([poorer, best])):
            kept, report = keep(order, version=version)
            assert kept == [best], poorer.name
            assert report.functions_pruned == 1
            assert report.duplicates_different == (poorer.name != "bare")


def test_lines_and_files_do_not_decide_between_rows() -> None:
    one, other = lines("f", (0, 1), (4, 9)), lines("f", (0, 7), (4, 2))
    assert keep([one, other])[0] == [other]
    assert keep([other, one])[0] == [one]


def test_equal_content_is_no_difference() -> None:
    function = inlines("f", 2, (0, 1), (4, 2))
    kept, report = keep([function] * 3)
    assert kept == [function]
    assert (report.duplicates_different, report.functions_pruned) == (0, 2)


def test_of_equal_symbols_the_last_is_kept_and_yields_to_a_bare_function() -> None:
    symbols = [FunctionInfo(0x10, 4, name) for name in ("b", "c")]
    function = FunctionInfo(0x10, 4, "a")
    assert keep([], symbols)[0] == symbols[1:]
    assert keep([function], symbols)[0] == [function]


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


# ---- symbols --------------------------------------------------------------------

DEBUG = lines("f", (0, 1))  # [0x100, 0x120)

INSIDE = {
    "at its start, shorter": (0x100, 0x10, False),
    "at its start, longer": (0x100, 0x30, True),
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
    start: int, size: int, *, is_kept: bool
) -> None:
    symbol = FunctionInfo(start, size, "symbol")
    kept, report = keep([DEBUG], [symbol])
    assert DEBUG in kept
    assert (symbol in kept) == is_kept
    assert len(kept) == 1 + is_kept
    assert report.functions_pruned == (0 if is_kept else 1)
    assert (report.functions_debug_info, report.functions_symbol_table) == (1, 1)


def test_a_symbol_inside_of_another_symbol_is_kept() -> None:
    symbols = [FunctionInfo(0x10, 0x20, "outer"), FunctionInfo(0x18, 4, "inner")]
    assert keep([], symbols)[0] == symbols


def test_an_empty_function_of_the_debug_information_covers_nothing() -> None:
    empty, symbol = FunctionInfo(0x10, 0, "empty"), FunctionInfo(0x11, 4, "symbol")
    assert keep([empty], [symbol])[0] == [empty, symbol]


def test_a_symbol_does_not_rename_a_function_that_was_given_a_name() -> None:
    function = lines("foo", (0, 1))
    assert keep([function], [lines("_Z3foov")])[0] == [function]


# ---- symbols without a type -------------------------------------------------------

# Code at [1000, 1010), and a label at 1080.
OTHERS = (Symbol("f", 0x1000, 0x10), Symbol("label", 0x1080, 0), Symbol("g", 0x1100, 8))

LABELS = {
    "at the start": (0x1000, False),
    "within": (0x1004, False),
    "at the last byte": (0x100F, False),
    "after": (0x1010, True),
    "around": (0xFFF, True),
    "at an empty symbol": (0x1080, False),
    "after an empty symbol": (0x1081, True),
}
SIZED = {
    "the same range": (0x1000, 0x10),
    "the same start, longer": (0x1000, 0x40),
    "within": (0x1004, 4),
    "from within past the end": (0x100F, 0x40),
    "at an empty symbol": (0x1080, 4),
}


def convert_symbols(folder: Path, *symbols: Symbol) -> dict[str, tuple[int, int]]:
    """{name: (start, size)} of what is kept of the symbols of a program."""
    image = Elf([code_section(0xF00)], symbols=symbols).to_bytes()
    kept: dict[str, tuple[int, int]] = {}
    for info in convert_bytes(folder, image).functions:
        kept.setdefault(info.name, (info.start, info.size))
    return kept


@pytest.mark.parametrize(("start", "is_kept"), LABELS.values(), ids=LABELS)
def test_a_symbol_without_a_type_and_a_size_yields_to_every_function(
    tmp_path: Path, start: int, *, is_kept: bool
) -> None:
    label = Symbol("bare", start, 0, NOTYPE)
    for symbols in permutations((*OTHERS, label)):
        kept = convert_symbols(tmp_path, *symbols)
        assert ("bare" in kept) == is_kept
        assert [name for name in kept if name != "bare"] == ["f", "label", "g"]


@pytest.mark.parametrize(("start", "size"), SIZED.values(), ids=SIZED)
def test_a_symbol_with_a_size_needs_no_type(
    tmp_path: Path, start: int, size: int
) -> None:
    """Of one range the symbol with a type counts."""
    for symbols in permutations((*OTHERS, Symbol("other", start, size, NOTYPE))):
        typed = [replace(each, kind=FUNC) for each in symbols]
        is_shared = (start, size) == (0x1000, 0x10)
        expected = convert_symbols(tmp_path, *(OTHERS if is_shared else typed))
        assert convert_symbols(tmp_path, *symbols) == expected


def test_symbols_without_a_type_yield_to_each_other(tmp_path: Path) -> None:
    kept = convert_symbols(
        tmp_path,
        Symbol("start", 0x1000, 0, NOTYPE),
        Symbol("whole", 0x1000, 0x20, NOTYPE),
        Symbol("within", 0x1010, 0, NOTYPE),
        Symbol("one", 0x1040, 8, NOTYPE),
        Symbol("other", 0x1040, 8, NOTYPE),
        Symbol("label", 0x1050, 0, NOTYPE),
        Symbol("next", 0x1051, 0, NOTYPE),
        Symbol("f", 0x1060, 8),
    )
    assert list(kept) == ["whole", "other", "label", "next", "f"]


@pytest.mark.parametrize(
    ("start", "size"), [(0x1004, 0xFC), (0x10FF, 1), (0x1200, 0x80), (0x127F, 1)]
)
def test_a_last_function_without_a_size_ends_where_its_section_does(
    tmp_path: Path, start: int, size: int
) -> None:
    sections = [
        code_section(0x1200, 0x80, ".text.late"),
        code_section(0x1000, 0x100, ".text.early"),
    ]
    symbols = [
        Symbol("first", 0x1000, 2, section=".text.early"),
        Symbol("last", start, 0, section=".text.early"),
    ]
    image = Elf(sections, symbols=symbols).to_bytes()
    *_, last = convert_bytes(tmp_path, image).functions
    assert (last.start, last.size) == (start, size)


# ---- the rules once more, said another way --------------------------------------


def richness(function: FunctionInfo) -> tuple[int, int]:
    """Enough for the functions made below: distinct pairs, no call sites."""
    calls = -1 if function.inline is None else len(function.inline.children)
    return calls, len(function.line_table or ())


def kept_by_the_rules(
    functions: list[FunctionInfo], symbols: list[FunctionInfo]
) -> list[FunctionInfo]:
    """Every rule applied to every pair."""
    best: dict[tuple[int, int], FunctionInfo] = {}
    for info in (*symbols, *functions):
        key = info.start, info.size
        if key not in best or richness(info) >= richness(best[key]):
            best[key] = info
    described = {(info.start, info.size) for info in functions}
    ranges = [
        (start, size)
        for start, size in best
        if (start, size) in described
        or not any(
            other <= start < other + more and start + size <= other + more
            for other, more in described
        )
    ]
    return [
        best[start, size]
        for start, size in sorted(ranges)
        if size or not any(other == start and more for other, more in ranges)
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
    assert report.functions - report.functions_continued == len(kept)
    assert report.functions_pruned == len(infos) + len(names) - len(kept)
    if not report.functions_continued:
        assert report.functions_with_lines == sum(
            info.line_table is not None for info in kept
        )


# ---- merged functions -----------------------------------------------------------


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


@pytest.mark.slow
def test_thousands_of_functions_of_one_start_are_pruned() -> None:
    functions = [FunctionInfo(0x10, size, "f") for size in range(2, 160_002, 2)]
    symbols = [FunctionInfo(0x10, size, "s") for size in (1, 3, 160_003)]
    kept, _ = keep(functions, symbols)
    assert kept == [*functions, symbols[-1]]


@pytest.mark.slow
def test_thousands_of_equal_ranges_are_merged_and_pruned() -> None:
    names = [FunctionInfo(0x10, 4, f"f{i}") for i in range(20_000)]
    assert keep(names)[0] == names[-1:]
    (kept,), _ = keep(names, is_merging=True)
    assert [child.name for child in kept.merged] == [info.name for info in names[1:]]
