"""Streams of addresses: gsymutil against llvm-gsymutil.

    python -m benchmarks.lookup CORPUS [--count N] [--rounds N] [--write]

Both read the same file, which gsym makes first, and answer the same random addresses
inside functions with the same text, from `--addresses-from-stdin`, in turn, start of
the process included. The figures are medians of thousands of addresses a second.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import gsym
from benchmarks.conversion import INPUTS
from benchmarks.process import Measurement, column, measure, measure_pairs
from benchmarks.report import LLVM_GSYMUTIL, environment, table, write_region
from tests.differential.sampling import functions, random_addresses

OUR_GSYMUTIL = str(Path(sys.executable).with_name("gsymutil"))
HEAD = ("input", "functions", "gsymutil", "llvm-gsymutil", "ratio")
LEGEND = """\
Thousands of addresses a second, {count} random addresses inside functions, medians of
{rounds} rounds. The two commands read and write text, start of the process included."""


def whole_process(
    path: Path, addresses: list[int], rounds: int, folder: Path
) -> tuple[float, float]:
    """Lookups a second of our gsymutil and of llvm-gsymutil; same text from both."""
    query = folder / "query"
    query.write_text("".join(f"0x{address:x} {path}\n" for address in addresses))

    def run(command: str) -> Measurement:
        output = folder / Path(command).name
        return measure([command, "--addresses-from-stdin"], str(query), str(output))

    runs = measure_pairs(lambda: run(OUR_GSYMUTIL), lambda: run(LLVM_GSYMUTIL), rounds)
    answers = [(folder / name).read_bytes() for name in ("gsymutil", LLVM_GSYMUTIL)]
    if answers[0] != answers[1]:
        raise ValueError(f"{path}: the two programs answer differently")
    ours, llvm = (len(addresses) / statistics.median(column(r, "wall")) for r in runs)
    return ours, llvm


def measure_input(binary: Path, count: int, rounds: int) -> list[str]:
    """One line of the table."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = folder / "input.gsym"
        gsym.convert(str(binary), str(path))
        ranges = functions(path)
        addresses = random_addresses(ranges, count, seed=1)
        ours, llvm = whole_process(path, addresses, rounds, folder)
    rates = [f"{rate / 1000:.0f}" for rate in (ours, llvm)]
    return [binary.name, str(len(ranges)), *rates, f"**{ours / llvm:.1f}x**"]


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("corpus", type=Path, help="folder that holds big/")
    parser.add_argument("--count", type=int, default=100_000, help="addresses")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--input", action="append", help="a name below CORPUS/big")
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.input or INPUTS["plain"]:
        binary = arguments.corpus / "big" / name
        rows.append(measure_input(binary, arguments.count, arguments.rounds))
        print(" | ".join(rows[-1]), file=sys.stderr)
    options = f"--count {arguments.count} --rounds {arguments.rounds}"
    text = "\n\n".join(
        (
            environment(f"python -m benchmarks.lookup CORPUS {options}"),
            LEGEND.format(count=arguments.count, rounds=arguments.rounds),
            table(HEAD, rows),
        )
    )
    print(text)
    if arguments.write:
        write_region("lookup", text)


if __name__ == "__main__":
    main()
