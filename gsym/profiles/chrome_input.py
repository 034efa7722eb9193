"""Chrome's trace event format, and profiles of V8 -> `Profile`.

A trace has samples, or the time of durations. It is what viztracer, Node.js, Chromium,
Perfetto's traceconv and `gsym trace convert` write.

V8 (Node.js, Chromium's DevTools) writes a `.cpuprofile`, which is one object, and so is
a `.heapprofile`, whose values are the bytes that sampled objects take. In a trace of
Chrome an event `Profile` begins a profile, and events `ProfileChunk` continue it.

Source: Google's document "Trace Event Format"; the Chrome DevTools Protocol,
`Profiler.Profile` and `HeapProfiler.SamplingHeapProfile`; V8's
`src/profiler/profile-generator.cc`.
"""

from __future__ import annotations

from functools import cache

from gsym.errors import FormatError
from gsym.model import UINT64_END
from gsym.profiles import model
from gsym.profiles.durations import DurationStacks
from gsym.profiles.input_bytes import read_pieces
from gsym.profiles.json_input import (
    Node,
    json_members,
    number_of,
    read_node,
    scaled,
    text_of,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping as Fields
    from decimal import Decimal
    from typing import Any

    from gsym.profiles.opening import ProfileOptions

    _Id = int | str | None
    # A part of a profile of V8: its time, whether it is the begin, its event and data.
    _V8Piece = tuple[int | Decimal, bool, dict[str, Any], Node]

V8_VALUES = (model.SAMPLES, model.TIME)
_ROOT_NAME = "(root)"  # of the node that all others are below
_MICROSECOND = 1000  # nanoseconds
_SECOND = 1_000_000  # microseconds


def read_cpuprofile(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a file `.cpuprofile`, also in that of Node.js up to version 10."""
    whole = read_node(path, options.most_bytes)
    builder = model.ProfileBuilder(V8_VALUES)
    made = V8Profile(builder, None, model.StackTree(builder))
    start, end = whole.get("startTime"), whole.get("endTime")
    # The older layout has these in seconds, and the time of each sample.
    factor = 1 if whole.get("head").value is None else _SECOND
    made.start = int(start.number() * factor)
    made.add(whole, whole)
    made.finish(None if end.value is None else int(end.number() * factor))
    return builder.profile


def read_heapprofile(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a file `.heapprofile`, of the memory that sampled objects take."""
    whole = read_node(path, options.most_bytes)
    builder = model.ProfileBuilder((model.SPACE,))
    tree = model.StackTree(builder)
    for node, call in _calls(whole.get("head"), tree, builder):
        size = node.get("selfSize")
        if size.value:
            builder.sample(tree.stack(call), (int(size.number()),))
    return builder.profile


class V8Profile:
    """One profile of V8, in one piece or in many."""

    def __init__(
        self, builder: model.ProfileBuilder, thread: int | None, tree: model.StackTree
    ) -> None:
        self._builder = builder
        self._thread = thread
        self._tree = tree
        self._nodes: dict[int, int] = {}  # of the tree, by the ids of V8
        self._samples: list[tuple[int, int]] = []  # times and nodes
        self.start = 0  # when it began, in microseconds
        self._now: int | None = None

    def add(self, profile: Node, timed: Node) -> None:
        """A piece: nodes and samples of the one, and `timeDeltas` of the other."""
        head = profile.get("head")
        if head.value is not None:
            for found, call in _calls(head, self._tree, self._builder):
                self._nodes[_node_id(found.get("id"))] = call
        self._add_nodes(profile)
        samples = profile.get("samples").list()
        times = timed.get("timestamps")
        deltas = timed.get("timeDeltas") if times.value is None else times
        if len(deltas.list()) != len(samples):
            raise deltas.error(f"not {len(samples)} times, one for each sample")
        now = self.start if self._now is None else self._now
        for number, delta in zip(samples, deltas.items(), strict=True):
            now = int(delta.number()) + (now if times.value is None else 0)
            node = self._nodes.get(number) if type(number) is int else None
            if node is None:
                raise profile.get("samples").error(f"no node has the id {number!r:.20}")
            self._samples.append((now, node))
        self._now = now

    def finish(self, end: int | None = None) -> None:
        """Add the samples; each lasts until the next one, the last until *end*."""
        samples = sorted(self._samples, key=lambda sample: sample[0])
        ends = [time for time, _ in samples[1:]]
        last = samples[-1][0] if samples else 0
        ends.append(last if end is None else max(last, end))
        for (time, node), until in zip(samples, ends, strict=False):
            begin, end_ns = time * _MICROSECOND, until * _MICROSECOND
            stack, values = self._tree.stack(node), (1, end_ns - begin)
            self._builder.sample(stack, values, thread=self._thread, time=begin)

    def _add_nodes(self, profile: Node) -> None:
        """Nodes name their parents, or parents their children, in any order."""
        nodes, parents = {}, {}
        for node in profile.get("nodes").items():
            number = _node_id(node.get("id"))
            nodes[number] = node
            if node.get("parent").value is not None:
                parents[number] = _node_id(node.get("parent"))
            for child in node.get("children").items():
                parents[_node_id(child)] = number
        for number, node in nodes.items():
            # From the node to the outermost ancestor that is not known yet.
            line: list[int] = []
            at: int | None = number
            while at is not None and at not in self._nodes:
                if at not in nodes or len(line) > len(nodes):
                    raise node.error("its parents do not lead to a root")
                line.append(at)
                at = parents.get(at)
            for each in reversed(line):
                parent = parents.get(each)
                above = None if parent is None else self._nodes[parent]
                self._nodes[each] = _call(nodes[each], above, self._tree, self._builder)


def _calls(
    head: Node, tree: model.StackTree, builder: model.ProfileBuilder
) -> Iterator[tuple[Node, int]]:
    """The nodes below a root that contain one another, each with that of the tree."""
    waiting: list[tuple[Node, int | None]] = [(head, None)]
    while waiting:
        node, above = waiting.pop()
        call = _call(node, above, tree, builder)
        yield node, call
        children = list(node.get("children").items())
        waiting.extend((child, call) for child in reversed(children))


def _call(
    node: Node, parent: int | None, tree: model.StackTree, builder: model.ProfileBuilder
) -> int:
    """The node of the tree for a function and its caller."""
    called = node.get("callFrame")
    # The older layout has the members of the function in the node, and lines from 1.
    first = 1 if called.value is None else 0
    call = node if called.value is None else called
    name = call.get("functionName").text()
    if parent is None and name == _ROOT_NAME:
        return model.ROOT
    line = call.get("lineNumber").value  # -1 if it is unknown
    frame = model.Frame(
        name or "(anonymous)",
        path=call.get("url").text(),
        line=model.line_of(line + 1 - first if type(line) is int else None),
    )
    return tree.child(model.ROOT if parent is None else parent, builder.function(frame))


def _node_id(node: Node) -> int:
    if type(node.value) is not int:
        raise node.error("not the id of a node")
    return node.value


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
_WHOLE = "CpuProfile"  # an event that has a profile as a whole
_V8_EVENTS = frozenset({"Profile", "ProfileChunk", _WHOLE})
_SAMPLED = "durations, as there are samples"


def read_chrome(path: str, options: ProfileOptions) -> model.Profile:
    """The profile in a trace of Chrome."""
    trace = _Trace()
    tables: dict[str, Any] = {}
    number = 0
    pieces = read_pieces(path, options.most_bytes or MOST_TRACE_BYTES, is_text=False)
    for member, value in json_members(pieces, _EVENTS):
        if member != _EVENTS:
            if member in {"stackFrames", "samples"}:
                tables[member] = value
            continue
        if isinstance(value, dict):
            trace.add(value, number)
        else:
            trace.lose("events that are damaged or cut")
        number += 1
    return trace.finish(Node(tables))


class _Trace:
    """The times that the events of a trace have."""

    def __init__(self) -> None:
        self._builder = model.ProfileBuilder((model.TIME,))
        self._durations = DurationStacks(self._builder)
        self._duration_count = 0
        self._sampled = model.ProfileBuilder(V8_VALUES)
        self._tree = model.StackTree(self._sampled)
        self._v8: dict[tuple[_Id, str], list[_V8Piece]] = {}  # in any order
        self._function = cache(self._read_function)
        # By the numbers or texts that events have; of threads for each builder.
        self._processes: dict[_Id, str] = {}
        self._threads: dict[tuple[_Id, _Id], str] = {}
        self._indexes: dict[tuple[bool, _Id, _Id], int] = {}
        self.lose = self._builder.profile.lose

    def add(self, event: dict[str, Any], number: int) -> None:
        """Take one event."""
        phase = text_of(event.get("ph"))
        if phase == "M":
            ids, name = _ids(event), text_of(_args(event).get("name"))
            if event.get("name") == "process_name":
                self._processes[ids[0]] = name
            elif event.get("name") == "thread_name":
                self._threads[ids] = name
        elif "avg ms" in _args(event):  # each as a thread
            self.lose("sums of LLVM's -ftime-trace")
        elif phase in {"B", "E", "X"}:
            self._add_duration(event, phase)
        elif phase in "PIi" and text_of(event.get("name")) in _V8_EVENTS:
            node = Node(event, f"{_EVENTS}[{number}]")
            self._add_v8(node.get("args").get("data"), event)
        else:
            self.lose(_LEFT_OUT.get(phase, _OTHERS))

    def finish(self, tables: Node) -> model.Profile:
        """The profile of all samples, or without any of all durations."""
        for profile in self._v8.values():
            self._finish_v8(profile)
        if tables.get("samples").list():
            self._add_samples(tables)
        builder = self._sampled if self._sampled.profile.samples else self._builder
        if builder is self._builder:
            self._durations.finish()
        elif self._duration_count:
            self.lose(_SAMPLED, self._duration_count)
        threads = builder.profile.threads
        for (is_sampled, process, tid), index in self._indexes.items():
            if is_sampled == (builder is self._sampled):
                threads[index] = model.Thread(
                    process if isinstance(process, int) else None,
                    tid if isinstance(tid, int) else None,
                    self._processes.get(process) or _name_of(process),
                    self._threads.get((process, tid)) or _name_of(tid),
                )
        builder.profile.losses = self._builder.profile.losses
        return builder.profile

    def _add_duration(self, event: dict[str, Any], phase: str) -> None:
        time = number_of(event.get("ts"))
        length = number_of(event.get("dur", 0)) if phase == "X" else 0
        if time is None or length is None or time < 0:
            self.lose("durations without a valid time")
            return
        self._duration_count += 1
        thread = self._thread(self._builder, event)
        begin = round(time * _MICROSECOND)
        if phase == "E":
            self._durations.end(thread, begin, text_of(event.get("name")))
        elif phase == "B":
            name = text_of(event.get("name"))
            self._durations.begin(thread, begin, self._location(event), name)
        else:
            # The sum first: a begin and an end that were rounded stay in order.
            end = round((time + length) * _MICROSECOND)
            self._durations.complete(thread, begin, end, self._location(event))

    def _location(self, event: dict[str, Any]) -> int:
        name, category = text_of(event.get("name")), text_of(event.get("cat"))
        args = _args(event)
        path = text_of(args.get("file")) or text_of(args.get("filename"))
        line = model.line_of(args.get("line")) if path else 0
        return self._function(name, category, path, line)

    def _read_function(self, name: str, category: str, path: str, line: int) -> int:
        frame = model.Frame(name, "", path, line) if path else model.placed_frame(name)
        return self._builder.function(frame, self._builder.module(category))

    def _add_v8(self, data: Node, event: dict[str, Any]) -> None:
        """Keep a part of a profile: those of several threads come in any order."""
        name, id_ = text_of(event.get("name")), str(event.get("id"))[:64]
        key = _ids(event)[0], f"{_WHOLE} {len(self._v8)}" if name == _WHOLE else id_
        piece = number_of(event.get("ts")) or 0, name != "ProfileChunk", event, data
        self._v8.setdefault(key, []).append(piece)

    def _finish_v8(self, pieces: list[_V8Piece]) -> None:
        """Add the samples of a profile, of all its parts that are not damaged."""
        begins = [event for _, is_begin, event, _ in pieces if is_begin]
        if not begins:
            self.lose("profiles of V8 without their begin")
        thread = self._thread(self._sampled, begins[-1] if begins else pieces[0][2])
        profile = V8Profile(self._sampled, thread, self._tree)
        end = None
        for *_, data in sorted(pieces, key=lambda piece: piece[0]):
            try:
                piece = data.get("cpuProfile")
                has_piece = piece.value is not None
                for source in (data, piece) if has_piece else (data,):
                    start, until = source.get("startTime"), source.get("endTime")
                    if start.value is not None:
                        profile.start = int(start.number())
                    if until.value is not None:
                        end = int(until.number())
                if has_piece:
                    is_timed = data.get("timeDeltas").value is not None
                    profile.add(piece, data if is_timed else piece)
            except FormatError:  # noqa: PERF203 - the other parts are read
                self.lose("damaged parts of profiles of V8")
        profile.finish(end)

    def _add_samples(self, tables: Node) -> None:
        """The samples of all processors, with the stacks of a table."""
        frames = tables.get("stackFrames")
        nodes: dict[str, int] = {}  # by the ids of frames
        length: tuple[int, ...] = (0,)
        if not self._v8:  # these samples have no times of their own
            self._sampled.profile.value_types, length = (model.SAMPLES,), ()
        for sample in tables.get("samples").items():
            self._sampled.sample(
                self._tree.stack(self._node(sample.get("sf"), frames, nodes)),
                (int(number_of(sample.get("weight").value) or 1), *length),
                thread=self._thread(self._sampled, sample.fields()),
                time=scaled(sample.get("ts").value, _MICROSECOND),
            )

    def _node(self, which: Node, frames: Node, nodes: dict[str, int]) -> int:
        """The node of the id of a frame; those that it needs are added to *nodes*."""
        line: dict[str, Node] = {}  # frames that have none yet, the innermost first
        name, frame = str(which.value), which
        while name not in nodes:
            if name in line:
                raise frame.error("it calls itself")
            frame = line[name] = frames.get(name)
            if frame.value is None:
                raise which.error("not the id of a frame")
            parent = frame.get("parent").value
            if parent is None:
                break
            name = str(parent)
        above = nodes.get(name, model.ROOT)
        for each, frame in reversed(line.items()):
            mapping = self._sampled.module(frame.get("category").text())
            called = model.placed_frame(frame.get("name").text())
            above = self._tree.child(above, self._sampled.function(called, mapping))
            nodes[each] = above
        return above

    def _thread(self, builder: model.ProfileBuilder, event: Fields[str, Any]) -> int:
        """The index of the thread of an event; its names may come later."""
        key = (builder is self._sampled, *_ids(event))
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = len(builder.profile.threads)
            builder.profile.threads.append(model.NO_THREAD)
        return found


def _args(event: Fields[str, Any]) -> Fields[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _ids(event: Fields[str, Any]) -> tuple[_Id, _Id]:
    """The numbers of process and thread, or the texts in place of them.

    An event without a thread is of the first one of its process.
    """
    process = _id(event.get("pid"))
    thread = _id(event.get("tid"))
    return process, process if thread is None else thread


def _id(value: Any) -> _Id:
    if type(value) is int and 0 <= value < UINT64_END:
        return value
    text = text_of(value)
    if text.isdecimal() and len(text) < len(str(1 << 63)):
        return int(text)
    return text or None


def _name_of(number: _Id) -> str:
    """The text that stands for a number."""
    return number if isinstance(number, str) else ""
