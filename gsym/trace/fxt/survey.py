"""What has to be known of a whole trace before its records make sense.

When it begins and ends, who wrote it, what its objects are called, and whether records
were dropped as it was written.
"""

from __future__ import annotations

from collections import Counter
from itertools import compress

from gsym.trace.fxt.decoder import KINDS
from gsym.trace.fxt.objects import PROCESS, THREAD, Objects
from gsym.trace.fxt.records import (
    EVENT_KINDS,
    Event,
    Initialization,
    KernelObject,
    ProviderEvent,
    ProviderInfo,
    Thread,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gsym.trace.fxt.decoder import Columns
    from gsym.trace.fxt.records import Record

# Of `gsym.trace.fxt.decoder.KINDS`.
DESCRIBING_KINDS = (
    "provider_info",
    "provider_event",
    "initialization",
    "thread",
    "kernel_object",
)
BUFFER_FULL = 0
"""The event of a provider that says that its buffer filled up and records were lost."""

_WIDE = 2**64 - 1
_EVENT_NUMBERS = bytes(range(len(EVENT_KINDS)))
# Those that have a time of the kinds that are no events.
_TIMED = frozenset(
    map(
        KINDS.index,
        (
            "legacy_context_switch",
            "context_switch",
            "thread_wakeup",
            "log",
            "module",
            "mmap",
            "backtrace",
            "large_blob_with_metadata",
        ),
    )
)


class Provider:
    """Who wrote a part of a trace.

    Attributes:
        id: Its number; None for what stands in front of any provider.
        name: The last one it was given; "" without one.
        ticks_per_second: The unit of its times; None where it tells none.
        dropped: How many times it told that records were dropped.
        events: How many it wrote.
    """

    __slots__ = ("dropped", "events", "id", "name", "ticks_per_second")

    def __init__(self, number: int | None) -> None:
        self.id = number
        self.name = ""
        self.ticks_per_second: int | None = None
        self.dropped = 0
        self.events = 0


class Survey:
    """Takes a trace in, in two passes: its times, and what describes it.

    Attributes:
        begin_ns: The earliest time in it, in nanoseconds; None without any.
        end_ns: The latest one, ends of complete durations among them.
        objects: Names of processes and threads, and whose threads are.
        providers: By id.
        threads: How many events each thread has, by the koids of its process and its
            own; those without events that are described, too.
        processes: Koids of the processes that are described or have threads.
    """

    def __init__(self) -> None:
        self.begin_ns: int | None = None
        self.end_ns: int | None = None
        self.objects = Objects()
        self.providers: dict[int | None, Provider] = {}
        self.threads: Counter[tuple[int, int]] = Counter()
        self.processes: set[int] = set()

    def add_times(self, parts: Iterable[Columns]) -> None:
        """Take the times of records of all kinds in."""
        for columns in parts:
            times = [*_bounds(columns.event_column("ns"))]
            times += _bounds(_other_times(columns))
            ends = columns.event_column("end_ns")
            if _WIDE in times or (len(ends) and max(ends) == _WIDE):
                self._add_exact_times(columns)
            elif times:
                self._extend(min(times), max(*times, *_bounds(ends)))
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

    def add(self, records: Iterable[Record]) -> None:
        """Take records of `DESCRIBING_KINDS` in."""
        for record in records:
            if isinstance(record, ProviderInfo):
                self._provider(record.provider).name = record.name
            elif isinstance(record, ProviderEvent):
                is_full = record.event == BUFFER_FULL
                self._provider(record.provider).dropped += is_full
            elif isinstance(record, Initialization):
                provider = self._provider(record.provider)
                if record.ticks_per_second:
                    provider.ticks_per_second = record.ticks_per_second
            else:
                self._add_object(record)

    def add_any(self, record: Record) -> None:
        """Take one record of any kind in, with its time."""
        self.add((record,))
        self._add_time(record)
        if isinstance(record, Event):
            self._add_thread(record.process, record.thread, 1)
            self._provider(record.provider).events += 1

    def _add_object(self, record: Record) -> None:
        self.objects.add(record)
        if isinstance(record, Thread):
            self._add_thread(record.process, record.thread)
        elif isinstance(record, KernelObject) and record.type == PROCESS:
            self.processes.add(record.koid)
        elif isinstance(record, KernelObject) and record.type == THREAD:
            process = self.objects.process_of(record.koid)
            if process is not None:
                self._add_thread(process, record.koid)

    def _add_thread(self, process: int, thread: int, events: int = 0) -> None:
        self.processes.add(process)
        if thread or events:  # modules have thread 0
            self.threads[process, thread] += events

    def _add_exact_times(self, columns: Columns) -> None:
        for record in columns.records():
            self._add_time(record)

    def _add_time(self, record: Record) -> None:
        ns = getattr(record, "ns", None)
        if ns is not None:
            self._extend(ns, max(ns, getattr(record, "end_ns", None) or 0))

    def _extend(self, first: int, last: int) -> None:
        self.begin_ns = first if self.begin_ns is None else min(self.begin_ns, first)
        self.end_ns = last if self.end_ns is None else max(self.end_ns, last)

    def _provider(self, number: int | None) -> Provider:
        found = self.providers.get(number)
        if found is None:
            found = self.providers[number] = Provider(number)
        return found


def _other_times(columns: Columns) -> Sequence[int]:
    """The times of records that are no events, of those that have one."""
    kinds = columns.kinds.tobytes().translate(None, _EVENT_NUMBERS)
    times = columns.other_column("ns")
    if _TIMED.issuperset(kinds):
        return times
    return [*compress(times, map(_TIMED.__contains__, kinds))]


def _bounds(times: Sequence[int]) -> tuple[int, ...]:
    return (min(times), max(times)) if len(times) else ()
