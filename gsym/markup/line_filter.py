"""Lines of one process: runs of them, or one at a time by the rules of a style."""

from __future__ import annotations

from gsym.markup.address_space import AddressSpace
from gsym.markup.colours import Colours
from gsym.markup.contextual_elements import ContextualElements
from gsym.markup.document_lines import DocumentLines
from gsym.markup.element_text import ElementText
from gsym.markup.frame_runs import FrameRuns
from gsym.markup.line_elements import LineElements
from gsym.markup.llvm_lines import LlvmLines
from gsym.markup.presentation_elements import PresentationElements

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from gsym.markup.address_space import Room
    from gsym.markup.element_runs import ElementRuns
    from gsym.markup.failures import Failures
    from gsym.markup.outputs import Output
    from gsym.markup.settings import FilterSettings
    from gsym.markup.symbols import Symbols


_BEGIN = b"{{{"


class LineFilter:
    """Filters the lines of one process.

    Args:
        settings: How.
        symbols: Those of the modules.
        failures: Is told what is wrong.
        output: Gets what comes out.
        room: For what is loaded.
        key: Finds the process of a line, as in a `Demultiplexer`; the line up to the
            end of the match begins all lines that are made from it. None: no prefix.
    """

    def __init__(  # noqa: PLR0913 - the parts of the filter
        self,
        settings: FilterSettings,
        symbols: Symbols,
        failures: Failures,
        output: Output,
        room: Room,
        *,
        key: re.Pattern[bytes] | None = None,
    ) -> None:
        style = settings.style
        space = AddressSpace(room, keeps_mmaps=style.keeps_mmaps)
        colours = Colours(is_on=settings.colour)
        text = ElementText(style, colours)
        self._key = key
        self._failures = failures
        self._output = output
        self._runs = FrameRuns(settings, symbols, space)
        self._element_runs: ElementRuns | None = None
        if output.element_run is not None:
            from gsym.markup.element_runs import ElementRuns

            self._element_runs = ElementRuns(
                settings,
                symbols,
                space,
                text,
                count_in=failures.count_in,
                take=output.element_run,
            )
        self._context = ContextualElements(settings, space, text, output.text)
        presentation = PresentationElements(settings, symbols, failures, space, text)
        self._elements = LineElements(
            style,
            space=space,
            context=self._context,
            presentation=presentation,
            failures=failures,
            output=output,
        )
        self._rules: DocumentLines | LlvmLines
        if style.keeps_context_text:
            self._rules = DocumentLines(settings, self._elements, colours, output)
        else:
            self._rules = LlvmLines(style, self._elements, colours, failures, output)

    @property
    def awaits_line(self) -> bool:
        """Whether text without an element would still change what comes out."""
        return self._context.awaits_segments or self._rules.awaits_line

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
        prefix = b""
        if self._key is not None:  # the prefix may differ in the next line
            lines = lines[: bytes(lines).find(b"\n", element) + 1 or len(lines)]
            prefix = self._prefix_of(bytes(lines[:element]))
        if self._element_runs is not None:
            return self._element_runs.answer(lines, number, prefix)
        if put is None:
            return 0
        count_in = self._failures.count_in
        return self._runs.answer(lines, element, put, count_in, prefix)

    def filter(self, line: bytes) -> None:
        """Take a line in, with its end."""
        self._elements.line = line
        if self._key is not None:
            self._elements.prefix = self._prefix_of(line.partition(_BEGIN)[0])
        self._rules.filter(line)

    def _prefix_of(self, before: bytes) -> bytes:
        """The beginning of the text before the elements that names the process."""
        found = self._key and self._key.search(before)
        if not found:
            return b""
        rest = before[found.end() :]
        return before[: len(before) - len(rest.lstrip(b" \t"))]

    def close_line(self) -> None:
        """End the line on a module that waits for more of its segments."""
        self._elements.close_module_line()

    def finish(self) -> None:
        """The log is at its end."""
        self.close_line()
        self._context.clear()
        self._rules.finish()
