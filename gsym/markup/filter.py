"""The symbolizing filter: replaces the markup of a log by symbols."""

from __future__ import annotations

import os
from functools import partial
from math import inf

from gsym.arguments import choice_of, instance_of, refusal, text_of
from gsym.engine.native import to_bytes, to_str
from gsym.lazy import re
from gsym.markup.address_space import SpaceBudget
from gsym.markup.failures import Failures
from gsym.markup.log_stream import LogStream
from gsym.markup.outputs import Output
from gsym.markup.settings import STYLES, FilterSettings
from gsym.markup.styled_lines import DocumentLines, LlvmLines
from gsym.markup.symbols import SymbolOptions, Symbols

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, AnyStr

    from gsym.markup.demultiplexing import Demultiplexer, LineJoiner
    from gsym.markup.remote_symbols import Asking
    from gsym.markup.stack_lines import StackAnswers
    from gsym.markup.symbols import Opening
    from gsym.store.directory import Store


class MarkupFilter:
    """Replaces symbolizer markup in the log of one process.

    It does no input or output itself. A module is opened at its first address.

    Args:
        symbolizer: Opens modules by build id, as a `Symbolizer` does; or looks
            addresses up elsewhere, as a `RemoteSymbolizer` does. A store or its folder
            stands for its symbolizer.
        style: "spec" (default), "llvm" or "fuchsia"; see docs/markup.md.
        symbols: How names and paths are shown.
        settings: All other options.
        tell: Receives messages about errors in the log, complete lines.
        output: The format of the output; default: text.
        demux: A regular expression that finds the process of a line: its first group,
            or else the whole match.
        join: A regular expression for the beginning of a line that continues the line
            before. The match is removed.
        stacks: Answers stacks that are not markup, in style "spec"; None: they are
            text.

    Raises:
        ValueError: The style is unknown, or a regular expression is invalid.
    """

    def __init__(  # noqa: PLR0913 - keywords, each a choice of its own
        self,
        symbolizer: Opening | Asking | Store | str | os.PathLike[str],
        *,
        style: str | None = None,
        symbols: SymbolOptions | None = None,
        settings: FilterSettings | None = None,
        tell: Callable[[bytes], Any] | None = None,
        output: Output | None = None,
        demux: str | None = None,
        join: str | None = None,
        stacks: StackAnswers | None = None,
    ) -> None:
        chosen = instance_of("settings", settings or FilterSettings(), FilterSettings)
        if style is not None:
            chosen = chosen._replace(style=STYLES[choice_of("style", style, STYLES)])
        options = instance_of("symbols", symbols or SymbolOptions(), SymbolOptions)
        if options.functions == "short":  # these names are not those of a symbol table
            named = chosen.style._replace(pc_is_outermost=False)
            chosen = chosen._replace(style=named)
        self._stacks = stacks if chosen.style.name == "spec" else None
        self._failures = Failures(tell or (lambda _message: None))
        self._output = instance_of("output", output or Output(), Output)
        mark = None if join is None else _pattern(text_of("join", join))
        key = None if demux is None else _pattern(text_of("demux", demux))
        counts_lines = self._output.counts_lines
        line_rules = DocumentLines if chosen.style.keeps_context_text else LlvmLines
        source = _opened(symbolizer)
        collect = None
        if hasattr(source, "open"):
            self._symbols = Symbols(source, options)
        else:
            from gsym.markup.remote_symbols import AddressCollector, RemoteSymbols

            self._symbols = asked = RemoteSymbols(source, options)
            # The collector, which runs ahead of the filter, has a budget of its own.
            collect = partial(AddressCollector, chosen, asked, SpaceBudget())
        found, budget = self._symbols, SpaceBudget()

        def make(process: bytes | None) -> LogStream | LineJoiner:
            ahead = None if collect is None else collect()
            lines = line_rules(
                chosen, found, self._failures, self._output, budget, key=key
            )
            stream = LogStream(
                chosen, lines, self._output, ahead, process, stacks=self._stacks
            )
            if mark is None:
                return stream
            from gsym.markup.demultiplexing import LineJoiner

            return LineJoiner(mark, stream, counts_lines=counts_lines)

        self._stream: LogStream | LineJoiner | Demultiplexer
        if key is None:
            self._stream = make(None)
        else:
            from gsym.markup.demultiplexing import Demultiplexer

            self._stream = Demultiplexer(key, make, mark=mark)

    def feed(self, text: AnyStr) -> AnyStr:
        """Filter a piece of the log.

        Args:
            text: Any part of the log, bytes or text.

        Returns:
            The output for all lines that are complete.
        """
        if isinstance(text, str):
            self._stream.feed(to_bytes(text))
            return to_str(self._output.take())
        self._stream.feed(text)
        return self._output.take()

    def idle(self, seconds: float = inf) -> bytes:
        """The output that is possible when there may be no more input for a while.

        Args:
            seconds: Time since the last input. After one second an incomplete
                dictionary is text.
        """
        self._stream.idle(seconds)
        return self._output.take()

    def release(self) -> bytes:
        """The output for an incomplete dictionary or line that will not continue."""
        self._stream.release()
        return self._output.take()

    def finish(self) -> bytes:
        """End the log; returns the rest of the output."""
        self._stream.finish()
        return self._output.take()

    def summary(self) -> list[str]:
        """A sentence about unresolved addresses for each module."""
        lines = self._failures.summary()
        return lines if self._stacks is None else lines + self._stacks.summary()

    def doubts(self) -> list[str]:
        """A sentence about each module whose file may be of another build."""
        lines = self._symbols.doubts()
        return lines if self._stacks is None else lines + self._stacks.doubts()


def _opened(symbolizer: Any) -> Any:
    """The symbolizer of an argument; that of a store or its folder."""
    if hasattr(symbolizer, "get") or isinstance(symbolizer, (str, os.PathLike)):
        from gsym.modules.symbolizer import Symbolizer

        return Symbolizer(symbolizer)
    if not (hasattr(symbolizer, "open") or hasattr(symbolizer, "symbolize_many")):
        expected = "a gsym.Symbolizer, a gsym.RemoteSymbolizer or a gsym.Store"
        raise refusal("symbolizer", expected, symbolizer)
    return symbolizer


def _pattern(text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(to_bytes(text))
    except re.error as error:
        raise ValueError(f"regular expression '{text}': {error}") from None
