"""The minimum work of a conversion, measured by benchmarks/bare_walk.c."""

from __future__ import annotations

import statistics
import subprocess
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


class BareWalk(NamedTuple):
    """What was passed, and in how many seconds."""

    dies: int
    die_seconds: float
    rows: int
    row_seconds: float


def measure_bare_walk(program: Path, binary: Path, rounds: int) -> BareWalk:
    """Medians over *rounds* runs, which all pass the same."""
    runs = []
    for _ in range(rounds):
        done = subprocess.run([program, binary], capture_output=True, check=True)
        dies, die_seconds, rows, row_seconds = done.stdout.split()
        runs.append(
            BareWalk(int(dies), float(die_seconds), int(rows), float(row_seconds))
        )
    if len({(run.dies, run.rows) for run in runs}) > 1:
        raise ValueError(f"{binary}: runs of the bare walk differ")
    return runs[0]._replace(
        die_seconds=statistics.median(run.die_seconds for run in runs),
        row_seconds=statistics.median(run.row_seconds for run in runs),
    )
