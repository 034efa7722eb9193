"""Events of a trace that belong together: durations, asynchronous operations, flows.

What Chrome JSON and Perfetto show is compared with these. Durations nest within their
thread; operations and flows are matched by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gsym.fxt.matching import OpenById

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.fxt.records import Event


class Duration(NamedTuple):
    """An operation of one thread.

    Attributes:
        event: Its begin, or the whole.
        end: The event of its end; None for a complete duration, or if missing.
        end_ns: When it ended, or when the trace did, in nanoseconds.
        depth: How many durations of the thread enclose it.
        parent: The innermost of those, as an index; None without any.
    """

    event: Event
    end: Event | None
    end_ns: int
    depth: int
    parent: int | None


class Operation(NamedTuple):
    """An asynchronous operation.

    Attributes:
        begin: Its first event.
        instants: The moments within it.
        end: The event of its end; None if missing.
        end_ns: When it ended, or when the trace did, in nanoseconds.
    """

    begin: Event
    instants: tuple[Event, ...]
    end: Event | None
    end_ns: int


class FlowPoint(NamedTuple):
    """An event of a flow, and the index of the duration around it."""

    event: Event
    duration: int | None


class Flow(NamedTuple):
    """A chain of events that leads from duration to duration, in the order of time."""

    points: tuple[FlowPoint, ...]


class Matches(NamedTuple):
    """The durations, operations and flows that were found."""

    durations: tuple[Duration, ...]  # in the order of their begins
    operations: tuple[Operation, ...]  # in the order of their begins
    flows: tuple[Flow, ...]  # in the order of their begins
    # number of begins and ends without the other, by kind of event. A begin among them
    # is listed above with the end of the trace
    unmatched: dict[str, int]
    end_ns: int  # the time of the last event, in nanoseconds


def match_events(events: Iterable[Event]) -> Matches:
    """The events of a trace that belong together."""
    ordered = sorted(enumerate(events), key=_order)
    times = (max(event.ns or 0, event.end_ns or 0) for _, event in ordered)
    matching = _Matching(max(times, default=0))
    for position, event in ordered:
        matching.take(event, position)
    return matching.finish()


def _order(item: tuple[int, Event]) -> tuple[int, bool, int]:
    """Order by time; complete durations, written as they end, come after the others.

    Of those that begin together, the longest comes first.
    """
    _, event = item
    is_complete = event.kind == "duration_complete"
    return event.ns or 0, is_complete, -(event.end_ns or 0) if is_complete else 0


class _Open:
    """An open duration."""

    __slots__ = ("end_ns", "index", "position")

    def __init__(self, index: int, end_ns: int | None, position: int) -> None:
        self.index = index  # among all durations
        self.end_ns = end_ns  # the time of its end, once known
        # its index in the file. Events before a complete duration in the file, at the
        # time of its end, are within it, as it was written when it ended
        self.position = position


class _Thread:
    """The open durations of a thread, and its flow events at one time."""

    __slots__ = ("complete", "now", "points", "stack", "waiting")

    def __init__(self) -> None:
        self.stack: list[_Open] = []  # all of them, the innermost last
        self.waiting: list[_Open] = []  # those that wait for the event of their end
        # of flows at the time *now*, each with the innermost duration so far
        self.points: list[tuple[list[Any], _Open | None]] = []
        # the innermost complete duration that began at that time
        self.complete: int | None = None
        self.now = 0  # in nanoseconds

    def advance(self, now: int) -> None:
        """Advance to a time; then the duration around each point is known.

        One that began at the same time is around it, unless the point came before the
        end of another one.
        """
        if now == self.now:
            return
        for point, around in self.points:
            is_over = around is not None and around.end_ns == self.now
            if self.complete is not None and not is_over:
                point[1] = self.complete
        self.points.clear()
        self.complete = None
        self.now = now


class _Matching:
    """Takes events in the order of their times."""

    def __init__(self, end_ns: int) -> None:
        self._end_ns = end_ns
        self._durations: list[Duration] = []
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._operations = _Chains()
        self._flows = _Chains()
        self._unmatched: dict[str, int] = {}

    def take(self, event: Event, position: int) -> None:
        """Take one event and its index in the file."""
        kind = event.kind
        if kind.startswith("duration"):
            self._take_duration(event, position)
        elif kind.startswith("async"):
            self._take_half(self._operations, event, event)
        elif kind.startswith("flow"):
            thread = self._thread(event, position)
            around = thread.stack[-1] if thread.stack else None
            point = [event, None if around is None else around.index]
            thread.points.append((point, around))
            self._take_half(self._flows, event, point)

    def finish(self) -> Matches:
        """All that was found."""
        waiting = 0
        for thread in self._threads.values():
            thread.advance(self._end_ns + 1)
            waiting += len(thread.waiting)
        if waiting:
            self._unmatched["duration_begin"] = waiting
        for found, kind in (
            (self._operations, "async_begin"),
            (self._flows, "flow_begin"),
        ):
            count = len(found.open_by_id.open)
            if count:
                self._unmatched[kind] = count
        return Matches(
            tuple(self._durations),
            tuple(self._operation(chain) for chain in self._operations.chains),
            tuple(
                Flow(tuple(FlowPoint(*point) for point in chain))
                for chain in self._flows.chains
            ),
            self._unmatched,
            self._end_ns,
        )

    def _take_duration(self, event: Event, position: int) -> None:
        thread = self._thread(event, position)
        if event.kind == "duration_end":
            self._end_duration(thread, event)
            return
        parent = thread.stack[-1].index if thread.stack else None
        depth = 0 if parent is None else self._durations[parent].depth + 1
        is_complete = event.kind == "duration_complete"
        entry = _Open(
            len(self._durations), event.end_ns if is_complete else None, position
        )
        thread.stack.append(entry)
        if is_complete:
            thread.complete = entry.index
        else:
            thread.waiting.append(entry)
        until = self._end_ns if entry.end_ns is None else entry.end_ns
        self._durations.append(Duration(event, None, until, depth, parent))

    def _end_duration(self, thread: _Thread, event: Event) -> None:
        """End the innermost duration that waits for its end."""
        if not thread.waiting:
            self._miss(event.kind)
            return
        entry = thread.waiting.pop()
        entry.end_ns = event.ns or 0
        ended = self._durations[entry.index]
        self._durations[entry.index] = ended._replace(end=event, end_ns=entry.end_ns)
        if thread.stack[-1] is entry:
            thread.stack.pop()

    def _thread(self, event: Event, position: int) -> _Thread:
        """The thread of an event, without durations that have ended by then."""
        key = (event.process, event.thread)
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = _Thread()
        stack, now = thread.stack, event.ns or 0
        thread.advance(now)
        while stack and stack[-1].end_ns is not None and stack[-1].end_ns <= now:
            is_within = stack[-1].end_ns == now and position < stack[-1].position
            if is_within and event.kind.startswith("flow"):
                break
            stack.pop()
        return thread

    def _take_half(self, found: _Chains, event: Event, item: object) -> None:
        if not found.add(event, item):
            self._miss(event.kind)

    def _operation(self, chain: list[Event]) -> Operation:
        end = chain[-1] if chain[-1].kind == "async_end" else None
        instants = tuple(chain[1 : len(chain) - (end is not None)])
        return Operation(
            chain[0], instants, end, self._end_ns if end is None else end.ns or 0
        )

    def _miss(self, kind: str) -> None:
        self._unmatched[kind] = self._unmatched.get(kind, 0) + 1


class _Chains:
    """Events that belong together by their ids."""

    def __init__(self) -> None:
        # all, each with what was taken for its events
        self.chains: list[list[Any]] = []
        self.open_by_id = OpenById()  # those of them without an end

    def add(self, event: Event, item: object) -> bool:
        """Begin a chain with an event, or add it to the open one that fits it best."""
        where = event.id or 0, event.category, event.name, event.process
        if event.kind.endswith("begin"):
            self.chains.append([item])
            self.open_by_id.begin(*where, self.chains[-1])
            return True
        begun = self.open_by_id.find(*where)
        if begun is None:
            return False
        begun.item.append(item)
        if event.kind.endswith("end"):
            self.open_by_id.end(begun)
        return True
