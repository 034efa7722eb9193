"""Standard input of `gsym-symbolizer`, mostly answered by the engine in blocks.

Lines of one module usually differ only in their addresses. The text before the address
is remembered with its module, and the engine answers all lines with that prefix, many
at a time; other lines are answered individually.
"""

from __future__ import annotations

from gsym.cache import BoundedCache
from gsym.cli.dropins.symbolizer_requests import RequestError, parse_request
from gsym.engine.native import to_bytes, to_str

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from gsym.cli.dropins.symbolizer_addresses import Addresses
    from gsym.cli.dropins.symbolizer_modules import Module, Modules
    from gsym.cli.dropins.symbolizer_options import Options

_MAX_PREFIX = 1 << 13  # bytes, for a path and its surroundings
_MAX_PREFIXES = 256
_LINE_ENDS = {ord("\r"): None, ord("\n"): None}


class LineStream:
    """Answers lines as they arrive.

    *addresses* answers addresses with the engine, *answer* a single line of any kind.
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
        is_pretty = options.style == "JSON" and options.flag("--pretty-print")
        # If the output of the engine is printed unchanged.
        self._learns = not (options.context_lines or is_pretty)
        self._known: BoundedCache[bytes, tuple[Module, str]] = BoundedCache(
            _MAX_PREFIXES
        )

    def answer(self, lines: bytes) -> bytes:
        """Answer all complete lines; return the rest of *lines*."""
        end = lines.rfind(b"\n") + 1
        self._answer_complete(lines[:end])
        return lines[end:]

    def _answer_complete(self, lines: bytes) -> None:
        view, at = memoryview(lines), 0
        while at < len(lines):
            end = lines.index(b"\n", at)
            line = lines[at:end].rstrip(b"\r")
            prefix = line[: line.rfind(b" ") + 1]
            known, used = self._known.get(prefix), 0
            if known is not None:
                used = self._addresses.answer(*known, prefix, view[at:], self._put)
            if not used:
                text = to_str(line).translate(_LINE_ENDS)
                self._put(to_bytes(self._answer(text)))
                used = end + 1 - at
                self._learn(prefix)
            at += used

    def _learn(self, prefix: bytes) -> None:
        """Let the engine answer lines with this prefix in future, if it can."""
        if not self._learns or prefix in self._known or len(prefix) > _MAX_PREFIX:
            return
        known = self._module_for(to_str(prefix))
        if known is None:
            return
        self._known.keep(prefix, known)

    def _module_for(self, prefix: str) -> tuple[Module, str] | None:
        """The module of addresses after *prefix*, and its shown name.

        None if they are not addresses, or their module is not open.
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
