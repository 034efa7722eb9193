"""Fuchsia traces read as records or columns, or counted; compared with package fxt.

    python -m benchmarks.traces [--events N] [--rounds N] [--write]

The trace has interned strings, and complete durations with an argument on four threads.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from benchmarks.report import made_by, write_region
from benchmarks.trace_reading import WAYS

MAGIC = 0x0016547846040010
NAMES = 64
THREADS = 4
TITLES = {
    "fxt": "`fxt` {peer}: records",
    "records": "gsym: records",
    "columns": "gsym: columns",
    "count": "gsym: counts by kind",
}
HEAD = ("reader", "events/s", "MB/s", "ratio", "peak, MiB")
LEGEND = """\
{count} complete durations with a 64-bit argument, {size:.0f} MB; processor time
without start-up, medians of {rounds} rounds."""


def words(*values: int) -> bytes:
    """Words of a trace."""
    return b"".join(value.to_bytes(8, "little") for value in values)


def head() -> bytes:
    """What stands in front of the events: their strings and threads."""
    provider = words(2 << 4 | 1 << 16 | 1 << 20 | 5 << 52) + b"bench\0\0\0"
    parts = [words(MAGIC), provider, words(1 | 2 << 4, 1_000_000_000)]
    for index in range(1, NAMES + 1):
        text = f"operation_{index:04}".encode()
        padded = text.ljust(16, b"\0")
        parts.append(words(2 | 3 << 4 | index << 16 | len(text) << 32) + padded)
    parts += [
        words(3 | 3 << 4 | index << 16, 1000, 1000 + index)
        for index in range(1, THREADS + 1)
    ]
    return b"".join(parts)


def events(count: int) -> bytes:
    """Complete durations, one after the other."""
    numbers = np.arange(count, dtype=np.uint64)
    header = np.uint64(4 | 5 << 4 | 4 << 16 | 1 << 20 | 1 << 32)
    made = np.empty((count, 5), dtype=np.uint64)
    made[:, 0] = (
        header
        | (numbers % np.uint64(THREADS) + np.uint64(1)) << np.uint64(24)
        | (numbers % np.uint64(NAMES) + np.uint64(1)) << np.uint64(48)
    )
    made[:, 1] = numbers * np.uint64(1000)
    made[:, 2] = np.uint64(4 | 2 << 4 | 2 << 16)
    made[:, 3] = numbers
    made[:, 4] = made[:, 1] + np.uint64(700)
    return made.tobytes()


def measure(way: str, path: Path) -> tuple[float, float]:
    """Seconds of processor time, and peak memory in MiB."""
    command = [sys.executable, "-m", "benchmarks.trace_reading", way, str(path)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    seconds, peak = map(float, said.split())
    return seconds, peak


def peer_version() -> str | None:
    """That of the package fxt; None where it is not installed."""
    try:
        return version("fxt")
    except PackageNotFoundError:
        return None


def main() -> None:
    """Measure, print, and with --write keep the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    arguments = parser.parse_args()
    peer = peer_version()
    ways = [way for way in WAYS if way != "fxt" or peer]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.fxt"
        path.write_bytes(head() + events(arguments.events))
        size = os.path.getsize(path) / 1e6  # noqa: PTH202 - one number
        runs = [
            {way: measure(way, path) for way in ways} for _ in range(arguments.rounds)
        ]
    seconds = {way: statistics.median(run[way][0] for run in runs) for way in ways}
    peaks = {way: statistics.median(run[way][1] for run in runs) for way in ways}
    rows = [
        [
            TITLES[way].format(peer=peer),
            f"{arguments.events / seconds[way] / 1e6:.2f} million",
            f"{size / seconds[way]:.0f}",
            f"**{seconds['fxt'] / seconds[way]:.1f}x**" if peer else "-",
            f"{peaks[way]:.0f}",
        ]
        for way in ways
    ]
    command = f"python -m benchmarks.traces --events {arguments.events}"
    text = "\n\n".join(
        (
            made_by(f"{command} --rounds {arguments.rounds}"),
            LEGEND.format(count=arguments.events, size=size, rounds=arguments.rounds),
            table(HEAD, rows),
        )
    )
    print(text)
    if arguments.write:
        write_region("traces", text)


if __name__ == "__main__":
    main()
