"""Conversion: gsym compared with llvm-gsymutil.

    python -m benchmarks.conversion CORPUS [--set NAME] [--rounds N] [--input NAME]...
        [--write]

CORPUS is a folder with big/vmlinux and the other inputs named below. The set `plain`
has files with inflated sections, `compressed` with those of Debian's debug files. For
each input and thread count the programs run alternately, A B A B, including start-up;
the values are medians, the ratios medians over the pairs.
"""

from __future__ import annotations

import argparse
import statistics
import struct
import sys
import tempfile
from pathlib import Path

from benchmarks.bare_walk import BareWalk, measure_bare_walk
from benchmarks.c_programs import compile_program
from benchmarks.charts import bars
from benchmarks.markdown import table
from benchmarks.process import (
    Field,
    Measurement,
    column,
    measure,
    measure_pairs,
    median_ratio,
)
from benchmarks.report import LLVM_GSYMUTIL, digest, made_by, write_region

INPUTS = {
    "plain": (
        "vmlinux",
        "libjvm.plain",
        "ceph-osd.plain",
        "libc.plain",
        "libpython3.11d.so",
    ),
    "compressed": ("libjvm.debug", "ceph-osd.debug"),
}
REGIONS = {"plain": "conversion", "compressed": "compressed"}
GSYM = Path(sys.executable).with_name("gsym")
MAGIC = 0x4753594D
# Our functions and our file, as parts of the peer's, of a conversion that worked.
PLAUSIBLE_COUNT = (0.9, 1.2)
PLAUSIBLE_SIZE = (0.5, 1.05)

SPEEDS: tuple[Field, ...] = ("wall", "cpu")
TIME_HEAD = (
    *("input", "threads", "wall gsym", "wall llvm", "ratio"),
    *("cpu gsym", "cpu llvm", "ratio", "peak gsym", "peak llvm", "part"),
)
LEGEND = """\
Seconds and MiB of peak resident memory, medians of {rounds} pairs of runs. `ratio`
is the median of peer / gsym over the pairs, `part` the median of gsym / peer."""
WALK_HEAD = ("input", "DIEs", "seconds", "rows", "seconds", "gsym", "ratio")
WALK_LEGEND = """\
A lower bound (`benchmarks/bare_walk.c`), medians: the seconds in which one thread
reads all DIEs except those of types and call sites, and runs all line programs,
without checks and without storing anything. Then the seconds of gsym with one
thread, including start-up and writing the file, and their ratio to the sum of the
lower bound."""


def check_outputs(ours: Path, llvm: Path) -> None:
    """Refuse to print times of a conversion that did not do the work."""
    counts = []
    for path in (ours, llvm):
        with path.open("rb") as stream:
            magic, _, count = struct.unpack("<I12sI", stream.read(20))
        if magic != MAGIC:
            raise ValueError(f"{path} is not a GSYM file")
        counts.append(count)
    checks = (
        (counts[0] / counts[1], PLAUSIBLE_COUNT, "functions"),
        (ours.stat().st_size / llvm.stat().st_size, PLAUSIBLE_SIZE, "bytes"),
    )
    for part, (least, most), what in checks:
        if not least <= part <= most:
            raise ValueError(f"{ours}: {part:.2f} of the peer's {what}")


def measure_input(
    binary: Path, threads: int, rounds: int, folder: Path
) -> tuple[list[Measurement], list[Measurement]]:
    """Convert *binary* with both, in turn, into *folder*."""
    ours, llvm = folder / "ours.gsym", folder / "llvm.gsym"

    def convert_ours() -> Measurement:
        ours.unlink(missing_ok=True)
        options = ["--threads", str(threads), "--quiet", str(binary), "-o", str(ours)]
        return measure([str(GSYM), "convert", "--no-index", *options])

    def convert_llvm() -> Measurement:
        llvm.unlink(missing_ok=True)
        options = [f"--num-threads={threads}", "--quiet"]
        files = [f"--convert={binary}", f"--out-file={llvm}"]
        return measure([LLVM_GSYMUTIL, *options, *files])

    convert_ours()  # brings the input into the page cache
    runs = measure_pairs(convert_ours, convert_llvm, rounds)
    check_outputs(ours, llvm)
    return runs


def time_row(
    name: str, threads: int, ours: list[Measurement], llvm: list[Measurement]
) -> list[str]:
    """One line of the table of times."""
    row = [name, str(threads)]
    for field in SPEEDS:
        row += [
            f"{statistics.median(column(runs, field)):.3f}" for runs in (ours, llvm)
        ]
        row.append(f"**{median_ratio(llvm, ours, field):.1f}x**")
    row += [f"{statistics.median(column(runs, 'peak')):.0f}" for runs in (ours, llvm)]
    row.append(f"{1 / median_ratio(llvm, ours, 'peak'):.2f}")
    return row


def walk_row(name: str, walk: BareWalk, ours: list[Measurement]) -> list[str]:
    """One line of the table of bare walks."""
    wall = statistics.median(column(ours, "wall"))
    bare = walk.die_seconds + walk.row_seconds
    counts = (f"{count / 1e6:.1f} M" for count in (walk.dies, walk.rows))
    seconds = (f"{each:.3f}" for each in (walk.die_seconds, walk.row_seconds))
    pairs = (cell for pair in zip(counts, seconds, strict=True) for cell in pair)
    return [name, *pairs, f"{wall:.3f}", f"**{wall / bare:.1f}x**"]


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--set", choices=INPUTS, default="plain", help="of inputs")
    parser.add_argument("--rounds", type=int, default=5, help="pairs per line")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and with --write keep the tables."""
    arguments = parse_arguments()
    times, walks, inputs = [], [], []
    walls: dict[str, list[float]] = {}
    for name in arguments.input or INPUTS[arguments.set]:
        binary = arguments.corpus / "big" / name
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            for threads in arguments.threads:
                runs = measure_input(binary, threads, arguments.rounds, folder)
                times.append(time_row(name, threads, *runs))
                for tool, each in zip(("gsym", "llvm-gsymutil"), runs, strict=True):
                    title = f"{tool}, {threads} threads".replace(
                        "1 threads", "1 thread"
                    )
                    wall = statistics.median(column(each, "wall"))
                    walls.setdefault(title, []).append(wall)
                print(" | ".join(times[-1]), file=sys.stderr)
                if threads == 1 and arguments.set == "plain":
                    walker = compile_program("bare_walk", folder)
                    walk = measure_bare_walk(walker, binary, arguments.rounds)
                    walks.append(walk_row(name, walk, runs[0]))
        inputs.append([name, str(binary.stat().st_size), digest(binary)])
    options = f"--set {arguments.set} --rounds {arguments.rounds}"
    command = f"python -m benchmarks.conversion CORPUS {options}"
    parts = [
        made_by(command, [LLVM_GSYMUTIL]),
        LEGEND.format(rounds=arguments.rounds),
        table(TIME_HEAD, times),
        *((WALK_LEGEND, table(WALK_HEAD, walks)) if walks else ()),
        table(("input", "bytes", "SHA-256"), inputs),
    ]
    print("\n\n".join(parts))
    if arguments.write:
        region = REGIONS[arguments.set]
        parts.append(bars(region, "seconds", [row[0] for row in inputs], walls))
        write_region(region, "\n\n".join(parts))


if __name__ == "__main__":
    main()
