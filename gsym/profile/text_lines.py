"""The lines of a text that comes in pieces, none of them endless."""

from __future__ import annotations

from codecs import getincrementaldecoder

from gsym.errors import FormatError

__all__ = ["MOST_CHARACTERS", "lines_of"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MOST_CHARACTERS = 1 << 20
"""In a line: more than the longest name of a function that was ever seen."""


def lines_of(pieces: Iterable[bytes], path: str | None) -> Iterator[str]:
    """The lines of a text without their ends; what is no UTF-8 is replaced.

    Raises:
        FormatError: A line has more than `MOST_CHARACTERS`.
    """
    decoder = getincrementaldecoder("utf-8")("replace")
    rest, number = "", 0
    for piece in pieces:
        *lines, rest = (rest + decoder.decode(piece)).split("\n")
        for line in lines:
            number += 1
            yield _checked(line, number, path)
        _checked(rest, number + 1, path)
    rest += decoder.decode(b"", final=True)
    if rest:
        yield rest


def _checked(line: str, number: int, path: str | None) -> str:
    if len(line) > MOST_CHARACTERS:
        reason = f"line {number} has more than {MOST_CHARACTERS} characters"
        raise FormatError(reason, path=path)
    return line.removesuffix("\r")
