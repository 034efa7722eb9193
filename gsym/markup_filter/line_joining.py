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
        self._held = bytearray()  # a line with its end, which may go on
        self._rest = bytearray()  # the beginning of the next one

    def feed(self, block: bytes) -> bytes:
        """Take a piece of a log in; all lines that are known to be whole."""
        *lines, rest = block.split(b"\n")
        whole: list[bytes] = []
        for line in lines:
            self._add(bytes(self._rest) + line + b"\n", whole)
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > self._limit:
            whole.append(self.finish())
        return b"".join(whole)

    def finish(self) -> bytes:
        """What was kept back."""
        whole: list[bytes] = []
        if self._rest:
            self._add(bytes(self._rest), whole)
            self._rest.clear()
        return b"".join((*whole, self.idle()))

    def idle(self) -> bytes:
        """A whole line that nothing may follow soon."""
        held = bytes(self._held)
        self._held.clear()
        return held

    def _add(self, line: bytes, whole: list[bytes]) -> None:
        """Join a line to the one that is held, or hold it; *whole* gets that then."""
        mark = self._mark.match(line)
        if mark and self._held and len(self._held) < self._limit:
            ending = b"\r\n" if self._held.endswith(b"\r\n") else b"\n"
            del self._held[len(self._held) - len(ending) :]
            self._held += line[mark.end() :]
            return
        whole.append(self.idle())
        self._held += line
