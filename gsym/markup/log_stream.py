"""The log of one process, cut anywhere: whole lines are filtered, the rest waits.

What no element is in passes in one piece, however many lines it is.
"""

from __future__ import annotations

from gsym.markup.colours import remove_colours
from gsym.markup.open_dictionary import OpenDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.address_collection import AddressCollector
    from gsym.markup.line_filter import LineFilter
    from gsym.markup.outputs import Output
    from gsym.markup.settings import FilterSettings

_BEGIN = b"{{{"
_BRACE = b"{"
_CODE = b"{{{bt:", b"{{{pc:"
_ESCAPE = b"\x1b"
_PATIENCE = 1.0  # seconds that a dictionary may pause


class LogStream:
    """Filters a log piece by piece.

    Args:
        settings: How.
        lines: Filters lines by themselves, and runs of them.
        output: Gets what comes out.
        collector: Gets each piece of whole lines before it is filtered.
        process: What tells the process that they are of; None: nothing does.

    Attributes:
        lines_before: How many lines came before the next one; it is counted where the
            output takes no runs.
    """

    def __init__(
        self,
        settings: FilterSettings,
        lines: LineFilter,
        output: Output,
        collector: AddressCollector | None = None,
        process: bytes | None = None,
    ) -> None:
        self._settings = settings
        self._lines = lines
        self._output = output
        self._collector = collector
        self._process = process
        self.lines_before = 0
        self._counts_lines = output.run is None
        self._rest = bytearray()  # the beginning of a line
        most = settings.hexdict_limit, settings.hexdict_lines
        self._dictionary = OpenDictionary(*most)
        self._is_long = False  # the line that has begun is too long for elements
        self._has_hexdict = b"hexdict" in settings.style.elements
        self._has_sgr = settings.style.interprets_sgr
        self._drops_colours = not (self._has_sgr or settings.keeps_colours)

    def feed(self, block: bytes) -> None:
        """Take a piece of the log in; it may end anywhere."""
        if self._is_long:
            block = self._skip_long(block)
        end = block.rfind(b"\n") + 1
        if not end:
            self._rest += block
        else:
            # The first line is made whole by itself: to copy all of them takes long.
            begin = block.find(b"\n") + 1 if self._rest else 0
            first = bytes(self._rest) + block[:begin]
            self._rest = bytearray(block[end:])
            if self._collector is not None:
                self._collector.collect(first + block[begin:end])
            self._filter_lines(first, 0, len(first))
            self._filter_lines(block, begin, end)
        if len(self._rest) > self._settings.line_limit:
            self._give_up_line()

    @property
    def is_waiting(self) -> bool:
        """Whether a dictionary waits for its end."""
        return bool(self._dictionary)

    def idle(self, seconds: float) -> None:
        """Nothing has come for so long: what can be printed is."""
        if self._dictionary and seconds < _PATIENCE:
            return
        self.release()
        self._lines.close_line()

    def release(self) -> None:
        """What waits for the end of a dictionary is text."""
        for number, line in self._dictionary.release():
            self._filter_whole(number, line)

    def finish(self) -> None:
        """The log is at its end."""
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
        """Take whole lines in; only the last of a log may lack its end.

        Args:
            lines: They are a part of it.
            at: Offset of the first one.
            end: Offset behind the last one.
        """
        if self._drops_colours:
            lines = remove_colours(lines[at:end])
            at, end = 0, len(lines)
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
                    if self._counts_lines:
                        self._output.begin_line(number, b"", self._process)
                    at = start + self._lines.filter_run(run, begin - start, number)
                    if at > start:
                        if self._counts_lines:
                            self.lines_before += lines.count(b"\n", start, at)
                        continue
            at = lines.find(b"\n", start, end) + 1 or end
            self._filter_line(lines[start:at])

    def _next(self, lines: bytes, at: int, end: int) -> int:
        """Where the next byte is that may begin something to do; below 0: nowhere."""
        # Far quicker than the search for three, where there is none at all.
        begin = lines.find(_BRACE, at, end)
        if begin >= 0:
            begin = lines.find(_BEGIN, begin, end)
        if not self._has_sgr:
            return begin
        escape = lines.find(_ESCAPE, at, begin if begin >= 0 else end)
        return escape if escape >= 0 else begin

    def _pass(self, lines: bytes) -> None:
        """Lines without anything to replace."""
        if self._lines.awaits_line:
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
        """Take a line in, or all lines of an element as one."""
        if len(line) > self._settings.line_limit:
            self._lines.close_line()
            self._output.text(line)
            return
        if self._counts_lines:
            self._output.begin_line(number, line, self._process)
        self._lines.filter(line)

    def _give_up_line(self) -> None:
        self.release()
        self._lines.close_line()
        self._output.text(bytes(self._rest))
        self._rest.clear()
        self._is_long = True

    def _skip_long(self, block: bytes) -> bytes:
        end = block.find(b"\n") + 1
        self._is_long = not end
        self.lines_before += bool(end)
        self._output.text(block[:end] if end else block)
        return block[end:] if end else b""
