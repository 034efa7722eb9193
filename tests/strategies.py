"""Random FunctionInfos, with the shapes that hurt a codec.

The functions of one list never overlap, so that a creator keeps all of them as they
are: what goes in must come out.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import strategies as st

import gsym
from tests.views import U64_MAX, smallest_width, to_oracle

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from tests import oracle
    from tests.inputs.encoding import ByteOrder

    Kind = TypeVar("Kind")

U32_MAX = 2**32 - 1


VERSIONS = (1, 2)
BYTE_ORDERS: tuple[ByteOrder, ...] = ("little", "big")

versions = st.sampled_from(VERSIONS)
byte_orders = st.sampled_from(BYTE_ORDERS)

ODD_PATHS = (
    "a.c",
    "/r.c",
    "/src/a.c",
    "/src/./sub/../b.h",
    "//net/n.c",
    "/d//e.c",
    "t/",
    "/",
    "..",
    "C:\\x",
    "C:\\src\\main.cpp",
    "C:\\mixed/slashes.c",
    "a/b\\c.c",
    "hg:hg.example.org/repo:src/f.cpp:0123abcd",
    "<built-in>",
    "/src/\N{GREEK SMALL LETTER ALPHA} b.c",
    "/latin1/\udce9t\udce9.c",
)

ODD_NAMES = (
    "main",
    "_ZN6shapes3Box4growEi",
    "operator new[](unsigned long)",
    "f.isra.0",
    "\N{SNOWMAN}",
    "not utf-8 \udcff\udc80",
    "x" * 300,
)

# Bytes that a file may hold: all but NUL.
_raw_text = st.binary(min_size=1, max_size=12).map(
    lambda raw: raw.replace(b"\0", b"0").decode("utf-8", "surrogateescape")
)
names = st.sampled_from(ODD_NAMES) | _raw_text
paths = st.sampled_from(ODD_PATHS) | _raw_text

# Line numbers round the limits of special opcodes and of LEB128 bytes.
_line_deltas = (
    st.integers(-16, 16)
    | st.sampled_from([-129, -128, -65, -64, 63, 64, 127, 128, 1000, -1000])
    | st.sampled_from([2**31 - 1, 2**31, -(2**31), U32_MAX, -U32_MAX])
)
_advances = (
    st.integers(0, 40) | st.sampled_from([127, 128, 255, 256, 4096]) | st.just(2**20)
)


@st.composite
def line_tables(
    draw: st.DrawFn, start: int, limit: int
) -> tuple[gsym.LineEntry, ...] | None:
    """Rows that ascend in start <= address <= limit, or no table."""
    files = draw(st.lists(paths | st.just(""), min_size=1, max_size=3))
    steps = draw(st.lists(st.tuples(_advances, _line_deltas), max_size=24))
    address, line = start, draw(st.integers(0, 60) | st.integers(0, U32_MAX))
    rows = []
    for advance, delta in steps:
        address = min(address + advance, limit)
        line = min(max(line + delta, 0), U32_MAX)
        rows.append(gsym.LineEntry(address, draw(st.sampled_from(files)), line))
    return tuple(rows) or None


@st.composite
def _ranges_inside(
    draw: st.DrawFn, parents: tuple[gsym.Range, ...]
) -> tuple[gsym.Range, ...]:
    """Sorted ranges, none touching the next, each inside one of *parents*."""
    ranges: list[gsym.Range] = []
    for parent in parents:
        bounds = draw(
            st.lists(
                st.sampled_from([parent.start, parent.end])
                | st.integers(parent.start, parent.end),
                unique=True,
                max_size=4,
            )
        )
        pairs = list(pairwise(sorted(bounds)))[::2]
        ranges += [gsym.Range(start, end) for start, end in pairs]
    if not ranges:
        return (parents[0],)
    return tuple(ranges)


@st.composite
def _inline_nodes(
    draw: st.DrawFn, parents: tuple[gsym.Range, ...], depth: int
) -> gsym.InlineInfo:
    ranges = draw(_ranges_inside(parents))
    children = draw(_inline_children(ranges, depth + 1))
    return gsym.InlineInfo(
        draw(names | st.just("")),
        draw(paths | st.just("")),
        draw(st.integers(0, 200) | st.just(U32_MAX)),
        ranges,
        children,
    )


def _inline_children(
    ranges: tuple[gsym.Range, ...], depth: int
) -> st.SearchStrategy[tuple[gsym.InlineInfo, ...]]:
    if depth > 4:
        return st.just(())
    nodes = st.deferred(lambda: _inline_nodes(ranges, depth))
    return st.lists(nodes, max_size=max(1, 4 - depth)).map(tuple)


@st.composite
def inline_infos(draw: st.DrawFn, start: int, size: int) -> gsym.InlineInfo:
    """A tree whose root is the function itself, at times oddly with a call site."""
    ranges = (gsym.Range(start, start + size),)
    children = draw(_inline_children(ranges, 1))
    call = draw(st.just(("", 0)) | st.tuples(paths, st.integers(0, 9)))
    if not children and not call[0]:
        call = ("a.c", 1)  # an empty root is left out
    return gsym.InlineInfo(draw(names | st.just("")), *call, ranges, children)


def call_sites(size: int) -> st.SearchStrategy[tuple[gsym.CallSite, ...]]:
    site = st.builds(
        gsym.CallSite,
        st.integers(0, max(size, 1)) | st.just(U64_MAX),
        st.integers(0, 3) | st.just(255),
        st.lists(names, max_size=3).map(tuple),
    )
    return st.lists(site, max_size=3).map(tuple)


extras = st.dictionaries(
    st.integers(5, 9) | st.just(U32_MAX), st.binary(max_size=9), max_size=2
)


@st.composite
def function_infos(
    draw: st.DrawFn, address: int, size: int, *, may_merge: bool = True
) -> gsym.FunctionInfo:
    """A function with any mix of InfoTypes at a given range."""
    limit = min(address + max(size, 1) - 1, U64_MAX)
    merged: tuple[gsym.FunctionInfo, ...] = ()
    if may_merge:
        child = function_infos(address, size, may_merge=False)
        merged = draw(st.just(()) | st.lists(child, max_size=2).map(tuple))
    return gsym.FunctionInfo(
        address,
        size,
        draw(names),
        draw(st.none() | line_tables(address, limit)),
        draw(st.none() | inline_infos(address, size)) if size else None,
        merged,
        draw(st.just(()) | call_sites(size)),
        draw(st.just({}) | extras),
    )


_gaps = st.integers(0, 20) | st.sampled_from([0x100, 0x10000, 2**32, 2**40])
_sizes = st.integers(0, 64) | st.sampled_from([255, 256, 2**20, U32_MAX])


@st.composite
def function_lists(draw: st.DrawFn, *, max_size: int = 6) -> list[gsym.FunctionInfo]:
    """Functions in ascending order that do not overlap."""
    address = first = draw(st.sampled_from([0, 1, 0x400000, 0xFFFF_FFFF_8000_0000]))
    functions = []
    for gap, size in draw(
        st.lists(st.tuples(_gaps, _sizes), min_size=1, max_size=max_size)
    ):
        address += gap
        if address + size > U64_MAX:
            break
        functions.append(draw(function_infos(address, size)))
        address += max(size, 1)
    return functions or [gsym.FunctionInfo(first, 1, "only")]


uuids = st.binary(max_size=20)


# ---- functions that a creator must refuse, most of them ----------------------------

# Most values are sound, or nearly all functions would be refused for their first one.
_EDGES = (-1, U32_MAX, 2**63, U64_MAX, 2**64)
_BAD_NAMES = ("", "a\0b", "\ud800")
_one_in_20 = st.integers(0, 19).map(lambda number: number == 13)
_wild_numbers = _one_in_20.flatmap(
    lambda wild: st.sampled_from(_EDGES) if wild else st.integers(0, 12)
)
_wild_names = _one_in_20.flatmap(
    lambda wild: st.sampled_from(_BAD_NAMES) if wild else names
)
_wild_ranges = st.lists(
    st.builds(gsym.Range, _wild_numbers, _wild_numbers), max_size=3
).map(tuple)
_wild_inlines = st.recursive(
    st.builds(gsym.InlineInfo, _wild_names, _wild_names, _wild_numbers, _wild_ranges),
    lambda children: st.builds(
        gsym.InlineInfo,
        *(_wild_names, _wild_names, _wild_numbers, _wild_ranges),
        st.lists(children, max_size=2).map(tuple),
    ),
    max_leaves=4,
)
_wild_rows = st.lists(
    st.builds(gsym.LineEntry, _wild_numbers, _wild_names, _wild_numbers), max_size=3
).map(tuple)
_wild_call_sites = st.lists(
    st.builds(
        gsym.CallSite,
        *(_wild_numbers, _wild_numbers),
        st.lists(_wild_names, max_size=2).map(tuple),
    ),
    max_size=2,
).map(tuple)


def _wild_functions(
    merged: st.SearchStrategy[tuple[gsym.FunctionInfo, ...]],
) -> st.SearchStrategy[gsym.FunctionInfo]:
    return st.builds(
        gsym.FunctionInfo,
        *(_wild_numbers, _wild_numbers, _wild_names),
        st.none() | _wild_rows,
        st.none() | _wild_inlines,
        merged,
        _wild_call_sites,
        st.dictionaries(_wild_numbers, st.binary(max_size=3), max_size=2),
    )


wild_function_infos = _wild_functions(
    st.lists(_wild_functions(st.just(())), max_size=2).map(tuple)
)


# ---- files as only the oracle writes them ------------------------------------------


@st.composite
def overlapping_lists(draw: st.DrawFn) -> list[gsym.FunctionInfo]:
    """Functions in ascending order that may start together and overlap."""
    base = draw(st.sampled_from([0, 0x400000, U64_MAX - 100]))
    extents = draw(
        st.lists(
            st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=5
        )
    )
    return [
        draw(function_infos(base + offset, size)) for offset, size in sorted(extents)
    ]


@st.composite
def odd_files(draw: st.DrawFn) -> oracle.GsymFile:
    """A file that is well formed, but whose parts do not fit each other."""
    functions = draw(function_lists(max_size=3) | overlapping_lists())
    file = to_oracle(functions, draw(versions), draw(byte_orders))
    below = draw(st.integers(0, min(file.base_address, 300)) | st.just(0))
    base = file.base_address - below
    narrowest = smallest_width(file.functions[-1].start - base)
    widths = [width for width in (1, 2, 4, 8) if width >= narrowest]
    ends = [index + 1 for index, byte in enumerate(file.strings) if byte == 0]
    return replace(
        file,
        base_address=base,
        addr_off_size=draw(st.sampled_from(widths)),
        files=file.files[: draw(st.integers(1, len(file.files)))],
        strings=file.strings[: draw(st.sampled_from(ends) | st.just(ends[-1]))],
    )


def builds(
    kind: Callable[..., Kind],
    *arguments: st.SearchStrategy[Any],
    **named: st.SearchStrategy[Any],
) -> st.SearchStrategy[Kind]:
    """Build records; `st.builds` would also fill fields that have defaults."""

    def build(*values: object, **fields: object) -> Kind:
        return kind(*values, **fields)

    return st.builds(build, *arguments, **named)
