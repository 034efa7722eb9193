"""The log of one process, cut anywhere: whole lines are filtered, the rest waits.

What no element is in passes in one piece, however many lines it is.
"""

from __future__ import annotations

import re

from gsym.markup.colours import remove_colours

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.markup.line_filter import LineFilter
    from gsym.markup.outputs import Output
    from gsym.markup.remote_symbols import AddressCollector
    from gsym.markup.settings import FilterSettings

    Lines = list[tuple[int, bytes]]

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
            output needs it.
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
        self._counts_lines = output.counts_lines
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


# ---- a dictionary of several lines

_END = b"}}}"
_HEXDICT = b"{{{hexdict:"
# The document has no decimal values but 0; programs print them all the same.
_PAIRS = re.compile(rb"(?:\s*[^\s:{}]+:\s*(?:0x[0-9a-fA-F]+|[0-9]+)(?!\S))*\s*")
# What stands in front of lines differs in its numbers, and in how they are padded.
_PIECE = re.compile(rb"([0-9]+)|(\s+)|[a-zA-Z]+|.")
_LONGEST_PREFIX = 256


class OpenDictionary:
    """Puts the lines of a dictionary together.

    Args:
        most_bytes: How long it may be; what is longer is text.
        most_lines: How many lines it may have.
    """

    def __init__(self, most_bytes: int, most_lines: int) -> None:
        self._most_bytes = most_bytes
        self._most_lines = most_lines
        self._held: Lines = []
        self._bytes = 0  # of these lines
        self._lines = 0
        self._prefix: list[bytes] = []

    def __bool__(self) -> bool:
        """Whether there is one whose end has not come."""
        return bool(self._held)

    def take(self, number: int, line: bytes) -> Lines:
        """Take a line in.

        Args:
            number: Which one it is.
            line: With its end.

        Returns:
            What is certain by now, with the number of its first line: a line, all lines
            of a dictionary as one, or lines that have turned out to be text.
        """
        if not self._held:
            return self._begin(number, line)
        end = line.find(_END)
        if not (self._has_room(line) and self._goes_on(line, end)):
            return self.release() + self._begin(number, line)
        self._hold(number, line)
        if end < 0:
            return []
        numbers, parts = zip(*self.release(), strict=True)
        return self._begin(numbers[0], b"".join(parts))  # it may end with another one

    def release(self) -> Lines:
        """All lines that wait for an end: they are text."""
        lines, self._held = self._held, []
        self._bytes = self._lines = 0
        return lines

    def _begin(self, number: int, line: bytes) -> Lines:
        """Hold a line that a dictionary begins on, or give it back."""
        start = line.rfind(_BEGIN)
        is_begin = line.startswith(_HEXDICT, start) and self._has_room(line)
        if not (is_begin and _PAIRS.fullmatch(line, start + len(_HEXDICT))):
            return [(number, line)]
        self._hold(number, line)
        prefix = line[: line.find(_BEGIN)]
        is_short = len(prefix) <= _LONGEST_PREFIX
        self._prefix = [*map(_shape, _PIECE.finditer(prefix))] if is_short else []
        return []

    def _hold(self, number: int, line: bytes) -> None:
        self._held.append((number, line))
        self._bytes += len(line)
        self._lines += line.count(b"\n")

    def _has_room(self, line: bytes) -> bool:
        lines = self._lines + line.count(b"\n")
        return lines <= self._most_lines and self._bytes + len(line) <= self._most_bytes

    def _goes_on(self, line: bytes, end: int) -> bool:
        """Whether a line may be of the dictionary; below 0, *end* is not on it."""
        end = len(line) if end < 0 else end
        starts = {0, self._behind_prefix(line)}
        return any(_PAIRS.fullmatch(line, start, end) for start in starts)

    def _behind_prefix(self, line: bytes) -> int:
        """Offset behind what stands in front of each line; 0: it is not there."""
        pieces = _PIECE.finditer(line)
        at = 0
        for shape in self._prefix:
            piece = next(pieces, None)
            if piece is None or _shape(piece) != shape:
                return 0
            at = piece.end()
        return at


def _shape(piece: re.Match[bytes]) -> bytes:
    """A piece of text; the same for all numbers, and for all blanks."""
    if piece[1]:
        return b"0"
    return b" " if piece[2] else piece[0]
