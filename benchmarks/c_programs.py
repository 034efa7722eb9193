"""The C programs that benchmarks run, compiled on demand."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from benchmarks.report import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def compile_program(name: str, folder: Path, *options: str | Path) -> Path:
    """Compile benchmarks/*name*.c into *folder*; *options* stand behind it.

    Raises:
        subprocess.CalledProcessError: The compiler refused it.
    """
    program = folder / name
    source = ROOT / "benchmarks" / f"{name}.c"
    compiler = (os.environ.get("CC", "cc"), "-std=c11", "-O2")
    subprocess.run([*compiler, "-o", program, source, *options], check=True)
    return program
