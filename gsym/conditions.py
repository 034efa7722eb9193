"""Conditions on the records of a trace and the samples of a profile."""

from __future__ import annotations

import re
from fnmatch import translate

from gsym.arguments import strings_of
from gsym.records import NamedTuple
from gsym.sizes import read_duration

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable


class Moment(NamedTuple):
    """A time in nanoseconds."""

    ns: int  # from the start of the trace, or by its clock
    is_absolute: bool = False  # whether it is by the clock


class Selection(NamedTuple):
    """Conditions on records; a field without one selects all."""

    begin: Moment | None = None  # the first moment
    end: Moment | None = None  # the moment after the last
    processes: tuple[str, ...] = ()  # patterns of names or koids of processes
    threads: tuple[str, ...] = ()  # patterns of names or koids of threads
    categories: tuple[str, ...] = ()  # patterns
    names: tuple[str, ...] = ()  # patterns


_LONGEST_KOID = 20  # digits


def parse_moment(text: str) -> Moment:
    """The moment that a text spells; parts of a nanosecond are left out."""
    number = text.removeprefix("@")
    try:
        return Moment(read_duration(number, "ns"), number != text)
    except ValueError:
        raise ValueError(
            f"invalid time '{text}': expected a number with a unit (1.5ms from the "
            "start, or @1.5ms by the clock of the trace)"
        ) from None


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
        """Whether a name or a koid matches."""
        if not self._matching or koid in self._koids:
            return True
        return name is not None and any(each.match(name) for each in self._matching)


def _is_koid(text: str) -> bool:
    try:
        int(text, 0)
    except ValueError:
        return False
    return text.isalnum()
