"""Runs of lines with addresses of code: answered by the engine where they are plain.

It answers lines that have one frame, or code locations, and those without markup; the
first line of any other form ends a run, and so does one with an address in a module
that is met for the first time.
"""

from __future__ import annotations

import re

from gsym.engine.native import lib
from gsym.markup.text import MOST_MODULES, MarkupText
from gsym.model import UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Buffer

    from gsym.markup.address_space import AddressSpace, LoadedModule, Segment
    from gsym.markup.settings import FilterSettings
    from gsym.markup.symbols import ModuleSymbols, Symbols

# The engine reads it anew, and answers nothing of what only begins like this.
_CODE = re.compile(
    rb"\{\{\{(?:bt:[0-9]{1,18}|(pc)):0x([0-9a-fA-F]{1,16})(:ra|:pc)?[:}]"
)
_MOST_NAME_BYTES = 1 << 24
_SEGMENTS_PER_LINE = 64  # that are told to the engine while a line is filtered


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
        self._text: MarkupText | None = None
        self._modules: dict[tuple[LoadedModule, ModuleSymbols], int] = {}
        self._version = -1  # of the space, as the engine knows it
        self._refused = 0  # lines since then
        options = symbols.options
        style = settings.style
        self._flags = _engine_flags(
            (options.inlines, lib.GSYM_MARKUP_INLINES),
            (options.basenames, lib.GSYM_MARKUP_BASENAMES),
            (style.shows_adjusted, lib.GSYM_MARKUP_ADJUSTED),
            (style.has_columns, lib.GSYM_MARKUP_COLUMNS),
            (style.indents_frames, lib.GSYM_MARKUP_INDENTS),
            (style.interprets_sgr, lib.GSYM_MARKUP_STOPS_AT_ESCAPE),
            (settings.colour, lib.GSYM_MARKUP_COLOURED),
            (not style.lists_segments, lib.GSYM_MARKUP_FUCHSIA_FRAMES),
            (style.adjusts_plain_pc, lib.GSYM_MARKUP_PLAIN_PC_RETURNS),
            (style.pc_is_outermost, lib.GSYM_MARKUP_OUTERMOST_PC),
        )

    def answer(
        self,
        lines: memoryview,
        element: int,
        put: Callable[[Buffer], object],
        count_unknown: Callable[[LoadedModule, ModuleSymbols, int], object],
        prefix: bytes,
    ) -> int:
        """Answer the lines that the engine can answer.

        Args:
            lines: Whole lines, the first of which has an element.
            element: Offset of that.
            put: Takes text, which is gone when it returns.
            count_unknown: Is told how many addresses of a module have no symbol.
            prefix: The beginning of each line, repeated before each of its frames.

        Returns:
            How many bytes of *lines* were answered.
        """
        style = self._settings.style
        segment = self._segment_of(lines, element)
        # Names in other forms are for others.
        if segment is None or self._symbols.options.functions != "linkage":
            return 0
        symbols = self._symbols.of(segment.module.build_id)
        is_told = symbols.module.reader is None and style.tells_each_failure
        if is_told or not symbols.is_here:
            return 0
        text = self._text_with(segment.module, symbols)
        if text is None:
            return 0
        try:
            used = text.answer(lines, put, len(prefix))
        finally:  # also where somebody interrupts it
            for known, count in zip(self._modules, text.unknown(), strict=True):
                if count:
                    count_unknown(*known, count)
        return used

    def _segment_of(self, lines: memoryview, element: int) -> Segment | None:
        """The segment that the address of an element is in, if it looks plain."""
        found = _CODE.match(lines, element)
        if found is None:
            return None
        is_return = not found[1] or self._settings.style.adjusts_plain_pc
        if found[3]:
            is_return = found[3] == b":ra"
        return self._space.find(int(found[2], 16) - is_return & UINT64_MAX)

    def _text_with(
        self, module: LoadedModule, symbols: ModuleSymbols
    ) -> MarkupText | None:
        """What answers for the modules that are loaded, this one among them.

        None: lines by themselves are quicker than to tell the engine what is where.
        """
        text, known = self._text, (module, symbols)
        is_full = len(self._modules) >= MOST_MODULES and known not in self._modules
        if text is None or is_full or text.name_bytes > _MOST_NAME_BYTES:
            text = self._text = self._new_text()
            self._modules.clear()
        if known not in self._modules or self._version != self._space.version:
            self._refused += 1
            if self._refused * _SEGMENTS_PER_LINE < len(self._space):
                return None
            self._refused = 0
            self._modules.setdefault(known, len(self._modules))
            self._place(text)
        return text

    def _place(self, text: MarkupText) -> None:
        # What is met again later, with other symbols, counts.
        numbers = {module: number for (module, _), number in self._modules.items()}
        text.place(
            [(module.name, each.module.reader) for module, each in self._modules],
            [
                (each.start, each.size, each.address, numbers[each.module])
                for each in self._space
                if each.module in numbers and each.covers(each.start)
            ],
        )
        self._version = self._space.version

    def _new_text(self) -> MarkupText:
        return MarkupText(
            flags=self._flags,
            demangle=self._symbols.options.demangle,
            line_limit=self._settings.line_limit,
            escape=self._symbols.options.escape,
        )


def _engine_flags(*chosen: tuple[bool, Any]) -> int:
    return sum(int(flag) for is_chosen, flag in chosen if is_chosen)
