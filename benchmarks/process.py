"""Run a command once and measure its process."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Field = Literal["wall", "cpu", "peak"]


# Runs a command and prints its exit status and the fields of a Measurement.
_LAUNCHER = """
import os, sys, time
stdin, stdout, *command = sys.argv[1:]
actions = [
    (os.POSIX_SPAWN_OPEN, 0, stdin, os.O_RDONLY, 0),
    (os.POSIX_SPAWN_OPEN, 1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644),
    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
]
start = time.perf_counter()
child = os.posix_spawnp(command[0], command, os.environ, file_actions=actions)
_, status, usage = os.wait4(child, 0)
wall = time.perf_counter() - start
cpu = usage.ru_utime + usage.ru_stime
print(os.waitstatus_to_exitcode(status), wall, cpu, usage.ru_maxrss / 1024)
"""


class Measurement(NamedTuple):
    """One run: wall and processor time in seconds, peak resident memory in MiB.

    The kernel counts what a child shared with its parent before it started its own
    program, so commands are started by an interpreter that has imported next to
    nothing: peaks below its size, some 10 MiB, cannot be seen.
    """

    wall: float
    cpu: float
    peak: float


def measure(
    command: list[str], stdin: str = os.devnull, stdout: str = os.devnull
) -> Measurement:
    """Run *command* with its input and output in the files named.

    Raises:
        ChildProcessError: The command failed.
    """
    launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, stdin, stdout]
    done = subprocess.run(
        [*launcher, *command], capture_output=True, text=True, check=False
    )
    code, *figures = done.stdout.split() or ["not started"]
    if code != "0":
        raise ChildProcessError(f"exit status {code}: {' '.join(command)}")
    return Measurement(*map(float, figures))


def measure_pairs(
    ours: Callable[[], Measurement], peer: Callable[[], Measurement], rounds: int
) -> tuple[list[Measurement], list[Measurement]]:
    """Run both *rounds* times in turn, so that both see the same machine."""
    pairs = []
    for done in range(rounds):
        pairs.append((ours(), peer()))
        print(f"\r  pair {done + 1} of {rounds}", end="", file=sys.stderr)
    print("\r" + " " * 24, end="\r", file=sys.stderr)
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def column(runs: Sequence[Measurement], field: Field) -> list[float]:
    """One field of all *runs*."""
    return [float(getattr(run, field)) for run in runs]


def median_ratio(
    peer: Sequence[Measurement], ours: Sequence[Measurement], field: Field
) -> float:
    """The median over the pairs of peer / ours: how many times ours is better."""
    pairs = zip(column(peer, field), column(ours, field), strict=True)
    return statistics.median(theirs / our for theirs, our in pairs)
