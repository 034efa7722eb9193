"""Standard input of `gsym lookup`: most lines are answered by the engine, in blocks."""

from __future__ import annotations

import sys

from gsym.cli.options import UsageError, parse_number
from gsym.cli.terminal import shortened
from gsym.engine.native import to_bytes
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.formatting.lookup import LookupText


class LookupStream:
    """Answers lines as they come.

    Args:
        text: Answers what it can; None: nothing.
        answer: Answers any one address.
    """

    def __init__(self, text: LookupText | None, answer: Callable[[int], str]) -> None:
        self._text = text
        self._answer = answer
        self._line_count = 0  # of lines that came before

    def answer(self, lines: bytes) -> bytes:
        """Print the answers to all whole lines; what is left of *lines*.

        Raises:
            GsymError: A line is no number.
        """
        view, at = memoryview(lines), 0
        while True:
            if self._text is not None:
                at += self._text.answer(view[at:], sys.stdout.buffer.write)
            behind = self._answer_one(lines, at)
            if not behind:
                break
            at = behind
        self._line_count += lines.count(b"\n")
        return lines[lines.rfind(b"\n") + 1 :]

    def _answer_one(self, lines: bytes, at: int) -> int:
        """Answer the next line that is not blank: the place behind it, 0 for none."""
        while behind := lines.find(b"\n", at) + 1:
            word = lines[at:behind].strip()
            if word:
                address = self._address(word, lines, at)
                sys.stdout.buffer.write(to_bytes(self._answer(address)))
                break
            at = behind
        return behind

    def _address(self, word: bytes, lines: bytes, at: int) -> int:
        try:
            return parse_number(word.decode("ascii", "replace"), "line")
        except UsageError:
            shown = shortened(word.decode("utf-8", "backslashreplace"))
            number = self._line_count + lines.count(b"\n", 0, at) + 1
            raise GsymError(
                f"'{shown}' is not an address", path=f"standard input, line {number}"
            ) from None
