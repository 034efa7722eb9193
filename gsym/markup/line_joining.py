"""Lines that something split on their way, put together again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

    from gsym.markup.log_stream import LogStream


class LineJoiner:
    """Joins a line of a process to the one before where it begins with a mark.

    Args:
        mark: What such a line begins with; it is taken out, with the end of the line
            before.
        stream: Gets whole lines.
        counts_lines: Whether the stream is told which line of the log each one is.
        limit: Bytes of a joined line.

    Attributes:
        lines_before: How many lines of the log came before the next one.
    """

    def __init__(
        self,
        mark: re.Pattern[bytes],
        stream: LogStream,
        *,
        counts_lines: bool,
        limit: int = 1 << 20,
    ) -> None:
        self.lines_before = 0
        self._mark = mark
        self._stream = stream
        self._counts_lines = counts_lines
        self._limit = limit
        self._ready: list[bytes] = []  # lines that are known to be whole
        self._held = bytearray()  # a line with its end, which may go on
        self._held_number = 0  # of the lines before that
        self._rest = bytearray()  # the beginning of the next one

    def feed(self, block: bytes) -> None:
        """Take a piece of a log in; it may end anywhere."""
        *lines, rest = block.split(b"\n")
        for line in lines:
            self._add(bytes(self._rest) + line + b"\n")
            self._rest.clear()
            self.lines_before += 1
        self._rest += rest
        if len(self._rest) > self._limit:
            self._end_rest()
            self._end_held()
        self._hand_on()

    @property
    def is_waiting(self) -> bool:
        """Whether a line, or an element on it, waits for its rest."""
        return bool(self._held) or self._stream.is_waiting

    def release(self) -> None:
        """What is held goes on no further."""
        self._end_held()
        self._hand_on()
        self._stream.release()

    def idle(self, seconds: float) -> None:
        """Nothing has come for so long."""
        self._end_held()
        self._hand_on()
        self._stream.idle(seconds)

    def finish(self) -> None:
        """The log is at its end."""
        self._end_rest()
        self._end_held()
        self._hand_on()
        self._stream.finish()

    def _add(self, line: bytes) -> None:
        """Join a line to the one that is held, or hold it."""
        end = len(line) - len(_ending(line))  # which is no part of a mark
        mark = self._mark.match(line, 0, end)
        if mark and self._held and len(self._held) < self._limit:
            del self._held[len(self._held) - len(_ending(self._held)) :]
            self._held += line[mark.end() :]
            return
        self._end_held()
        self._held += line
        self._held_number = self.lines_before

    def _end_rest(self) -> None:
        if self._rest:
            self._add(bytes(self._rest))
            self._rest.clear()

    def _end_held(self) -> None:
        if not self._held:
            return
        self._ready.append(bytes(self._held))
        self._held.clear()
        if self._counts_lines:
            self._stream.lines_before = self._held_number
            self._hand_on()

    def _hand_on(self) -> None:
        if self._ready:
            self._stream.feed(b"".join(self._ready))
            self._ready.clear()


def _ending(line: bytes | bytearray) -> bytes:
    """The end of a line; b"" where it has none."""
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""
