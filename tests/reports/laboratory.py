"""Build programs, strip them, run them, and keep what they or their tools print.

The full files are in a build folder, some levels down; what runs is stripped and lies
elsewhere, so that a report has nothing but addresses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.reports.sources import FILES

if TYPE_CHECKING:
    from pathlib import Path

NESTED = "out/linux/x64/release/obj"


class Laboratory:
    """Programs of `sources.FILES`.

    Attributes:
        build: The folder to give as a source of modules.
        here: Where programs run.
    """

    def __init__(self, folder: Path) -> None:
        self.build = folder / "build"
        self.here = folder / "run"
        self._sources = folder / "src"
        self._nested = self.build / NESTED
        for each in (self._nested, self.here, self._sources):
            each.mkdir(parents=True)
        for name, text in FILES.items():
            (self._sources / name).write_text(text)
        self._built: dict[str, str] = {}

    def build_program(self, name: str, command: str, *, splits: bool = False) -> None:
        """Build a program, unless it is built; the command has `$OUT` for its path.

        Args:
            name: File name of the program.
            command: For a shell that runs in the folder of the sources.
            splits: Keep debug information in a file of its own.
        """
        if name in self._built:
            problem = self._built[name]
        else:
            problem = self._built[name] = self._build(name, command)
            if splits and not self._built[name]:
                self._split(name)
        if problem:
            pytest.skip(problem)

    def _build(self, name: str, command: str) -> str:
        """The reason why it cannot be built, or ""."""
        tool = command.split(maxsplit=1)[0]
        if shutil.which(tool) is None:
            return f"not installed: {tool}"
        out = self._nested / name
        done = self._shell(command, self._sources, OUT=str(out))
        if done.returncode:
            return f"{tool} cannot build {name}: {done.stdout[-300:]}"
        subprocess.run(["strip", "-o", self.here / name, out], check=True)
        return ""

    def _split(self, name: str) -> None:
        out = self._nested / name
        debug = out.with_name(f"{name}.debug")
        subprocess.run(["objcopy", "--only-keep-debug", out, debug], check=True)
        out.unlink()

    def run(self, command: str, **environment: str) -> str:
        """What a shell command prints; skips the test if a tool is missing."""
        for tool in command.split():
            if tool in TOOLS and shutil.which(tool) is None:
                pytest.skip(f"not installed: {tool}")
        return self._shell(command, self.here, **environment).stdout

    def _shell(
        self, command: str, folder: Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", f"ulimit -c 0; {command}"],
            cwd=folder,
            env={**os.environ, "LC_ALL": "C", "PYTHON": sys.executable} | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=300,
            check=False,
        )


TOOLS = frozenset(
    {
        *("gdb", "lldb-19", "valgrind", "perf", "heaptrack", "java", "eu-stack"),
        *("ms_print", "node", "strace"),
    }
)
