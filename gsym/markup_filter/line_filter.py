"""One line of a log at a time: what stays of it, and what is replaced."""

from __future__ import annotations

from functools import partial
from itertools import chain

from gsym._native import to_bytes
from gsym.formats.markup import Fault, decode, find_elements
from gsym.formats.markup_elements import Backtrace
from gsym.markup_filter.address_space import AddressSpace, ContextError
from gsym.markup_filter.colours import SGR, Colours
from gsym.markup_filter.contextual_elements import ContextualElements
from gsym.markup_filter.element_runs import ElementRuns
from gsym.markup_filter.element_text import ElementText
from gsym.markup_filter.folded_stacks import FoldedStacks
from gsym.markup_filter.frame_runs import FrameRuns
from gsym.markup_filter.line_parts import LineParts, may_have_context
from gsym.markup_filter.presentation_elements import PresentationElements

__all__ = ["LineFilter"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from gsym.formats.markup import Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.address_space import Room
    from gsym.markup_filter.failures import Failures
    from gsym.markup_filter.outputs import Output
    from gsym.markup_filter.settings import FilterSettings
    from gsym.markup_filter.symbols import Symbols

_CONTEXT = frozenset({b"mmap", b"reset", b"module"})
_MOST_WAITING = 1024  # elements of a line that wait for its end
_LETTERS = b"abcdefghijklmnopqrstuvwxyz"


class LineFilter:
    """Filters the lines of one process.

    Args:
        settings: How.
        symbols: Those of the modules.
        failures: Is told what is wrong.
        output: Gets what comes out.
        room: For what is loaded.
    """

    def __init__(
        self,
        settings: FilterSettings,
        symbols: Symbols,
        failures: Failures,
        output: Output,
        room: Room,
    ) -> None:
        self._style = settings.style
        self._keeps_context = settings.context == "keep"
        self._is_coloured = settings.colour
        self._failures = failures
        self._output = output
        self._space = AddressSpace(room)
        self._stacks = output if isinstance(output, FoldedStacks) else None
        self._runs = FrameRuns(settings, symbols, self._space)
        self._colours = Colours(is_on=settings.colour)
        text = ElementText(self._style, self._colours)
        self._context = ContextualElements(settings, self._space, text, self._put_text)
        self._presentation = PresentationElements(
            settings, symbols, failures, self._space, text
        )
        self._line = b""
        self._element_runs: ElementRuns | None = None
        if output.element_run is not None:
            self._element_runs = ElementRuns(
                settings,
                symbols,
                self._space,
                text,
                count_in=failures.count_in,
                take=output.element_run,
            )

    @property
    def awaits_line(self) -> bool:
        """Whether text without an element would still change what comes out."""
        is_coloured = self._style.interprets_sgr and self._colours.is_set
        return self._context.awaits_segments or is_coloured

    def filter_run(self, lines: memoryview, element: int, number: int) -> int:
        """Take many lines in at once, if they are such that it can be done.

        Args:
            lines: Whole lines, the first of which has an element.
            element: Offset of that.
            number: Of the first line, where lines are counted.

        Returns:
            How many bytes of *lines* were taken in; 0: the first line is to be filtered
            by itself.
        """
        put = self._output.run
        if self.awaits_line:
            return 0
        if self._element_runs is not None:
            return self._element_runs.answer(lines, number)
        if put is None:
            return 0
        return self._runs.answer(lines, element, put, self._failures.count_in)

    def filter(self, line: bytes) -> None:
        """Take a line in, with its end."""
        self._line = line
        if self._style.interprets_sgr:
            self._put_text(self._colours.reset())
        # One at a time, for there may be many in a line.
        tokens = find_elements(line, self._style.dialect)
        first = next(tokens, None)
        if first is None:
            self.close_line()
            self._put_log(line)
        elif self._style.keeps_context_text:
            self._filter_elements(chain((first,), tokens))
        else:
            self._filter_as_llvm(chain((first,), tokens))

    def close_line(self) -> None:
        """End the line on a module that waits for more of its segments."""
        self._context.close_line(self._ending)

    def finish(self) -> None:
        """The log is at its end."""
        self.close_line()
        self._context.clear()
        if self._style.interprets_sgr:
            self._put_text(self._colours.reset())

    @property
    def _ending(self) -> bytes:
        return b"\r\n" if self._line.endswith(b"\r\n") else b"\n"

    def _put_text(self, text: bytes) -> None:
        if text:
            self._output.text(text)

    def _put_log(self, text: bytes) -> None:
        """Text of the log outside of elements."""
        if not self._style.interprets_sgr or b"\x1b" not in text:
            self._put_text(text)
            return
        at = 0
        for code in SGR.finditer(text):
            self._put_text(text[at : code.start()])
            self._put_text(self._colours.interpret(code[0]))
            at = code.end()
        self._put_text(text[at:])

    # ---- lines as the document has them

    def _filter_elements(self, tokens: Iterator[Token]) -> None:
        parts = LineParts(self._line, self._ending, self._style)
        self._colours.reset()  # those of a line end with it
        most_waiting = _MOST_WAITING
        if not may_have_context(self._line):
            self.close_line()
            most_waiting = 1
        at = 0
        for count, (token, is_last) in enumerate(_with_last(tokens), 1):
            self._follow_colours(at, token.start)
            at = token.end
            if token.tag in _CONTEXT:
                self._remove(token, parts)
            elif (element := self._decode(token)) is None:
                parts.has_other = True
            else:
                self._replace(element, token, parts, is_last=is_last)
            if not count % most_waiting and self._stacks is None:
                parts.put_ready(self._output)
        if not parts.has_context:
            self.close_line()
        is_elided = self._style.elides_prefixes and not parts.has_other
        if not (parts.has_context and (is_elided or parts.is_blank())):
            parts.put(self._output)

    def _remove(self, token: Token, parts: LineParts) -> None:
        """Take a contextual element in, and out of its line."""
        said = self._take_context(token)
        if said:
            parts.say(token, said)
        elif said is None or self._keeps_context:
            parts.has_other = True
        else:
            parts.remove(token)

    def _replace(
        self, element: Element, token: Token, parts: LineParts, *, is_last: bool
    ) -> None:
        stacks = self._stacks
        if isinstance(element, Backtrace) and stacks is not None and stacks.is_batch:
            before, behind = parts.cut(token, self._output, is_last=is_last)
            stacks.frame(self._presentation.answer(element), before, behind)
            return
        between = parts.between_frames(token, is_last=is_last)
        text, answer = self._presentation.present(
            element, token, self._line, between, parts.notes
        )
        parts.replace(token, element, text, answer)

    def _follow_colours(self, start: int, end: int) -> None:
        """Know the colours of the log behind a part of the line, which stays text."""
        if self._is_coloured:
            for code in SGR.finditer(self._line, start, end):
                self._colours.interpret(code[0])

    # ---- lines as llvm-symbolizer has them

    def _filter_as_llvm(self, tokens: Iterator[Token]) -> None:
        context = self._first_context()
        if context is None:
            self.close_line()
            self._put_nodes(tokens, len(self._line))
        else:
            put_before = partial(self._put_nodes, tokens, context.start)
            self._take_context(context, put_before)

    def _first_context(self) -> Token | None:
        if not may_have_context(self._line):
            return None
        tokens = find_elements(self._line, self._style.dialect)
        return next((token for token in tokens if token.tag in _CONTEXT), None)

    def _put_nodes(self, tokens: Iterable[Token], end: int) -> None:
        """The text up to *end*, with its elements replaced."""
        at = 0
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
                self._put_text(token.text)
            else:
                element = self._decode(token)
                if element is not None:
                    text, answer = self._presentation.present(
                        element, token, self._line, self._ending, notes
                    )
                    self._output.element(token, element, text, answer)
        self._put_log(self._line[at:end])
        self._put_text(b"".join(note + self._ending for note in notes))

    # ---- elements

    def _decode(self, token: Token) -> Element | None:
        if token.tag not in self._style.elements:
            return None
        return self._decode_with(token, None)

    def _decode_with(
        self, token: Token, modules: Container[int] | None
    ) -> Element | None:
        faults: list[Fault] = []
        element = decode(token, self._style.dialect, faults, modules)
        for fault in faults:
            self._failures.add(fault, self._line)
        if element is None and faults:
            self._output.malformed(token, faults[-1])
        return element

    def _take_context(
        self, token: Token, put_before: Callable[[], object] = lambda: None
    ) -> bytes | None:
        """Take a contextual element in.

        Args:
            token: The element.
            put_before: Prints what is in front of it, before what it prints; by default
                that comes with its line.

        Returns:
            What takes its place; None: it is malformed, or does not fit what came
            before.
        """
        # Without a list of segments, an unknown module is told in the log.
        known = self._space.modules if self._style.lists_segments else None
        element = self._decode_with(token, known)
        if element is None:
            return None
        try:
            said = self._context.take(element, token, self._ending, put_before)
        except ContextError as error:
            place = token.start + len(token.tag) + 4
            fault = Fault(to_bytes(str(error)), place)
            self._failures.add(fault, self._line)
            self._output.malformed(token, fault)
            return None
        self._output.context(token, element)
        return said


def _with_last(tokens: Iterator[Token]) -> Iterator[tuple[Token, bool]]:
    """Tokens, each with whether no other one follows."""
    token = next(tokens, None)
    while token is not None:
        following = next(tokens, None)
        yield token, following is None
        token = following
