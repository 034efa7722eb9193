"""Answers of the engine to addresses, for `gsym-symbolizer`."""

from __future__ import annotations

from gsym.cli.terminal import escape_for_output
from gsym.engine.text_buffer import TextBuffer
from gsym.formatting.formatter import Formatter, Style
from gsym.formatting.symbolizer import SymbolizerOutput, address_style, location_style

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.cli.dropins.symbolizer_modules import Module
    from gsym.cli.dropins.symbolizer_options import Options

_MAX_FORMATTERS = 256
_MAX_NAME_BYTES = 1 << 26  # of all modules


def output_of(options: Options) -> SymbolizerOutput:
    """The output format of the options."""
    is_gnu, is_json = options.style == "GNU", options.style == "JSON"
    return SymbolizerOutput(
        json=is_json,
        gnu=is_gnu,
        addresses=options.addresses,
        functions=options.functions != "none",
        inlines=options.inlines,
        # As in LLVM the name stays the innermost where it is not that of the linker.
        outer_name=not is_gnu and options.functions != "short",
        pretty=options.pretty,
        verbose=options.verbose,
        basenames=options.basenames,
        demangle=options.demangle,
        has_source=bool(options.context_lines),
    )


class Addresses:
    """Answers addresses of modules.

    Args:
        output: What answers look like.
        context_lines: How many lines of source an answer has.
    """

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
        """Answer lines that hold an address of a module; see `Formatter.answer`."""
        formatter = self._formatter(module, shown_module)
        known = formatter.name_bytes
        used = formatter.answer(lines, put, prefix=prefix)
        self._count(formatter.name_bytes - known)
        return used

    def one(self, module: Module, shown_module: str, address: int) -> bytes:
        """The answer to one address as it was given."""
        return self._answer_one(self._formatter(module, shown_module), address)

    def locations(self, module: Module, addresses: list[int]) -> list[bytes]:
        """The source locations of link-time addresses, without those with no file."""
        formatter = self._formatter(module, None)
        found = [self._answer_one(formatter, address) for address in addresses]
        return [location for location in found if location]

    def _answer_one(self, formatter: Formatter, address: int) -> bytes:
        known = formatter.name_bytes
        answer = formatter.one(address)
        self._count(formatter.name_bytes - known)
        if not self._context_lines:
            return answer
        from gsym.cli.dropins.symbolizer_source import with_source

        return with_source(answer, self._context_lines, is_json=self._output.json)

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
