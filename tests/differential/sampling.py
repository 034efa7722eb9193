"""Choose random addresses inside the functions of GSYM files.

Reads the address table itself, so that the engine under test has no say in
which addresses it is asked for.
"""

from __future__ import annotations

import bisect
import itertools
import random
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_HEADER = struct.Struct("<IHBBQIII20s")
_WIDTHS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def function_ranges(gsym: Path) -> list[tuple[int, int]]:
    """(start, end) of each function of a little-endian version-1 file, by start."""
    data = gsym.read_bytes()
    magic, version, width, _, base, count, *_ = _HEADER.unpack_from(data)
    if (magic, version) != (0x4753594D, 1):
        raise ValueError(f"{gsym}: not a little-endian GSYM file of version 1")
    starts = struct.unpack_from(f"<{count}{_WIDTHS[width]}", data, _HEADER.size)
    table = (_HEADER.size + count * width + 3) & ~3
    records = struct.unpack_from(f"<{count}I", data, table)
    sizes = (struct.unpack_from("<I", data, record)[0] for record in records)
    return [
        (base + start, base + start + size)
        for start, size in zip(starts, sizes, strict=True)
    ]


def union(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same addresses as ascending ranges that do not touch."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        elif start < end:
            merged.append((start, end))
    return merged


def random_addresses(
    ranges: Iterable[tuple[int, int]], count: int, seed: int
) -> list[int]:
    """*count* addresses, each byte of the union of *ranges* equally likely."""
    covered = union(ranges)
    ends = list(itertools.accumulate(end - start for start, end in covered))
    generator = random.Random(seed)  # noqa: S311 - a sample, no secret
    addresses = []
    for _ in range(count):
        place = generator.randrange(ends[-1])
        index = bisect.bisect_right(ends, place)
        addresses.append(covered[index][1] - (ends[index] - place))
    return addresses


def range_at(ranges: list[tuple[int, int]], address: int) -> tuple[int, int] | None:
    """The range whose record answers *address*, as LLVM chooses it.

    That is the first one that holds the address among those with the last start
    before it; an empty one holds all that follows.
    """
    last = bisect.bisect_right(ranges, (address, 1 << 64)) - 1
    if last < 0:
        return None
    first = bisect.bisect_left(ranges, (ranges[last][0], 0))
    return next(
        (
            (start, end)
            for start, end in ranges[first : last + 1]
            if start == end or address < end
        ),
        None,
    )
