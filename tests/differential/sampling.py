"""Choose random addresses inside the functions of GSYM files.

Reads the address table itself, so that the engine under test has no say in
which addresses it is asked for.
"""

from __future__ import annotations

import bisect
import itertools
import random
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_HEADER = "IHBBQIII20s"
_REACH_OF_EMPTY = 16
_RECORD_HEAD = "III"
_WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Function(NamedTuple):
    """Extent of a record; a bare one has neither lines nor inlined calls."""

    start: int
    end: int
    is_bare: bool


def functions(gsym: Path) -> list[Function]:
    """The functions of a version-1 file, by address."""
    data = gsym.read_bytes()
    order = "<" if data[:4] == b"MYSG" else ">"
    magic, version, width, _, base, count, *_ = struct.unpack_from(
        order + _HEADER, data
    )
    if (magic, version) != (0x4753594D, 1):
        raise ValueError(f"{gsym}: not a GSYM file of version 1")
    end = struct.calcsize(order + _HEADER)
    starts = struct.unpack_from(f"{order}{count}{_WIDTHS[width]}", data, end)
    table = (end + count * width + 3) & ~3
    records = struct.unpack_from(f"{order}{count}I", data, table)
    heads = (struct.unpack_from(order + _RECORD_HEAD, data, at) for at in records)
    return [
        Function(base + start, base + start + size, info_type == 0)
        for start, (size, _name, info_type) in zip(starts, heads, strict=True)
    ]


def base_address(gsym: Path) -> int:
    """What the addresses of a version-1 file count from."""
    data = gsym.read_bytes()
    order = "<" if data[:4] == b"MYSG" else ">"
    _, _, _, _, base, *_ = struct.unpack_from(order + _HEADER, data)
    return int(base)


def union(functions: Iterable[Function]) -> list[tuple[int, int]]:
    """Their addresses as ascending ranges that do not touch.

    An empty function counts with the next addresses up to another function, as a
    lookup has it.
    """
    by_start = sorted(functions)
    merged: list[tuple[int, int]] = []
    next_starts = [*(function.start for function in by_start[1:]), 1 << 64]
    for (start, end, _), next_start in zip(by_start, next_starts, strict=True):
        reached = end if end > start else min(start + _REACH_OF_EMPTY, next_start)
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(reached, merged[-1][1]))
        elif start < reached:
            merged.append((start, reached))
    return merged


def random_addresses(functions: Iterable[Function], count: int, seed: int) -> list[int]:
    """*count* addresses inside *functions*, each byte equally likely."""
    return addresses_in(union(functions), count, seed)


def addresses_in(ranges: list[tuple[int, int]], count: int, seed: int) -> list[int]:
    """*count* addresses inside *ranges*, each byte equally likely."""
    size = sum(end - start for start, end in ranges)
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    return _addresses_at(ranges, (generator.randrange(size) for _ in range(count)))


def distinct_addresses_in(
    ranges: list[tuple[int, int]], count: int, seed: int
) -> list[int]:
    """*count* addresses inside *ranges*, or all, none twice."""
    size = sum(end - start for start, end in ranges)
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    places = generator.sample(range(size), min(count, size))
    return _addresses_at(ranges, places)


def _addresses_at(ranges: list[tuple[int, int]], places: Iterable[int]) -> list[int]:
    """The addresses of bytes that are counted from the start of the first range."""
    ends = list(itertools.accumulate(end - start for start, end in ranges))
    addresses = []
    for place in places:
        index = bisect.bisect_right(ends, place)
        addresses.append(ranges[index][1] - (ends[index] - place))
    return addresses


def addresses_by_function(
    functions: Iterable[Function], count: int, seed: int
) -> list[int]:
    """*count* addresses inside *functions*, each function equally likely."""
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    sized = [each for each in functions if each.end > each.start]
    chosen = generator.choices(sized, k=count)
    return [generator.randrange(each.start, each.end) for each in chosen]


def function_at(functions: list[Function], address: int) -> Function | None:
    """The one whose record answers *address*, as LLVM chooses it.

    That is the first one that holds the address among those with the last start
    before it; an empty one holds all that follows.
    """
    last = bisect.bisect_right(functions, (address, 1 << 64)) - 1
    if last < 0:
        return None
    first = bisect.bisect_left(functions, (functions[last].start,))
    return next(
        (
            function
            for function in functions[first : last + 1]
            if function.start == function.end or address < function.end
        ),
        None,
    )
