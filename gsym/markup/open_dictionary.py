"""A dictionary that goes over several lines, as far as it has come.

Its lines hold pairs and nothing else, behind what a logger puts in front of each line:
the first line of any other form shows that it was none.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    Lines = list[tuple[int, bytes]]

_BEGIN, _END = b"{{{", b"}}}"
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
