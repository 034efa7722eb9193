"""Checks of arguments, whose errors have name, value and what was expected.

A string is also a sequence of strings, so given instead of several strings it would be
read letter by letter.
"""

from __future__ import annotations

import os
from _operator import index  # `operator` adds a module to import

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from re import Pattern
    from typing import Any, TypeVar

    Item = TypeVar("Item")

_MOST_SHOWN = 80  # characters of a value
_PAIRS = "(old, new) pairs of strings"


def refusal(name: str, expected: str, value: object) -> TypeError:
    """The error for an argument of another type; the caller raises it."""
    return TypeError(f"{name}: expected {expected}, not {shown(value)}")


def shown(value: object) -> str:
    """A value in a message."""
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."


def path_of(name: str, value: str | os.PathLike[str], others: str = "") -> str:
    """The path of an argument, as a string.

    Args:
        name: Of the argument.
        value: What was given.
        others: What else the argument may be, for the message.

    Raises:
        TypeError: It is not a path; bytes are not taken for one.
    """
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(path, str):
        raise refusal(name, f"a path (str or os.PathLike){others}", value)
    return path


def text_of(name: str, value: str) -> str:
    """The string of an argument.

    Raises:
        TypeError: It is not a string.
    """
    if not isinstance(value, str):
        raise refusal(name, "a string", value)
    return value


def integer_of(
    name: str, value: int, least: int | None = None, most: int | None = None
) -> int:
    """The number of an argument, from *least* to *most*, if there are such limits.

    Raises:
        TypeError: It is not an integer.
        ValueError: It is out of this range.
    """
    try:
        number = index(value)
    except TypeError:
        raise refusal(name, "an integer", value) from None
    is_too_small = least is not None and number < least
    if is_too_small or (most is not None and number > most):
        expected = f"at least {least}" if most is None else f"{least} to {most:#x}"
        raise ValueError(f"{name}: expected {expected}, not {shown(value)}")
    return number


def flag_of(name: str, value: bool) -> bool:
    """The truth value of an argument.

    Raises:
        TypeError: It is neither true nor false, as a string is not.
    """
    if not isinstance(value, int) and type(value).__name__ != "bool_":  # of NumPy
        raise refusal(name, "True or False", value)
    return bool(value)


def instance_of(name: str, value: Item, kind: type[Item]) -> Item:
    """An argument that is of a class.

    Raises:
        TypeError: It is of another one.
    """
    if not isinstance(value, kind):
        raise refusal(name, f"a {kind.__name__}", value)
    return value


def choice_of(name: str, value: str, choices: Iterable[str]) -> str:
    """An argument that is one of the words.

    Raises:
        TypeError: It is not a string.
        ValueError: It is another word.
    """
    words = [*choices]
    if text_of(name, value) not in words:
        expected = " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
        raise ValueError(f"{name}: expected {expected}, not {value!r}")
    return value


def items_of(name: str, values: Iterable[Item], expected: str) -> tuple[Item, ...]:
    """The values of an argument.

    Raises:
        TypeError: A single value was given, such as a string.
    """
    is_single = isinstance(values, (str, bytes, bytearray))
    if is_single or not hasattr(values, "__iter__"):
        raise refusal(name, f"a sequence of {expected}", values)
    return tuple(values)


def strings_of(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """The strings of an argument.

    Raises:
        TypeError: They are not a sequence of strings.
    """
    strings = items_of(name, values, "strings")
    for each in strings:
        if not isinstance(each, str):
            raise _found(name, "strings", each)
    return strings


def patterns_of(
    name: str, values: Iterable[str | Pattern[str]]
) -> tuple[str | Pattern[str], ...]:
    """The regular expressions of an argument, as strings or compiled.

    Raises:
        TypeError: They are not a sequence of these.
    """
    expected = "regular expressions of strings"
    patterns = items_of(name, values, expected)
    for each in patterns:
        if not isinstance(getattr(each, "pattern", each), str):
            raise _found(name, expected, each)
    return patterns


def paths_of(name: str, values: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The paths of an argument, as strings.

    Raises:
        TypeError: They are not a sequence of paths.
    """
    return tuple(path_of(name, path) for path in items_of(name, values, "paths"))


def pairs_of(
    name: str, values: Iterable[tuple[str, str]] | Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """The pairs of strings of an argument, which may be a dict.

    Raises:
        TypeError: They are not a sequence of pairs.
    """
    items: Any = getattr(values, "items", None)
    pairs = items_of(name, values if items is None else items(), _PAIRS)
    return tuple(_pair_of(name, each) for each in pairs)


def _pair_of(name: str, pair: Any) -> tuple[str, str]:
    try:
        old, new = map(os.fspath, items_of(name, pair, _PAIRS))
    except (TypeError, ValueError):
        raise _found(name, _PAIRS, pair) from None
    if not (isinstance(old, str) and isinstance(new, str)):
        raise _found(name, _PAIRS, pair)
    return old, new


def rule_of(name: str, text: str) -> tuple[str, str]:
    """The prefixes OLD and NEW of a text `OLD=NEW`.

    Raises:
        ValueError: It has another form.
    """
    old, equals, new = text.partition("=")
    if not old or not equals:
        raise ValueError(f"{name}: '{text}': expected OLD=NEW")
    return old, new


def ranges_of(
    name: str, values: Iterable[tuple[int, int]], end: int
) -> tuple[tuple[int, int], ...]:
    """The ranges of addresses of an argument, which end at *end* at the latest.

    Raises:
        TypeError: They are not a sequence of pairs of integers.
        ValueError: A range is empty or ends too late.
    """
    expected = "(start, end) pairs of addresses"
    ranges = items_of(name, values, expected)
    for each in ranges:
        try:
            start, stop = map(index, each)
        except (TypeError, ValueError):
            raise _found(name, expected, each) from None
        if not 0 <= start < stop <= end:
            text = f"{name}: {start:#x}-{stop:#x} is not a range of addresses"
            raise ValueError(text)
    return ranges


def _found(name: str, expected: str, item: object) -> TypeError:
    text = f"{name}: expected a sequence of {expected}, found {shown(item)}"
    return TypeError(text)
