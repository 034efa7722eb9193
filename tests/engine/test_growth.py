"""Time and memory double when an input doubles, whatever it is that grows in it.

Time is counted in instructions, so that no load of the machine decides.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.callgrind import count_instructions
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
)
from tests.inputs.scaled_symbols import (
    SERIES as SYMBOLS,
    breakpad_calls,
    breakpad_twins,
)
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

pytestmark = pytest.mark.slow

PDBS = (pdb_modules, pdb_sites, pdb_same_sites, pdb_endless_types)
SERIES = (*PROGRAMS, *PDBS, *SYMBOLS)
MOST = 2.2  # times as much for twice the input
DOUBLINGS = (1, 2, 4)
# Where each series starts: large enough for what is the same in all to be little.
FIRST_COUNTED = {
    "units": 250,
    "units_of_one_line_table": 250,
    "tiny_units": 1_000,
    "one_giant_unit": 500,
    "functions_of_a_unit": 1_000,
    "rows_of_a_function": 20_000,
    "rows_of_one_address": 20_000,
    "sequences_of_one_address": 2_000,
    "functions_in_each_other": 4_000,
    "depth_of_inlined_calls": 500,
    "abbreviations": 2_000,
    "pdb_modules": 500,
    "pdb_sites": 1_000,
    "pdb_same_sites": 1_000,
    "pdb_endless_types": 100,
    "symbols_in_each_other": 2_000,
    "symbols_of_one_address": 2_000,
    "breakpad_depth": 500,
    "breakpad_calls": 1_000,
    "breakpad_ranges": 1_000,
    "breakpad_twins": 1_000,
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
    "abbreviations": 16_000,
    "pdb_modules": 4_000,
    "pdb_sites": 32_000,
    "pdb_same_sites": 32_000,
    "pdb_endless_types": 1_000,
    "rows_of_one_address": 400_000,
    "sequences_of_one_address": 16_000,
    "functions_in_each_other": 32_000,
    "symbols_in_each_other": 12_000,
    "symbols_of_one_address": 12_000,
    "breakpad_depth": 32_000,
    "breakpad_calls": 32_000,
    "breakpad_ranges": 32_000,
    "breakpad_twins": 32_000,
}
del FIRST_WEIGHED["go_functions"]  # they would not be in .text

CONVERT = "import gsym, sys\nfor path in sys.argv[1:]: gsym.convert(path, threads=1)"
# Prints the bytes that the second conversion needs beyond those that it found in use.
WEIGH = """
import gsym, sys
def status(field):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if field in line)
gsym.convert(sys.argv[1], threads=1)
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = status("VmRSS:")
gsym.convert(sys.argv[2], threads=1)
print(status("VmHWM:") - before)
"""


def steep(costs: Sequence[int]) -> list[float]:
    """How many times as much each doubling costs, where that is too much."""
    ratios = [after / before for before, after in pairwise(costs)]
    return [ratio for ratio in ratios if ratio >= MOST]


def test_a_square_is_steep_and_a_line_is_not() -> None:
    assert steep([100 + n * n for n in (100, 200, 400)])
    assert not steep([100 + n for n in (100, 200, 400)])


def write_series(name: str, first: int, folder: Path) -> list[str]:
    """The programs of a series, by path."""
    (make,) = (each for each in SERIES if each.__name__ == name)
    paths = [folder / f"{name}-{factor * first}" for factor in DOUBLINGS]
    for factor, path in zip(DOUBLINGS, paths, strict=True):
        path.write_bytes(make(factor * first))
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
    step = len(DOUBLINGS)
    for at, name in enumerate(FIRST_COUNTED):
        series = counts[step * at : step * (at + 1)]
        assert not steep(series), (name, series)


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


knows_peak = pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="the peak is not known"
)


@no_sanitizer
@knows_peak
@pytest.mark.parametrize("name", FIRST_WEIGHED)
def test_memory_grows_as_the_input(name: str, tmp_path: Path) -> None:
    paths = write_series(name, FIRST_WEIGHED[name], tmp_path)
    sizes = [weigh(path, tmp_path) for path in paths]
    assert not steep(sizes), sizes


@no_sanitizer
@knows_peak
@pytest.mark.parametrize(
    ("make", "count"),
    [
        (functions_of_a_unit, 800_000),
        (tiny_units, 800_000),
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
