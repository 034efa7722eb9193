"""Chrome's trace event format -> `Profile`: its samples, else the time of durations.

Source: Google's document "Trace Event Format". What viztracer, Node.js, Chromium,
Perfetto's traceconv and `gsym trace convert` write.
"""

from __future__ import annotations

import os

from gsym.model import UINT64_END
from gsym.profiles.durations import DurationStacks
from gsym.profiles.input_bytes import read_pieces
from gsym.profiles.json_input import (
    Node,
    json_members,
    number_of,
    text_of,
)
from gsym.profiles.model import (
    SAMPLES,
    TIME,
    Frame,
    Mapping,
    ProfileBuilder,
    Thread,
    line_of,
    placed_frame,
)
from gsym.profiles.stack_tree import ROOT, StackTree
from gsym.profiles.v8_profile import V8_VALUES, V8Profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.model import Profile

# Limit: Trace of Chrome
MOST_TRACE_BYTES = 4 << 30
"""How much text there may be, inflated: events are decoded one at a time."""

_EVENTS = "traceEvents"
_LEFT_OUT = {
    **dict.fromkeys("bneSTpF", "asynchronous events"),
    **dict.fromkeys("stf", "flow events"),
    **dict.fromkeys("iI", "instants"),
    **dict.fromkeys("C", "counters"),
}
_OTHERS = "other events"
_V8_EVENTS = frozenset({"Profile", "ProfileChunk"})
_SAMPLED = "durations, as there are samples"


def read_chrome(
    path: str | os.PathLike[str], *, most_bytes: int = MOST_TRACE_BYTES
) -> Profile:
    """The profile in a trace of Chrome.

    Args:
        path: The file, compressed by gzip or zstd, or not.
        most_bytes: Maximum size, inflated.

    Raises:
        FormatError: It is damaged, or larger than *most_bytes*.
        OSError: It cannot be read.
    """
    name = os.fspath(path)
    trace = _Trace(name)
    tables: dict[str, Any] = {}
    number = 0
    pieces = read_pieces(name, most_bytes, is_text=False)
    for member, value in json_members(pieces, name, _EVENTS):
        if member != _EVENTS:
            if member in {"stackFrames", "samples"}:
                tables[member] = value
            continue
        if isinstance(value, dict):
            trace.add(value, number)
        else:
            trace.lose("events that are damaged or cut")
        number += 1
    return trace.finish(Node(tables, "", name))


class _Trace:
    """The times that the events of a trace have."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._builder = ProfileBuilder((TIME,))
        self._durations = DurationStacks(self._builder)
        self._duration_count = 0
        self._sampled = ProfileBuilder(V8_VALUES)
        self._tree = StackTree(self._sampled)
        self._v8: dict[tuple[int, str], V8Profile] = {}
        self._numbers: dict[str, int] = {}
        self._locations: dict[tuple[str, str, str, int], int] = {}
        self._known: dict[tuple[Any, Any], int] = {}
        self._processes: dict[int, str] = {}
        self._threads: dict[tuple[int, int], str] = {}
        self.lose = self._builder.lose

    def add(self, event: dict[str, Any], number: int) -> None:
        """Take one event."""
        phase = text_of(event.get("ph"))
        if phase == "M":
            self._name(event)
        elif phase in {"B", "E", "X"}:
            self._add_duration(event, phase)
        elif phase == "P" and text_of(event.get("name")) in _V8_EVENTS:
            node = Node(event, f"{_EVENTS}[{number}]", self._path)
            self._add_v8(node.get("args").get("data"), event)
        else:
            self.lose(_LEFT_OUT.get(phase, _OTHERS))

    def finish(self, tables: Node) -> Profile:
        """The profile of all samples, or without any of all durations."""
        for profile in self._v8.values():
            profile.finish()
        if tables.get("samples").list():
            self._add_samples(tables)
        builder = self._sampled if self._sampled.profile.samples else self._builder
        if builder is self._builder:
            self._durations.finish()
        elif self._duration_count:
            self.lose(_SAMPLED, self._duration_count)
        for process, thread in self._ids(builder):
            builder.thread(
                Thread(
                    process,
                    thread,
                    self._processes.get(process, ""),
                    self._threads.get((process, thread), ""),
                )
            )
        builder.profile.losses = self._builder.profile.losses
        return builder.profile

    @staticmethod
    def _ids(builder: ProfileBuilder) -> list[tuple[int, int]]:
        return [(each.process, each.thread) for each in builder.profile.threads]

    def _name(self, event: dict[str, Any]) -> None:
        args = event.get("args")
        name = text_of(args.get("name")) if isinstance(args, dict) else ""
        process, thread = self._number(event.get("pid")), self._number(event.get("tid"))
        if event.get("name") == "process_name":
            self._processes[process] = name
        elif event.get("name") == "thread_name":
            self._threads[process, thread] = name

    def _add_duration(self, event: dict[str, Any], phase: str) -> None:
        time = number_of(event.get("ts"))
        length = number_of(event.get("dur", 0)) if phase == "X" else 0
        if time is None or length is None or time < 0:
            self.lose("durations without a valid time")
            return
        self._duration_count += 1
        thread = self._thread_of(event)
        begin = _nanoseconds(time)
        if phase == "E":
            self._durations.end(thread, begin)
        elif phase == "B":
            self._durations.begin(thread, begin, self._location(event))
        else:
            # The sum first: a begin and an end that were rounded stay in order.
            end = _nanoseconds(time + length)
            self._durations.complete(thread, begin, end, self._location(event))

    def _thread_of(self, event: dict[str, Any]) -> int:
        """The thread of a duration."""
        key = event.get("pid"), event.get("tid")
        if not {int, str}.issuperset(map(type, key)):
            return self._thread(self._builder, event)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._thread(self._builder, event)
        return found

    def _location(self, event: dict[str, Any]) -> int:
        name, category = text_of(event.get("name")), text_of(event.get("cat"))
        path, line = "", 0
        args = event.get("args")
        if isinstance(args, dict) and "file" in args:
            path, line = text_of(args["file"]), line_of(args.get("line"))
        key = name, category, path, line
        found = self._locations.get(key)
        if found is None:
            frame = Frame(name, path=path, line=line) if path else placed_frame(name)
            found = self._builder.function(frame, _module(self._builder, category))
            self._locations[key] = found
        return found

    def _add_v8(self, data: Node, event: dict[str, Any]) -> None:
        key = self._number(event.get("pid")), str(event.get("id"))[:64]
        profile = self._v8.get(key)
        if profile is None:
            thread = self._thread(self._sampled, event)
            profile = self._v8[key] = V8Profile(self._sampled, thread, self._tree)
        start = data.get("startTime")
        if start.value is not None:
            profile.start = int(start.number())
        piece = data.get("cpuProfile")
        if piece.value is not None:
            profile.add(piece, data)

    def _add_samples(self, tables: Node) -> None:
        """The samples of all processors, with the stacks of a table."""
        frames = tables.get("stackFrames")
        stacks = _Frames(frames, self._sampled, self._tree)
        for sample in tables.get("samples").items():
            time = sample.get("ts")
            stack = self._tree.stack(stacks.node(sample.get("sf")))
            self._sampled.sample(
                stack,
                (int(number_of(sample.get("weight").value) or 1), 0),
                thread=self._thread(self._sampled, {"pid": 0, **sample.fields()}),
                time=None if time.value is None else _nanoseconds(time.number()),
            )
        profile = self._sampled.profile
        if not self._v8:  # these samples have no times of their own
            profile.value_types = (SAMPLES,)
            samples = profile.samples
            samples[:] = [each._replace(values=each.values[:1]) for each in samples]

    def _thread(self, builder: ProfileBuilder, event: dict[str, Any]) -> int:
        process, thread = self._number(event.get("pid")), self._number(event.get("tid"))
        return builder.thread(Thread(process, thread))

    def _number(self, value: Any) -> int:
        """The number of a process or thread, which may be a text."""
        if type(value) is int and 0 <= value < UINT64_END:
            return value
        text = text_of(value)
        if text.isdecimal() and len(text) < len(str(1 << 63)):
            return int(text)
        return self._numbers.setdefault(text, len(self._numbers)) if text else 0


class _Frames:
    """The nodes of the table `stackFrames`, by their ids."""

    def __init__(self, table: Node, builder: ProfileBuilder, tree: StackTree) -> None:
        self._table = table
        self._builder = builder
        self._tree = tree
        self._known: dict[str, int] = {}

    def node(self, which: Node) -> int:
        """The node of an id.

        Raises:
            FormatError: It is unknown, or calls itself.
        """
        line: list[tuple[str, Node]] = []
        names = {str(which.value)}
        name, above = str(which.value), ROOT
        while True:
            known = self._known.get(name)
            if known is not None:
                above = known
                break
            frame = self._table.get(name)
            if frame.value is None:
                raise which.error("not the id of a frame")
            line.append((name, frame))
            parent = frame.get("parent").value
            if parent is None:
                break
            name = str(parent)
            if name in names:
                raise frame.error("it calls itself")
            names.add(name)
        for each, frame in reversed(line):
            mapping = _module(self._builder, frame.get("category").text())
            called = placed_frame(frame.get("name").text())
            above = self._tree.child(above, self._builder.function(called, mapping))
            self._known[each] = above
        return above


def _module(builder: ProfileBuilder, category: str) -> int | None:
    """The mapping of the module that a category stands for."""
    return builder.mapping(Mapping(0, 0, path=category)) if category else None


def _nanoseconds(microseconds: float) -> int:
    return round(microseconds * 1000)
