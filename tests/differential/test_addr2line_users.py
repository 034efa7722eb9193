"""Programs that start `addr2line` by its name and get `gsym-addr2line`."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.addr2line_runs import COMMAND, environment

if TYPE_CHECKING:
    from pathlib import Path

LONG_ENOUGH = 120
BUSY = """\
static inline __attribute__((always_inline)) long work(long count) {
    long sum = 0;
    for (long i = 0; i < count; i++)
        sum += i * i ^ sum;
    return sum;
}
__attribute__((noinline)) long outer(long count) { return work(count) + 1; }
int main(void) { volatile long sum = outer(100000000); return sum & 1; }
"""


def run(*command: str, folder: Path, path: str) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment(folder / "cache"), "PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"{command[0]} does not run here: {done.stderr[-300:]}")
    return done.stdout


def source_lines(report: str) -> list[str]:
    """The lines of a report of perf that tell of our program."""
    return [line for line in report.splitlines() if "busy.c:" in line]


@pytest.mark.skipif(
    any(shutil.which(name) is None for name in ("perf", "cc", "addr2line")),
    reason="perf, cc and addr2line are needed",
)
def test_perf_reports_the_same_source_lines(tmp_path: Path) -> None:
    usual = os.environ["PATH"]
    (tmp_path / "busy.c").write_text(BUSY)
    ours = tmp_path / "bin" / "addr2line"
    ours.parent.mkdir()
    log = tmp_path / "log"
    ours.write_text(
        f'#!/bin/sh\necho "$@" >> {shlex.quote(str(log))}\nexec '
        f'{shlex.join(COMMAND)} "$@"\n'
    )
    ours.chmod(0o755)
    run("cc", "-g", "-O1", "-o", "busy", "busy.c", folder=tmp_path, path=usual)
    record = ("perf", "record", "-e", "cpu-clock", "-g", "-o", "data", "./busy")
    run(*record, folder=tmp_path, path=usual)
    report = ["perf", "report", "-i", "data", "--stdio", "--no-children", "--inline"]
    report += ["-g", "srcline,address", "-F", "overhead,srcline"]
    theirs = run(*report, folder=tmp_path, path=usual)
    own = run(*report, folder=tmp_path, path=f"{ours.parent}:{usual}")
    if not log.exists():
        pytest.skip("this perf reads debug information itself")
    assert source_lines(own) == source_lines(theirs) != []
