"""Runs of lines with backtraces: answered by the engine where they are plain.

It answers lines that have one frame in one module each, and those without markup; the
first line of any other form ends a run.
"""

from __future__ import annotations

import re

from gsym._native import lib
from gsym.markup_text import MarkupText
from gsym.text_buffer import TextBuffer

__all__ = ["FrameRuns"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.markup_filter.address_space import AddressSpace, Segment
    from gsym.markup_filter.settings import FilterSettings
    from gsym.markup_filter.symbols import ModuleSymbols, Symbols

_FRAME = re.compile(rb"\{\{\{bt:[0-9]{1,18}:0x([0-9a-fA-F]{1,16})(:ra|:pc)?\}\}\}")
_MOST_NAME_BYTES = 1 << 24  # of a module
_MOST_MODULES = 64  # whose texts are kept
_ADDRESS_MASK = (1 << 64) - 1


class FrameRuns:
    """Answers runs of lines of one process.

    Args:
        settings: How.
        symbols: Those of the modules.
        space: What is loaded where.
    """

    def __init__(
        self, settings: FilterSettings, symbols: Symbols, space: AddressSpace
    ) -> None:
        self._settings = settings
        self._symbols = symbols
        self._space = space
        self._buffer: TextBuffer | None = None
        self._texts: dict[int, tuple[ModuleSymbols, int, MarkupText]] = {}
        options = symbols.options
        style = settings.style
        # Fuchsia's form of a frame, and names in other forms, are for others.
        has_names = options.functions == "linkage"
        self._is_of_use = style.lists_segments and has_names and not settings.colour
        self._flags = _engine_flags(
            (options.inlines, lib.GSYM_MARKUP_INLINES),
            (options.basenames, lib.GSYM_MARKUP_BASENAMES),
            (style.shows_adjusted, lib.GSYM_MARKUP_ADJUSTED),
            (style.has_columns, lib.GSYM_MARKUP_COLUMNS),
            (style.indents_frames, lib.GSYM_MARKUP_INDENTS),
            (style.interprets_sgr, lib.GSYM_MARKUP_STOPS_AT_ESCAPE),
        )

    def answer(
        self,
        lines: memoryview,
        element: int,
        put: Callable[[Any], object],
        count_unknown: Callable[[Segment, ModuleSymbols, int], object],
    ) -> int:
        """Answer the lines that the engine can answer.

        Args:
            lines: Whole lines, the first of which has an element.
            element: Offset of that.
            put: Takes text.
            count_unknown: Is told how many addresses of a module have no symbol.

        Returns:
            How many bytes of *lines* were answered.
        """
        if not self._is_of_use:
            return 0
        found = _FRAME.match(lines, element)
        if found is None:
            return 0
        address = int(found[1], 16) - (found[2] != b":pc") & _ADDRESS_MASK
        segment = self._space.find(address)
        if segment is None:
            return 0
        symbols = self._symbols.of(segment.module.build_id)
        if symbols.module.reader is None:
            return 0
        text = self._text_of(segment, symbols)
        used, unknown = text.answer(lines, lambda piece: put(bytes(piece)))
        if unknown:
            count_unknown(segment, symbols, unknown)
        return used

    def _text_of(self, segment: Segment, symbols: ModuleSymbols) -> MarkupText:
        """What answers for a module as it is loaded now."""
        module, version = segment.module, self._space.version
        known = self._texts.get(module.id)
        is_fit = known is not None and known[0] is symbols
        if known is None or not is_fit or known[2].name_bytes > _MOST_NAME_BYTES:
            if len(self._texts) >= _MOST_MODULES:
                self._texts.clear()
            known = symbols, -1, self._new_text(symbols)
        text = known[2]
        if known[1] != version:
            text.place(
                module.name,
                [
                    (each.start, each.size, each.address)
                    for each in self._space
                    if each.module is module and each.covers(each.start)
                ],
            )
            self._texts[module.id] = symbols, version, text
        return text

    def _new_text(self, symbols: ModuleSymbols) -> MarkupText:
        if self._buffer is None:
            self._buffer = TextBuffer()
        assert symbols.module.reader is not None  # noqa: S101 - for the type
        return MarkupText(
            symbols.module.reader,
            self._buffer,
            flags=self._flags,
            demangle=self._symbols.options.demangle,
            line_limit=self._settings.line_limit,
        )


def _engine_flags(*chosen: tuple[bool, Any]) -> int:
    return sum(int(flag) for is_chosen, flag in chosen if is_chosen)
