"""Lookups in a binary for which there is no GSYM file, compared with DWARF readers.

    python -m benchmarks.without_file CORPUS [--input NAME]... [--write]

A name is a file in CORPUS/big, of which the DWARF is not compressed. Processes look up
1, 10, 100 ... random addresses of standard input with functions, lines and inlined
calls. Ours finds an empty cache each time. A run ends after 20 seconds, and a series
with it.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import gsym
from benchmarks.charts import Panel, curves
from benchmarks.compiled_peers import dwarf_programs, versions
from benchmarks.markdown import table
from benchmarks.process import Measurement, column, measure
from benchmarks.report import argument_parser, made_by, write_region
from tests.differential.sampling import functions, random_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

INPUTS = ("vmlinux", "libjvm.plain", "ceph-osd.plain", "libc.plain")
OURS = "gsym-addr2line"
PEERS = ("llvm-symbolizer-22", "addr2line", "eu-addr2line")
NUMBERS = (1, 10, 100, 1_000, 100_000)
ROUNDS = 5  # of runs that take less than a second
LIMIT = 20  # seconds of a run
LEGEND = """\
Seconds from the start of a process to its end, for this number of random addresses,
which it reads from standard input; medians of {rounds} runs where they take less than a
second, else one run. `> {limit}`: stopped after {limit} seconds. No GSYM file
and no cache exist: gsym-addr2line reads the units that it needs, or converts the
binary into its cache, with two threads. Names are not demangled."""
RATIO_LEGEND = "The fastest of the others, as a multiple of gsym-addr2line."
PEAK_LEGEND = "Peak memory in MiB; less than 10 cannot be seen."


class Run(NamedTuple):
    """A tool at one number of addresses; of a run that was ended, `LIMIT` and 0."""

    seconds: float
    peak: float


def commands(binary: Path, compiled: Mapping[str, Path]) -> dict[str, list[str]]:
    """What answers the addresses of standard input, by tool."""
    ours = Path(sys.executable).with_name(OURS)
    return {
        OURS: [str(ours), "-fie", str(binary)],
        PEERS[0]: [PEERS[0], "--no-demangle", "-e", str(binary)],
        PEERS[1]: [PEERS[1], "-fie", str(binary)],
        PEERS[2]: [PEERS[2], "-fi", "-e", str(binary)],
        **{name: [str(path), str(binary)] for name, path in compiled.items()},
    }


def run_once(command: list[str], query: Path) -> Measurement | None:
    """One run with an empty cache; None where it took too long."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["GSYM_CACHE_DIR"] = cache
        try:
            return measure(["timeout", str(LIMIT), *command], str(query))
        except ChildProcessError as error:
            if "exit status 124" not in str(error):
                raise
            return None


def run_of(command: list[str], query: Path) -> Run:
    """The medians of some runs; of a long one that alone."""
    first = run_once(command, query)
    if first is None:
        return Run(LIMIT, 0)
    runs = [first]
    while len(runs) < ROUNDS and first.wall < 1:
        runs.append(run_once(command, query) or first)
    walls, peaks = column(runs, "wall"), column(runs, "peak")
    return Run(statistics.median(walls), statistics.median(peaks))


def series_of(command: list[str], addresses: list[int], query: Path) -> list[Run]:
    """For 1, 10, 100 ... addresses."""
    found: list[Run] = []
    for number in NUMBERS:
        if found and found[-1].seconds >= LIMIT:
            found.append(found[-1])
            continue
        query.write_text("".join(f"{each:#x}\n" for each in addresses[:number]))
        found.append(run_of(command, query))
    return found


def measure_input(binary: Path, compiled: Mapping[str, Path]) -> dict[str, list[Run]]:
    """The series of each tool."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        gsym.convert(binary, folder / "a.gsym")
        addresses = random_addresses(functions(folder / "a.gsym"), NUMBERS[-1], seed=1)
        alone = folder / binary.name  # without a GSYM file beside it
        alone.symlink_to(binary.resolve())
        return {
            tool: series_of(command, addresses, folder / "query")
            for tool, command in commands(alone, compiled).items()
        }


def seconds_cells(series: list[Run]) -> list[str]:
    """A line of the table of seconds."""
    return [
        f"{each.seconds:.3g}" if each.seconds < LIMIT else f"> {LIMIT}"
        for each in series
    ]


def peak_cells(series: list[Run]) -> list[str]:
    """A line of the table of memory."""
    return [f"{each.peak:.0f}" if each.peak else "-" for each in series]


def ratio_cells(found: dict[str, list[Run]]) -> list[str]:
    """A line of the table of ratios."""
    cells = []
    for at, ours in enumerate(found[OURS]):
        fastest = min(found[tool][at].seconds for tool in found if tool != OURS)
        cells.append(f"**{fastest / ours.seconds:.1f}x**")
    return cells


def main() -> None:
    """Measure, print, and with --write keep the tables and the chart."""
    arguments = argument_parser(__doc__).parse_args()
    measured = {}
    with tempfile.TemporaryDirectory() as temporary:
        compiled = dwarf_programs(Path(temporary))
        for name in arguments.input or INPUTS:
            measured[name] = measure_input(arguments.corpus / "big" / name, compiled)
            print(name, measured[name], file=sys.stderr)
    numbers = [f"{number}" for number in NUMBERS]
    every = [
        (f"{name}, {tool}", series)
        for name, found in measured.items()
        for tool, series in found.items()
    ]
    parts = [
        made_by("python -m benchmarks.without_file CORPUS", [*PEERS, *versions()]),
        LEGEND.format(rounds=ROUNDS, limit=LIMIT),
        table(
            ("input and tool", *numbers),
            [[title, *seconds_cells(series)] for title, series in every],
        ),
        RATIO_LEGEND,
        table(
            ("input", *numbers),
            [[name, *ratio_cells(found)] for name, found in measured.items()],
        ),
        PEAK_LEGEND,
        table(
            ("input and tool", *numbers),
            [[title, *peak_cells(series)] for title, series in every],
        ),
    ]
    if arguments.write:
        panels = [
            Panel(
                name,
                {
                    tool: [
                        (number, each.seconds)
                        for number, each in zip(NUMBERS, series, strict=True)
                    ]
                    for tool, series in found.items()
                },
            )
            for name, found in measured.items()
        ]
        parts.append(curves("without-file", "addresses", "seconds", panels))
        write_region("without file", "\n\n".join(parts))
    print("\n\n".join(parts))


if __name__ == "__main__":
    main()
