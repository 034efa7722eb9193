"""Answers of `gsym-symbolizer` in the styles LLVM and GNU.

What a GSYM file does not carry is printed as llvm-symbolizer prints its absence:
columns as 0, no line that a function starts at, no discriminators, no variables.
"""

from __future__ import annotations

import sys

from gsym.cli.dropins.symbolizer_modules import Location
from gsym.cli.dropins.symbolizer_source import source_context
from gsym.cli.terminal import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.cli.dropins.symbolizer_requests import Request
    from gsym.containers.data_symbols import DataSymbol

_UNKNOWN = "??"
_NOWHERE = Location()


class PlainStyle:
    """Makes text of answers.

    Args:
        options: How it shall look.
        name_of: Gives the name to print for the linker's name of a function.
    """

    between = ""

    def __init__(self, options: Options, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of
        self._shown = printable if sys.stdout.isatty() else str
        self._addresses = options.addresses
        self._pretty = options.pretty
        self._verbose = options.verbose
        self._functions = options.functions != "none"
        self._context_lines = options.context_lines
        self._is_gnu = options.style == "GNU"
        self._behind_name = " at " if options.pretty else "\n"
        self._inlined = " (inlined by) " if options.pretty else ""
        self._behind_line = "\n" if self._is_gnu else ":0\n"
        self._footer = "" if self._is_gnu else "\n"

    def begin(self) -> str:
        """What stands in front of answers to a command line."""
        return ""

    def end(self) -> str:
        """What stands behind them."""
        return ""

    def frames(self, request: Request, frames: list[Location] | None) -> str:
        """The frames at an address, innermost first; None: the module has none."""
        lines = [self._header(request)]
        for at, location in enumerate(frames or (_NOWHERE,)):
            lines.append(self._location(location, is_inlined=at > 0))
        lines.append(self._footer)
        return "".join(lines)

    def nothing(self, module: str) -> str:  # noqa: ARG002 - JSON prints it
        """The answer to what is no request."""
        return self._location(_NOWHERE, is_inlined=False) + self._footer

    def symbols(self, request: Request, locations: list[Location]) -> str:
        """Where the functions of a name are."""
        if not locations:
            return self.nothing(request.module)
        places = [self._location(each, is_inlined=False) for each in locations]
        return "".join(places) + self._footer

    def data(self, request: Request, symbol: DataSymbol | None) -> str:
        """What is known of an address of data."""
        header = self._header(request)
        if symbol is None:
            return f"{header}{_UNKNOWN}\n0 0\n??:?\n{self._footer}"
        name = self._shown(self._name_of(symbol.name)) or _UNKNOWN
        line = f"{self._shown(symbol.file)}:0" if symbol.file else "??:?"
        return f"{header}{name}\n{symbol.start} {symbol.size}\n{line}\n{self._footer}"

    def variables(self, request: Request) -> str:
        """The variables of a frame: a GSYM file has none."""
        return f"{self._header(request)}{_UNKNOWN}\n{self._footer}"

    def failure(self, request: Request, reason: str) -> str | None:  # noqa: ARG002
        """A module that cannot be read: told on standard error, and not known here."""
        return None

    def _header(self, request: Request) -> str:
        if not self._addresses or request.symbol:
            return ""
        return f"{request.address:#x}{': ' if self._pretty else chr(10)}"

    def _location(self, location: Location, *, is_inlined: bool) -> str:
        function, file, line, _ = location
        name = ""
        if self._functions:
            name = self._shown(self._name_of(function)) or _UNKNOWN
            prefix = self._inlined if is_inlined else ""
            name = f"{prefix}{name}{self._behind_name}"
        if self._verbose:
            return name + self._details(location)
        shown = self._shown(file) or _UNKNOWN
        text = f"{name}{shown}:{line}{self._behind_line}"
        if self._context_lines:
            text += source_context(file, line, self._context_lines)
        return text

    def _details(self, location: Location) -> str:
        start = ""
        if location.start is not None and not self._is_gnu:
            start = f"  Function start address: {location.start:#x}\n"
        return (
            f"  Filename: {self._shown(location.file) or _UNKNOWN}\n{start}"
            f"  Line: {location.line}\n  Column: 0\n"
        )
