"""Streams of addresses: the commands that read lines, compared with those of LLVM.

    python -m benchmarks.lookup CORPUS [--count N] [--rounds N] [--write]

All read the same file, which gsym makes first, and look up the same random addresses
in functions, alternately, including start-up; the programs of a pair print the same
text, but for addresses before the first row of their function, of which llvm-symbolizer
says nothing. The values are medians of thousands of addresses per second.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import gsym
from benchmarks.conversion import INPUTS
from benchmarks.markdown import table
from benchmarks.process import Measurement, column, measure, measure_pairs
from benchmarks.report import LLVM_GSYMUTIL, argument_parser, made_by, write_region
from tests.differential.peers import LLVM_SYMBOLIZER
from tests.differential.sampling import (
    addresses_by_function,
    functions,
    random_addresses,
)

OUR_FOLDER = Path(sys.executable).parent
# What has no peer that reads the same file; it is named last.
OTHERS = {
    "gsym lookup": ("gsym", "lookup", "--stdin"),
    "gsym-addr2line -afi": ("gsym-addr2line", "-afie"),
}
DRAWN = {"bytes": random_addresses, "functions": addresses_by_function}
UNKNOWN = "??\n??:0:0"  # of llvm-symbolizer
MOST_COMPARED = 50_000  # answers, of which a C++ file has many megabytes
HEAD = (
    *("input", "drawn by", "llvm-gsymutil", "gsymutil", "ratio"),
    *("llvm-symbolizer", "gsym-symbolizer", "ratio", *OTHERS),
)
LEGEND = """\
Thousands of addresses per second of processor time, {count} random addresses in
functions, each of whose bytes or each of which is equally likely, medians of {rounds}
rounds. The commands read and write text; start-up is included; names are not demangled.
The ratios are those of the two gsymutils and of the two symbolizers, which read the
same GSYM file and print the same output."""


class Pair(NamedTuple):
    """Two commands that print the same for the same lines of input."""

    ours: list[str]
    theirs: list[str]
    line: str


def pairs(binary: Path, path: Path) -> list[Pair]:
    """Ours and LLVM's that read *path*, the file of *binary*."""
    ours = [str(OUR_FOLDER / "gsym-symbolizer"), "--no-demangle", "-e", str(path)]
    theirs = [LLVM_SYMBOLIZER, "--no-demangle", "-e", str(binary)]
    option = "--addresses-from-stdin"
    return [
        Pair(
            [str(OUR_FOLDER / "gsymutil"), option],
            [LLVM_GSYMUTIL, option],
            f"0x{{:x}} {path}\n",
        ),
        Pair(ours, [*theirs, f"--gsym-file-directory={path.parent}"], "0x{:x}\n"),
    ]


def rate(addresses: list[int], runs: list[Measurement]) -> float:
    """Addresses a second of processor time."""
    return len(addresses) / statistics.median(column(runs, "cpu"))


def same_text(
    pair: Pair, addresses: list[int], rounds: int, folder: Path
) -> tuple[float, float]:
    """Lookups a second of our command and of LLVM's; same text from both."""
    query = folder / "query"
    lines = [pair.line.format(address) for address in addresses]
    query.write_text("".join(lines))
    runs = measure_pairs(
        lambda: measure(pair.ours, str(query)),
        lambda: measure(pair.theirs, str(query)),
        rounds,
    )
    ours, llvm = folder / "ours", folder / "llvm"
    query.write_text("".join(lines[:MOST_COMPARED]))
    measure(pair.ours, str(query), str(ours))
    measure(pair.theirs, str(query), str(llvm))
    answers = (path.read_text("utf-8").split("\n\n") for path in (ours, llvm))
    if any(our != their != UNKNOWN for our, their in zip(*answers, strict=True)):
        raise ValueError(f"{pair.ours}: the two programs answer differently")
    our_rate, llvm_rate = (rate(addresses, each) for each in runs)
    return our_rate, llvm_rate


def others(path: Path, addresses: list[int], rounds: int, folder: Path) -> list[float]:
    """Lookups a second of the other commands."""
    query = folder / "query"
    query.write_text("".join(f"0x{address:x}\n" for address in addresses))
    rates = []
    for program, *options in OTHERS.values():
        command = [str(OUR_FOLDER / program), *options, str(path)]
        runs = [measure(command, str(query)) for _ in range(rounds)]
        rates.append(rate(addresses, runs))
    return rates


def measure_input(binary: Path, count: int, rounds: int) -> list[list[str]]:
    """The lines of an input."""
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        # Where llvm-symbolizer looks for it.
        path = folder / f"{binary.name}.gsym"
        gsym.convert(str(binary), str(path))
        ranges = functions(path)
        for drawn, draw in DRAWN.items():
            addresses = draw(ranges, count, seed=1)
            cells = [binary.name, drawn]
            for pair in pairs(binary, path):
                ours, llvm = same_text(pair, addresses, rounds, folder)
                cells += [f"{llvm / 1000:.0f}", f"{ours / 1000:.0f}"]
                cells.append(f"**{ours / llvm:.1f}x**")
            rates = others(path, addresses, rounds, folder)
            rows.append([*cells, *(f"{each / 1000:.0f}" for each in rates)])
    return rows


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argument_parser(__doc__)
    parser.add_argument("--count", type=int, default=500_000, help="addresses")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for name in arguments.input or INPUTS["plain"]:
        binary = arguments.corpus / "big" / name
        rows += measure_input(binary, arguments.count, arguments.rounds)
        print(" | ".join(rows[-1]), file=sys.stderr)
    options = f"--count {arguments.count} --rounds {arguments.rounds}"
    text = "\n\n".join(
        (
            made_by(
                f"python -m benchmarks.lookup CORPUS {options}",
                [LLVM_GSYMUTIL, LLVM_SYMBOLIZER],
            ),
            LEGEND.format(count=arguments.count, rounds=arguments.rounds),
            table(HEAD, rows),
        )
    )
    print(text)
    if arguments.write:
        write_region("lookup", text)


if __name__ == "__main__":
    main()
