"""Lines of a log in each style: what becomes of their text and their elements.

As the specification has it, text stays and elements are replaced; llvm-symbolizer drops
text after a contextual element, and has colours of its own.
"""

from __future__ import annotations

from functools import partial

from gsym.engine.native import lib
from gsym.markup.colours import SGR, remove_colours
from gsym.markup.line_filter import LineFilter, is_contextual, may_have_context
from gsym.markup.parser import Element, Fault, Token

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.markup.answers import Answer
    from gsym.markup.outputs import Output
    from gsym.markup.settings import Style

    Part = bytes | tuple[Token, Element, bytes, Answer | None]

_MAX_WAITING = 1024  # elements that wait for the end of their line


class DocumentLines(LineFilter):
    """Filters lines; a contextual element is removed, the text around it stays."""

    def _filter_elements(self, line: bytes, tokens: Iterator[Token]) -> None:
        parts = LineParts(line, self._ending, self._style, self._prefix)
        self._colours.reset()  # they end with the line
        max_waiting = _MAX_WAITING
        if not may_have_context(line):
            self.close_line()
            max_waiting = 1
        at = count = 0
        token = next(tokens, None)
        while token is not None:
            count += 1
            after = next(tokens, None)
            if self._settings.colour:  # the text before it stays
                for code in SGR.finditer(line, at, token.start):
                    self._colours.interpret(code[0])
            at = token.end
            if is_contextual(token):
                self._remove(token, parts)
            elif (element := self._decode(token)) is None:
                parts.has_other = True
            else:
                between = parts.between_frames(token, is_last=after is None)
                shown = self._present(element, token, between, parts.notes)
                parts.replace(token, element, *shown)
            if not count % max_waiting:
                parts.put_ready(self._output)
            token = after
        if not parts.has_context:
            self.close_line()
        is_elided = self._style.elides_prefixes and not parts.has_other
        if not (parts.has_context and (is_elided or parts.is_blank())):
            parts.put(self._output)

    def _remove(self, token: Token, parts: LineParts) -> None:
        """Apply a contextual element, and remove it from its line."""
        said = self._take(token)
        if said is None or (not said and self._settings.context == "keep"):
            parts.has_other = True
        else:
            parts.remove(token, said)


class LineParts:
    """The parts of one line from left to right: text and elements."""

    def __init__(self, line: bytes, ending: bytes, style: Style, prefix: bytes) -> None:
        self.notes: list[bytes] = []  # lines to be printed after it
        self.has_context: bool = False  # whether a contextual element was removed
        self.has_other: bool = False  # whether another element was found
        self._line = line
        blanks = line[len(prefix) :]
        self._blanks = len(line) - len(blanks.lstrip(b" \t"))
        self._prefix = prefix
        self._ending = ending
        self._style = style
        self._at = 0
        self._follows_frame = False
        self._parts: list[Part] = []
        self._begun: list[bytes] = []  # text of the current output line

    def between_frames(self, token: Token, *, is_last: bool) -> bytes:
        """The text between the frames of an element."""
        if token.tag != b"bt":
            return self._ending
        if self._style.splits_frames:
            before = b"".join(self._begun) + self._line[self._at : token.start]
            after = self._line[token.end :].rstrip(b"\r\n") if is_last else b""
            is_short = len(before) + len(after) <= lib.GSYM_MARKUP_MAX_REPEATED
            return after + self._ending + before if is_short else self._ending
        # A line may have many elements: do not read the text before each one again.
        is_indented = self._style.indents_frames and token.start <= self._blanks
        before = self._line[: token.start] if is_indented else self._prefix
        return self._ending + before

    def remove(self, token: Token, said: bytes) -> None:
        """Remove a contextual element, and say a sentence on a line of its own."""
        self.has_context = True
        self._add_text(token, ends_frame=True)
        if said:
            self.has_other = self._follows_frame = True
            self._parts.append(said)

    def replace(
        self, token: Token, element: Element, shown: bytes, answer: Answer | None
    ) -> None:
        """Replace an element by text."""
        self.has_other = True
        is_frame = token.tag == b"bt"
        self._add_text(token, ends_frame=is_frame)
        self._parts.append((token, element, shown, answer))
        self._follows_frame = is_frame

    def put_ready(self, output: Output) -> None:
        """Print the parts so far, unless the line may still be dropped."""
        if self.has_other:
            self._put_parts(output)

    def is_blank(self) -> bool:
        """Whether nothing but the prefix is left."""
        texts = (part for part in self._parts if isinstance(part, bytes))
        text = (b"".join(texts) + self._rest).removeprefix(self._prefix)
        return not (self.has_other or text.strip())

    def put(self, output: Output) -> None:
        """Print the rest of the line, and the notes."""
        self._put_parts(output)
        if self._rest:
            output.text(self._rest)
        if self.notes:
            needs_ending = not self._rest.endswith(b"\n")
            lines = [self._prefix + note + self._ending for note in self.notes]
            output.text(self._ending * needs_ending + b"".join(lines))

    def _put_parts(self, output: Output) -> None:
        for part in self._parts:
            if isinstance(part, bytes):
                output.text(part)
            else:
                output.element(*part)
        self._parts.clear()

    @property
    def _rest(self) -> bytes:
        return self._line[self._at :]

    def _add_text(self, token: Token, *, ends_frame: bool) -> None:
        if self._style.splits_frames and self._follows_frame and ends_frame:
            self._parts.append(self._ending)
            self._begun.clear()
            self._follows_frame = False
        if text := self._line[self._at : token.start]:
            self._parts.append(text)
            self._begun.append(text)
        self._at = token.end


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

    def filter(self, line: bytes) -> None:
        """Filter one line, given with its end."""
        self._put(self._colours.reset())
        super().filter(line)

    def _filter_elements(self, line: bytes, tokens: Iterator[Token]) -> None:
        context = None
        if may_have_context(line):
            context = next(filter(is_contextual, self._tokens(line)), None)
        if context is None:
            self.close_line()
            self._put_nodes(tokens, len(line))
        elif self._prefix:
            # Its output may be printed after lines of other processes.
            self._prefix = remove_colours(line[: context.start])
            self._take(context)
        else:
            self._take(context, partial(self._put_nodes, tokens, context.start))

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
