"""Answers of `gsym-symbolizer` in the styles LLVM and GNU."""

from __future__ import annotations

import sys

from gsym.cli.terminal import printable
from gsym.engine.native import to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_requests import Request
    from gsym.containers.data_symbols import DataSymbol
    from gsym.formatting.symbolizer import SymbolizerOutput

_UNKNOWN = "??"


class PlainStyle:
    """Makes text of answers.

    Args:
        output: What it shall look like.
        name_of: Gives the name to print for the linker's name of a symbol.
    """

    between = ""

    def __init__(self, output: SymbolizerOutput, name_of: Callable[[str], str]) -> None:
        self._output = output
        self._name_of = name_of
        self._shown = printable if sys.stdout.isatty() else str

    def begin(self) -> str:
        """What stands before answers to a command line."""
        return ""

    def end(self) -> str:
        """What stands after them."""
        return ""

    def frames(self, request: Request, answer: bytes | None) -> str:
        """The answer to an address, as the engine made it; None: without a module."""
        if answer is not None:
            return to_str(answer)
        return self._header(request) + self.nothing(request.module)

    def nothing(self, module: str) -> str:  # noqa: ARG002 - JSON prints it
        """The answer to what is not a request."""
        return self._output.unknown_frame + self._output.footer

    def symbols(self, request: Request, locations: list[bytes]) -> str:
        """Where the functions of a name are, as the engine made it."""
        if not locations:
            return self.nothing(request.module)
        return to_str(b"".join(locations)) + self._output.footer

    def data(self, request: Request, symbol: DataSymbol | None) -> str:
        """What is known of an address of data."""
        header, footer = self._header(request), self._output.footer
        if symbol is None:
            return f"{header}{_UNKNOWN}\n0 0\n??:?\n{footer}"
        name = self._shown(self._name_of(symbol.name)) or _UNKNOWN
        line = f"{self._shown(symbol.file)}:0" if symbol.file else "??:?"
        return f"{header}{name}\n{symbol.start} {symbol.size}\n{line}\n{footer}"

    def variables(self, request: Request) -> str:
        """The variables of a frame: a GSYM file has none."""
        return f"{self._header(request)}{_UNKNOWN}\n{self._output.footer}"

    def failure(self, request: Request, reason: str) -> str | None:  # noqa: ARG002
        """A module that cannot be read: told on standard error, and not known here."""
        return None

    def _header(self, request: Request) -> str:
        if not self._output.addresses or request.symbol:
            return ""
        return f"{request.address:#x}{': ' if self._output.pretty else chr(10)}"
