"""Answers of `gsym-symbolizer` as JSON, from the engine's answers to addresses.

A list for requests on the command line, else an object per line.
"""

from __future__ import annotations

import json

from gsym.engine.native import to_bytes, to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.cli.dropins.symbolizer_requests import Request
    from gsym.containers.data_symbols import DataSymbol
    from gsym.formatting.symbolizer import SymbolizerOutput

_INDENT = 2


class JsonStyle:
    """Formats answers as JSON.

    Args:
        output: The output format.
        name_of: Converts linkage names for output.
    """

    def __init__(self, output: SymbolizerOutput, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of
        self._unknown_frame = json.loads(output.unknown_frame)
        self._indent = _INDENT if output.pretty else None
        self._is_list = False
        self.between = ",\n" if output.pretty else ","

    def begin(self) -> str:
        """The text before answers to a command line, which become a list."""
        self._is_list = True
        return "[\n" if self._indent else "["

    def end(self) -> str:
        """The text after them."""
        return "\n]\n" if self._indent else "]\n"

    def frames(self, request: Request, answer: bytes | None) -> str:
        """The engine's answer to an address; None: the module is missing."""
        if answer is None:
            return self._answer(request, Symbol=[])
        return self._text(json.loads(to_str(answer)))

    def nothing(self, module: str) -> str:
        """The answer to an invalid request."""
        return self._text({"ModuleName": module, "Symbol": [self._unknown_frame]})

    def symbols(self, request: Request, locations: list[bytes]) -> str:
        """The engine's locations of functions with a name."""
        return self._answer(
            request, Loc=[json.loads(to_str(each)) for each in locations]
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
