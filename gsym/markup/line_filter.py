"""The lines of one process, filtered in runs, or one at a time by a style's rules."""

from __future__ import annotations

from functools import partial
from itertools import chain

from gsym.engine.demangling import demangle_bytes, demangle_type
from gsym.engine.native import to_bytes
from gsym.lazy import regex
from gsym.markup import parser
from gsym.markup.address_space import AddressSpace, ContextError, SpaceBudget
from gsym.markup.answers import Answer, answer_address, answer_at
from gsym.markup.colours import Colours
from gsym.markup.element_text import ElementText
from gsym.markup.line_runs import LineRuns
from gsym.markup.parser import Backtrace, Data, Fault, Mmap, Pc, Token, find_elements
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Container, Iterator

    from gsym.markup.address_space import LoadedModule, Segment
    from gsym.markup.failures import Failures
    from gsym.markup.outputs import Output
    from gsym.markup.settings import FilterSettings
    from gsym.markup.symbols import Symbols

_CONTEXTUAL = frozenset({b"mmap", b"reset", b"module"})
_CONTEXT = regex(rb"\{\{\{(?:mmap|reset|module)[:}]")


def is_contextual(token: Token) -> bool:
    """Whether an element changes what is loaded."""
    return token.tag in _CONTEXTUAL


def may_have_context(line: bytes) -> bool:
    """Whether a line may have a contextual element."""
    return _CONTEXT.search(line) is not None


class LineFilter:
    """Filters the lines of one process; subclasses define the rules for one line.

    Every output line begins with the line up to the end of the match of *key*, as in a
    `Demultiplexer`.
    """

    def __init__(  # noqa: PLR0913 - the parts of the filter
        self,
        settings: FilterSettings,
        symbols: Symbols,
        failures: Failures,
        output: Output,
        budget: SpaceBudget,
        *,
        key: re.Pattern[bytes] | None = None,
    ) -> None:
        # whether the current report says that addresses without a kind are exact
        self.are_exact = False
        self._settings = settings
        self._style = settings.style
        self._symbols = symbols
        self._failures = failures
        self._output = output
        self._key = key
        self._space = AddressSpace(budget, keeps_mmaps=self._style.keeps_mmaps)
        self._colours = Colours(is_on=settings.colour)
        self._text = ElementText(self._style, self._colours)
        self._shows_summary = settings.context == "summary"
        self._module: LoadedModule | None = None  # whose line is open
        self._segments: list[Segment] = []  # to be listed in that line
        self._line_start = b""  # the beginning of that line
        self._bases: dict[int, int] = {}  # load addresses that were shown
        self._runs = LineRuns(settings, symbols, self._space, output, failures.count_in)
        self._line = b""  # with its end
        self._prefix = b""  # the beginning of the line, which names the process

    @property
    def waits_for_line(self) -> bool:
        """Whether a line without elements would change the output."""
        return self._module is not None

    def filter_run(
        self, lines: memoryview, element: int, number: int, process: bytes | None
    ) -> int:
        """Filter many lines at once, if they are simple enough.

        *element* is the offset of that in the first line.

        Returns:
            How many bytes of *lines* were filtered; 0: filter the first line by itself.
        """
        if self.waits_for_line:
            return 0
        prefix = b""
        if self._key is not None:  # the prefix may differ in the next line
            lines = lines[: bytes(lines).find(b"\n", element) + 1 or len(lines)]
            prefix = self.prefix_of(bytes(lines[:element]))
        exact = self.are_exact
        return self._runs.answer(lines, number, prefix, process, are_exact=exact)

    def filter(self, line: bytes) -> None:
        """Filter one line, given with its end."""
        self._line = line
        if self._key is not None:
            self._prefix = self.prefix_of(line.partition(parser.BEGIN)[0])
        tokens = self._tokens(line)
        first = next(tokens, None)
        if first is None:
            self.close_line()
            self._put_log(line)
        else:
            self._filter_elements(line, chain((first,), tokens))

    def close_line(self) -> None:
        """End the line about a module that waits for more segments."""
        if self._module is not None:
            end = self._text.module_end(self._segments, self._ending)
            self._output.text(self._line_start + end)
            self._line_start, self._module, self._segments = b"", None, []

    def finish(self) -> None:
        """End the log."""
        self.close_line()
        self._clear()

    def _clear(self) -> None:
        """Remove all modules."""
        self._space.clear()
        self._bases.clear()

    def _tokens(self, line: bytes) -> Iterator[Token]:
        """The elements of a line, one at a time: there may be many."""
        return find_elements(line, self._style.dialect)

    def _filter_elements(self, line: bytes, tokens: Iterator[Token]) -> None:
        raise NotImplementedError

    def _put_log(self, text: bytes) -> None:
        """Text of the log outside of elements."""
        self._output.text(text)

    def prefix_of(self, before: bytes) -> bytes:
        """The part of the text before the elements that names the process."""
        found = self._key and self._key.search(before)
        if not found:
            return b""
        rest = before[found.end() :]
        return before[: len(before) - len(rest.lstrip(b" \t"))]

    @property
    def _ending(self) -> bytes:
        """The end of each output line made from this line."""
        return b"\r\n" if self._line.endswith(b"\r\n") else b"\n"

    # ---- elements

    def _decode(
        self, token: Token, modules: Container[int] | None = None
    ) -> parser.Element | None:
        """The record of an element; None if it is text, or malformed."""
        if token.tag not in self._style.elements:
            return None
        faults: list[Fault] = []
        element = parser.decode(token, self._style.dialect, faults, modules)
        for fault in faults:
            self._failures.add(fault, self._line)
        if element is None and faults:
            self._output.malformed(token, faults[-1])
        return element

    def _take(
        self, token: Token, put_before: Callable[[], object] = lambda: None
    ) -> bytes | None:
        """Apply a contextual element.

        *put_before* prints the text before it, before it prints itself; by default that
        is printed with its line. Return the text that replaces it; None if it is
        malformed, or conflicts with earlier elements.
        """
        # Without a list of segments, an unknown module is reported in the log.
        known = self._space.modules if self._style.lists_segments else None
        element = self._decode(token, known)
        if element is None:
            return None
        place = token.fields_start
        try:
            said = self._apply(element, token, put_before)
        except ContextError as error:
            fault = Fault(to_bytes(str(error)), place)
            self._failures.add(fault, self._line)
            self._output.malformed(token, fault)
            return None
        for remark in self._space.remarks if isinstance(element, Mmap) else ():
            warning = Fault(to_bytes(remark), place, is_warning=True)
            self._failures.add(warning, self._line)
        self._output.context(token, element)
        return said

    def _apply(
        self, element: parser.Element, token: Token, put_before: Callable[[], object]
    ) -> bytes:
        """Apply an element, and print what the style shows of it.

        Raises:
            ContextError: It conflicts with earlier elements.
        """
        if isinstance(element, parser.Module):
            module = self._space.add_module(element)
            if self._style.lists_segments:
                self._begin_line(module, put_before, is_new=True)
        elif isinstance(element, Mmap):
            return self._apply_mmap(element, put_before)
        elif isinstance(element, parser.Reset):
            if self._space and self._style.lists_segments:
                self.close_line()
                put_before()
                if self._shows_summary:
                    text = self._prefix + self._text.raw(token) + self._ending
                    self._output.text(text)
            self._clear()
        return b""

    def _apply_mmap(self, element: Mmap, put_before: Callable[[], object]) -> bytes:
        if element.module not in self._space.modules:
            return b"symbolizer: Invalid module id."
        segment = self._space.add_segment(element)
        module = segment.module
        if self._style.lists_segments:
            if self._module is not module:
                self._begin_line(module, put_before, is_new=False)
            self._segments.append(segment)
            return b""
        # The load address of a module, shown once, as Fuchsia does
        base = (segment.start - segment.address) & UINT64_MAX
        is_first = module.id not in self._bases
        if self._bases.setdefault(module.id, base) != base:
            return b"symbolizer: Inconsistent base address."
        is_shown = is_first and self._shows_summary
        return self._text.module_base(module, base) if is_shown else b""

    def _begin_line(
        self, module: LoadedModule, put_before: Callable[[], object], *, is_new: bool
    ) -> None:
        self.close_line()
        put_before()
        if not self._shows_summary:
            return
        begin = self._prefix + self._text.module_begin(module, is_new=is_new)
        # The text around the element is printed first, as may be lines of other
        # processes.
        if self._style.keeps_context_text or self._prefix:
            self._line_start = begin
        else:
            self._output.text(begin)
        self._module = module

    def _present(
        self, element: parser.Element, token: Token, between: bytes, notes: list[bytes]
    ) -> tuple[bytes, Answer | None]:
        """The text that replaces an element, and the result of its lookup.

        *notes* receives lines to be printed after this one.
        """
        if isinstance(element, parser.Symbol):
            demangled = demangle_type if self._style.has_types else demangle_bytes
            return self._text.plain(demangled(to_bytes(element.name))), None
        if isinstance(element, parser.HexDict):
            from gsym.markup.hexdict import annotate

            text, added, values = annotate(
                to_bytes(element.text),
                self._look_up_value,
                self._text.place,
                self._settings.hexdict,
            )
            notes += added
            return text, Answer(element, values=values)
        if isinstance(element, parser.DumpFile):
            shown = self._settings.on_dump(element, self._space, self._symbols)
            return (self._text.raw(token) if shown is None else shown), None
        if isinstance(element, (Backtrace, Pc, Data)):
            return self._present_address(element, token, between)
        return token.text, None

    def _present_address(
        self, element: Backtrace | Pc | Data, token: Token, between: bytes
    ) -> tuple[bytes, Answer]:
        style, exact = self._style, self.are_exact
        answer = answer_address(
            element, self._space, self._symbols, style, are_exact=exact
        )
        if not answer.is_known:
            self._failures.count(answer)
        if style.reports_each_failure and not answer.is_known:
            if answer.symbols is None:
                fault = Fault(b"no mmap covers address", token.fields_start)
                self._failures.add(fault, self._line)
            elif not answer.symbols.is_available:
                self._failures.add_missing_module()
                return self._text.raw(token), answer
        return self._text.answer(answer, token, between), answer

    def _look_up_value(self, address: int) -> Answer:
        """Look up an address of code or of data."""
        segment = self._space.find(address)
        is_code = segment is not None and b"x" in segment.mode
        kinds = Pc(address, "pc"), Data(address)
        first, second = (
            partial(answer_at, each, address, self._space, self._symbols)
            for each in (kinds if is_code else kinds[::-1])
        )
        answer = first()
        if segment is None or answer.is_known:
            return answer
        other = second()
        return other if other.is_known else answer
