"""The durations in a Fuchsia trace -> a profile of their time.

A duration is a function: its category stands for its module, and arguments `file` and
`line` for its place in the source.
"""

from __future__ import annotations

from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.records import Event, begins_trace
from gsym.profiles.durations import DurationStacks
from gsym.profiles.model import (
    TIME,
    Frame,
    Mapping,
    ProfileBuilder,
    Thread,
    line_of,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.fxt.records import Arguments, Record
    from gsym.profiles.model import Profile

# Of `gsym.fxt.decoder.KINDS`.
DURATION_KINDS = (
    "trace_info",
    "kernel_object",
    "duration_begin",
    "duration_end",
    "duration_complete",
)


def read_fxt_durations(records: Iterable[Record]) -> Profile:
    """The profile of all durations of a trace.

    Args:
        records: Of the trace, in its order; others are ignored.
    """
    builder = ProfileBuilder((TIME,))
    durations = _Durations(builder)
    for record in records:
        if begins_trace(record):  # its processes and times are others
            durations.finish()
            durations = _Durations(builder)
        durations.add(record)
    durations.finish()
    return builder.profile


class _Durations:
    """The durations of one trace, which are added to a profile at its end."""

    def __init__(self, builder: ProfileBuilder) -> None:
        self._builder = builder
        self._stacks = DurationStacks(builder)
        self._objects = Objects()
        self._locations: dict[tuple[str, str, str, int], int] = {}
        self._threads: dict[tuple[int | None, int, int], int] = {}

    def add(self, record: Record) -> None:
        """Take a record that concerns durations; others are ignored."""
        if not isinstance(record, Event):
            self._objects.add(record)
            return
        if not record.kind.startswith("duration"):
            return
        key = record.provider, record.process, record.thread
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = self._builder.thread(Thread(*key[1:]))
        time = record.ns or 0
        if record.kind == "duration_end":
            self._stacks.end(thread, time)
        elif record.kind == "duration_begin":
            self._stacks.begin(thread, time, self._location(record))
        else:
            end = record.end_ns or 0
            self._stacks.complete(thread, time, end, self._location(record))

    def finish(self) -> None:
        """Put the samples into the profile, and the names of threads."""
        self._stacks.finish()
        name_of = self._objects.name_of
        for provider, process, thread in self._threads:
            names = (
                name_of(process, provider, PROCESS),
                name_of(thread, provider, THREAD),
            )
            self._builder.thread(
                Thread(process, thread, *(name or "" for name in names))
            )

    def _location(self, event: Event) -> int:
        key = event.name, event.category, *_place(event.args)
        found = self._locations.get(key)
        if found is None:
            name, category, path, line = key
            mapping = None
            if category:
                mapping = self._builder.mapping(Mapping(0, 0, path=category))
            frame = Frame(name, path=path, line=line)
            found = self._locations[key] = self._builder.function(frame, mapping)
        return found


def _place(args: Arguments) -> tuple[str, int]:
    path, line = "", 0
    for argument in args:
        value = argument.value
        if argument.name == "file" and isinstance(value, str):
            path = value
        elif argument.name == "line":
            line = line_of(value)
    return path, line
