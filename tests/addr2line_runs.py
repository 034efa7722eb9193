"""Runs of `gsym-addr2line`, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-m", "gsym.cli.dropins.addr2line")


class Run(NamedTuple):
    """What a run printed, and its exit code."""

    output: bytes
    complaints: str
    status: int


def environment(cache: Path) -> dict[str, str]:
    """That of a run that keeps what it converts in *cache*."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "GSYM_CACHE_DIR": str(cache),
    }


def addr2line(
    *arguments: str, cache: Path, lines: bytes = b"", folder: Path | None = None
) -> Run:
    """Run the program in *folder* with *lines* on its standard input."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        input=lines,
        cwd=folder,
        env=environment(cache),
        capture_output=True,
        check=False,
    )
    return Run(done.stdout, done.stderr.decode(), done.returncode)
