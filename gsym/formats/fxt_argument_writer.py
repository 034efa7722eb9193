"""Arguments of records of a Fuchsia trace that is being written."""

from __future__ import annotations

from gsym.errors import LimitError
from gsym.formats.fxt_records import ARGUMENT_TYPES, Argument
from gsym.formats.fxt_words import field, stream

__all__ = ["argument_bytes", "argument_of", "arguments_bytes"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.formats.fxt_records import Arguments, Value
    from gsym.formats.fxt_references import ReferenceMaker
    from gsym.formats.fxt_words import Words

    # Type, upper half of the header, what is behind the name.
    _Parts = tuple[str, int, bytes]

_MOST_ARGUMENTS = 15
_INT32, _INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_UINT32, _UINT64 = range(1 << 32), range(1 << 64)
_ONES_32, _ONES_64 = _UINT32[-1], _UINT64[-1]
_KINDS = {
    bool: "bool",
    float: "double",
    str: "string",
    bytes: "blob",
    type(None): "null",
}


def argument_of(name: str, value: Value) -> Argument:
    """An argument of the type that fits a value; of integers the smallest one.

    Raises:
        OverflowError: The value is an integer of more than 64 bits.
        TypeError: There is no type for it.
    """
    kind = _KINDS.get(type(value))
    if kind is None:
        if not isinstance(value, int):
            raise TypeError(f"no argument can be a {type(value).__name__}")
        value = int(value)  # to look for an object of a subclass goes through the range
        ranges = {
            "int32": _INT32,
            "uint32": _UINT32,
            "int64": _INT64,
            "uint64": _UINT64,
        }
        kind = next((each for each, fit in ranges.items() if value in fit), None)
        if kind is None:
            raise OverflowError(f"{value} is not a number of 64 bits")
    return Argument(name, kind, value)


def arguments_bytes(
    args: Arguments, words: Words, references: ReferenceMaker
) -> tuple[int, bytes]:
    """How many arguments there are, and their bytes.

    Raises:
        LimitError: There are more than 15, or one is too large.
        OverflowError: A value is not of its type.
        ValueError: A type is not known.
    """
    if len(args) > _MOST_ARGUMENTS:
        reason = f"{len(args)} arguments; there is room for {_MOST_ARGUMENTS}"
        raise LimitError(reason)
    parts = [argument_bytes(argument, words, references) for argument in args]
    return len(parts), b"".join(parts)


def argument_bytes(
    argument: Argument, words: Words, references: ReferenceMaker
) -> bytes:
    """One argument; a number of 64 bits takes 32 where that is enough."""
    make = _MAKERS.get(argument.type)
    if make is None:
        raise ValueError(f"arguments have no type {argument.type!r}")
    kind, upper, body = make(argument.value, words, references)
    name, name_stream = references.name(argument.name)
    header = name << 16 | upper << 32
    number = ARGUMENT_TYPES.index(kind)
    return words.with_header(number, header, name_stream + body)


def _null(_value: Any, _words: Words, _references: ReferenceMaker) -> _Parts:
    return "null", 0, b""


def _int32(value: Any, _words: Words, _references: ReferenceMaker) -> _Parts:
    return "int32", _checked(value, _INT32, 32) & _ONES_32, b""


def _uint32(value: Any, _words: Words, _references: ReferenceMaker) -> _Parts:
    return "uint32", field(value, 0, 32, "an argument"), b""


def _int64(value: Any, words: Words, references: ReferenceMaker) -> _Parts:
    if int(value) in _INT32:
        return _int32(value, words, references)
    return "int64", 0, words(_checked(value, _INT64, 64) & _ONES_64)


def _uint64(value: Any, words: Words, references: ReferenceMaker) -> _Parts:
    if int(value) in _UINT32:
        return _uint32(value, words, references)
    return "uint64", 0, words(value)


def _double(value: Any, words: Words, _references: ReferenceMaker) -> _Parts:
    return "double", 0, words.double(value)


def _string(value: Any, _words: Words, references: ReferenceMaker) -> _Parts:
    return ("string", *references.text(value))


def _pointer(value: Any, words: Words, _references: ReferenceMaker) -> _Parts:
    return "pointer", 0, words(value)


def _koid(value: Any, words: Words, _references: ReferenceMaker) -> _Parts:
    return "koid", 0, words(value)


def _bool(value: Any, _words: Words, _references: ReferenceMaker) -> _Parts:
    return "bool", bool(value), b""


def _blob(value: Any, _words: Words, _references: ReferenceMaker) -> _Parts:
    return "blob", len(value), stream(value)


def _checked(value: int, fit: range, count: int) -> int:
    if int(value) not in fit:
        raise OverflowError(f"an argument {value} is not a number of {count} bits")
    return value


_MAKERS: dict[str, Callable[[Any, Words, ReferenceMaker], _Parts]] = {
    "null": _null,
    "int32": _int32,
    "uint32": _uint32,
    "int64": _int64,
    "uint64": _uint64,
    "double": _double,
    "string": _string,
    "pointer": _pointer,
    "koid": _koid,
    "bool": _bool,
    "blob": _blob,
}
