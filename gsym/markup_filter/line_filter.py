"""One line of a log at a time: what stays, what is replaced, what is remembered."""

from __future__ import annotations

from functools import partial

from gsym._native import to_bytes
from gsym.demangling import demangle_bytes
from gsym.formats.markup import Fault, decode, find_elements
from gsym.formats.markup_elements import (
    Backtrace,
    Data,
    DumpFile,
    HexDict,
    Mmap,
    Module,
    Pc,
    Reset,
    Symbol,
)
from gsym.markup_filter.address_space import AddressSpace, ContextError
from gsym.markup_filter.answers import Answer, answer_address
from gsym.markup_filter.colours import SGR, Colours
from gsym.markup_filter.element_text import ElementText
from gsym.markup_filter.folded_stacks import FoldedStacks
from gsym.markup_filter.frame_runs import FrameRuns
from gsym.markup_filter.line_parts import LineParts

__all__ = ["LineFilter"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from gsym.formats.markup import Token
    from gsym.formats.markup_elements import Element
    from gsym.markup_filter.address_space import LoadedModule, Room, Segment
    from gsym.markup_filter.failures import Failures
    from gsym.markup_filter.outputs import Output
    from gsym.markup_filter.settings import FilterSettings
    from gsym.markup_filter.symbols import Symbols

_CONTEXT = frozenset({b"mmap", b"reset", b"module"})
_ADDRESS_MASK = (1 << 64) - 1
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
        self._settings = settings
        self._style = settings.style
        self._symbols = symbols
        self._failures = failures
        self._output = output
        self._space = AddressSpace(room)
        self._stacks = output if isinstance(output, FoldedStacks) else None
        self._runs = FrameRuns(settings, symbols, self._space)
        self._colours = Colours(is_on=settings.colour)
        self._text = ElementText(self._style, self._colours)
        self._open_module: LoadedModule | None = None
        self._open_segments: list[Segment] = []
        self._begun = b""  # the beginning of the line on it
        self._said = b""  # what takes the place of a contextual element
        self._bases: dict[int, int] = {}
        self._line = b""

    @property
    def awaits_line(self) -> bool:
        """Whether text without an element would still change what comes out."""
        is_coloured = self._style.interprets_sgr and self._colours.is_set
        return self._open_module is not None or is_coloured

    def filter_run(self, lines: memoryview, element: int) -> int:
        """Take many lines in at once, if they are such that it can be done.

        Args:
            lines: Whole lines, the first of which has an element.
            element: Offset of that.

        Returns:
            How many bytes of *lines* were taken in; 0: the first line is to be filtered
            by itself.
        """
        put = self._output.run
        if put is None or self.awaits_line:
            return 0
        return self._runs.answer(lines, element, put, self._failures.count_in)

    def filter(self, line: bytes) -> None:
        """Take a line in, with its end."""
        self._line = line
        if self._style.interprets_sgr:
            self._put_text(self._colours.reset())
        tokens = list(find_elements(line, self._style.dialect))
        if not tokens:
            self.close_line()
            self._put_log(line)
        elif self._style.keeps_context_text:
            self._filter_elements(tokens)
        else:
            self._filter_as_llvm(tokens)

    def close_line(self) -> None:
        """End the line on a module that waits for more of its segments."""
        if self._open_module is not None:
            end = self._text.module_end(self._open_segments, self._ending)
            self._put_text(self._begun + end)
            self._begun = b""
            self._open_module = None
            self._open_segments = []

    def finish(self) -> None:
        """The log is at its end."""
        self.close_line()
        self._space.clear()
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

    def _filter_elements(self, tokens: list[Token]) -> None:
        parts = LineParts(self._line, self._ending, self._style)
        self._colours.reset()  # those of a line end with it
        at = 0
        for token in tokens:
            self._follow_colours(at, token.start)
            at = token.end
            if token.tag in _CONTEXT:
                element = self._take_context(token)
                if element is not None:
                    self._output.context(token, element)
                if self._said:
                    parts.say(token, self._said)
                    self._said = b""
                elif element is not None and self._settings.context != "keep":
                    parts.remove(token)
                else:
                    parts.has_other = True
            elif (element := self._decode(token)) is None:
                parts.has_other = True
            else:
                self._replace(element, token, parts, is_last=token is tokens[-1])
        if not parts.has_context:
            self.close_line()
        is_elided = self._style.elides_prefixes and not parts.has_other
        if not (parts.has_context and (is_elided or parts.is_blank())):
            parts.put(self._output)

    def _replace(
        self, element: Element, token: Token, parts: LineParts, *, is_last: bool
    ) -> None:
        stacks = self._stacks
        if isinstance(element, Backtrace) and stacks is not None and stacks.is_batch:
            before, behind = parts.cut(token, self._output, is_last=is_last)
            stacks.frame(self._answer(element), before, behind)
            return
        between = parts.between_frames(token, is_last=is_last)
        text, answer = self._present(element, token, between, parts.notes)
        parts.replace(token, element, text, answer)

    def _follow_colours(self, start: int, end: int) -> None:
        """Know the colours of the log behind a part of the line, which stays text."""
        if self._settings.colour:
            for code in SGR.finditer(self._line, start, end):
                self._colours.interpret(code[0])

    # ---- lines as llvm-symbolizer has them

    def _filter_as_llvm(self, tokens: list[Token]) -> None:
        for at, token in enumerate(tokens):
            if token.tag in _CONTEXT:
                put_before = partial(self._put_nodes, tokens[:at], token.start)
                element = self._take_context(token, put_before)
                if element is not None:
                    self._output.context(token, element)
                return
        self.close_line()
        self._put_nodes(tokens, len(self._line))

    def _put_nodes(self, tokens: list[Token], end: int) -> None:
        """The text up to *end*, with its elements replaced."""
        at = 0
        notes: list[bytes] = []
        for token in tokens:
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
                    text, answer = self._present(element, token, self._ending, notes)
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

    def _present(
        self, element: Element, token: Token, between: bytes, notes: list[bytes]
    ) -> tuple[bytes, Answer | None]:
        """What stands in place of an element; *notes* go behind the line.

        *between* stands between the frames of inlined calls.
        """
        if isinstance(element, Symbol):
            name = demangle_bytes(to_bytes(element.name))
            return self._text.plain(name), None
        if isinstance(element, HexDict):
            from gsym.markup_filter.hexdict import annotate

            form = self._settings.hexdict
            text, added, values = annotate(to_bytes(element.text), self._place, form)
            notes += added
            return text, Answer(element, values=values)
        if isinstance(element, DumpFile):
            shown = self._settings.on_dump(element, self._space, self._symbols)
            return (self._text.raw(token) if shown is None else shown), None
        if isinstance(element, (Backtrace, Pc, Data)):
            return self._present_address(element, token, between)
        return token.text, None

    def _present_address(
        self, element: Backtrace | Pc | Data, token: Token, between: bytes
    ) -> tuple[bytes, Answer]:
        style, answer = self._style, self._answer(element)
        if not answer.frames and answer.variable is None:
            if style.tells_each_failure and answer.segment is None:
                place = token.start + len(token.tag) + 4
                message = b"no mmap covers address"
                self._failures.add(Fault(message, place), self._line)
            elif style.tells_each_failure and not _is_there(answer):
                self._failures.add_missing_module()
                return self._text.raw(token), answer
        return self._text.answer(answer, token, between), answer

    def _answer(self, element: Backtrace | Pc | Data) -> Answer:
        is_return = self._style.adjusts_plain_pc
        answer = answer_address(
            element, self._space, self._symbols, adjusts_plain_pc=is_return
        )
        if not answer.frames and answer.variable is None:
            self._failures.count(answer)
        return answer

    def _place(self, address: int) -> bytes:
        """What is at an address that may be of code or of data."""
        segment = self._space.find(address)
        if segment is None:
            return b""
        kinds = (Pc(address, "pc"), Data(address))
        for element in kinds if b"x" in segment.mode else kinds[::-1]:
            answer = answer_address(
                element, self._space, self._symbols, adjusts_plain_pc=False
            )
            if answer.frames or answer.variable:
                break
        return self._text.place(answer)

    def _take_context(
        self, token: Token, put_before: Callable[[], object] = lambda: None
    ) -> Element | None:
        """Remember what a contextual element says, and print what is to be seen of it.

        Args:
            token: The element.
            put_before: Prints what is in front of it, before what it prints; by default
                that comes with its line.

        Returns:
            None where it is malformed, or does not fit what came before.
        """
        # Without a list of segments, an unknown module is told in the log.
        known = self._space.modules if self._style.lists_segments else None
        element = self._decode_with(token, known)
        try:
            if isinstance(element, Module):
                self._take_module(element, put_before)
            elif isinstance(element, Mmap):
                self._take_mmap(element, put_before)
            elif isinstance(element, Reset):
                self._take_reset(token, put_before)
        except ContextError as error:
            place = token.start + len(token.tag) + 4
            fault = Fault(to_bytes(str(error)), place)
            self._failures.add(fault, self._line)
            self._output.malformed(token, fault)
            return None
        return element

    def _take_module(self, element: Module, put_before: Callable[[], object]) -> None:
        module = self._space.add_module(element)
        if self._style.lists_segments:
            self.close_line()
            put_before()
            self._begin_line(module, is_new=True)

    def _take_mmap(self, element: Mmap, put_before: Callable[[], object]) -> None:
        if element.module not in self._space.modules:
            self._said = b"symbolizer: Invalid module id."
            return
        segment = self._space.add_segment(element)
        module = segment.module
        if not self._style.lists_segments:
            self._say_base(segment)
            return
        if self._open_module is not module:
            self.close_line()
            put_before()
            self._begin_line(module, is_new=False)
        self._open_segments.append(segment)

    def _take_reset(self, token: Token, put_before: Callable[[], object]) -> None:
        if self._space and self._style.lists_segments:
            self.close_line()
            put_before()
            if self._settings.context == "summary":
                self._put_text(self._text.raw(token) + self._ending)
        self._space.clear()
        self._bases.clear()

    def _begin_line(self, module: LoadedModule, *, is_new: bool) -> None:
        if self._settings.context != "summary":
            return
        begin = self._text.module_begin(module, is_new=is_new)
        if self._style.keeps_context_text:
            self._begun = begin  # text round the element comes before
        else:
            self._put_text(begin)
        self._open_module = module

    def _say_base(self, segment: Segment) -> None:
        """Tell the load address of a module once, as Fuchsia does."""
        module = segment.module
        base = (segment.start - segment.address) & _ADDRESS_MASK
        is_first = module.id not in self._bases
        known = self._bases.setdefault(module.id, base)
        if known != base:
            self._said = b"symbolizer: Inconsistent base address."
        elif is_first and self._settings.context == "summary":
            self._said = self._text.module_base(module, base)


def _is_there(answer: Answer) -> bool:
    return answer.symbols is None or answer.symbols.is_there
