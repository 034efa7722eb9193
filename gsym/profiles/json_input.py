"""JSON of other profilers: read member by member, with errors that say where.

A trace of Chrome has one list of all its events: these are decoded one at a time, so
that the text is not held in memory.

The Firefox Profiler has JSON with typed arrays beside it, too (JSLB). After a head with
a magic number and a table come the slabs: JSON texts and arrays of numbers,
little-endian. In JSON, `{"$s": 3}` stands for the slab of that index.

Source: github.com/mstange/json-slabs, FORMAT.md.
"""

from __future__ import annotations

import json
import struct
from codecs import getincrementaldecoder
from decimal import Decimal
from itertools import chain
from math import isfinite

from gsym.errors import FormatError, UnsupportedError
from gsym.lazy import regex
from gsym.model import valid_text
from gsym.profiles.input_bytes import SLABS_MAGIC, read_pieces

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any, TypeVar

    _Value = TypeVar("_Value")


# Limit: Value of a trace in JSON
MOST_VALUE = 64 << 20
"""Characters of a value that is decoded at once; it takes up to 30 times as much."""

# Fractions are exact: a time since 1970 in microseconds is more than a double holds.
_decode = json.JSONDecoder(parse_float=Decimal).raw_decode
_BLANK = regex(r"[ \t\r\n]*")
_LEAST = 1 << 16  # characters to decode from, where there are so many
_MOST_NUMBER = 1 << 62


def json_members(
    pieces: Iterable[bytes], listed: str = "", *, is_limited: bool = False
) -> Iterator[tuple[str, Any]]:
    """The members of the object that a text is, each as its name and its value.

    Args:
        pieces: The bytes of the text.
        listed: The name of a member whose list is not decoded as a whole: each of its
            items comes as a value. A text that is a list is taken for that member; it
            may be cut, as Chrome's traces of a program that was killed are.
        is_limited: Whether *pieces* have a limit that is enough for values, too.
    """
    text = _Text(pieces, is_limited=is_limited)
    start = text.next()
    if start == "[" and listed:
        yield from ((listed, item) for item in text.items(may_be_cut=True))
        return
    if start != "{":
        raise text.error("expected an object")
    for _ in text.stops("}"):
        name = text.value()
        if not isinstance(name, str) or text.next() != ":":
            raise text.error("expected a name and ':'")
        text.skip()
        if name == listed and text.next() == "[":
            yield from ((name, item) for item in text.items())
        else:
            yield name, text.value()


class _Text:
    """The part of a text that is being decoded."""

    def __init__(self, pieces: Iterable[bytes], *, is_limited: bool) -> None:
        self._pieces = iter(pieces)
        self._is_limited = is_limited
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

    def stops(self, end: str, *, may_be_cut: bool = False) -> Iterator[None]:
        """Stop at each item between brackets, to be read before the next one."""
        self.skip()
        ends = (end, "") if may_be_cut else (end,)
        while self.next() not in ends:
            yield
            if self.next() == ",":
                self.skip()
            elif self.next() not in ends:
                raise self.error(f"expected ',' or '{end}'")
        self.skip()

    def items(self, *, may_be_cut: bool = False) -> Iterator[Any]:
        """The items of a list; None for what is behind a cut."""
        for _ in self.stops("]", may_be_cut=may_be_cut):
            try:
                value = self.value()
            except FormatError:
                if not may_be_cut or self._more():
                    raise
                yield None
                return
            yield value

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
        return FormatError(f"not JSON: {reason}", offset=place)

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
        return Node(_Slabs(first + b"".join(pieces)).value())
    pieces = chain((first,), pieces)
    return Node(dict(json_members(pieces, is_limited=True)))


class Node:
    """A part of decoded JSON, and where it is: `threads[2].samples`."""

    __slots__ = ("place", "value")

    def __init__(self, value: Any, place: str = "") -> None:
        self.value: Any = value
        self.place: str = place

    def error(self, reason: str) -> FormatError:
        """The error for this part."""
        return FormatError(f"{self.place}: {reason}")

    def get(self, name: str) -> Node:
        """A member; of an object without it, a node of None."""
        place = f"{self.place}.{name}" if self.place else name
        return Node(self.fields().get(name), place)

    def fields(self) -> Mapping[str, Any]:
        """All members."""
        if not isinstance(self.value, dict):
            raise self.error("not an object")
        return self.value

    def items(self) -> Iterator[Node]:
        """The items of a list; none of None."""
        for index, each in enumerate(self.list()):
            yield Node(each, f"{self.place}[{index}]")

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

    def one_of(self, table: Mapping[str, _Value]) -> _Value:
        """The value that a table has for the text."""
        found = table.get(self.text())
        if found is None:
            raise self.error(f"none of {', '.join(filter(None, table))}")
        return found

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
    """A text, as `valid_text` has it; "" for anything else."""
    return valid_text(value) if isinstance(value, str) else ""


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


_HEAD, _ENTRY = struct.Struct("<8x3I"), struct.Struct("<3I")
_VERSION = 1
_CODES = "bBhHiIfdqQ"  # of the arrays, by the type of a slab
_FRACTIONS = "fd"
_JSON = len(_CODES)
_PLACEHOLDER = "$s"


def root_text(data: bytes, size: int) -> str:
    """The first characters of the JSON that contains the rest, from *size* bytes.

    Returns:
        "" if the head of the file is damaged, or too few of its bytes are given.
    """
    try:
        _, count, root = _HEAD.unpack_from(data)
        kind, start, length = _ENTRY.unpack_from(data, _HEAD.size + root * _ENTRY.size)
    except struct.error:
        return ""
    is_text = root < count and kind == _JSON
    text = data[start : start + min(length, size)] if is_text else b""
    return text.decode("utf-8", "replace")


class _Slabs:
    """The slabs of a file, each made when it is asked for; arrays are lists."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._made: dict[int, Any] = {}
        self._open: set[int] = set()  # JSON that is being decoded
        self._decoder = json.JSONDecoder(object_hook=self._object, parse_float=Decimal)

    def value(self) -> Any:
        """The value of the root."""
        try:
            version, self._count, root = _HEAD.unpack_from(self._data)
        except struct.error:
            raise FormatError("it is truncated", offset=0) from None
        if version != _VERSION:
            raise UnsupportedError(f"version {version} of JSLB is not supported")
        try:
            return self._slab(root)
        except RecursionError:
            raise FormatError("nested too deep", offset=0) from None

    def _object(self, value: dict[str, Any]) -> Any:
        """An object of JSON, or the slab that it stands for."""
        if len(value) != 1 or type(value.get(_PLACEHOLDER)) is not int:
            return value
        return self._slab(value[_PLACEHOLDER])

    def _slab(self, index: int) -> Any:
        if index not in self._made:
            self._made[index] = self._read(index)
        return self._made[index]

    def _read(self, index: int) -> Any:
        place = _HEAD.size + index * _ENTRY.size
        if not 0 <= index < self._count or place + _ENTRY.size > len(self._data):
            raise FormatError(f"no slab has the index {index}", offset=_HEAD.size)
        kind, start, size = _ENTRY.unpack_from(self._data, place)
        if start + size > len(self._data):
            reason = f"a slab of {size} bytes at {start} ends after the file"
            raise FormatError(reason, offset=place)
        if kind == _JSON:
            return self._json(index, self._data[start : start + size], start)
        if kind > _JSON:
            raise FormatError(f"a slab of unknown type {kind}", offset=place)
        code = _CODES[kind]
        count = size // struct.calcsize(f"<{code}")
        numbers = struct.unpack_from(f"<{count}{code}", self._data, start)
        if code in _FRACTIONS:
            return [Decimal(repr(number)) for number in numbers]
        return list(numbers)

    def _json(self, index: int, data: bytes, start: int) -> Any:
        if index in self._open:
            raise FormatError("a slab contains itself", offset=start)
        self._open.add(index)
        try:
            return self._decoder.decode(data.decode("utf-8", "replace"))
        except (ValueError, ArithmeticError) as error:
            reason = getattr(error, "msg", "invalid number")
            at = start + int(getattr(error, "pos", 0))
            raise FormatError(f"not JSON: {reason}", offset=at) from None
        finally:
            self._open.discard(index)
