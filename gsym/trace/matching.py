"""Events of a trace that belong together: durations, asynchronous operations, flows.

Specification: Fuchsia trace format, "Event record". Durations nest within their thread.
Events of an operation or of a flow share an id. Processes number theirs on their own,
so an id is looked for in the process first, then in others, if one alone has it open.
"""

from __future__ import annotations

__all__ = ["Duration", "Flow", "FlowPoint", "Matches", "Operation", "match_events"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NamedTuple

    from gsym.formats.fxt_records import Event

    class Duration(NamedTuple):
        """An operation of one thread.

        Attributes:
            event: Its begin, or the whole.
            end: The event of its end; None of a complete duration, and where it is
                missing.
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
            end: The event of its end; None where it is missing.
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
        """What leads from duration to duration, in the order of time."""

        points: tuple[FlowPoint, ...]

    class Matches(NamedTuple):
        """What was found.

        Attributes:
            durations: In the order of their begins.
            operations: Likewise.
            flows: Likewise.
            unmatched: How many halves of each kind of event have no other half. A
                begin among them stands above, with the end of the trace as its own.
            end_ns: The time of the last event, in nanoseconds.
        """

        durations: tuple[Duration, ...]
        operations: tuple[Operation, ...]
        flows: tuple[Flow, ...]
        unmatched: dict[str, int]
        end_ns: int

else:
    from gsym.records import record_type

    Duration = record_type("Duration", "event end end_ns depth parent")
    Duration.__doc__ = "An operation of one thread."
    Operation = record_type("Operation", "begin instants end end_ns")
    Operation.__doc__ = "An asynchronous operation."
    FlowPoint = record_type("FlowPoint", "event duration")
    FlowPoint.__doc__ = "An event of a flow and the duration around it."
    Flow = record_type("Flow", "points")
    Flow.__doc__ = "What leads from duration to duration."
    Matches = record_type("Matches", "durations operations flows unmatched end_ns")
    Matches.__doc__ = "What was found."

# At one time, what begins stands in front of what happens within it.
_RANKS = {"duration_begin": 0, "duration_end": 0, "duration_complete": 1}


def match_events(events: Iterable[Event]) -> Matches:
    """What belongs together among the events of a trace.

    Args:
        events: In any order, as the records of traces are.
    """
    ordered = sorted(events, key=_order)
    matching = _Matching(max((_last(event) for event in ordered), default=0))
    for event in ordered:
        matching.take(event)
    return matching.finish()


def _order(event: Event) -> tuple[int, int, int]:
    """By time; of complete durations that begin together, the longest first."""
    return event.ns or 0, _RANKS.get(event.kind, 2), -(event.end_ns or 0)


def _last(event: Event) -> int:
    return max(event.ns or 0, event.end_ns or 0)


class _Open:
    """A duration that goes on: its index, and its end as soon as that is known."""

    __slots__ = ("end_ns", "index")

    def __init__(self, index: int, end_ns: int | None) -> None:
        self.index = index
        self.end_ns = end_ns


class _Thread:
    """The durations of a thread that go on, and those of them that wait for an end."""

    __slots__ = ("stack", "waiting")

    def __init__(self) -> None:
        self.stack: list[_Open] = []
        self.waiting: list[_Open] = []


class _Matching:
    """Takes events in the order of their times."""

    def __init__(self, end_ns: int) -> None:
        self._end_ns = end_ns
        self._durations: list[Duration] = []
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._operations = _ById()
        self._flows = _ById()
        self._unmatched: dict[str, int] = {}

    def take(self, event: Event) -> None:
        """Take one event in."""
        kind = event.kind
        if kind.startswith("duration"):
            self._take_duration(event)
        elif kind.startswith("async"):
            self._take_half(self._operations, event, event)
        elif kind.startswith("flow"):
            stack = self._thread(event).stack
            around = stack[-1].index if stack else None
            self._take_half(self._flows, event, FlowPoint(event, around))

    def finish(self) -> Matches:
        """All that was found."""
        waiting = sum(len(thread.waiting) for thread in self._threads.values())
        if waiting:
            self._unmatched["duration_begin"] = waiting
        for found, kind in (
            (self._operations, "async_begin"),
            (self._flows, "flow_begin"),
        ):
            count = len(found.chains) - found.ended
            if count:
                self._unmatched[kind] = count
        return Matches(
            tuple(self._durations),
            tuple(self._operation(chain) for chain in self._operations.chains),
            tuple(Flow(tuple(chain)) for chain in self._flows.chains),
            self._unmatched,
            self._end_ns,
        )

    def _take_duration(self, event: Event) -> None:
        thread = self._thread(event)
        if event.kind == "duration_end":
            self._end_duration(thread, event)
            return
        parent = thread.stack[-1].index if thread.stack else None
        depth = 0 if parent is None else self._durations[parent].depth + 1
        is_whole = event.kind == "duration_complete"
        entry = _Open(len(self._durations), event.end_ns if is_whole else None)
        thread.stack.append(entry)
        if not is_whole:
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

    def _thread(self, event: Event) -> _Thread:
        """The thread of an event, without durations that have ended by then."""
        key = (event.process, event.thread)
        thread = self._threads.get(key)
        if thread is None:
            thread = self._threads[key] = _Thread()
        stack, now = thread.stack, event.ns or 0
        while stack and stack[-1].end_ns is not None and stack[-1].end_ns <= now:
            if stack[-1].end_ns == now and self._is_instantaneous(stack[-1], event):
                break
            stack.pop()
        return thread

    def _is_instantaneous(self, entry: _Open, event: Event) -> bool:
        """Whether a duration of no length is at the time of an event within it."""
        begin = self._durations[entry.index].event
        return begin.ns == event.ns and not event.kind.startswith("duration")

    def _take_half(self, found: _ById, event: Event, item: Any) -> None:
        if event.kind.endswith("begin"):
            found.begin(event, item)
        elif not found.go_on(event, item):
            self._miss(event.kind)

    def _operation(self, chain: list[Event]) -> Operation:
        end = chain[-1] if chain[-1].kind == "async_end" else None
        instants = tuple(chain[1 : len(chain) - (end is not None)])
        return Operation(
            chain[0], instants, end, self._end_ns if end is None else end.ns or 0
        )

    def _miss(self, kind: str) -> None:
        self._unmatched[kind] = self._unmatched.get(kind, 0) + 1


class _ById:
    """Chains of events by their ids.

    Attributes:
        chains: All, each with what was taken for its events.
        ended: How many of them have an end.
    """

    def __init__(self) -> None:
        self.chains: list[list[Any]] = []
        self.ended = 0
        # id -> process -> the chains that are open, the innermost last
        self._open: dict[int, dict[int, list[int]]] = {}

    def begin(self, event: Event, item: Any) -> None:
        """Open a chain."""
        by_process = self._open.setdefault(event.id or 0, {})
        by_process.setdefault(event.process, []).append(len(self.chains))
        self.chains.append([item])

    def go_on(self, event: Event, item: Any) -> bool:
        """Put an event onto the open chain of its id, if there is one."""
        by_process = self._open.get(event.id or 0, {})
        process = event.process
        if process not in by_process:
            if len(by_process) != 1:
                return False
            (process,) = by_process
        open_chains = by_process[process]
        self.chains[open_chains[-1]].append(item)
        if event.kind.endswith("end"):
            self.ended += 1
            open_chains.pop()
            if not open_chains:
                del by_process[process]
        return True
