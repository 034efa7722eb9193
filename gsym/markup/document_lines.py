"""Lines as the document has them: all text stays, elements are replaced."""

from __future__ import annotations

from itertools import chain

from gsym.markup.colours import SGR
from gsym.markup.line_elements import is_contextual
from gsym.markup.line_parts import LineParts, may_have_context
from gsym.markup.parser import find_elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.markup.colours import Colours
    from gsym.markup.elements import Element
    from gsym.markup.line_elements import LineElements
    from gsym.markup.outputs import Output
    from gsym.markup.parser import Token
    from gsym.markup.settings import FilterSettings

_MOST_WAITING = 1024  # elements of a line that wait for its end


class DocumentLines:
    """Filters lines, of which a contextual element takes itself only.

    Args:
        settings: How.
        elements: Reads those of a line.
        colours: Those of the log, which are text.
        output: Gets what comes out.
    """

    awaits_line = False

    def __init__(
        self,
        settings: FilterSettings,
        elements: LineElements,
        colours: Colours,
        output: Output,
    ) -> None:
        self._style = settings.style
        self._keeps_context = settings.context == "keep"
        self._is_coloured = settings.colour
        self._elements = elements
        self._colours = colours
        self._output = output

    def filter(self, line: bytes) -> None:
        """Take a line in."""
        # One at a time, for there may be many in a line.
        tokens = find_elements(line, self._style.dialect)
        first = next(tokens, None)
        if first is None:
            self._elements.close_module_line()
            self._output.text(line)
        else:
            self._filter_elements(line, chain((first,), tokens))

    def finish(self) -> None:
        """The log is at its end."""

    def _filter_elements(self, line: bytes, tokens: Iterator[Token]) -> None:
        parts = LineParts(
            line, self._elements.ending, self._style, self._elements.prefix
        )
        self._colours.reset()  # those of a line end with it
        most_waiting = _MOST_WAITING
        if not may_have_context(line):
            self._elements.close_module_line()
            most_waiting = 1
        at = 0
        for count, (token, is_last) in enumerate(_with_last(tokens), 1):
            self._follow_colours(line, at, token.start)
            at = token.end
            if is_contextual(token):
                self._remove(token, parts)
            elif (element := self._elements.decode(token)) is None:
                parts.has_other = True
            else:
                self._replace(element, token, parts, is_last=is_last)
            if not count % most_waiting:
                parts.put_ready(self._output)
        if not parts.has_context:
            self._elements.close_module_line()
        is_elided = self._style.elides_prefixes and not parts.has_other
        if not (parts.has_context and (is_elided or parts.is_blank())):
            parts.put(self._output)

    def _remove(self, token: Token, parts: LineParts) -> None:
        """Take a contextual element in, and out of its line."""
        said = self._elements.take(token)
        if said:
            parts.say(token, said)
        elif said is None or self._keeps_context:
            parts.has_other = True
        else:
            parts.remove(token)

    def _replace(
        self, element: Element, token: Token, parts: LineParts, *, is_last: bool
    ) -> None:
        between = parts.between_frames(token, is_last=is_last)
        text, answer = self._elements.present(element, token, between, parts.notes)
        parts.replace(token, element, text, answer)

    def _follow_colours(self, line: bytes, start: int, end: int) -> None:
        """Know the colours of the log behind a part of the line, which stays text."""
        if self._is_coloured:
            for code in SGR.finditer(line, start, end):
                self._colours.interpret(code[0])


def _with_last(tokens: Iterator[Token]) -> Iterator[tuple[Token, bool]]:
    """Tokens, each with whether no other one follows."""
    token = next(tokens, None)
    while token is not None:
        following = next(tokens, None)
        yield token, following is None
        token = following
