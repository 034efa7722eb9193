"""Checks of arguments that are sequences.

A string is also a sequence of strings, so given instead of several strings it would be
read letter by letter.
"""

from __future__ import annotations

import os

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    Item = TypeVar("Item")


def items_of(name: str, values: Iterable[Item], expected: str) -> tuple[Item, ...]:
    """The values of an argument.

    Raises:
        TypeError: A single value was given, such as a string.
    """
    is_single = isinstance(values, (str, bytes, bytearray))
    if is_single or not hasattr(values, "__iter__"):
        raise TypeError(f"{name}: expected a sequence of {expected}, not {values!r}")
    return tuple(values)


def strings_of(name: str, values: Iterable[str]) -> tuple[str, ...]:
    """The strings of an argument.

    Raises:
        TypeError: They are not a sequence of strings.
    """
    strings = items_of(name, values, "strings")
    for each in strings:
        if not isinstance(each, str):
            raise TypeError(f"{name}: expected a sequence of strings, found {each!r}")
    return strings


def paths_of(name: str, values: Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The paths of an argument, as strings.

    Raises:
        TypeError: They are not a sequence of paths.
    """
    return tuple(os.fspath(path) for path in items_of(name, values, "paths"))


def pairs_of(
    name: str, values: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """The pairs of strings of an argument.

    Raises:
        TypeError: They are not a sequence of pairs.
    """
    expected = "(old, new) pairs of strings"
    pairs = items_of(name, values, expected)
    for each in pairs:
        if isinstance(each, (str, bytes)) or len(each) != 2:  # noqa: PLR2004
            raise TypeError(
                f"{name}: expected a sequence of {expected}, found {each!r}"
            )
    return tuple((old, new) for old, new in pairs)
