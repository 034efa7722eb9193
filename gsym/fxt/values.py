"""Values of a traced program -> arguments of its events.

Values of other types become their text, large ones are cut, and none raises an error.
"""

from __future__ import annotations

import struct

from gsym.cache import BoundedCache
from gsym.fxt.records import Argument
from gsym.fxt.writer import References, argument_of
from gsym.model import UINT64_END

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_MOST_ARGUMENTS = 15
_MOST_SIZE = 16000  # bytes of values of one event; its names fit into a record as well
_MOST_NAME_SIZE = 255
_MOST_KEPT = 1 << 16  # words of names and texts
_PLAIN = frozenset((int, float, bool, type(None)))
_INT32_START, _INT32_END = -(1 << 31), 1 << 31
_INT64, _UINT32, _UINT64 = range(-(1 << 63), 1 << 63), range(1 << 32), range(UINT64_END)
_ONES_32, _ONES_64 = _UINT32[-1], _UINT64[-1]
# What other types add to the header of a signed number of 32 bits, type 1: the
# difference of types, and a word more.
_NULL, _UNSIGNED_32, _STRING, _BOOL = -1, 1, 5, 8
_SIGNED_64, _UNSIGNED_64, _DOUBLE = (number + (1 << 4) for number in (2, 3, 4))
_DOUBLE_BYTES, _AS_WORD = struct.Struct("<d").pack, struct.Struct("<Q").unpack


def process_argument(process: int) -> Argument:
    """The argument that names the process of a thread."""
    return Argument("process", "koid", process)


class UnusualValueError(Exception):
    """An argument has no fast path."""


class ArgumentWords:
    """Makes words of arguments whose names, and texts, are in the table."""

    def __init__(self, references: References) -> None:
        self._references = references
        self._headers = _Headers(references)
        self._texts: BoundedCache[tuple[str, str], int] = BoundedCache(_MOST_KEPT)

    def add(self, words: list[int], args: dict[str, Any]) -> None:
        """Add the words of arguments."""
        if len(args) > _MOST_ARGUMENTS:
            raise UnusualValueError
        headers, texts = self._headers, self._texts
        for name, value in args.items():
            kind = type(value)
            if kind is int and _INT32_START <= value < _INT32_END:
                words.append(headers[name] + ((value & _ONES_32) << 32))
            elif kind is str:
                words.append(texts.get((name, value)) or self._text(name, value))
            elif kind in _PLAIN:
                words += _number_words(headers[name], value)
            else:
                raise UnusualValueError

    def _text(self, name: str, value: str) -> int:
        reference, stream = self._references.text(value)
        if stream:
            raise UnusualValueError
        word = self._headers[name] + _STRING + (reference << 32)
        return self._texts.keep((name, value), word)


class _Headers(BoundedCache[str, int]):
    """Headers of arguments by name, for signed numbers of 32 bits."""

    def __init__(self, references: References) -> None:
        super().__init__(_MOST_KEPT)
        self._references = references

    def __missing__(self, name: str) -> int:
        reference, stream = self._references.name(name)
        if stream:
            raise UnusualValueError
        return self.keep(name, 1 | 1 << 4 | reference << 16)


def _number_words(header: int, value: float | None) -> tuple[int, ...]:
    """The words of an argument, given the header of a number of 32 bits."""
    if value is None:
        return (header + _NULL,)
    if isinstance(value, bool):
        return (header + _BOOL + (value << 32),)
    if isinstance(value, float):
        return header + _DOUBLE, *_AS_WORD(_DOUBLE_BYTES(value))
    if value in _UINT32:
        return (header + _UNSIGNED_32 + (value << 32),)
    if value in _INT64:
        return header + _SIGNED_64, value & _ONES_64
    if value in _UINT64:
        return header + _UNSIGNED_64, value
    raise UnusualValueError


def safe_arguments(
    args: dict[str, Any], lose: Callable[[str], None]
) -> tuple[Argument, ...]:
    """Arguments for any values; as many as fit.

    *lose* counts those that are left out or cut.
    """
    made: list[Argument] = []
    space = _MOST_SIZE
    for name, value in args.items():
        if len(made) == _MOST_ARGUMENTS:
            lose("arguments after the 15th of an event")
            continue
        try:
            argument, size = _argument(name, value, space, lose)
        except Exception as error:  # noqa: BLE001 - whatever its text is made by
            lose(f"arguments whose text could not be made: {type(error).__name__}")
            continue
        space -= min(size, space)
        made.append(argument)
    return tuple(made)


def cut_text(text: str, space: int, lose: Callable[[str], None], what: str) -> str:
    """The longest beginning of a text that can be written and fits in *space* bytes."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        lose(f"{what} with surrogates that do not represent a byte, replaced by ?")
        data = text.encode("utf-8", "replace")
        text = data.decode()
    if len(data) <= space:
        return text
    lose(f"{what} that were cut for their size")
    return data[:space].decode("utf-8", "ignore")


def _argument(
    name: str, value: Any, space: int, lose: Callable[[str], None]
) -> tuple[Argument, int]:
    """The argument for a value within some bytes, and how many the value has."""
    name = cut_text(name, _MOST_NAME_SIZE, lose, "names of arguments")
    if isinstance(value, (bytes, bytearray, memoryview)):
        data = bytes(value)
        if len(data) > space:
            lose("arguments that were cut for their size")
        return Argument(name, "blob", data[:space]), len(data)
    if not isinstance(value, (int, float, type(None))):
        text = cut_text(str(value), space, lose, "arguments")
        return Argument(name, "string", text), len(text.encode("utf-8", "replace"))
    try:
        return argument_of(name, value), 0
    except OverflowError:
        return _argument(name, hex(value), space, lose)  # type: ignore[arg-type]
