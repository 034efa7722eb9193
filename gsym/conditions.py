"""Conditions on the records of a trace and the samples of a profile."""

from __future__ import annotations

from fnmatch import translate

from gsym.arguments import strings_of
from gsym.lazy import re
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


class Span:
    """The span of time of a selection, in which all times are if it has no ends."""

    def __init__(self, selection: Selection, origin_ns: int) -> None:
        self._begin = absolute_ns(selection.begin, origin_ns)
        self._end = absolute_ns(selection.end, origin_ns)

    def includes(self, ns: int | None, end_ns: int | None = None) -> bool:
        """Whether a time is in the span, or what lasts from it to *end_ns* touches it.

        A time that is not known is in no span that has an end.
        """
        if self._begin is None and self._end is None:
            return True
        if ns is None or (self._end is not None and ns >= self._end):
            return False
        if self._begin is None or ns >= self._begin:
            return True
        return end_ns is not None and end_ns > self._begin


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
