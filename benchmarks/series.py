"""Processor time of tools that look up growing numbers of addresses."""

from __future__ import annotations

import statistics
import sys
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.process import column, measure

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = (1, 10, 100, 1_000, 10_000, 100_000)
ROUNDS = 3  # of runs that take less than a second
PATIENCE = 2.0  # seconds: after a longer run a series ends


class Tool(NamedTuple):
    """A way to get answers.

    Attributes:
        convert: Makes the file that is asked; None: it looks in the DWARF.
        lookup: Answers the addresses of its standard input.
        line: How one of them is written there.
    """

    convert: list[str] | None
    lookup: list[str]
    line: str = "0x{:x}\n"


def seconds_of(command: list[str], stdin: str) -> float:
    """The median processor time of a command; of one run only where that is long."""
    runs = [measure(command, stdin)]
    while len(runs) < ROUNDS and runs[0].cpu < 1:
        runs.append(measure(command, stdin))
    return statistics.median(column(runs, "cpu"))


def series_of(tool: Tool, addresses: list[int], query: Path) -> list[float]:
    """Seconds for 1, 10, 100 ... addresses, the conversion included."""
    convert = 0.0
    found: list[float] = []
    try:
        if tool.convert is not None:
            convert = seconds_of(tool.convert, "/dev/null")
        for number in NUMBERS:
            query.write_text("".join(map(tool.line.format, addresses[:number])))
            found.append(seconds_of(tool.lookup, str(query)))
            if found[-1] > PATIENCE:
                break
    except ChildProcessError as error:
        print(error, file=sys.stderr)
    return [convert + each for each in found]
