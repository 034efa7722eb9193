"""Lines that something split on their way, put together again."""

from __future__ import annotations

__all__ = ["LineJoiner"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re


class LineJoiner:
    """Joins a line to the one before where it begins with a mark.

    Args:
        mark: What such a line begins with; it is taken out, with the end of the line
            before.
        limit: Bytes of a joined line.
    """

    def __init__(self, mark: re.Pattern[bytes], *, limit: int = 1 << 20) -> None:
        self._mark = mark
        self._limit = limit
        self._held = b""  # a line with its end, which may go on
        self._rest = b""  # the beginning of the next one

    def feed(self, block: bytes) -> bytes:
        """Take a piece of a log in; all lines that are known to be whole."""
        *lines, self._rest = (self._rest + block).split(b"\n")
        whole = []
        for line in lines:
            mark = self._mark.match(line)
            if mark and self._held and len(self._held) < self._limit:
                begin = self._held.removesuffix(b"\n").removesuffix(b"\r")
                self._held = b"%s%s\n" % (begin, line[mark.end() :])
                continue
            whole.append(self._held)
            self._held = line + b"\n"
        if len(self._rest) > self._limit:
            whole += (self._held, self._rest)
            self._held = self._rest = b""
        return b"".join(whole)

    def finish(self) -> bytes:
        """What was kept back. Also where nothing may come for a while."""
        held, self._held = self._held, b""
        rest, self._rest = self._rest, b""
        if rest and held and (mark := self._mark.match(rest)):
            return held.removesuffix(b"\n").removesuffix(b"\r") + rest[mark.end() :]
        return held + rest

    def idle(self) -> bytes:
        """A whole line that nothing may follow soon."""
        held, self._held = self._held, b""
        return held
