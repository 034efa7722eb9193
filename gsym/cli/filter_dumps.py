"""What `gsym filter` does with a dump: a command, a list of dumps, coverage."""

from __future__ import annotations

import json
import os
import subprocess

from gsym._native import to_bytes
from gsym.atomic_file import AtomicFile
from gsym.cli.terminal import describe, printable
from gsym.errors import GsymError
from gsym.markup_filter.dumps import coverage_lines, dump_record

__all__ = ["DumpHandler"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from gsym.formats.markup_elements import DumpFile
    from gsym.markup_filter.address_space import AddressSpace
    from gsym.markup_filter.symbols import Symbols

_MOST_DUMPS = 4096
_MOST_COVERAGE = 1 << 28  # bytes of a file
_LONGEST_LINE = 4096


class DumpHandler:
    """Handles the dumps of a log.

    Args:
        command: A program with its arguments that gets a dump as JSON on its standard
            input; the first line that it prints stands for the element. None: none.
        timeout: Seconds that it may take.
        coverage: Folder with .sancov files, whose points are written to a file beside
            each; "" for none.
        keeps: Whether all dumps are kept for `write`.
        tell: Gets sentences on what failed.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout: float,
        coverage: str,
        keeps: bool,
        tell: Callable[[str], object],
    ) -> None:
        self._command = list(command)
        self._timeout = timeout
        self._coverage = coverage
        self._keeps = keeps
        self._tell = tell
        self._dumps: list[dict[str, Any]] = []

    def __call__(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        """What stands for the element; None: what it is."""
        record = dump_record(dump, space)
        if self._keeps and len(self._dumps) < _MOST_DUMPS:
            self._dumps.append(record)
        if self._coverage and dump.kind == "sancov":
            return self._symbolize(dump, space, symbols)
        return self._run(record) if self._command else None

    def write(self, path: str) -> None:
        """Write all dumps as a JSON list.

        Raises:
            OSError: It cannot be written.
        """
        text = json.dumps(self._dumps, indent=1) + "\n"
        with AtomicFile(path) as file:
            file.write(text.encode("utf-8", "replace"))

    def _run(self, record: dict[str, Any]) -> bytes | None:
        name = self._command[0]
        try:
            done = subprocess.run(  # noqa: S603 - what the user asks to be run
                self._command,
                input=json.dumps(record).encode("utf-8", "replace"),
                stdout=subprocess.PIPE,
                timeout=self._timeout,
                check=False,
            )
        except OSError as error:
            self._tell(describe(error))
            return None
        except subprocess.TimeoutExpired:
            self._tell(f"{name} took more than {self._timeout:g} seconds")
            return None
        if done.returncode:
            self._tell(f"{name} ended with {done.returncode}")
            return None
        lines = done.stdout.splitlines()
        return lines[0][:_LONGEST_LINE] if lines else None

    def _symbolize(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        name = dump.name
        if not name or name != os.path.basename(name) or name in {".", ".."}:
            self._tell(f"'{printable(name)}' is no name of a dump")
            return None
        path = os.path.join(self._coverage, name)
        try:
            with open(path, "rb") as file:
                data = file.read(_MOST_COVERAGE)
            count = 0
            with AtomicFile(f"{path}.txt") as output:
                for line in coverage_lines(data, space, symbols):
                    output.write(to_bytes(f"{line}\n"))
                    count += 1
        except (GsymError, OSError) as error:
            self._tell(describe(error))
            return None
        return to_bytes(f"[[[sancov: {count} points in {path}.txt]]]")
