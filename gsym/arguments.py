"""Checks of arguments that are sequences.

A string is also a sequence of strings, so given instead of several strings it would be
read letter by letter.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeVar

    Item = TypeVar("Item")


def items_of(name: str, values: Iterable[Item], expected: str) -> tuple[Item, ...]:
    """The values of an argument.

    Args:
        name: Of the argument.
        values: What was given.
        expected: What the values should be, in the plural.

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


_UNITS_NS: dict[str, int] = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "d": 86_400 * 10**9,
}
_SIZE_UNITS: dict[str, int] = {
    f"{prefix}{infix}": base**power
    for infix, base in (("", 1000), ("I", 1024))
    for power, prefix in enumerate("KMGT", 1)
} | {"": 1}


def read_duration(text: str, unit: str) -> int:
    """The nanoseconds of a time such as `1.5ms` or `5min`; fractions are dropped.

    Args:
        text: A number and its unit: ns, us, ms, s, min, h or d.
        unit: That of a number without a unit.

    Raises:
        ValueError: It is not a time.
    """
    whole, part, name = _number_and_unit(text)
    factor = _UNITS_NS.get(name or unit)
    if not whole or factor is None:
        reason = f"invalid time '{text}': expected a number with a unit (1.5ms)"
        raise ValueError(reason)
    scale: int = 10 ** len(part)
    return int(whole + part) * factor // scale


def read_size(text: str) -> int:
    """The bytes of a size such as `500000`, `500K`, `1.5GB` or `1GiB`.

    K is 1000 bytes, Ki 1024; fractions of a byte are dropped.

    Raises:
        ValueError: It is not a size.
    """
    whole, part, name = _number_and_unit(text)
    factor = _SIZE_UNITS.get(name.upper().removesuffix("B"))
    if not whole or factor is None:
        reason = f"invalid size '{text}': expected a number with a unit (500M, 1GiB)"
        raise ValueError(reason)
    scale: int = 10 ** len(part)
    return int(whole + part) * factor // scale


def _number_and_unit(text: str) -> tuple[str, str, str]:
    """Digits before and after the point, and the unit; "" for what is not a number."""
    import re

    found = re.fullmatch(r"([0-9]{1,24})(?:\.([0-9]{1,24}))?([A-Za-z]*)", text)
    return (found[1], found[2] or "", found[3]) if found else ("", "", "")
