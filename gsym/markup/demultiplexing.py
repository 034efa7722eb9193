"""Logs with lines of several processes, and with lines that were split."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from gsym.markup.log_stream import LogStream

_MAX_BETWEEN = 256  # lines of other processes between the parts of a split line
_MAX_LINE = 1 << 20  # bytes
_MOST_STREAMS = 256  # the least recently used one is closed for another


class _Lines:
    """Cuts a log into lines, and lines of more than `_MAX_LINE` bytes into pieces."""

    def __init__(self) -> None:
        self.lines_before: int = 0  # number of lines of the log before the next one
        self._rest = bytearray()  # the beginning of a line

    def feed(self, block: bytes) -> None:
        """Filter a piece of the log, which may end anywhere."""
        *lines, rest = block.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line + b"\n"
            self._rest.clear()
            self._take(whole)
            self._end_line()
        self._rest += rest
        if len(self._rest) > _MAX_LINE:
            self._end_rest()

    def _end_line(self) -> None:
        self.lines_before += 1

    def _take(self, line: bytes) -> None:
        raise NotImplementedError

    def _end_rest(self) -> None:
        """Take the beginning of a line without the rest."""
        if self._rest:
            self._take(bytes(self._rest))
            self._rest.clear()


class Demultiplexer(_Lines):
    """Filters the lines of each process separately.

    Args:
        key: Finds the process of a line: its first group, else the whole match. Lines
            without a match are a stream of their own.
        make: Makes the stream of a process from its key.
        mark: Matches the beginning of a line that continues the line before; without a
            match of *key* it belongs to the same process.
    """

    def __init__(
        self,
        key: re.Pattern[bytes],
        make: Callable[[bytes | None], LogStream | LineJoiner],
        *,
        mark: re.Pattern[bytes] | None = None,
    ) -> None:
        super().__init__()
        self._key = key
        self._make = make
        self._mark = mark
        self._key_before: bytes | None = None
        self._waiting: dict[bytes | None, int] = {}  # since this line, oldest first
        self._streams: OrderedDict[bytes | None, LogStream | LineJoiner] = OrderedDict()
        self._stream: LogStream | LineJoiner  # of the last line
        self._is_long = False  # that line continues

    def __len__(self) -> int:
        return len(self._streams)

    def feed(self, block: bytes) -> None:
        """Filter a piece of the log, which may end anywhere."""
        if self._is_long:
            end = block.find(b"\n") + 1
            self._stream.feed(block[:end] if end else block)
            block = block[end:] if end else b""
            self._is_long = not end
            if end:
                self._end_line()
        super().feed(block)

    def release(self) -> None:
        """Print the incomplete elements of all processes as text."""
        for stream in self._streams.values():
            stream.release()

    def idle(self, seconds: float) -> None:
        """Print what can be printed after this long without input."""
        for stream in self._streams.values():
            stream.idle(seconds)

    def finish(self) -> None:
        """End the log."""
        self._end_rest()
        self._is_long = False
        for stream in self._streams.values():
            stream.finish()
        self._streams.clear()

    def _end_rest(self) -> None:
        self._is_long = bool(self._rest)
        super()._end_rest()

    def _take(self, line: bytes) -> None:
        self._stream = stream = self._stream_of(line.removesuffix(b"\n"))
        stream.lines_before = self.lines_before
        stream.feed(line)
        self._waiting.pop(self._key_before, None)
        if stream.is_waiting:
            self._waiting[self._key_before] = self.lines_before
        if self._waiting:
            # Stop waiting for a process that had no line for a while.
            key, since = next(iter(self._waiting.items()))
            if self.lines_before - since > _MAX_BETWEEN:
                del self._waiting[key]
                if key in self._streams:
                    self._streams[key].release()

    def _stream_of(self, line: bytes) -> LogStream | LineJoiner:
        found = self._key.search(line)
        key = found and found[1 if self._key.groups else 0]
        if key is None and self._mark is not None and self._mark.match(line):
            key = self._key_before
        self._key_before = key
        stream = self._streams.get(key)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                self._streams.popitem(last=False)[1].finish()
            stream = self._streams[key] = self._make(key)
        else:
            self._streams.move_to_end(key)
        return stream


class LineJoiner(_Lines):
    """Joins a line that begins with a mark to the line before.

    The mark is removed, and so is the end of the line before. The stream receives
    complete lines.
    """

    def __init__(
        self, mark: re.Pattern[bytes], stream: LogStream, *, counts_lines: bool
    ) -> None:
        super().__init__()
        self._mark = mark
        self._stream = stream
        self._counts_lines = counts_lines
        self._ready: list[bytes] = []  # lines that are known to be complete
        self._held = bytearray()  # a line with its end, which may continue
        self._held_number = 0  # of lines before that one

    def feed(self, block: bytes) -> None:
        """Filter a piece of a log, which may end anywhere."""
        super().feed(block)
        self._pass_on()

    @property
    def is_waiting(self) -> bool:
        """Whether a line, or an element in it, is incomplete."""
        return bool(self._held) or self._stream.is_waiting

    def release(self) -> None:
        """Print what is incomplete as text."""
        self._end_held()
        self._stream.release()

    def idle(self, seconds: float) -> None:
        """Print what can be printed after this long without input."""
        self._end_held()
        self._stream.idle(seconds)

    def finish(self) -> None:
        """End the log."""
        self._end_rest()
        self._end_held()
        self._stream.finish()

    def _take(self, line: bytes) -> None:
        """Join a line to the held one, or hold it."""
        end = len(line) - len(_ending(line))  # which is not a part of a mark
        mark = self._mark.match(line, 0, end)
        if mark and self._held and len(self._held) < _MAX_LINE:
            del self._held[len(self._held) - len(_ending(self._held)) :]
            self._held += line[mark.end() :]
            return
        if self._held:
            self._ready.append(bytes(self._held))
            if self._counts_lines:
                self._pass_on()
        self._held[:] = line
        self._held_number = self.lines_before

    def _end_rest(self) -> None:
        super()._end_rest()
        self._end_held()

    def _end_held(self) -> None:
        if self._held:
            self._ready.append(bytes(self._held))
            self._held.clear()
        self._pass_on()

    def _pass_on(self) -> None:
        if self._ready:
            if self._counts_lines:
                self._stream.lines_before = self._held_number
            self._stream.feed(b"".join(self._ready))
            self._ready.clear()


def _ending(line: bytes | bytearray) -> bytes:
    """The newline at the end of a line, or b""."""
    if line.endswith(b"\r\n"):
        return b"\r\n"
    return b"\n" if line.endswith(b"\n") else b""
