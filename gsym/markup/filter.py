"""The symbolizing filter: a log with markup in, a log with symbols out."""

from __future__ import annotations

import re
from math import inf

from gsym.engine.native import to_bytes, to_str
from gsym.markup.address_space import Room
from gsym.markup.document_lines import DocumentLines
from gsym.markup.failures import Failures
from gsym.markup.llvm_lines import LlvmLines
from gsym.markup.log_stream import LogStream
from gsym.markup.outputs import Output
from gsym.markup.remote_symbols import AddressCollector, RemoteSymbols
from gsym.markup.settings import STYLES, FilterSettings
from gsym.markup.symbols import SymbolOptions, Symbols

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, AnyStr

    from gsym.markup.demultiplexing import Demultiplexer, LineJoiner
    from gsym.markup.line_filter import LineFilter
    from gsym.markup.remote_symbols import Asking
    from gsym.markup.symbols import Opening


class MarkupFilter:
    """Replaces symbolizer markup in the log of one process.

    It reads and writes nothing itself. Modules are opened when the first address of
    theirs comes.

    Args:
        symbolizer: Opens modules by build id, such as a `Symbolizer`; or looks
            addresses up elsewhere, as a `RemoteSymbolizer` does.
        style: "spec" (the default), "llvm" or "fuchsia"; docs/markup.md lists their
            rules.
        symbols: What is shown of symbols.
        settings: All else.
        tell: Takes messages on what is wrong with the log, whole lines.
        output: Makes what comes out; by default text.
        demux: A regular expression that finds in a line which process it is of: by
            its first group, or else by all that it matches.
        join: A regular expression for what a line begins with that is a part of the
            line before. It is taken out.

    Raises:
        ValueError: There is no such style, or no such regular expression.
    """

    def __init__(  # noqa: PLR0913 - keywords, each a choice of its own
        self,
        symbolizer: Opening | Asking,
        *,
        style: str | None = None,
        symbols: SymbolOptions | None = None,
        settings: FilterSettings | None = None,
        tell: Callable[[bytes], Any] | None = None,
        output: Output | None = None,
        demux: str | None = None,
        join: str | None = None,
    ) -> None:
        chosen = settings or FilterSettings()
        if style is not None:
            if style not in STYLES:
                raise ValueError(f"there is no style '{style}'")
            chosen = chosen._replace(style=STYLES[style])
        options = symbols or SymbolOptions()
        if options.functions == "short":  # none of them is that of a symbol table
            named = chosen.style._replace(pc_is_outermost=False)
            chosen = chosen._replace(style=named)
        self._failures = Failures(tell or _drop)
        self._output = output or Output()
        mark = None if join is None else _pattern(join)
        key = None if demux is None else _pattern(demux)
        counts_lines = self._output.counts_lines
        line_rules: type[LineFilter] = LlvmLines
        if chosen.style.keeps_context_text:
            line_rules = DocumentLines
        found = _symbols(symbolizer, options)

        # What follows the modules ahead of the filter knows as many of them again.
        room, room_ahead = Room(), Room()

        def make(process: bytes | None) -> LogStream | LineJoiner:
            ahead = None
            if isinstance(found, RemoteSymbols):
                ahead = AddressCollector(chosen, found, room_ahead)
            lines = line_rules(
                chosen, found, self._failures, self._output, room, key=key
            )
            stream = LogStream(chosen, lines, self._output, ahead, process)
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
        """Take a piece of the log in.

        Args:
            text: Lines, or any part of them; bytes, or text.

        Returns:
            All that is certain by now: what belongs to lines that have ended.
        """
        if isinstance(text, str):
            self._stream.feed(to_bytes(text))
            return to_str(self._output.take())
        self._stream.feed(text)
        return self._output.take()

    def idle(self, seconds: float = inf) -> bytes:
        """What can be said already where nothing more may come for a while.

        Args:
            seconds: For how long nothing has come. A dictionary may pause for a second
                before what has come of it is text.
        """
        self._stream.idle(seconds)
        return self._output.take()

    def release(self) -> bytes:
        """What waits for the rest of a dictionary or of a line: none will come."""
        self._stream.release()
        return self._output.take()

    def finish(self) -> bytes:
        """The log is at its end: what was kept back."""
        self._stream.finish()
        return self._output.take()

    def summary(self) -> list[str]:
        """Sentences on what could not be resolved, one for each module."""
        return self._failures.summary()


def _symbols(symbolizer: Any, options: SymbolOptions) -> Symbols:
    if hasattr(symbolizer, "open"):
        return Symbols(symbolizer, options)
    return RemoteSymbols(symbolizer, options)


def _pattern(text: str) -> re.Pattern[bytes]:
    try:
        return re.compile(to_bytes(text))
    except re.error as error:
        raise ValueError(f"regular expression '{text}': {error}") from None


def _drop(_message: bytes) -> None:
    """Nobody wants to hear it."""
