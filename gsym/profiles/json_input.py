"""JSON of other profilers: read member by member, with errors that say where.

A trace of Chrome has one list of all its events: these are decoded one at a time, so
that the text is not held in memory.
"""

from __future__ import annotations

import json
from codecs import getincrementaldecoder
from decimal import Decimal
from itertools import chain
from math import isfinite

from gsym.errors import FormatError
from gsym.patterns import regex
from gsym.profiles.input_bytes import read_pieces
from gsym.profiles.json_slabs import read_slabs
from gsym.profiles.recognition import SLABS_MAGIC

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

# Limit: Value of a trace in JSON
MOST_VALUE = 64 << 20
"""Characters of a value that is decoded at once; it takes up to 30 times as much."""

# Fractions are exact: a time since 1970 in microseconds is more than a double holds.
_decode = json.JSONDecoder(parse_float=Decimal).raw_decode
_BLANK = regex(r"[ \t\r\n]*")
_LEAST = 1 << 16  # characters to decode from, where there are so many
_MOST_NUMBER = 1 << 62


def json_members(
    pieces: Iterable[bytes], path: str, listed: str = "", *, is_limited: bool = False
) -> Iterator[tuple[str, Any]]:
    """The members of the object that a text is, each as its name and its value.

    Args:
        pieces: The bytes of the text.
        path: Where they come from, for errors.
        listed: The name of a member whose list is not decoded as a whole: each of its
            items comes as a value. A text that is a list is taken for that member; it
            may be cut, as Chrome's traces of a program that was killed are.
        is_limited: Whether *pieces* have a limit that is enough for values, too.
    """
    text = _Text(pieces, path, is_limited=is_limited)
    start = text.next()
    if start == "[" and listed:
        yield from ((listed, item) for item in text.items(may_be_cut=True))
        return
    if start != "{":
        raise text.error("expected an object")
    text.skip()
    while text.next() != "}":
        name = text.value()
        if not isinstance(name, str) or text.next() != ":":
            raise text.error("expected a name and ':'")
        text.skip()
        if name == listed and text.next() == "[":
            yield from ((name, item) for item in text.items())
        else:
            yield name, text.value()
        if text.next() == ",":
            text.skip()
        elif text.next() != "}":
            raise text.error("expected ',' or '}'")


class _Text:
    """The part of a text that is being decoded."""

    def __init__(self, pieces: Iterable[bytes], path: str, *, is_limited: bool) -> None:
        self._pieces = iter(pieces)
        self._is_limited = is_limited
        self._path = path
        self._decoder = getincrementaldecoder("utf-8-sig")("replace")
        self._text = ""
        self._at = 0
        self._before = 0  # characters before this part
        self._more()

    def next(self) -> str:
        """The next character that is not blank, which stays; "" at the end."""
        while True:
            found = _BLANK.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def skip(self) -> None:
        """Skip a character."""
        self._at += 1

    def items(self, *, may_be_cut: bool = False) -> Iterator[Any]:
        """The items of a list; None for what is behind a cut."""
        self.skip()
        while self.next() != "]":
            if may_be_cut and not self.next():
                return
            try:
                value = self.value()
            except FormatError:
                if may_be_cut and not self._more():
                    yield None
                    return
                raise
            yield value
            if self.next() == ",":
                self.skip()
            elif self.next() != "]" and not (may_be_cut and not self.next()):
                raise self.error("expected ',' or ']'")
        self.skip()

    def value(self) -> Any:
        """The next value."""
        self.next()
        while True:
            value, size = self._decoded()
            left = len(self._text) - self._at
            # A number may go on behind this part: after `1.5e+` it has an end at `1.5`.
            if size is not None and (size + 2 < left or not self._more()):
                self._at += size
                return value

    def _decoded(self) -> tuple[Any, int | None]:
        """The next value and its size; without a size if there is more to read."""
        try:
            value, end = _decode(self._text, self._at)
        except RecursionError:
            raise self.error("nested too deep") from None
        except (ValueError, ArithmeticError) as error:  # also for too many digits
            at = getattr(error, "pos", self._at) - self._at
            if self._more():
                return None, None
            reason = getattr(error, "msg", "invalid number")
            raise self.error(reason, self._at + at) from None
        return value, end - self._at

    def error(self, reason: str, at: int | None = None) -> FormatError:
        """The error for what is at the next character, or another one."""
        place = self._before + (self._at if at is None else at)
        return FormatError(f"not JSON: {reason}", path=self._path, offset=place)

    def _more(self) -> bool:
        """Read on, twice as much as is left; False at the end."""
        rest = self._text[self._at :]
        if not self._is_limited and len(rest) > MOST_VALUE:
            raise self.error(f"a value of more than {MOST_VALUE} characters")
        parts, size, wanted = [rest], len(rest), max(2 * len(rest), _LEAST)
        while size < wanted:
            piece = next(self._pieces, None)
            if piece is None:
                tail = self._decoder.decode(b"", final=True)
                parts.append(tail)
                size += len(tail)
                break
            parts.append(self._decoder.decode(piece))
            size += len(parts[-1])
        self._before += self._at
        self._text, self._at = "".join(parts), 0
        return size > len(rest)


def read_node(path: str, most_bytes: int | None) -> Node:
    """The object in a file of JSON or JSLB, compressed or not.

    Nearly all of it may be one value, so that values are limited by the whole.

    Raises:
        UnsupportedError: It has another version of JSLB.
    """
    pieces = read_pieces(path, most_bytes, is_text=False)
    first = next(pieces, b"")
    if first.startswith(SLABS_MAGIC):
        return Node(read_slabs(first + b"".join(pieces), path), "", path)
    pieces = chain((first,), pieces)
    return Node(dict(json_members(pieces, path, is_limited=True)), "", path)


class Node:
    """A part of decoded JSON, and where it is: `threads[2].samples`."""

    __slots__ = ("_path", "place", "value")

    def __init__(self, value: Any, place: str, path: str | None) -> None:
        self.value: Any = value
        self.place: str = place
        self._path = path

    def error(self, reason: str) -> FormatError:
        """The error for this part."""
        return FormatError(f"{self.place}: {reason}", path=self._path)

    def get(self, name: str) -> Node:
        """A member; of an object without it, a node of None."""
        place = f"{self.place}.{name}" if self.place else name
        return Node(self.fields().get(name), place, self._path)

    def fields(self) -> Mapping[str, Any]:
        """All members."""
        if not isinstance(self.value, dict):
            raise self.error("not an object")
        return self.value

    def items(self) -> Iterator[Node]:
        """The items of a list; none of None."""
        for index, each in enumerate(self.list()):
            yield Node(each, f"{self.place}[{index}]", self._path)

    def list(self) -> list[Any]:
        """The values of a list; none of None."""
        if self.value is None:
            return []
        if not isinstance(self.value, list):
            raise self.error("not a list")
        return self.value

    def text(self) -> str:
        """The text; "" for anything else."""
        return text_of(self.value)

    def number(self) -> int | Decimal:
        """The number, exactly."""
        found = number_of(self.value)
        if found is None:
            raise self.error("not a number of up to 62 bits")
        return found

    def index(self, count: int) -> int:
        """The index into a table of so many rows."""
        value = self.value
        if type(value) is not int or not 0 <= value < count:
            raise self.error(f"not an index below {count}")
        return value


def text_of(value: Any) -> str:
    """A text without halves of surrogates, which UTF-8 does not have; or ""."""
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def number_of(value: Any) -> int | Decimal | None:
    """A number, or one in a text, of up to 62 bits; None for anything else."""
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except ArithmeticError:
            return None
    if type(value) not in {int, Decimal} or not isfinite(value):
        return None
    return value if -_MOST_NUMBER < value < _MOST_NUMBER else None


def scaled(value: Any, factor: int) -> int | None:
    """A number in a smaller unit, rounded; None for anything else."""
    number = number_of(value)
    return None if number is None else round(number * factor)
