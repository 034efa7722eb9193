"""Selections of the records of a trace and of the samples of a profile."""

from __future__ import annotations

import re
from fnmatch import translate

from gsym.arguments import strings_of
from gsym.cache import BoundedCache
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.sizes import read_duration
from gsym.trace.fxt.decoder import Filter
from gsym.trace.fxt.objects import PROCESS, THREAD
from gsym.trace.fxt.records import (
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LegacyContextSwitch,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    UserspaceObject,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from gsym.trace.fxt.objects import Objects
    from gsym.trace.fxt.records import Record
    from gsym.trace.profiles.model import Profile, Sample

    _Thread = tuple[int | None, int | None]  # koids of a process and of its thread


class Moment(NamedTuple):
    """A time in nanoseconds.

    Attributes:
        ns: From the start of the trace, or by its clock.
        is_absolute: Whether it is by the clock.
    """

    ns: int
    is_absolute: bool = False


class Selection(NamedTuple):
    """Conditions on records; a field without one selects all.

    Attributes:
        begin: The first moment.
        end: The moment after the last.
        processes: Patterns of names or koids of processes.
        threads: Patterns of names or koids of threads.
        categories: Patterns.
        names: Patterns.
    """

    begin: Moment | None = None
    end: Moment | None = None
    processes: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


_LONGEST_KOID = 20  # digits


def parse_moment(text: str) -> Moment:
    """The moment that a text spells; parts of a nanosecond are left out.

    Raises:
        ValueError: It spells none.
    """
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


# Records that define the meaning of others.
CONTEXT = (
    Initialization,
    KernelObject,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    TraceInfo,
    UserspaceObject,
)
_SCHEDULING = (ContextSwitch, LegacyContextSwitch, ThreadWakeup)
_ODD = frozenset("?[\0")
_MOST_KEPT = 1 << 16  # answers; an event's depends on its thread and its texts


def coarse_filter(selection: Selection, origin_ns: int) -> Filter:
    """The filter for the engine: it passes at least the selected records.

    Args:
        selection: The conditions.
        origin_ns: The start of the trace, from which moments count.
    """
    begin = absolute_ns(selection.begin, origin_ns) or 0
    end = absolute_ns(selection.end, origin_ns)
    last = UINT64_MAX if end is None else max(end - 1, 0)
    return Filter(
        min(begin, UINT64_MAX),
        min(last, UINT64_MAX),
        categories=_plain(selection.categories),
        names=_plain(selection.names),
    )


def _plain(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns, if the engine reads all of them in the same way, else none."""
    is_plain = _ODD.isdisjoint("".join(patterns))
    return patterns if is_plain else ()


class RecordSelection:
    """Chooses records.

    A record is chosen if it meets all conditions. One without a time is in no span of
    time, one without a category matches none, and so on. A context switch belongs to
    both its threads. A complete duration is in each span that it touches.

    Args:
        selection: The conditions.
        origin_ns: The start of the trace, from which moments count.
        objects: Names of processes and threads, and whose threads are.
        keep_context: Also choose records that define the meaning of others.
    """

    def __init__(
        self,
        selection: Selection,
        origin_ns: int,
        objects: Objects,
        *,
        keep_context: bool = False,
    ) -> None:
        self._begin = absolute_ns(selection.begin, origin_ns)
        self._end = absolute_ns(selection.end, origin_ns)
        self._processes = Patterns(selection.processes)
        self._threads = Patterns(selection.threads)
        self._categories = Patterns(selection.categories)
        self._names = Patterns(selection.names)
        self._objects = objects
        self._keep_context = keep_context
        self._known: BoundedCache[tuple[Any, ...], bool] = BoundedCache(_MOST_KEPT)

    def takes(self, record: Record) -> bool:
        """Whether a record is selected."""
        if isinstance(record, Event):
            key = record[2:6], record.provider
            known = self._known.get(key)
            if known is None:
                known = self._known.keep(key, self._fits(record))
            return known and self._is_in_time(record)
        if self._keep_context and isinstance(record, CONTEXT):
            return True
        return self._fits(record) and self._is_in_time(record)

    def _is_in_time(self, record: Any) -> bool:
        if self._begin is None and self._end is None:
            return True
        ns = getattr(record, "ns", None)
        if ns is None or (self._end is not None and ns >= self._end):
            return False
        if self._begin is None or ns >= self._begin:
            return True
        end_ns = getattr(record, "end_ns", None)
        return end_ns is not None and end_ns > self._begin

    def _fits(self, record: Any) -> bool:
        category, name = (getattr(record, each, None) for each in ("category", "name"))
        if not self._categories.match(category) or not self._names.match(name):
            return False
        if not self._processes and not self._threads:
            return True
        provider = record.provider
        return any(self._has(thread, provider) for thread in self._threads_of(record))

    def _has(self, thread: _Thread, provider: int | None) -> bool:
        name = self._objects.name_of
        wanted = (self._processes, self._threads)
        return all(
            not patterns
            or (koid is not None and patterns.match(name(koid, provider, kind), koid))
            for patterns, koid, kind in zip(
                wanted, thread, (PROCESS, THREAD), strict=True
            )
        )

    def _threads_of(self, record: Any) -> Iterable[_Thread]:
        """Whose a record is."""
        if hasattr(record, "process") and hasattr(record, "thread"):
            return ((record.process, record.thread),)
        if isinstance(record, _SCHEDULING):
            return self._scheduled(record)
        if isinstance(record, UserspaceObject):
            return ((record.process, None),)
        if isinstance(record, KernelObject) and record.type in {PROCESS, THREAD}:
            is_process = record.type == PROCESS
            return ((record.koid, None),) if is_process else (self._of(record.koid),)
        return ()

    def _scheduled(self, record: Any) -> Iterable[_Thread]:
        """The threads that a record of the scheduler is about."""
        if isinstance(record, LegacyContextSwitch):
            return (
                (record.outgoing_process, record.outgoing_thread),
                (record.incoming_process, record.incoming_thread),
            )
        if isinstance(record, ContextSwitch):
            return self._of(record.outgoing_thread), self._of(record.incoming_thread)
        return (self._of(record.thread),)

    def _of(self, thread: int) -> _Thread:
        return self._objects.process_of(thread), thread


def select_samples(
    profile: Profile, selection: Selection, origin_ns: int | None = None
) -> None:
    """Remove the samples that are not selected; the rest of the profile stays.

    A sample has the names of the functions in its stack, and their modules for
    categories. One whose time or thread is not known is in no span of time and of no
    thread.

    Args:
        profile: Whose samples are chosen.
        selection: The conditions.
        origin_ns: The origin of moments; None: the first sample.
    """
    chooser = _Chooser(profile, selection, origin_ns)
    profile.samples = [sample for sample in profile.samples if chooser.takes(sample)]


class _Chooser:
    def __init__(
        self, profile: Profile, selection: Selection, origin_ns: int | None
    ) -> None:
        self._profile = profile
        if origin_ns is None:
            times = [each.time for each in profile.samples if each.time is not None]
            origin_ns = min(times, default=0)
        self._begin = absolute_ns(selection.begin, origin_ns)
        self._end = absolute_ns(selection.end, origin_ns)
        self._processes = Patterns(selection.processes)
        self._threads = Patterns(selection.threads)
        self._modules = Patterns(selection.categories)
        self._names = Patterns(selection.names)
        self._stacks: dict[int, bool] = {}

    def takes(self, sample: Sample) -> bool:
        """Whether a sample is selected."""
        if not self._is_in_time(sample.time) or not self._is_of_thread(sample.thread):
            return False
        known = self._stacks.get(sample.stack)
        if known is None:
            known = self._stacks[sample.stack] = self._has_names(sample.stack)
        return known

    def _is_in_time(self, time: int | None) -> bool:
        if self._begin is None and self._end is None:
            return True
        return (
            time is not None
            and (self._begin is None or time >= self._begin)
            and (self._end is None or time < self._end)
        )

    def _is_of_thread(self, index: int | None) -> bool:
        if index is None:
            return not self._processes and not self._threads
        thread = self._profile.threads[index]
        return self._processes.match(
            thread.process_name, thread.process
        ) and self._threads.match(thread.thread_name, thread.thread)

    def _has_names(self, stack: int) -> bool:
        frames = self._profile.frames_of(stack) if self._names else ()
        return (
            not self._names or any(self._names.match(frame.name) for frame in frames)
        ) and (not self._modules or any(map(self._modules.match, self._paths(stack))))

    def _paths(self, stack: int) -> list[str]:
        """The base names of the modules in a stack."""
        mappings = self._profile.mappings
        locations = (self._profile.locations[at] for at in self._profile.stacks[stack])
        return [
            mappings[location.mapping].path.rpartition("/")[2]
            for location in locations
            if location.mapping is not None
        ]
