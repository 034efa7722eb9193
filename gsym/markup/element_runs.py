"""Runs of lines with addresses of code, for outputs that want each element.

All addresses of a piece of log are looked up at once. A line with any other element
ends a run, and so does an address in no module.
"""

from __future__ import annotations

import re

from gsym.markup.answers import Answer
from gsym.markup.document_lines import before_frames, between_split
from gsym.markup.elements import Backtrace, Pc
from gsym.markup.parser import Token
from gsym.model import UINT64_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import (
        AddressSpace,
        LoadedModule,
        Segment,
    )
    from gsym.markup.element_text import ElementText
    from gsym.markup.settings import FilterSettings, Style
    from gsym.markup.symbols import ModuleSymbols, Symbols

    Found = tuple[re.Match[bytes], Backtrace | Pc, int, Segment, int, ModuleSymbols]

_CODE = re.compile(
    rb"\{\{\{(?:(?:bt:([0-9]{1,18})|pc):0x([0-9a-fA-F]{1,16})(?::(ra|pc))?\}\}\})?"
)
_ESCAPE = b"\x1b"
_KINDS = {None: "", b"ra": "ra", b"pc": "pc"}
_MOST_AT_ONCE = 1 << 15  # bytes of log: each element of it is some hundreds of bytes


class ElementRun:
    """Whole lines, and what their elements stand for.

    Attributes:
        text: The lines.
        number: Of the first one, from 1.
        answers: Offset of the first byte of each element, offset behind it, what it
            stands for.
    """

    __slots__ = ("_prefix", "_style", "_text", "answers", "number", "text")

    def __init__(  # noqa: PLR0913 - made in one place
        self,
        text: bytes,
        number: int,
        answers: list[tuple[int, int, Answer]],
        *,
        element_text: ElementText,
        style: Style,
        prefix: bytes,
    ) -> None:
        self.text = text
        self.number = number
        self.answers = answers
        self._text = element_text
        self._style = style
        self._prefix = prefix

    def shown(self, start: int, end: int, answer: Answer) -> bytes:
        """What is shown in place of one of the elements."""
        tag, *fields = self.text[start + 3 : end - 3].split(b":")
        token = Token(self.text[start:end], tag, tuple(fields), start)
        has_several = len(answer.frames) > 1
        between = self._between(start, end) if has_several else b""
        return self._text.answer(answer, token, between)

    def _between(self, start: int, end: int) -> bytes:
        """What stands between the frames of an element."""
        begin = self.text.rfind(b"\n", 0, start) + 1
        line_end = self.text.find(b"\n", end)
        behind = self.text[end : line_end if line_end >= 0 else None]
        before = self.text[begin:start]
        ending = b"\r\n" if behind.endswith(b"\r") else b"\n"
        if self._style.splits_frames:
            return between_split(before, behind.rstrip(b"\r"), ending)
        return ending + before_frames(before, self._prefix, self._style)


class ElementRuns:
    """Answers runs of lines of one process.

    Args:
        settings: How.
        symbols: Those of the modules.
        space: What is loaded where.
        text: Makes the text of elements.
        count_in: Is told how many addresses of a module have no symbol.
        take: Gets lines with their answers.
    """

    def __init__(  # noqa: PLR0913 - what the lines of a process are filtered with
        self,
        settings: FilterSettings,
        symbols: Symbols,
        space: AddressSpace,
        text: ElementText,
        *,
        count_in: Callable[[LoadedModule, ModuleSymbols, int], object],
        take: Callable[[ElementRun], object],
    ) -> None:
        self._style = settings.style
        # So no line of a run is too long for elements.
        self._size = min(_MOST_AT_ONCE, settings.line_limit)
        self._symbols = symbols
        self._space = space
        self._count_in = count_in
        self._text = text
        self._take = take
        self._near: Segment | None = None

    def answer(self, lines: memoryview, number: int, prefix: bytes) -> int:
        """Answer lines as far as they are plain.

        Args:
            lines: Whole lines; only the last of a log may lack its end.
            number: Of the first one, from 1.
            prefix: The beginning of each line, repeated before each of its frames.

        Returns:
            How many bytes of *lines* were answered.
        """
        self._near = None
        at = 0
        while at < len(lines):
            text = bytes(lines[at : at + self._size])
            if at + len(text) < len(lines):
                text = text[: text.rfind(b"\n") + 1]
            used = self._answer_piece(text, number, prefix)
            at += used
            if not used or used < len(text):
                break
            number += text.count(b"\n")
        return at

    def _answer_piece(self, text: bytes, number: int, prefix: bytes) -> int:
        found, end = self._find(text)
        if not end:
            return 0
        wanted: dict[ModuleSymbols, list[int]] = {}
        for _, _, _, _, linked, symbols in found:
            wanted.setdefault(symbols, []).append(linked)
        for symbols, addresses in wanted.items():
            symbols.look_ahead(addresses)
        answers = []
        for match, element, looked_up, segment, linked, symbols in found:
            frames = symbols.frames(linked)
            if not frames:
                self._count_in(segment.module, symbols, 1)
            # As the constructor makes it, in a quarter of the time.
            answer = tuple.__new__(
                Answer,
                (element, looked_up, segment, linked, symbols, frames, None, ()),
            )
            answers.append((match.start(), match.end(), answer))
        self._take(
            ElementRun(
                text[:end],
                number,
                answers,
                element_text=self._text,
                style=self._style,
                prefix=prefix,
            )
        )
        return end

    def _find(self, text: bytes) -> tuple[list[Found], int]:
        """All elements of the lines that are plain, and the offset behind these."""
        end = len(text)
        if self._style.interprets_sgr and (escape := text.find(_ESCAPE)) >= 0:
            end = text.rfind(b"\n", 0, escape) + 1
        found: list[Found] = []
        for match in _CODE.finditer(text, 0, end):
            one = self._read(match)
            if one is None or (found and self._are_on_one_line(found[-1], one, text)):
                end = text.rfind(b"\n", 0, match.start()) + 1
                while found and found[-1][0].start() >= end:
                    found.pop()
                break
            found.append(one)
        return found, end

    def _are_on_one_line(self, first: Found, second: Found, text: bytes) -> bool:
        """Whether two elements stand on one line that becomes several."""
        if not self._style.splits_frames:
            return False
        has_frame = isinstance(first[1], Backtrace) or isinstance(second[1], Backtrace)
        return has_frame and text.find(b"\n", first[0].end(), second[0].start()) < 0

    def _read(self, match: re.Match[bytes]) -> Found | None:
        frame, digits, kind = match.groups()
        if digits is None:
            return None
        style, address = self._style, int(digits, 16)
        is_return = kind == b"ra"
        if kind is None:
            is_return = frame is not None or style.adjusts_plain_pc
        looked_up = address - is_return & UINT64_MAX
        segment = self._near
        if segment is None or not segment.covers(looked_up):
            segment = self._near = self._space.find(looked_up)
            if segment is None:
                return None
        symbols = self._symbols.of(segment.module.build_id)
        is_told = style.tells_each_failure and not symbols.is_there
        if is_told or not symbols.is_here:
            return None
        element: Backtrace | Pc
        if frame is None:
            element = tuple.__new__(Pc, (address, _KINDS[kind]))
        else:
            element = tuple.__new__(Backtrace, (int(frame), address, _KINDS[kind], ""))
        return match, element, looked_up, segment, segment.linked(looked_up), symbols
