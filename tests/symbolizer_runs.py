"""Ways to run `gsym-symbolizer`, in this process and as a program, and LLVM's."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from gsym.cli.dropins.symbolizer import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pytest

LLVM_SYMBOLIZER = "llvm-symbolizer-22"
COMMAND = [sys.executable, "-m", "gsym.cli.dropins.symbolizer"]


class Printed(NamedTuple):
    status: int
    out: str
    err: str


class Run:
    """Runs the program in this process; *capture* is the fixture `capfdbinary`."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str) -> Printed:
        status = main(list(arguments))
        out, err = self._capture.readouterr()
        return Printed(
            status,
            out.decode("utf-8", "surrogateescape"),
            err.decode("utf-8", "surrogateescape"),
        )


def stream(lines: str, *options: str) -> Printed:
    """Send *lines* to a process of its own."""
    done = subprocess.run(
        [*COMMAND, *options],
        input=lines,
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
        errors="surrogateescape",
    )
    return Printed(done.returncode, done.stdout, done.stderr)


def run_llvm(
    *arguments: str,
    lines: str = "",
    reads_gsym: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Printed:
    """Run llvm-symbolizer with *lines* on its standard input.

    It would prefer APP.gsym beside APP to the debug information of APP, of whatever
    build, so that our files would vouch for themselves. Hence nothing else in the
    tests runs it, and it reads GSYM files only where *reads_gsym* says so.
    """
    own = () if reads_gsym else ("--disable-gsym",)
    done = subprocess.run(
        [LLVM_SYMBOLIZER, *own, *arguments],
        input=lines.encode("utf-8", "surrogateescape"),
        capture_output=True,
        check=False,
        # It does not run under the sanitizer of this process.
        env={k: v for k, v in environment.items() if k != "LD_PRELOAD"},
    )
    printed = (
        each.decode("utf-8", "surrogateescape") for each in (done.stdout, done.stderr)
    )
    return Printed(done.returncode, *printed)


def install(folder: Path) -> Path:
    """A program named `llvm-symbolizer` in *folder*, which is this one."""
    program = folder / "llvm-symbolizer"
    path = os.pathsep.join(filter(None, sys.path))
    program.write_text(
        f"#!/bin/sh\nPYTHONPATH='{path}' exec {' '.join(COMMAND)} \"$@\"\n", "utf-8"
    )
    program.chmod(0o755)
    return program
