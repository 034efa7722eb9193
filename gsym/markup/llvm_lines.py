"""Lines as llvm-symbolizer prints them: the text that it drops, its colours."""

from __future__ import annotations

from functools import partial
from itertools import chain

from gsym.markup.colours import SGR, remove_colours
from gsym.markup.line_filter import LineFilter, is_contextual, may_have_context
from gsym.markup.parser import Fault, Token, find_elements

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


class LlvmLines(LineFilter):
    """Filters lines; text after a contextual element is dropped."""

    @property
    def waits_for_line(self) -> bool:
        """Whether a line without elements would change the output."""
        return super().waits_for_line or self._colours.is_set

    def finish(self) -> None:
        """End the log."""
        super().finish()
        self._put(self._colours.reset())

    def _filter(self, line: bytes) -> None:
        self._put(self._colours.reset())
        # One at a time: a line may have many.
        tokens = find_elements(line, self._style.dialect)
        first = next(tokens, None)
        if first is None:
            self.close_line()
            self._put_log(line)
            return
        tokens = chain((first,), tokens)
        context = self._first_context(line)
        if context is None:
            self.close_line()
            self._put_nodes(tokens, len(line))
        elif self._prefix:
            # Its output may be printed after lines of other processes.
            self._prefix = remove_colours(line[: context.start])
            self._take(context)
        else:
            self._take(context, partial(self._put_nodes, tokens, context.start))

    def _first_context(self, line: bytes) -> Token | None:
        if not may_have_context(line):
            return None
        tokens = find_elements(line, self._style.dialect)
        return next(filter(is_contextual, tokens), None)

    def _put_nodes(self, tokens: Iterable[Token], end: int) -> None:
        """The text up to *end*, with its elements replaced."""
        between, at = self._ending + self._prefix, 0
        notes: list[bytes] = []
        for token in tokens:
            if token.start >= end:
                break
            self._put_log(self._line[at : token.start])
            at = token.end
            if token.tag.strip(_LETTERS):
                message = b"tags must be all lowercase characters"
                self._failures.add(Fault(message, token.start + 3), self._line)
            elif token.tag not in self._style.elements:
                self._put(token.text)
            elif (element := self._decode(token)) is not None:
                shown, answer = self._present(element, token, between, notes)
                self._output.element(token, element, shown, answer)
        self._put_log(self._line[at:end])
        self._put(b"".join(self._prefix + note + self._ending for note in notes))

    def _put_log(self, text: bytes) -> None:
        """Text of the log outside of elements."""
        at = 0
        for code in SGR.finditer(text) if b"\x1b" in text else ():
            self._put(text[at : code.start()])
            self._put(self._colours.interpret(code[0]))
            at = code.end()
        self._put(text[at:])

    def _put(self, text: bytes) -> None:
        if text:
            self._output.text(text)
