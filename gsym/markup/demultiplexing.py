"""Several processes in one log: each line goes to the stream of its process."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from gsym.markup.line_joining import LineJoiner
    from gsym.markup.log_stream import LogStream


_MOST_BETWEEN = 256  # lines of others, between the parts of one that was split


class Demultiplexer:
    """Filters the lines of each process for itself.

    Args:
        key: Finds in a line what tells its process: the first group, else all that it
            matches. Lines without a match are a stream of their own.
        make: Makes the stream of a process, which it gets the key of.
        mark: What a line begins with that is a part of the one before: without a match
            it is of the same process.
        most: How many streams there are; the one that was idle longest is let go of.
        limit: Bytes of a line; more are handed on in pieces.
    """

    def __init__(
        self,
        key: re.Pattern[bytes],
        make: Callable[[bytes | None], LogStream | LineJoiner],
        *,
        mark: re.Pattern[bytes] | None = None,
        most: int = 256,
        limit: int = 1 << 20,
    ) -> None:
        self._key = key
        self._make = make
        self._mark = mark
        self._key_before: bytes | None = None
        self._waiting: dict[bytes | None, int] = {}  # since which line, oldest first
        self._most = most
        self._limit = limit
        self._streams: OrderedDict[bytes | None, LogStream | LineJoiner] = OrderedDict()
        self._rest = bytearray()  # the beginning of a line
        self._long: LogStream | LineJoiner | None = None  # gets the rest of a long line
        self._lines_before = 0

    def __len__(self) -> int:
        return len(self._streams)

    def feed(self, block: bytes) -> None:
        """Take a piece of the log in; it may end anywhere."""
        if self._long is not None:
            block = self._go_on(self._long, block)
        *lines, rest = block.split(b"\n")
        for line in lines:
            whole = bytes(self._rest) + line
            self._rest.clear()
            self._feed(whole, b"\n")
            self._lines_before += 1
        self._rest += rest
        if len(self._rest) > self._limit:
            self._hand_on_rest()

    def release(self) -> None:
        """What is held of any process goes on no further."""
        for stream in self._streams.values():
            stream.release()

    def idle(self, seconds: float) -> None:
        """Nothing has come for so long."""
        for stream in self._streams.values():
            stream.idle(seconds)

    def finish(self) -> None:
        """The log is at its end."""
        if self._rest:
            self._hand_on_rest()
        self._long = None
        for stream in self._streams.values():
            stream.finish()
        self._streams.clear()

    def _hand_on_rest(self) -> None:
        rest = bytes(self._rest)
        self._rest.clear()
        self._long = self._feed(rest, b"")

    def _go_on(self, stream: LogStream | LineJoiner, block: bytes) -> bytes:
        """Hand on the rest of a line that has begun; gives what is behind it."""
        end = block.find(b"\n") + 1
        stream.feed(block[:end] if end else block)
        if not end:
            return b""
        self._long = None
        self._lines_before += 1
        return block[end:]

    def _feed(self, line: bytes, ending: bytes) -> LogStream | LineJoiner:
        stream = self._stream_of(line)
        stream.lines_before = self._lines_before
        stream.feed(line + ending)
        self._waiting.pop(self._key_before, None)
        if stream.is_waiting:
            self._waiting[self._key_before] = self._lines_before
        if self._waiting:
            self._release_oldest()
        return stream

    def _release_oldest(self) -> None:
        """Let go of what the last lines of all processes did not go on with."""
        key, since = next(iter(self._waiting.items()))
        if self._lines_before - since > _MOST_BETWEEN:
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
            if len(self._streams) >= self._most:
                self._streams.popitem(last=False)[1].finish()
            stream = self._streams[key] = self._make(key)
        else:
            self._streams.move_to_end(key)
        return stream
