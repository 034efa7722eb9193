"""Symbfiles: extraction compared with conversion to GSYM, and reading.

    python -m benchmarks.symbfile CORPUS [--rounds N] [--input NAME]... [--write]

Extraction (which includes a conversion) and conversion run alternately, A B A B, as
separate processes. Files are read in this process: as columns, as records, and ranges
into a GSYM file.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.markdown import table
from benchmarks.process import Measurement, column, measure, measure_pairs, median_ratio
from benchmarks.report import digest, made_by, write_region
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.to_gsym import convert_symbfiles

if TYPE_CHECKING:
    from collections.abc import Callable

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain")
GSYM = Path(sys.executable).with_name("gsym")
KINDS = ("ranges", "returnpads")
THREADS = (1, 2)
MILLION = 1_000_000
READS = 3
MADE_HEAD = (
    *("input", "threads", "wall symbfile", "wall gsym", "ratio"),
    *("cpu symbfile", "cpu gsym", "ratio", "peak symbfile", "peak gsym"),
)
READ_HEAD = ("input", "records", "MB", "columns, M/s", "records, M/s", "GSYM, M/s")
LEGEND = """\
Seconds and MiB of peak resident memory, medians of {rounds} pairs of runs. `ratio`
is the median of extraction (ranges and return pads) / conversion to GSYM. Reading,
best of {reads}: millions of records per second on one core, as columns (the engine's
output), as Python records, and converted to a GSYM file."""


def measure_input(
    binary: Path, threads: int, rounds: int, folder: Path
) -> tuple[list[Measurement], list[Measurement]]:
    """Extract from *binary* and convert it, in turn, into *folder*."""
    options = ["--quiet", f"--threads={threads}", str(binary), "-o"]

    def extract() -> Measurement:
        command = [str(GSYM), "symbfile", "extract", "--kind=both"]
        return measure([*command, *options, str(folder / "out")])

    def convert() -> Measurement:
        return measure([str(GSYM), "convert", *options, str(folder / "out.gsym")])

    convert()  # brings the input into the page cache
    return measure_pairs(extract, convert, rounds)


def made_row(
    name: str, threads: int, ours: list[Measurement], conversion: list[Measurement]
) -> list[str]:
    """One line of the first table."""
    cells = [name, str(threads)]
    for field in ("wall", "cpu"):
        cells += [
            f"{statistics.median(column(runs, field)):.3f}"
            for runs in (ours, conversion)
        ]
        cells.append(f"**{median_ratio(ours, conversion, field):.2f}x**")
    cells += [
        f"{statistics.median(column(runs, 'peak')):.0f}" for runs in (ours, conversion)
    ]
    return cells


def read_row(name: str, path: Path) -> list[str]:
    """One line of the second table."""

    def as_columns() -> int:
        return sum(len(each.kinds) for each in open_symbfile(path).columns())

    def as_records() -> int:
        return sum(1 for _ in open_symbfile(path).records())

    def as_gsym() -> int:
        return convert_symbfiles([path], f"{path}.gsym").functions

    count = as_columns()
    ways: list[Callable[[], int]] = [as_columns, as_records]
    if name.startswith("ranges"):
        ways.append(as_gsym)
    speeds = [f"{count / seconds(read) / MILLION:.2f}" for read in ways]
    size = path.stat().st_size / MILLION
    return [name, str(count), f"{size:.1f}", *speeds, *[""] * (3 - len(ways))]


def seconds(read: Callable[[], int]) -> float:
    """Processor time of the fastest of some runs."""
    best = float("inf")
    for _ in range(READS):
        start = time.process_time()
        read()
        best = min(best, time.process_time() - start)
    return best


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--rounds", type=int, default=5, help="pairs per line")
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and with --write keep the tables."""
    arguments = parse_arguments()
    made, read, inputs = [], [], []
    for name in arguments.input or INPUTS:
        binary = arguments.corpus / "big" / name
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for threads in THREADS:
                runs = measure_input(binary, threads, arguments.rounds, folder)
                made.append(made_row(name, threads, *runs))
                print(" | ".join(made[-1]), file=sys.stderr)
            for kind in KINDS:
                path = folder / f"out.{kind}.symbfile"
                if path.exists():
                    read.append(read_row(f"{kind} of {name}", path))
        inputs.append([name, str(binary.stat().st_size), digest(binary)])
    command = f"python -m benchmarks.symbfile CORPUS --rounds {arguments.rounds}"
    parts = [
        made_by(command),
        LEGEND.format(rounds=arguments.rounds, reads=READS),
        table(MADE_HEAD, made),
        table(READ_HEAD, read),
        table(("input", "bytes", "SHA-256"), inputs),
    ]
    text = "\n\n".join(parts)
    print(text)
    if arguments.write:
        write_region("symbfile", text)


if __name__ == "__main__":
    main()
