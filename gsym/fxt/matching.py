"""Events of a trace that belong together: asynchronous operations, flows, durations.

Specification: Fuchsia trace format, "Event record". Durations nest within their thread.
Events of an operation or of a flow are matched by id, as `OpenById` does. Events at one
time happened in the order of the file.
"""

from __future__ import annotations

from collections import Counter

from gsym.fxt.records import EVENT_KINDS, Event, Record

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    _Key = tuple[int | str, ...]


class Begun:
    """An operation or flow that has begun."""

    __slots__ = ("item", "keys", "process")

    def __init__(self, item: Any, keys: tuple[_Key, ...], process: int) -> None:
        self.item: Any = item  # the object given for it
        self.keys: tuple[_Key, ...] = keys
        self.process: int = process


class OpenById:
    """Finds the operation or flow of an event by its id, category, name and process.

    Categories and processes assign ids on their own: of those open with an id, the one
    of the same category and name comes first, then one of the same category, then any;
    each first in the same process, then in another one, if only one has it open.
    """

    def __init__(self) -> None:
        # all that has not ended, in the order of begins
        self.open: dict[Begun, None] = {}
        # Those of each process, the last at the end.
        self._stacks: dict[_Key, dict[int, dict[Begun, None]]] = {}

    def begin(
        self, number: int | str, category: str, name: str, process: int, item: Any
    ) -> None:
        """Open an operation or flow, represented by *item*."""
        begun = Begun(item, _keys(number, category, name), process)
        self.open[begun] = None
        for key in begun.keys:
            self._stacks.setdefault(key, {}).setdefault(process, {})[begun] = None

    def find(
        self, number: int | str, category: str, name: str, process: int
    ) -> Begun | None:
        """The open one that fits an event best; None without any."""
        for key in _keys(number, category, name):
            by_process = self._stacks.get(key, {})
            stack = by_process.get(process)
            if stack is None and len(by_process) == 1:
                (stack,) = by_process.values()
            if stack is not None:
                return next(reversed(stack))
        return None

    def is_taken(
        self, number: int | str, category: str, name: str, process: int
    ) -> bool:
        """Whether another process, or another name of the category, has an id open."""
        exact, of_category, of_number = _keys(number, category, name)
        processes = self._stacks.get(of_number, {}).keys()
        return bool(processes - {process}) or self._count(of_category) > self._count(
            exact
        )

    def _count(self, key: _Key) -> int:
        return sum(map(len, self._stacks.get(key, {}).values()))

    def end(self, begun: Begun) -> None:
        """Close a result of `find`."""
        del self.open[begun]
        for key in begun.keys:
            by_process = self._stacks[key]
            del by_process[begun.process][begun]
            if not by_process[begun.process]:
                del by_process[begun.process]
            if not by_process:
                del self._stacks[key]


def _keys(number: int | str, category: str, name: str) -> tuple[_Key, ...]:
    """The keys of an event, the most specific first."""
    return (number, category, name), (number, category), (number,)


# Of `gsym.fxt.decoder.KINDS`: events that are halves or parts of something.
MATCHED_KINDS = tuple(
    kind for kind in EVENT_KINDS if kind.startswith(("duration", "async", "flow"))
)


def unmatched_halves(records: Iterable[Record]) -> dict[str, int]:
    """Number of halves without another half, by kind of event."""
    events = [each for each in records if isinstance(each, Event)]
    waiting: Counter[tuple[int, int]] = Counter()  # durations of a thread
    operations, flows = OpenById(), OpenById()
    unmatched: Counter[str] = Counter()
    for event in sorted(events, key=lambda event: event.ns or 0):
        of, _, half = event.kind.partition("_")
        if of == "duration":
            thread = event.process, event.thread
            if half == "end" and not waiting[thread]:
                unmatched[event.kind] += 1
            else:
                waiting[thread] += {"begin": 1, "end": -1}.get(half, 0)
        if of not in {"async", "flow"}:
            continue
        open_by_id = operations if of == "async" else flows
        where = event.id or 0, event.category, event.name, event.process
        if half == "begin":
            open_by_id.begin(*where, event)
        elif (begun := open_by_id.find(*where)) is None:
            unmatched[event.kind] += 1
        elif half == "end":
            open_by_id.end(begun)
    unmatched["duration_begin"] = waiting.total()
    unmatched["async_begin"] = len(operations.open)
    unmatched["flow_begin"] = len(flows.open)
    return dict(+unmatched)
