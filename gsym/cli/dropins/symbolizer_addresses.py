"""Answers to addresses, with source lines if requested, for `gsym-symbolizer`."""

from __future__ import annotations

from gsym.cli.terminal import escape_for_output
from gsym.engine.native import to_bytes, to_str
from gsym.engine.text_buffer import TextBuffer
from gsym.formatting.formatter import Formatter, Style
from gsym.formatting.styles import SymbolizerOutput, address_style, location_style
from gsym.lazy import json

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import Buffer

    from gsym.cli.dropins.symbolizer_modules import Module
    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.reading.reader import Reader

_MAX_FORMATTERS = 256
_MAX_NAME_BYTES = 1 << 26  # of all modules


def output_of(options: Options) -> SymbolizerOutput:
    """The output format of the options."""
    is_gnu, is_json = options.style == "GNU", options.style == "JSON"
    return SymbolizerOutput(
        json=is_json,
        gnu=is_gnu,
        addresses=options.flag("--addresses"),
        functions=options.functions != "none",
        inlines=options.inlines,
        # As in LLVM, a name that is not the linkage name remains that of the innermost.
        outer_name=not is_gnu and options.functions != "short",
        pretty=options.flag("--pretty-print"),
        verbose=options.flag("--verbose"),
        basenames=options.basenames,
        demangle=options.demangle,
        has_source=bool(options.context_lines),
    )


class Addresses:
    """Answers addresses of modules."""

    def __init__(self, output: SymbolizerOutput, context_lines: int) -> None:
        self._output = output
        self._context_lines = context_lines
        self._escape = escape_for_output()
        self._buffer = TextBuffer()
        self._formatters: dict[tuple[Module, str | None], Formatter] = {}
        self._name_bytes = 0  # that these keep

    def answer(
        self,
        module: Module,
        shown_module: str,
        prefix: bytes,
        lines: Buffer,
        put: Callable[[Buffer], object],
    ) -> int:
        """Answer lines with addresses of a module; see `Formatter.answer`."""
        formatter = self._formatter(module, shown_module)
        known = formatter.name_bytes
        used = formatter.answer(lines, put, prefix=prefix)
        self._count(formatter.name_bytes - known)
        return used

    def one(self, module: Module, shown_module: str, address: int) -> bytes:
        """The answer to one address, as requested."""
        formatter = self._formatter(module, shown_module)
        return self._answer_one(module, formatter, address)

    def locations(
        self, module: Module, places: Sequence[tuple[Reader, int]]
    ) -> list[bytes]:
        """The source locations of link-time addresses, without those with no file."""
        formatter, style = self._formatter(module, None), self._style(None)
        found = []
        for reader, address in places:
            is_own = reader is module.reader
            its_formatter = formatter if is_own else Formatter(reader, style)
            found.append(self._answer_one(module, its_formatter, address))
        return [location for location in found if location]

    def _answer_one(self, module: Module, formatter: Formatter, address: int) -> bytes:
        known = formatter.name_bytes
        answer = formatter.one(address)
        self._count(formatter.name_bytes - known)
        if not self._context_lines:
            return answer
        is_json = self._output.json
        return with_source(answer, self._context_lines, module.source, is_json=is_json)

    def _formatter(self, module: Module, shown_module: str | None) -> Formatter:
        """The formatter of a module and its name; None: for source locations."""
        key = module, shown_module
        formatter = self._formatters.get(key)
        if formatter is None:
            if len(self._formatters) >= _MAX_FORMATTERS:
                self._forget()
            formatter = Formatter(
                module.reader,
                self._style(shown_module),
                buffer=self._buffer,
                shift=0 if shown_module is None else module.shift,
            )
            self._formatters[key] = formatter
        return formatter

    def _style(self, shown_module: str | None) -> Style:
        if shown_module is None:
            return location_style(self._output, self._escape)
        return address_style(self._output, shown_module, self._escape)

    def _count(self, name_bytes: int) -> None:
        self._name_bytes += name_bytes
        if self._name_bytes > _MAX_NAME_BYTES:
            self._forget()

    def _forget(self) -> None:
        self._formatters.clear()
        self._name_bytes = 0


_MAX_SOURCE_SIZE = 64 << 20  # bytes read of a source file


def with_source(
    answer: bytes,
    count: int,
    embedded: Callable[[str], bytes | None],
    *,
    is_json: bool,
) -> bytes:
    """An answer of the engine, with each mark replaced by *count* source lines.

    Those of a file that *embedded* returns come first.
    """
    text, *marks = answer.split(b"\0")
    parts = [text]
    for path, line, after in zip(marks[::3], marks[1::3], marks[2::3], strict=True):
        source = source_context(to_str(path), int(line), count, embedded)
        if source and is_json:
            source = f',"Source":{json.dumps(source, ensure_ascii=False)}'
        parts += to_bytes(source), after
    return b"".join(parts)


def source_context(
    path: str, line: int, count: int, embedded: Callable[[str], bytes | None]
) -> str:
    """*count* lines of the file at *path* around *line*; "" if it cannot be read."""
    if count <= 0 or not path:
        return ""
    first = max(1, line - count // 2)
    last = first + count - 1
    width = len(str(last - 1)) if last > 1 else 0
    text = embedded(path)
    if text is None:
        try:
            with open(path, "rb") as file:
                text = file.read(_MAX_SOURCE_SIZE)
        except (OSError, ValueError):  # a name may contain a NUL
            return ""
    return "".join(
        f"{number:>{width}}{' >: ' if number == line else '  : '}{row}\n"
        for number, row in _rows(text, first, last)
    )


def _rows(text: bytes, first: int, last: int) -> Iterator[tuple[int, str]]:
    rows = text.split(b"\n", last)
    if len(rows) <= last and not rows[-1]:
        rows.pop()  # the file ends with a newline
    for number, row in enumerate(rows[first - 1 : last], first):
        yield number, row.removesuffix(b"\r").decode("utf-8", "surrogateescape")
