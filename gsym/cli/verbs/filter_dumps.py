"""What `gsym filter` does with a dump: a list of dumps, coverage."""

from __future__ import annotations

import json
import os

from gsym.cli.terminal import describe, printable
from gsym.engine.native import to_bytes
from gsym.errors import GsymError
from gsym.markup.dumps import coverage_lines, dump_record
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from typing_extensions import Self

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.elements import DumpFile
    from gsym.markup.symbols import Symbols

_MOST_COVERAGE = 1 << 28  # bytes of a file


class DumpList:
    """A JSON list of dumps, which is there when its `with` block has ended.

    Args:
        path: Of the file.

    Raises:
        OSError: It cannot be written.
    """

    def __init__(self, path: str) -> None:
        self._file = AtomicFile(path)
        self._between = "["

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def add(self, record: dict[str, Any]) -> None:
        """Append a dump.

        Raises:
            OSError: It cannot be written.
        """
        self._put(f"{self._between}\n{json.dumps(record)}")
        self._between = ","

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self._put("[]\n" if self._between == "[" else "\n]\n")
        self._file.__exit__(kind, error, traceback)

    def _put(self, text: str) -> None:
        self._file.write(text.encode("utf-8", "replace"))


class DumpHandler:
    """Handles the dumps of a log.

    Args:
        coverage: Folder with .sancov files, whose points are written to a file beside
            each; "" for none.
        tell: Gets sentences on what failed.

    Attributes:
        kept: Gets all dumps; None: they are not kept.
    """

    def __init__(self, *, coverage: str, tell: Callable[[str], object]) -> None:
        self.kept: DumpList | None = None
        self._coverage = coverage
        self._tell = tell

    def __call__(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        """The text that replaces the element; None to show the element."""
        if self.kept is not None:
            self.kept.add(dump_record(dump, space))
        if self._coverage and dump.kind == "sancov":
            return self._symbolize(dump, space, symbols)
        return None

    def _symbolize(
        self, dump: DumpFile, space: AddressSpace, symbols: Symbols
    ) -> bytes | None:
        name = dump.name
        is_within = name == os.path.basename(name) and name not in {"", ".", ".."}
        if not is_within or "\0" in name:
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
