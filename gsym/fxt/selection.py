"""What a user wants of a trace or a profile: a time, processes, threads, names.

A moment is a number with a unit, `ns`, `us`, `ms` or `s`, counted from the start of the
trace: `1.5s`. With `@` in front it is a time of the trace's own clock: `@1500ms`.
Without a unit it is in nanoseconds. What is chosen begins at the first moment and ends
in front of the second.

A process or a thread is chosen by its koid (its number) or by its name. A name is a
pattern, as for files: `*` is any text, `?` any character, `[ab]` one of some. Upper and
lower case differ. Where several patterns are given, any of them will do.
"""

from __future__ import annotations

import re
from fnmatch import translate

from gsym.arguments import strings_of
from gsym.records import NamedTuple

__all__ = ["Moment", "Patterns", "Selection", "absolute_ns", "parse_moment"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


class Moment(NamedTuple):
    """A time in nanoseconds.

    Attributes:
        ns: From the start of the trace, or by its clock.
        is_absolute: It is by the clock.
    """

    ns: int
    is_absolute: bool = False


class Selection(NamedTuple):
    """What is wanted; what says nothing leaves nothing out.

    Attributes:
        begin: The first moment.
        end: The moment behind the last.
        processes: Patterns of their names, or koids.
        threads: Likewise.
        categories: Patterns.
        names: Patterns.
    """

    begin: Moment | None = None
    end: Moment | None = None
    processes: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "": 1}
# As many digits as a time of 64 bits in nanoseconds has, and some in front.
_MOMENT = re.compile(r"(@?)([0-9]{1,24})(?:\.([0-9]{1,24}))?(ns|us|ms|s|)")
_LONGEST_KOID = 20  # digits


def parse_moment(text: str) -> Moment:
    """The moment that a text spells; parts of a nanosecond are left out.

    Raises:
        ValueError: It spells none.
    """
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(
            f"'{text}' is no time: a number and ns, us, ms or s, such as 1.5ms from "
            "the start, or @1.5ms by the clock of the trace"
        )
    at, whole, part, unit = found[1], found[2], found[3] or "", found[4]
    ns = int(whole + part) * _UNITS[unit] // 10 ** len(part)
    return Moment(ns, bool(at))


def absolute_ns(moment: Moment | None, origin_ns: int) -> int | None:
    """A moment by the clock of a trace that begins at *origin_ns*."""
    if moment is None:
        return None
    return moment.ns if moment.is_absolute else origin_ns + moment.ns


class Patterns:
    """Patterns of names, some of which may be koids; without any, all match."""

    def __init__(self, patterns: Iterable[str]) -> None:
        texts = strings_of("patterns", patterns)
        self._matching = [re.compile(translate(text)) for text in texts]
        self._koids = {
            int(text, 0)
            for text in texts
            if len(text) <= _LONGEST_KOID and _is_koid(text)
        }

    def __bool__(self) -> bool:
        return bool(self._matching)

    def match(self, name: str | None, koid: int | None = None) -> bool:
        """Whether a name or a koid is one of those that are wanted."""
        if not self._matching or koid in self._koids:
            return True
        return name is not None and any(each.match(name) for each in self._matching)


def _is_koid(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return text.isalnum()
