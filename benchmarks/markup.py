"""Logs with symbolizer markup: gsym filter against llvm-symbolizer --filter-markup.

    python -m benchmarks.markup CORPUS [--rounds N] [--write]

Both filter the same logs in turn, start of the process included; gsym looks addresses
up in a GSYM file, llvm-symbolizer in the debug information that it was made from. The
figures are medians of thousands of lines a second, and peaks of memory.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path

import gsym
from benchmarks.markdown import table
from benchmarks.process import Measurement, column, measure, measure_pairs
from benchmarks.report import environment, write_region
from gsym.formats.markup import encode
from gsym.formats.markup_elements import Backtrace, Mmap, Module, Reset
from tests.differential.sampling import functions, random_addresses

LLVM_SYMBOLIZER = "llvm-symbolizer-22"
OUR_GSYM = str(Path(sys.executable).parent / "gsym")
# By their lines: as many as llvm-symbolizer filters in some twenty seconds.
INPUTS = {"libc.plain": 2_000_000, "libjvm.plain": 400_000}
# How many lines of a hundred are frames of a backtrace.
SHARES = (0, 10, 100)
TEXT = "[01040.461][1885][2639][app] INFO: request {} was answered in 12 ms, 200 OK"
BASE = 0x7F00_0000_0000
SIZE = 1 << 32
BUILD_ID = b"\xab\xcd"
HEAD = (
    "log",
    "lines",
    "llvm-symbolizer",
    "gsym filter",
    "ratio",
    "its peak",
    "our peak",
)
LEGEND = """\
Thousands of lines a second of processor time, medians of {rounds} rounds, start of the
process included; peaks of memory in MiB. Frames are at random addresses inside
functions; both print the same but for columns, and which of several names of a
function."""


def write_log(path: Path, share: int, count: int, addresses: list[int]) -> None:
    """A log of *count* lines, of which *share* in a hundred are frames."""
    source = random.Random(1)  # noqa: S311
    context = (
        Reset(),
        Module(0, "lib.so", BUILD_ID),
        Mmap(BASE, SIZE, 0, "rx", 0),
    )
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{encode(element)}\n" for element in context)
        for number in range(count):
            if source.randrange(100) < share:
                address = BASE + addresses[number % len(addresses)]
                line = encode(Backtrace(number % 30, address, "pc"))
            else:
                line = TEXT.format(number)
            file.write(f"{line}\n")


def rate(count: int, runs: list[Measurement]) -> float:
    """Lines a second of processor time."""
    return count / statistics.median(column(runs, "cpu"))


def measure_log(log: Path, folder: Path, count: int, rounds: int) -> list[str]:
    """Both rates, their ratio, both peaks."""
    theirs = [LLVM_SYMBOLIZER, "--filter-markup", "--no-debuginfod"]
    theirs.append(f"--debug-file-directory={folder}")
    ours = [OUR_GSYM, "filter", "--style=llvm", f"--gsym-dir={folder}"]
    pairs = measure_pairs(
        lambda: measure(ours, str(log)), lambda: measure(theirs, str(log)), rounds
    )
    our_rate, their_rate = (rate(count, runs) for runs in pairs)
    our_peak, their_peak = (max(column(runs, "peak")) for runs in pairs)
    ratio = f"**{our_rate / their_rate:.1f}x**"
    rates = [f"{each / 1000:.0f}" for each in (their_rate, our_rate)]
    return [*rates, ratio, f"{their_peak:.0f}", f"{our_peak:.0f}"]


def measure_input(binary: Path, count: int, rounds: int) -> list[list[str]]:
    """The lines of the table for one module."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        base = folder / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
        base.parent.mkdir(parents=True)
        made = base.with_suffix(".gsym")
        with_id = folder / "whole.gsym"
        gsym.convert(str(binary), str(with_id))
        # Both go by the name of the file: neither has the short id of these logs.
        with gsym.open(with_id) as reader, gsym.Creator(uuid=BUILD_ID) as creator:
            creator.add_reader(reader)
            creator.save(made)
        base.with_suffix(".debug").symlink_to(binary.resolve())
        addresses = random_addresses(functions(made), min(count, 1 << 20), seed=1)
        for share in SHARES:
            log = folder / "log"
            write_log(log, share, count, addresses)
            name = f"{binary.name}, {share} % frames"
            rows.append([name, str(count), *measure_log(log, folder, count, rounds)])
            print(" | ".join(rows[-1]), file=sys.stderr)
    return rows


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    arguments = parser.parse_args()
    rows = []
    for name, count in INPUTS.items():
        binary = arguments.corpus / "big" / name
        rows += measure_input(binary, count, arguments.rounds)
    options = f"--rounds {arguments.rounds}"
    text = "\n\n".join(
        (
            environment(
                f"python -m benchmarks.markup CORPUS {options}", [LLVM_SYMBOLIZER]
            ),
            LEGEND.format(rounds=arguments.rounds),
            table(HEAD, rows),
        )
    )
    print(text)
    if arguments.write:
        write_region("markup", text)


if __name__ == "__main__":
    main()
