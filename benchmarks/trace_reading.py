"""Read a Fuchsia trace in one way and print the cost; run by benchmarks.traces.

python -m benchmarks.trace_reading WAY FILE
"""

from __future__ import annotations

import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from gsym.fxt.reader import open_trace

if TYPE_CHECKING:
    from collections.abc import Callable


def count(path: str) -> None:
    """Counts by kind only."""
    trace = open_trace(path, kinds=())
    deque(trace.columns(), maxlen=0)
    assert not trace.problems  # noqa: S101 - the figure would mean nothing


def read_columns(path: str) -> None:
    """Times, threads, names and arguments as columns."""
    names = ("ticks", "ns", "process", "thread", "category", "name", "value")
    for columns in open_trace(path).columns():
        for name in names:
            columns.event_column(name)
        columns.argument_column("types")


def read_records(path: str) -> None:
    """A named tuple for each event, its arguments among its fields."""
    deque(open_trace(path), maxlen=0)


def read_by_peer(path: str) -> None:
    """The package fxt."""
    from fxt.reader import parse_records  # noqa: PLC0415 - only this way needs it

    with Path(path).open("rb") as file:
        parse_records(file)


WAYS: dict[str, Callable[[str], None]] = {
    "fxt": read_by_peer,
    "records": read_records,
    "columns": read_columns,
    "count": count,
}


def main() -> None:
    """Print seconds of processor time and peak memory in MiB."""
    way, path = sys.argv[1:]
    begin = time.process_time()
    WAYS[way](path)
    spent = time.process_time() - begin
    # Of this program alone: what getrusage says may be the peak of its parent.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    print(spent, int(peak.split()[1]) / 1024)


if __name__ == "__main__":
    main()
