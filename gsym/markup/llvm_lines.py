"""Lines as llvm-symbolizer has them: its losses, its colours."""

from __future__ import annotations

from functools import partial
from itertools import chain

from gsym.markup.colours import SGR, remove_colours
from gsym.markup.line_elements import is_contextual
from gsym.markup.line_parts import may_have_context
from gsym.markup.parser import Fault, find_elements

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.markup.colours import Colours
    from gsym.markup.failures import Failures
    from gsym.markup.line_elements import LineElements
    from gsym.markup.outputs import Output
    from gsym.markup.parser import Token
    from gsym.markup.styles import Style

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


class LlvmLines:
    """Filters lines, of which a contextual element takes all that is behind it.

    Args:
        style: The rules.
        elements: Reads those of a line.
        colours: Those of the log.
        failures: Is told what is wrong with tags.
        output: Gets what comes out.
    """

    def __init__(
        self,
        style: Style,
        elements: LineElements,
        colours: Colours,
        failures: Failures,
        output: Output,
    ) -> None:
        self._style = style
        self._elements = elements
        self._colours = colours
        self._failures = failures
        self._output = output

    @property
    def awaits_line(self) -> bool:
        """Whether text without an element would still change what comes out."""
        return self._colours.is_set

    def filter(self, line: bytes) -> None:
        """Take a line in."""
        self._put(self._colours.reset())
        # One at a time, for there may be many in a line.
        tokens = find_elements(line, self._style.dialect)
        first = next(tokens, None)
        if first is None:
            self._elements.close_module_line()
            self._put_log(line)
            return
        tokens = chain((first,), tokens)
        context = self._first_context(line)
        if context is None:
            self._elements.close_module_line()
            self._put_nodes(tokens, len(line))
        elif self._elements.prefix:
            # Its output is printed later, maybe after lines of other processes.
            self._elements.prefix = remove_colours(line[: context.start])
            self._elements.take(context)
        else:
            put_before = partial(self._put_nodes, tokens, context.start)
            self._elements.take(context, put_before)

    def finish(self) -> None:
        """The log is at its end."""
        self._put(self._colours.reset())

    def _first_context(self, line: bytes) -> Token | None:
        if not may_have_context(line):
            return None
        tokens = find_elements(line, self._style.dialect)
        return next(filter(is_contextual, tokens), None)

    def _put_nodes(self, tokens: Iterable[Token], end: int) -> None:
        """The text up to *end*, with its elements replaced."""
        elements, at = self._elements, 0
        ending = elements.ending + elements.prefix
        notes: list[bytes] = []
        for token in tokens:
            if token.start >= end:
                break
            self._put_log(elements.line[at : token.start])
            at = token.end
            if token.tag.strip(_LETTERS):
                message = b"tags must be all lowercase characters"
                self._failures.add(Fault(message, token.start + 3), elements.line)
            elif token.tag not in self._style.elements:
                self._put(token.text)
            elif (element := elements.decode(token)) is not None:
                text, answer = elements.present(element, token, ending, notes)
                self._output.element(token, element, text, answer)
        self._put_log(elements.line[at:end])
        self._put(b"".join(elements.prefix + note + elements.ending for note in notes))

    def _put_log(self, text: bytes) -> None:
        """Text of the log outside of elements."""
        if b"\x1b" not in text:
            self._put(text)
            return
        at = 0
        for code in SGR.finditer(text):
            self._put(text[at : code.start()])
            self._put(self._colours.interpret(code[0]))
            at = code.end()
        self._put(text[at:])

    def _put(self, text: bytes) -> None:
        if text:
            self._output.text(text)
