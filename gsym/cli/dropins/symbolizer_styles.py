"""Answers of `gsym-symbolizer` in the styles LLVM, GNU and JSON."""

from __future__ import annotations

import sys

from gsym.cli.terminal import printable
from gsym.engine.native import to_bytes, to_str
from gsym.lazy import json

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_requests import Request
    from gsym.containers.data_symbols import DataSymbol
    from gsym.formatting.styles import SymbolizerOutput

_INDENT = 2
_UNKNOWN = "??"


class PlainStyle:
    """Formats answers as text."""

    is_list = False
    begin = between = end = ""  # the texts before, between and after all answers

    def __init__(self, output: SymbolizerOutput, name_of: Callable[[str], str]) -> None:
        self._output = output
        self._name_of = name_of
        self._shown = printable if sys.stdout.isatty() else str

    def frames(self, request: Request, answer: bytes | None) -> str:
        """The engine's answer to an address; None: the module is missing."""
        if answer is not None:
            return to_str(answer)
        return self._header(request) + self.nothing(request.module)

    def nothing(self, module: str) -> str:  # noqa: ARG002 - JSON prints it
        """The answer to an invalid request."""
        return self._output.unknown_frame + self._output.footer

    def symbols(self, request: Request, locations: list[bytes]) -> str:
        """The engine's locations of functions with a name."""
        if not locations:
            return self.nothing(request.module)
        return to_str(b"".join(locations)) + self._output.footer

    def data(self, request: Request, symbol: DataSymbol | None) -> str:
        """The answer to an address of data."""
        header, footer = self._header(request), self._output.footer
        if symbol is None:
            return f"{header}{_UNKNOWN}\n0 0\n??:?\n{footer}"
        name = self._shown(self._name_of(symbol.name)) or _UNKNOWN
        line = f"{self._shown(symbol.file)}:0" if symbol.file else "??:?"
        return f"{header}{name}\n{symbol.start} {symbol.size}\n{line}\n{footer}"

    def variables(self, request: Request) -> str:
        """The variables of a frame, which a GSYM file does not contain."""
        return f"{self._header(request)}{_UNKNOWN}\n{self._output.footer}"

    def failure(self, request: Request, reason: str) -> str | None:  # noqa: ARG002
        """None: the error is reported on standard error."""
        return None

    def _header(self, request: Request) -> str:
        if not self._output.addresses or request.symbol:
            return ""
        return f"{request.address:#x}{': ' if self._output.pretty else chr(10)}"


class JsonStyle:
    """Formats answers as JSON, from the engine's answers to addresses.

    A list for requests on the command line, else an object per line.
    """

    def __init__(self, output: SymbolizerOutput, name_of: Callable[[str], str]) -> None:
        self._json = json
        self._name_of = name_of
        self._unknown_frame = json.loads(output.unknown_frame)
        self._indent = _INDENT if output.pretty else None
        self.is_list = False  # whether answers become the items of a list
        self.begin: str = "[\n" if output.pretty else "["
        self.between: str = ",\n" if output.pretty else ","
        self.end: str = "\n]\n" if output.pretty else "]\n"

    def frames(self, request: Request, answer: bytes | None) -> str:
        """The engine's answer to an address; None: the module is missing."""
        if answer is None:
            return self._answer(request, Symbol=[])
        return self._text(self._json.loads(to_str(answer)))

    def nothing(self, module: str) -> str:
        """The answer to an invalid request."""
        return self._text({"ModuleName": module, "Symbol": [self._unknown_frame]})

    def symbols(self, request: Request, locations: list[bytes]) -> str:
        """The engine's locations of functions with a name."""
        return self._answer(
            request, Loc=[self._json.loads(to_str(each)) for each in locations]
        )

    def data(self, request: Request, symbol: DataSymbol | None) -> str:
        """The answer to an address of data."""
        name, start, size = "", 0, 0
        if symbol is not None:
            name, start, size = self._name_of(symbol.name), symbol.start, symbol.size
        found = {"Name": name, "Start": f"{start:#x}", "Size": f"{size:#x}"}
        return self._answer(request, Data=found)

    def variables(self, request: Request) -> str:
        """The variables of a frame, which a GSYM file does not contain."""
        return self._answer(request, Frame=[])

    def failure(self, request: Request, reason: str) -> str | None:
        """The answer for a module that cannot be read."""
        return self._answer(request, Error={"Message": reason})

    def _answer(self, request: Request, **found: object) -> str:
        answer: dict[str, object] = {"ModuleName": request.shown_module, **found}
        if request.symbol:
            answer["SymName"] = request.symbol
        else:
            answer["Address"] = f"{request.address:#x}"
        return self._text(answer)

    def _text(self, answer: dict[str, object]) -> str:
        text = self._json.dumps(
            answer,
            ensure_ascii=False,
            indent=self._indent,
            separators=(",", ": " if self._indent else ":"),
            sort_keys=True,
        )
        text = to_bytes(text).decode("utf-8", "replace")  # JSON is UTF-8
        if not self.is_list:
            return f"{text}\n"
        if self._indent:
            return "  " + text.replace("\n", "\n  ")
        return text
