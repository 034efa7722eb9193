"""Time and memory double when an input doubles, whatever it is that grows in it.

Time is counted in instructions, so that no load of the machine decides.
"""

from __future__ import annotations

import os
import subprocess
import sys
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.callgrind import count_instructions, count_parts
from tests.conftest import REPOSITORY
from tests.conversions import SECONDS
from tests.inputs.pdb_scaled import (
    pdb_endless_types,
    pdb_modules,
    pdb_same_sites,
    pdb_sites,
)
from tests.inputs.scaled import (
    SERIES as PROGRAMS,
    functions_of_a_unit,
    tiny_units,
    units,
    units_beside_type_units,
)
from tests.inputs.scaled_python import SERIES as READ_BY_PYTHON
from tests.inputs.scaled_symbols import (
    COMPANIONS,
    SERIES as SYMBOLS,
    breakpad_calls,
    breakpad_twins,
)
from tests.peak_memory import MEASURES, knows_peak
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

pytestmark = pytest.mark.slow

PDBS = (pdb_modules, pdb_sites, pdb_same_sites, pdb_endless_types)
SERIES = (*PROGRAMS, *PDBS, *SYMBOLS)
MOST = 2.2  # times as much for twice the input
SIZES = (1, 3)
LEFT = 1 << 20  # bytes of free memory, at most, after a small conversion
# Where each series starts: large enough for what is the same in all to be little.
FIRST_COUNTED = {
    "units": 250,
    "units_of_one_line_table": 250,
    "tiny_units": 500,
    "one_giant_unit": 500,
    "functions_of_a_unit": 1_000,
    "rows_of_a_function": 20_000,
    "rows_of_one_address": 20_000,
    "sequences_of_one_address": 2_000,
    "functions_in_each_other": 2_000,
    "depth_of_inlined_calls": 500,
    "parts_of_a_function": 2_000,
    "abbreviations": 2_000,
    "units_that_take_turns": 1_000,
    "pdb_modules": 250,
    "pdb_sites": 1_000,
    "pdb_same_sites": 1_000,
    "pdb_endless_types": 25,
    "symbols_in_each_other": 2_000,
    "symbols_of_one_address": 2_000,
    "breakpad_depth": 500,
    "breakpad_calls": 1_000,
    "breakpad_ranges": 1_000,
    "breakpad_twins": 1_000,
    "breakpad_merged": 1_000,
    "macho_functions": 500,
    "macho_objects": 100,
    "go_functions": 500,
}
FIRST_WEIGHED = {
    **FIRST_COUNTED,
    "units": 4_000,
    "units_of_one_line_table": 4_000,
    "tiny_units": 16_000,
    "one_giant_unit": 4_000,
    "functions_of_a_unit": 16_000,
    "rows_of_a_function": 400_000,
    "parts_of_a_function": 16_000,
    "abbreviations": 16_000,
    "units_that_take_turns": 8_000,
    "pdb_modules": 4_000,
    "pdb_sites": 32_000,
    "pdb_same_sites": 32_000,
    "pdb_endless_types": 8_000,  # below, a buffer that doubles looks steep
    "rows_of_one_address": 400_000,
    "sequences_of_one_address": 16_000,
    "functions_in_each_other": 32_000,
    "symbols_in_each_other": 12_000,
    "symbols_of_one_address": 24_000,
    "breakpad_depth": 32_000,
    "breakpad_calls": 32_000,
    "breakpad_ranges": 32_000,
    "breakpad_twins": 32_000,
    "breakpad_merged": 40_000,
}
del FIRST_WEIGHED["depth_of_inlined_calls"]  # the limit of depth keeps it small
del FIRST_WEIGHED["go_functions"]  # they would not be in .text
del FIRST_WEIGHED["macho_functions"], FIRST_WEIGHED["macho_objects"]  # slow to write

CONVERT = """
import gsym, sys
for path in sys.argv[1:]:
    gsym.convert(path, threads=1, merged_functions="merged" in path)
"""
# Prints the bytes that the second conversion needs beyond those that it found in use.
WEIGH = f"""
import gsym, sys
{MEASURES}
gsym.convert(sys.argv[1], threads=1)
before = begin()
gsym.convert(sys.argv[2], threads=1, merged_functions="merged" in sys.argv[2])
print(peak() - before)
"""


def is_steep(costs: Sequence[int], sizes: Sequence[int] = SIZES) -> bool:
    """Whether the cost grows by more than `MOST` with each doubling of the size."""
    (small, large), (before, after) = sizes, costs
    return bool(after / before >= MOST ** log2(large / small))


def takes_steep_memory(costs: Sequence[int]) -> bool:
    """The same of memory, of which a conversion before it left some to use again."""
    return is_steep([cost + LEFT for cost in costs])


def test_a_square_is_steep_and_a_line_is_not() -> None:
    for sizes in ((1, 2), SIZES):
        assert is_steep([100 + (100 * n) ** 2 for n in sizes], sizes)
        assert not is_steep([100 + 100 * n for n in sizes], sizes)
    assert takes_steep_memory([LEFT * n**2 for n in SIZES])
    assert not takes_steep_memory([LEFT * n - LEFT // 2 for n in SIZES])


def write_series(name: str, first: int, folder: Path) -> list[str]:
    """The programs of a series, by path."""
    (make,) = (each for each in SERIES if each.__name__ == name)
    paths = [folder / f"{name}-{factor * first}" for factor in SIZES]
    for factor, path in zip(SIZES, paths, strict=True):
        path.write_bytes(make(factor * first))
        if make in COMPANIONS:
            Path(f"{path}.o").write_bytes(COMPANIONS[make](factor * first))
    return [str(path) for path in paths]


def test_instructions_grow_as_the_input(tmp_path: Path) -> None:
    assert set(FIRST_COUNTED) == {make.__name__ for make in SERIES}
    paths = [
        path
        for name, first in FIRST_COUNTED.items()
        for path in write_series(name, first, tmp_path)
    ]
    counts = [
        count.total
        for count in count_instructions(
            CONVERT, *paths, folder=tmp_path, starts=["gsym_creator_create"]
        )
    ]
    assert len(counts) == len(paths)
    step = len(SIZES)
    for at, name in enumerate(FIRST_COUNTED):
        series = counts[step * at : step * (at + 1)]
        assert not is_steep(series), (name, series)


# Reads the first file of each pair once before the reading of both is counted.
READ = """
import gc, json, sys
from tempfile import TemporaryDirectory

def profile(path):
    from gsym.profiles.opening import read_profile
    from gsym.profiles.firefox import firefox_profile
    from gsym.profiles.outputs import collapsed_lines, speedscope_file
    from gsym.profiles.pprof import pprof_file
    found = read_profile(path)
    list(collapsed_lines(found))
    speedscope_file(found)
    pprof_file(found)

def trace(path):
    from gsym.cli.main import main
    assert main(["trace", "convert", path, "-o", path + ".json"]) == 0

def log(path):
    from gsym.markup.filter import MarkupFilter
    from tests.markup_modules import Modules
    chosen = MarkupFilter(Modules())
    with open(path, "rb") as file:
        chosen.feed(file.read())
    chosen.finish()

def report(path):
    from gsym.reports.stacks.recognition import parse_report
    with open(path) as file:
        parse_report(file.read())

def read_dump(path):
    from gsym.memory.elf_core import is_core, read_core
    from gsym.memory.minidump import read_minidump
    with open(path, "rb") as file:
        data = file.read()
    (read_core if is_core(data) else read_minidump)(memoryview(data), path)

def package(path):
    from gsym.store.packages import index_package
    with TemporaryDirectory() as folder:
        index_package(path, folder)

def compressed(path):
    from gsym.store.archives import inflate_file
    with TemporaryDirectory() as folder:
        inflate_file(path, folder)

gc.disable()
for at, path in enumerate(sys.argv[1:]):
    read = globals()[path.rpartition(".")[2]]
    if at % 2 == 0:
        read(path)
    part.begin()
    read(path)
    part.end()
"""


def test_instructions_of_python_grow_as_the_input(
    tmp_path: Path, compiler: str
) -> None:
    paths = []
    for reader, series in READ_BY_PYTHON.items():
        for make, first in series.items():
            for count in (first // 2, first):
                paths.append(tmp_path / f"{make.__name__}-{count}.{reader}")
                paths[-1].write_bytes(make(count))
    names = [str(path) for path in paths]
    counts = count_parts(READ, *names, folder=tmp_path, compiler=compiler)
    assert len(counts) == len(paths)
    costs = {
        path.name: (small, large)
        for path, small, large in zip(
            paths[::2], counts[::2], counts[1::2], strict=True
        )
    }
    assert not [name for name, each in costs.items() if is_steep(each, (1, 2))], costs


def weigh(path: str, folder: Path) -> int:
    """The memory that a conversion needs, in bytes."""
    small = folder / "small"
    small.write_bytes(units(1))
    done = subprocess.run(
        [sys.executable, "-c", WEIGH, str(small), path],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    return int(done.stdout)


@no_sanitizer
@knows_peak
@pytest.mark.parametrize("name", FIRST_WEIGHED)
def test_memory_grows_as_the_input(name: str, tmp_path: Path) -> None:
    paths = write_series(name, FIRST_WEIGHED[name], tmp_path)
    sizes = [weigh(path, tmp_path) for path in paths]
    assert sizes[0] > LEFT  # so that much more than what was left is compared
    assert not takes_steep_memory(sizes), sizes


@no_sanitizer
@knows_peak
@pytest.mark.parametrize(
    ("make", "count"),
    [
        (functions_of_a_unit, 800_000),
        (tiny_units, 800_000),
        (units_beside_type_units, 40_000),
        (pdb_modules, 4_000),
        (breakpad_twins, 200_000),
        (breakpad_calls, 200_000),
    ],
)
def test_memory_is_bounded_by_the_input(
    make: Callable[[int], bytes], count: int, tmp_path: Path
) -> None:
    path = tmp_path / "app"
    path.write_bytes(make(count))
    assert weigh(str(path), tmp_path) < 6 * path.stat().st_size + (64 << 20)
