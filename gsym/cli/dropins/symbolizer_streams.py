"""Standard input of `gsym-symbolizer`: block by block, most of it through the engine.

Lines of one module mostly differ in their numbers alone. What is in front of the number
of a line that was answered here is remembered with its module, and the engine answers
the lines that begin so, many at a time; any other line is answered one by one.
"""

from __future__ import annotations

from gsym.cli.dropins.symbolizer_requests import RequestError, parse_request
from gsym.cli.terminal import escape_for_output
from gsym.engine.native import lib, to_bytes, to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.cli.dropins.symbolizer_modules import Modules
    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.engine.text_buffer import TextBuffer
    from gsym.formatting.symbolizer import SymbolizerText

_LONGEST_PREFIX = 1 << 13  # a path and what is around it
_MOST_PREFIXES = 256
_MOST_NAME_BYTES = 1 << 26  # of all modules
_LINE_ENDS = {ord("\r"): None, ord("\n"): None}


class LineStream:
    """Answers lines as they come.

    Args:
        options: How.
        modules: What the engine may answer from.
        answer: Answers any one line.
        put: Takes text for standard output.
    """

    def __init__(
        self,
        options: Options,
        modules: Modules,
        answer: Callable[[str], str],
        put: Callable[[Buffer], object],
    ) -> None:
        self._options = options
        self._modules = modules
        self._answer = answer
        self._put = put
        self._flags = _engine_flags(options)
        self._escape = escape_for_output()
        self._buffer: TextBuffer | None = None
        self._texts: dict[bytes, SymbolizerText] = {}
        self._name_bytes = 0  # that these keep

    def answer(self, lines: bytes) -> bytes:
        """Answer all whole lines; what is left of *lines*."""
        end = lines.rfind(b"\n") + 1
        self._answer_whole(lines[:end])
        return lines[end:]

    def _answer_whole(self, lines: bytes) -> None:
        view, at = memoryview(lines), 0
        while at < len(lines):
            end = lines.index(b"\n", at)
            line = lines[at:end].rstrip(b"\r")
            prefix = line[: line.rfind(b" ") + 1]
            text = self._texts.get(prefix)
            used = 0
            if text is not None:
                used = self._answer_many(text, prefix, view[at:])
            if not used:
                self._put(self._answer_one(line))
                used = end + 1 - at
                self._learn(prefix)
            at += used

    def _answer_many(self, text: SymbolizerText, prefix: bytes, lines: Buffer) -> int:
        known = text.name_bytes
        used = text.answer(prefix, lines, self._put)
        self._name_bytes += text.name_bytes - known
        if self._name_bytes > _MOST_NAME_BYTES:
            self._forget()
        return used

    def _forget(self) -> None:
        self._texts.clear()
        self._name_bytes = 0

    def _answer_one(self, line: bytes) -> bytes:
        text = to_str(line).translate(_LINE_ENDS)
        return to_bytes(self._answer(text))

    def _learn(self, prefix: bytes) -> None:
        """Let the engine answer lines with this prefix from now on, if it can."""
        if self._flags is None or prefix in self._texts:
            return
        if len(prefix) > _LONGEST_PREFIX:
            return
        text = self._engine_for(to_str(prefix), self._flags)
        if text is None:
            return
        if len(self._texts) >= _MOST_PREFIXES:
            self._forget()
        self._texts[prefix] = text

    def _engine_for(self, prefix: str, flags: int) -> SymbolizerText | None:
        """What answers numbers behind *prefix*.

        None where these are no addresses, or of a module that is not open.
        """
        options = self._options
        try:
            first, second = (
                parse_request(f"{prefix}{number}", options.obj or "", options.build_id)
                for number in (1, 2)
            )
            if first.kind != "CODE" or (first.address, second.address) != (1, 2):
                return None
        except RequestError:
            return None
        module = self._modules.opened(first.module, first.build_id)
        if module is None or module.reader is None:
            return None
        from gsym.engine.text_buffer import TextBuffer
        from gsym.formatting.symbolizer import SymbolizerText

        if self._buffer is None:
            self._buffer = TextBuffer(escape=self._escape is not None)
        return SymbolizerText(
            module.reader,
            self._buffer,
            shift=module.shift,
            flags=flags,
            demangle=options.demangle,
            module=first.module or first.build_id.hex().upper(),
            escape=self._escape,
        )


def _engine_flags(options: Options) -> int | None:
    """How the engine shall print; None where it cannot."""
    is_json, is_gnu = options.style == "JSON", options.style == "GNU"
    if options.context_lines or (options.pretty if is_json else options.verbose):
        return None
    chosen = (
        (options.addresses, lib.GSYM_SYMBOLIZER_ADDRESSES),
        (options.functions != "none", lib.GSYM_SYMBOLIZER_FUNCTIONS),
        (options.inlines, lib.GSYM_SYMBOLIZER_INLINES),
        (
            not is_gnu and options.functions != "short",
            lib.GSYM_SYMBOLIZER_OUTER_NAME,
        ),
        (options.pretty, lib.GSYM_SYMBOLIZER_PRETTY),
        (options.basenames, lib.GSYM_SYMBOLIZER_BASENAMES),
        (is_gnu, lib.GSYM_SYMBOLIZER_GNU),
        (is_json, lib.GSYM_SYMBOLIZER_JSON),
    )
    return sum(int(flag) for is_chosen, flag in chosen if is_chosen)
