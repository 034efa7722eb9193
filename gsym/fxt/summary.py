"""A summary of a trace: its times, providers, objects, and counts of events."""

from __future__ import annotations

from collections import Counter
from itertools import compress

from gsym.engine.native import check, ffi, lib, new_error
from gsym.fxt import records as fxt
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.records import LAYOUTS
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from gsym.fxt.decoder import Columns

    CData = Any  # a cffi object

# Of `gsym.fxt.decoder.KINDS`.
DESCRIBING_KINDS = (
    "provider_info",
    "provider_event",
    "initialization",
    "thread",
    "kernel_object",
)
BUFFER_FULL = 0
"""The event of a provider whose buffer filled up, so that records were lost."""

_EVENT_NUMBERS = bytes(range(len(fxt.EVENT_KINDS)))
# The kinds other than events that have a time.
_TIMED = frozenset(
    number
    for number, layout in enumerate(LAYOUTS, len(fxt.EVENT_KINDS))
    if layout.is_timed
)


class Provider:
    """The writer of a part of a trace."""

    def __init__(self, number: int | None) -> None:
        self.id: int | None = number  # its number; None for records before any provider
        self.name: str = ""  # the last one it was given; "" without one
        # the unit of its times; None if it has none
        self.ticks_per_second: int | None = None
        self.events: int = 0  # how many it wrote
        self.dropped: int = 0  # how many times it reported that records were dropped


class Survey:
    """Summarizes a trace in two passes: its times, and the records that describe it."""

    def __init__(self) -> None:
        # the earliest time in it, in nanoseconds; None without any
        self.begin_ns: int | None = None
        # the latest one, ends of complete durations among them
        self.end_ns: int | None = None
        # names of processes and threads, and whose threads are
        self.objects: Objects = Objects()
        self.providers: dict[int | None, Provider] = {}  # by id
        # how many events each thread has, by the koids of its process and its own;
        # those without events that are described, too
        self.threads: Counter[tuple[int, int]] = Counter()
        # koids of the processes that are described or have threads
        self.processes: set[int] = set()

    def add_times(self, parts: Iterable[Columns]) -> None:
        """Take the times of records of all kinds in."""
        for columns in parts:
            times = [*_bounds(columns.event_column("ns"))]
            times += _bounds(_other_times(columns))
            ends = _bounds(columns.event_column("end_ns"))
            if UINT64_MAX in (*times, *ends):
                for record in columns.records():
                    self._add_time(record)
            elif times:
                self._extend(min(times), max(*times, *ends))
            pairs = zip(
                columns.event_column("process"),
                columns.event_column("thread"),
                strict=True,
            )
            for (process, thread), count in Counter(pairs).items():
                self._add_thread(process, thread, count)
            numbers = Counter(columns.event_column("provider"))
            for number, count in numbers.items():
                self._provider(columns.providers[number]).events += count

    def add(self, records: Iterable[fxt.Record]) -> None:
        """Take records of `DESCRIBING_KINDS` in."""
        for record in records:
            if isinstance(record, fxt.ProviderInfo):
                self._provider(record.provider).name = record.name
            elif isinstance(record, fxt.ProviderEvent):
                provider = self._provider(record.provider)
                provider.dropped += record.event == BUFFER_FULL
            elif isinstance(record, fxt.Initialization):
                provider = self._provider(record.provider)
                rate = record.ticks_per_second
                provider.ticks_per_second = rate or provider.ticks_per_second
            else:
                self._add_object(record)

    def add_any(self, record: fxt.Record) -> None:
        """Take one record of any kind in, with its time."""
        self.add((record,))
        self._add_time(record)
        if isinstance(record, fxt.Event):
            self._add_thread(record.process, record.thread, 1)
            self._provider(record.provider).events += 1

    def _add_object(self, record: fxt.Record) -> None:
        self.objects.add(record)
        if isinstance(record, fxt.Thread):
            self._add_thread(record.process, record.thread)
        elif isinstance(record, fxt.KernelObject) and record.type == PROCESS:
            self.processes.add(record.koid)
        elif isinstance(record, fxt.KernelObject) and record.type == THREAD:
            process = self.objects.process_of(record.koid)
            if process is not None:
                self._add_thread(process, record.koid)

    def _add_thread(self, process: int, thread: int, events: int = 0) -> None:
        self.processes.add(process)
        if thread or events:  # modules have thread 0
            self.threads[process, thread] += events

    def _add_time(self, record: fxt.Record) -> None:
        ns = getattr(record, "ns", None)
        if ns is not None:
            self._extend(ns, max(ns, getattr(record, "end_ns", None) or 0))

    def _extend(self, first: int, last: int) -> None:
        self.begin_ns = first if self.begin_ns is None else min(self.begin_ns, first)
        self.end_ns = last if self.end_ns is None else max(self.end_ns, last)

    def _provider(self, number: int | None) -> Provider:
        return self.providers.setdefault(number, Provider(number))


def _other_times(columns: Columns) -> Sequence[int]:
    """The times of records other than events that have one."""
    kinds = columns.kinds.tobytes().translate(None, _EVENT_NUMBERS)
    times = columns.other_column("ns")
    if _TIMED.issuperset(kinds):
        return times
    return [*compress(times, map(_TIMED.__contains__, kinds))]


def _bounds(times: Sequence[int]) -> tuple[int, ...]:
    return (min(times), max(times)) if len(times) else ()


def describe_trace(
    survey: Survey, kinds: Mapping[str, int], objects: Objects
) -> dict[str, Any]:
    """The description."""
    return {
        "begin_ns": survey.begin_ns,
        "end_ns": survey.end_ns,
        "records": sum(kinds.values()),
        "events": sum(kinds.get(kind, 0) for kind in fxt.EVENT_KINDS),
        "kinds": {kind: count for kind, count in kinds.items() if count},
        "providers": [
            vars(each) for each in sorted(survey.providers.values(), key=_id)
        ],
        "processes": _processes(survey, objects),
    }


def _id(provider: Provider) -> int:
    return -1 if provider.id is None else provider.id


def _processes(survey: Survey, objects: Objects) -> list[dict[str, Any]]:
    """Processes and their threads by koid."""
    made: dict[int, dict[str, Any]] = {}
    for process in sorted(survey.processes):
        name = objects.name_of(process, kind=PROCESS) or ""
        made[process] = {"koid": process, "name": name, "threads": []}
    for (process, thread), events in sorted(survey.threads.items()):
        name = objects.name_of(thread, kind=THREAD) or ""
        described = {"koid": thread, "name": name, "events": events}
        made[process]["threads"].append(described)
    return list(made.values())


class EventKey(NamedTuple):
    """A group of events: *provider* is an id, or None, *kind* a word."""

    provider: int | None
    category: str
    name: str
    kind: str


# A trace may give each event a name of its own; after so many groups, new ones are
# counted as others, for each provider and kind.
MOST_GROUPS = 1 << 16
OTHERS = "(others)"


class Tally:
    """Counts the events of one trace, in the order of its columns or one by one."""

    def __init__(self) -> None:
        error: CData = new_error()
        place = ffi.new("gsym_fxt_tally **")
        check(lib.gsym_fxt_tally_create(place, error), error)
        self._tally = ffi.gc(place[0], lib.gsym_fxt_tally_destroy)
        self._texts: list[str] = []
        self._providers: Sequence[int | None] = ()
        self._sums: dict[EventKey, tuple[int, int]] = {}

    def count(self, key: EventKey, events: int, size: int) -> None:
        """Count events of a group."""
        if key not in self._sums and len(self._sums) >= MOST_GROUPS:
            key = EventKey(key.provider, OTHERS, OTHERS, key.kind)
        known = self._sums.get(key, (0, 0))
        self._sums[key] = (known[0] + events, known[1] + size)

    def add(self, columns: Columns) -> None:
        """Count the events of columns."""
        if columns.first_new_string == 1:
            self._name_groups()
            self._texts.clear()
        self._texts += columns.strings[len(self._texts) :]
        self._providers = columns.providers
        columns.count_into(self._tally)

    def sums(self) -> dict[EventKey, tuple[int, int]]:
        """Counts and bytes of events by group."""
        self._name_groups()
        return self._sums

    def _name_groups(self) -> None:
        """Name the groups counted by number, before numbers get other meanings."""
        place, count = ffi.new("const gsym_fxt_group **"), ffi.new("size_t *")
        lib.gsym_fxt_tally_view(self._tally, place, count)
        for group in ffi.unpack(place[0], count[0]) if count[0] else ():
            key = EventKey(
                self._providers[group.provider],
                self._texts[group.category],
                self._texts[group.name],
                fxt.EVENT_KINDS[group.kind],
            )
            self.count(key, group.events, group.bytes)
        lib.gsym_fxt_tally_clear(self._tally)
