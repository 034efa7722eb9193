"""Ways to run `gsymutil`: in this process, and as a program that reads a stream."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

from gsym.cli.dropins.gsymutil import main

if TYPE_CHECKING:
    import pytest

COMMAND = [sys.executable, "-m", "gsym.cli.dropins.gsymutil"]


class Printed(NamedTuple):
    status: int
    out: str
    err: str


def in_words_of_24(printed: str, stubs: int = 0) -> str:
    """What version 22 prints of the conversion of a Mach-O file, as of LLVM 24."""
    line = f"Loaded {stubs} functions from symbol stubs.\n"
    return re.sub(
        r"(Loaded \d+ functions from symbol table\.\n)", rf"\1{line}", printed
    )


class Run:
    """Runs the program in this process; *capture* is the fixture `capfdbinary`."""

    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def __call__(self, *arguments: str) -> Printed:
        status = main(list(arguments))
        out, err = self._capture.readouterr()
        return Printed(status, out.decode(), err.decode())


def stream(lines: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    """Send *lines* to `--addresses-from-stdin`."""
    return subprocess.run(
        [*COMMAND, "--addresses-from-stdin", *options],
        input=lines,
        capture_output=True,
        check=False,
        timeout=60,
    )
