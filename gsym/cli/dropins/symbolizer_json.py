"""Answers of `gsym-symbolizer` as JSON.

A list for the requests of a command line, else an object a line.
"""

from __future__ import annotations

import json

from gsym.cli.dropins.symbolizer_modules import Location
from gsym.cli.dropins.symbolizer_source import source_context
from gsym.engine.native import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.cli.dropins.symbolizer_requests import Request
    from gsym.containers.data_symbols import DataSymbol

_INDENT = 2
_NOWHERE = Location()


class JsonStyle:
    """Makes JSON of answers.

    Args:
        options: How it shall look.
        name_of: Gives the name to print for the linker's name of a function.
    """

    def __init__(self, options: Options, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of
        self._functions = options.functions != "none"
        self._context_lines = options.context_lines
        self._indent = _INDENT if options.pretty else None
        self._is_list = False
        self.between = ",\n" if options.pretty else ","

    def begin(self) -> str:
        """What stands in front of answers to a command line: they become a list."""
        self._is_list = True
        return "[\n" if self._indent else "["

    def end(self) -> str:
        """What stands behind them."""
        return "\n]\n" if self._indent else "]\n"

    def frames(self, request: Request, frames: list[Location] | None) -> str:
        """The frames at an address, innermost first; None: the module has none."""
        if frames is None:
            return self._answer(request, Symbol=[])
        return self._answer(
            request, Symbol=[self._location(each) for each in frames or (_NOWHERE,)]
        )

    def nothing(self, module: str) -> str:
        """The answer to what is no request."""
        return self._text({"ModuleName": module, "Symbol": [self._location(_NOWHERE)]})

    def symbols(self, request: Request, locations: list[Location]) -> str:
        """Where the functions of a name are."""
        return self._answer(request, Loc=[self._location(each) for each in locations])

    def data(self, request: Request, symbol: DataSymbol | None) -> str:
        """What is known of an address of data."""
        name, start, size = "", 0, 0
        if symbol is not None:
            name, start, size = self._name_of(symbol.name), symbol.start, symbol.size
        found = {"Name": name, "Start": f"{start:#x}", "Size": f"{size:#x}"}
        return self._answer(request, Data=found)

    def variables(self, request: Request) -> str:
        """The variables of a frame: a GSYM file has none."""
        return self._answer(request, Frame=[])

    def failure(self, request: Request, reason: str) -> str | None:
        """A module that cannot be read."""
        return self._answer(request, Error={"Message": reason})

    def _answer(self, request: Request, **found: object) -> str:
        module = request.module or request.build_id.hex().upper()
        answer: dict[str, object] = {"ModuleName": module, **found}
        if request.symbol:
            answer["SymName"] = request.symbol
        else:
            answer["Address"] = f"{request.address:#x}"
        return self._text(answer)

    def _location(self, location: Location) -> dict[str, object]:
        function, file, line, start = location
        found = {
            "FunctionName": self._name_of(function) if self._functions else "",
            "StartFileName": "",
            "StartLine": 0,
            "StartAddress": "" if start is None else f"{start:#x}",
            "FileName": file,
            "Line": line,
            "Column": 0,
            "Discriminator": 0,
        }
        if self._context_lines:
            source = source_context(file, line, self._context_lines)
            if source:
                found["Source"] = source
        return found

    def _text(self, answer: dict[str, object]) -> str:
        text = json.dumps(
            answer,
            ensure_ascii=False,
            indent=self._indent,
            separators=(",", ": " if self._indent else ":"),
            sort_keys=True,
        )
        text = to_bytes(text).decode("utf-8", "replace")  # JSON is UTF-8
        if not self._is_list:
            return f"{text}\n"
        if self._indent:
            return "  " + text.replace("\n", "\n  ")
        return text
