"""A symbfile of twice the size takes twice the work, whatever its ranges say.

Work is counted in instructions of the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.symbfile.columns import LineTableRow, Range
from gsym.symbfile.format import encode
from tests.callgrind import count_instructions

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

MOST = 2.25  # times as much for twice the ranges
CONVERT = """
import sys
from gsym.engine.native import ffi, lib
from gsym.symbfile.to_gsym import convert_symbfiles
for path in sys.argv[1:]:
    lib.gsym_breakpad_destroy(ffi.NULL)  # marks the next conversion
    convert_symbfiles([path], f"{path}.gsym")
"""
ROW = (LineTableRow(0, 1),)


def call(start: int, length: int, depth: int = 1, name: str = "g") -> Range:
    return Range(start, length, name, "/g.h", "/f.c", 3, depth, ROW)


def calls_between_rows(count: int) -> list[Range]:
    rows = tuple(LineTableRow(8 * n, n) for n in range(2 * count))
    calls = [call(16 * n, 8) for n in range(count)]
    return [Range(0, 16 * count, "f", "/f.c", line_table=rows), *calls]


def calls_that_descend(count: int) -> list[Range]:
    calls = [call(16 * n, 8) for n in reversed(range(count))]
    return [Range(0, 16 * count, "f"), *calls]


def calls_that_overlap(count: int) -> list[Range]:
    calls = [call(n, 16 * count - n) for n in range(count)]
    return [Range(0, 16 * count, "f"), *calls]


def calls_as_deep_as_can_be(count: int) -> list[Range]:
    depths = [1 + n % 256 for n in range(count)]
    return [Range(0, 8, "f"), *(call(0, 8, depth) for depth in depths)]


def calls_that_are_nowhere(count: int) -> list[Range]:
    calls = [call(n, 1, name=f"{n}") for n in range(0x1000, 0x1000 + count)]
    return [Range(0, 8, "f"), *calls]


def parts_of_one_function(count: int) -> list[Range]:
    parts = [Range(8 * n, 8, "f", f"/{n % 2}", line_table=ROW) for n in range(count)]
    return [each for part in parts for each in (part, call(part.elf_va + 2, 4))]


def functions_and_calls_apart(count: int) -> list[Range]:
    calls = [call(8 * n + 2, 4, name=f"{n}") for n in range(count)]
    return [*calls[::2], *functions(count)[::-1], *calls[1::2]]


def functions(count: int) -> list[Range]:
    return [Range(8 * n, 8, f"f{n}", "/f.c", line_table=ROW) for n in range(count)]


SERIES: tuple[Callable[[int], list[Range]], ...] = (
    calls_between_rows,
    calls_that_descend,
    calls_that_overlap,
    calls_as_deep_as_can_be,
    calls_that_are_nowhere,
    parts_of_one_function,
    functions,
    functions_and_calls_apart,
)


def test_twice_the_ranges_take_twice_the_work(tmp_path: Path) -> None:
    paths = []
    for ranges_of in SERIES:
        for count in (4000, 8000):
            paths.append(tmp_path / f"{ranges_of.__name__}-{count}")
            paths[-1].write_bytes(b"".join(encode(ranges_of(count))))
    counts = count_instructions(
        CONVERT,
        *map(str, paths),
        folder=tmp_path,
        starts=["gsym_breakpad_destroy"],
    )
    assert len(counts) == len(paths)
    for path, small, large in zip(paths[::2], counts[::2], counts[1::2], strict=True):
        assert large.total < MOST * small.total, path.name
