"""The log of one process in pieces: complete lines are filtered, the rest waits.

Lines without elements pass in one piece.
"""

from __future__ import annotations

from gsym.lazy import regex
from gsym.markup.colours import remove_colours
from gsym.markup.headings import Headings
from gsym.markup.parser import BEGIN
from gsym.markup.stack_lines import find_stacks, lines_before

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re

    from gsym.markup.line_filter import LineFilter
    from gsym.markup.outputs import Output
    from gsym.markup.remote_symbols import AddressCollector
    from gsym.markup.settings import FilterSettings
    from gsym.markup.stack_lines import AnswersLines, StackAnswers

    Lines = list[tuple[int, bytes]]

_BRACE = b"{"
_CODE = b"{{{bt:", b"{{{pc:"
_ESCAPE = b"\x1b"
_PATIENCE = 1.0  # seconds to wait for the rest of a dictionary


class LogStream:
    """Filters a log piece by piece.

    *collector* receives complete lines before they are filtered, *stacks* answers
    stacks that are not markup.
    """

    def __init__(  # noqa: PLR0913 - the parts of the filter
        self,
        settings: FilterSettings,
        lines: LineFilter,
        output: Output,
        collector: AddressCollector | None = None,
        process: bytes | None = None,
        *,
        stacks: StackAnswers | None = None,
    ) -> None:
        self._settings = settings
        self._lines = lines
        self._output = output
        self._collector = collector
        self._process = process
        self._stacks = stacks
        self._answer_lines: AnswersLines | None = None  # of a stack that may continue
        # number of lines before the next one; counted if the output needs it
        self.lines_before: int = 0
        self._counts_lines = output.counts_lines
        self._rest = bytearray()  # the beginning of a line
        self._dictionary = OpenDictionary(settings)
        self._is_long = False  # the current line is too long for elements
        self._headings = Headings() if settings.style.weighs_evidence else None
        self._has_hexdict = b"hexdict" in settings.style.elements
        self._has_sgr = settings.style.interprets_sgr
        self._drops_colours = not (self._has_sgr or settings.keeps_colours)

    def feed(self, block: bytes) -> None:
        """Filter a piece of the log, which may end anywhere."""
        if self._is_long:
            block = self._skip_long(block)
        end = block.rfind(b"\n") + 1
        if not end:
            self._rest += block
        else:
            # Only the first line is joined: copying all of them is slow.
            begin = block.find(b"\n") + 1 if self._rest else 0
            first = bytes(self._rest) + block[:begin]
            self._rest = bytearray(block[end:])
            if self._collector is not None:
                self._collector.collect(first + block[begin:end])
            self._filter_lines(first, 0, len(first))
            self._filter_lines(block, begin, end)
        if len(self._rest) > self._settings.line_limit:  # it is text
            self.release()
            self._lines.close_line()
            self._output.text(bytes(self._rest))
            self._rest.clear()
            self._is_long = True

    @property
    def is_waiting(self) -> bool:
        """Whether a dictionary is incomplete."""
        return bool(self._dictionary)

    def idle(self, seconds: float) -> None:
        """Print what can be printed after this long without input."""
        if self._dictionary and seconds < _PATIENCE:
            return
        self.release()
        self._lines.close_line()

    def release(self) -> None:
        """Print an incomplete dictionary as text."""
        for number, line in self._dictionary.release():
            self._filter_whole(number, line)

    def finish(self) -> None:
        """End the log."""
        rest = bytes(self._rest)
        self._rest.clear()
        if rest and self._settings.style.ends_last_line:
            rest += b"\n"
        if rest and self._collector is not None:
            self._collector.collect(rest)
        self._filter_lines(rest, 0, len(rest))
        self.release()
        self._lines.finish()
        if self._collector is not None:
            self._collector.finish()

    def _filter_lines(self, lines: bytes, at: int, end: int) -> None:
        """Filter complete lines; only the last of a log may lack its newline."""
        if self._drops_colours:
            lines = remove_colours(lines[at:end])
            at, end = 0, len(lines)
        if self._headings is None:
            self._filter_part(lines, at, end)
            return
        for begin, stop in self._headings.parts(lines, at, end):
            self._lines.are_exact = self._headings.are_exact
            self._filter_part(lines, begin, stop)

    def _filter_part(self, lines: bytes, at: int, end: int) -> None:
        """Filter complete lines of one report."""
        if self._stacks is not None:
            is_inside = self._answer_lines is not None
            for begin, stop in find_stacks(lines, at, end, is_inside=is_inside):
                if begin > at:
                    self._filter_marked(lines, at, begin)
                    self._answer_lines = None
                self._answer_stack(self._stacks, lines, begin, stop)
                at = stop
            if at < end:
                self._answer_lines = None
        self._filter_marked(lines, at, end)

    def _answer_stack(
        self, stacks: StackAnswers, lines: bytes, begin: int, end: int
    ) -> None:
        self.release()
        self._lines.close_line()
        if self._answer_lines is None:
            before = lines_before(lines, begin)
            self._answer_lines = stacks.begin(before, self._lines.prefix_of)
        found = self._answer_lines(lines[begin:end])
        self._output.stack(found, self.lines_before + 1, self._process)
        if self._counts_lines:
            self.lines_before += lines.count(b"\n", begin, end)

    def _filter_marked(self, lines: bytes, at: int, end: int) -> None:
        """Filter complete lines whose elements are markup."""
        while at < end:
            start = at
            if not self._dictionary:
                begin = self._next(lines, at, end)
                if begin < 0:
                    self._pass(lines[at:end])
                    return
                start = lines.rfind(b"\n", at, begin) + 1 or at
                if start > at:
                    self._pass(lines[at:start])
                if lines.startswith(_CODE, begin):
                    run = memoryview(lines)[start:end]
                    number = self.lines_before + 1
                    at = start + self._lines.filter_run(
                        run, begin - start, number, self._process
                    )
                    if at > start:
                        if self._counts_lines:
                            self.lines_before += lines.count(b"\n", start, at)
                        continue
            at = lines.find(b"\n", start, end) + 1 or end
            self._filter_line(lines[start:at])

    def _next(self, lines: bytes, at: int, end: int) -> int:
        """The offset of the next possible element or escape sequence; -1 for none."""
        # Much faster than the search for three braces, if there is none at all.
        begin = lines.find(_BRACE, at, end)
        if begin >= 0:
            begin = lines.find(BEGIN, begin, end)
        if not self._has_sgr:
            return begin
        escape = lines.find(_ESCAPE, at, begin if begin >= 0 else end)
        return escape if escape >= 0 else begin

    def _pass(self, lines: bytes) -> None:
        """Lines without anything to replace."""
        if self._lines.waits_for_line:
            end = lines.find(b"\n") + 1 or len(lines)
            self._lines.filter(lines[:end])
            lines = lines[end:]
            self.lines_before += 1
        if self._counts_lines:
            self.lines_before += lines.count(b"\n")
        self._output.text(lines)

    def _filter_line(self, line: bytes) -> None:
        self.lines_before += 1
        if not self._has_hexdict:
            self._filter_whole(self.lines_before, line)
            return
        for number, whole in self._dictionary.take(self.lines_before, line):
            self._filter_whole(number, whole)

    def _filter_whole(self, number: int, line: bytes) -> None:
        """Filter a line, or all lines of an element as one."""
        if len(line) > self._settings.line_limit:
            self._lines.close_line()
            self._output.text(line)
            return
        if self._counts_lines:
            self._output.begin_line(number, line, self._process)
        self._lines.filter(line)

    def _skip_long(self, block: bytes) -> bytes:
        end = block.find(b"\n") + 1
        self._is_long = not end
        self.lines_before += bool(end)
        self._output.text(block[:end] if end else block)
        return block[end:] if end else b""


# ---- a dictionary of several lines

_END = b"}}}"
_HEXDICT = b"{{{hexdict:"
# The specification has no decimal values but 0; programs print them anyway.
_PAIRS = regex(rb"(?:\s*[^\s:{}]+:\s*(?:0x[0-9a-fA-F]+|[0-9]+)(?!\S))*\s*")
# Prefixes of lines differ in numbers, and in their padding.
_PIECE = regex(rb"([0-9]+)|(\s+)|[a-zA-Z]+|.")
_LONGEST_PREFIX = 256


class OpenDictionary:
    """Joins the lines of a dictionary.

    One that exceeds a limit is text.
    """

    def __init__(self, settings: FilterSettings) -> None:
        self._most_bytes = settings.hexdict_limit
        self._most_lines = settings.hexdict_lines
        self._held: Lines = []
        self._bytes = 0  # of these lines
        self._lines = 0
        self._prefix: list[bytes] = []

    def __bool__(self) -> bool:
        """Whether a dictionary is incomplete."""
        return bool(self._held)

    def take(self, number: int, line: bytes) -> Lines:
        """Add a line.

        Returns:
            What is complete, with the number of its first line: a line, all lines of a
                dictionary as one, or lines that turned out to be text.
        """
        if not self._held:
            return self._begin(number, line)
        end = line.find(_END)
        if not (self._fits(line) and self._continues(line, end)):
            return self.release() + self._begin(number, line)
        self._hold(number, line)
        if end < 0:
            return []
        numbers, parts = zip(*self.release(), strict=True)
        return self._begin(numbers[0], b"".join(parts))  # it may end with another one

    def release(self) -> Lines:
        """The lines of an incomplete dictionary, which are text."""
        lines, self._held = self._held, []
        self._bytes = self._lines = 0
        return lines

    def _begin(self, number: int, line: bytes) -> Lines:
        """Hold a line on which a dictionary begins, or return it."""
        start = line.rfind(BEGIN)
        is_begin = line.startswith(_HEXDICT, start) and self._fits(line)
        if not (is_begin and _PAIRS.fullmatch(line, start + len(_HEXDICT))):
            return [(number, line)]
        self._hold(number, line)
        prefix = line[: line.find(BEGIN)]
        is_short = len(prefix) <= _LONGEST_PREFIX
        self._prefix = [*map(_shape, _PIECE.finditer(prefix))] if is_short else []
        return []

    def _hold(self, number: int, line: bytes) -> None:
        self._held.append((number, line))
        self._bytes += len(line)
        self._lines += line.count(b"\n")

    def _fits(self, line: bytes) -> bool:
        lines = self._lines + line.count(b"\n")
        return lines <= self._most_lines and self._bytes + len(line) <= self._most_bytes

    def _continues(self, line: bytes, end: int) -> bool:
        """Whether a line may continue the dictionary; *end* is -1 if it has no end."""
        end = len(line) if end < 0 else end
        starts = {0, self._prefix_end(line)}
        return any(_PAIRS.fullmatch(line, start, end) for start in starts)

    def _prefix_end(self, line: bytes) -> int:
        """Offset after the prefix that all lines have; 0 without it."""
        pieces = _PIECE.finditer(line)
        at = 0
        for shape in self._prefix:
            piece = next(pieces, None)
            if piece is None or _shape(piece) != shape:
                return 0
            at = piece.end()
        return at


def _shape(piece: re.Match[bytes]) -> bytes:
    """A piece of text; equal for all numbers, and for all blanks."""
    if piece[1]:
        return b"0"
    return b" " if piece[2] else piece[0]
