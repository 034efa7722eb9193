"""Standard input of `gsym-symbolizer`: block by block, most of it through the engine.

Lines of one module mostly differ in their numbers alone. What is in front of the number
of a line that was answered here is remembered with its module, and the engine answers
the lines that begin so, many at a time; any other line is answered one by one.
"""

from __future__ import annotations

from gsym.cli.dropins.symbolizer_requests import RequestError, parse_request
from gsym.engine.native import to_bytes, to_str

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.cli.dropins.symbolizer_addresses import Addresses
    from gsym.cli.dropins.symbolizer_modules import Module, Modules
    from gsym.cli.dropins.symbolizer_options import Options

_LONGEST_PREFIX = 1 << 13  # a path and what is around it
_MOST_PREFIXES = 256
_LINE_ENDS = {ord("\r"): None, ord("\n"): None}


class LineStream:
    """Answers lines as they come.

    Args:
        options: How.
        modules: What the engine may answer from.
        addresses: Has it do so.
        answer: Answers any one line.
        put: Takes text for standard output.
    """

    def __init__(
        self,
        options: Options,
        modules: Modules,
        addresses: Addresses,
        answer: Callable[[str], str],
        put: Callable[[Buffer], object],
    ) -> None:
        self._options = options
        self._modules = modules
        self._addresses = addresses
        self._answer = answer
        self._put = put
        is_json = options.style == "JSON"
        # What the engine makes is what is printed.
        self._learns = not (options.context_lines or (is_json and options.pretty))
        self._known: dict[bytes, tuple[Module, str]] = {}  # prefixes

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
            known, used = self._known.get(prefix), 0
            if known is not None:
                used = self._addresses.answer(*known, prefix, view[at:], self._put)
            if not used:
                self._put(self._answer_one(line))
                used = end + 1 - at
                self._learn(prefix)
            at += used

    def _answer_one(self, line: bytes) -> bytes:
        text = to_str(line).translate(_LINE_ENDS)
        return to_bytes(self._answer(text))

    def _learn(self, prefix: bytes) -> None:
        """Let the engine answer lines with this prefix from now on, if it can."""
        if not self._learns or prefix in self._known or len(prefix) > _LONGEST_PREFIX:
            return
        known = self._module_for(to_str(prefix))
        if known is None:
            return
        if len(self._known) >= _MOST_PREFIXES:
            self._known.clear()
        self._known[prefix] = known

    def _module_for(self, prefix: str) -> tuple[Module, str] | None:
        """The module that numbers after *prefix* are addresses of, and its shown name.

        None where they are no addresses, or of a module that is not open.
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
        return module, first.shown_module
