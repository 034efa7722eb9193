"""Durations that nest -> samples: each stretch of time with its stack.

The time that a duration has for itself is the time in which no other one runs within
it. One that outlives the duration around it goes on without that, and is counted.
"""

from __future__ import annotations

from array import array
from collections import Counter
from heapq import heappop, heappush

from gsym.profiles.model import ROOT, ProfileBuilder, StackTree
from gsym.records import NamedTuple

UNENDED = "durations without an end, which last until that of the trace"
OVERLAPPING = "durations that outlive the one around them, which are drawn in two parts"
_BEGIN, _END = -1, -2  # in place of a time of an end
_LAST_TIME = (1 << 63) - 1


class DurationStacks:
    """Takes the durations of all threads in any order and makes samples of them.

    Args:
        builder: Receives the samples, in the order of their times by thread. Its values
            are those of `TIME` alone.
    """

    def __init__(self, builder: ProfileBuilder) -> None:
        self._builder = builder
        self._threads: dict[int, _Thread] = {}
        self._names: dict[str, int] = {"": 0}
        self._last = 0

    def begin(self, thread: int, time: int, location: int, name: str = "") -> None:
        """A duration begins; all times are in nanoseconds, from 0 on."""
        self._add(thread, time, _BEGIN, location, name)

    def end(self, thread: int, time: int, name: str = "") -> None:
        """The innermost duration ends that has no end yet and, if given, this name."""
        self._add(thread, time, _END, 0, name)

    def complete(self, thread: int, begin: int, end: int, location: int) -> None:
        """A duration with its end."""
        end = min(max(begin, end), _LAST_TIME)
        self._last = max(self._last, end)
        self._add(thread, begin, end, location, "")

    def finish(self) -> None:
        """Add the samples."""
        tree = StackTree(self._builder)
        for number, thread in self._threads.items():
            stretches = _Stretches(self._builder, tree, number)
            for at in thread.in_order():
                begin, end, name = thread.begins[at], thread.ends[at], thread.names[at]
                if end == _END:
                    stretches.end(begin, name)
                else:
                    until = None if end == _BEGIN else end
                    stretches.begin(begin, until, thread.locations[at], name)
            stretches.finish(self._last)

    def _add(self, thread: int, begin: int, end: int, location: int, name: str) -> None:
        begin = min(begin, _LAST_TIME)
        self._last = max(self._last, begin)
        known = self._threads.get(thread)
        if known is None:
            known = self._threads[thread] = _Thread(*(array("q") for _ in range(4)))
        known.begins.append(begin)
        known.ends.append(end)
        known.locations.append(location)
        known.names.append(self._names.setdefault(name, len(self._names)))


class _Thread(NamedTuple):
    """The events of a thread as columns."""

    begins: array[int]
    ends: array[int]
    locations: array[int]
    names: array[int]

    def in_order(self) -> list[int]:
        """The events by their times; complete ones after the others, longest first.

        A complete duration is written when it ends, others when they happen.
        """
        begins, ends = self.begins, self.ends

        def order(at: int) -> tuple[int, bool, int]:
            end = ends[at]
            return begins[at], end >= 0, -max(end, 0)

        return sorted(range(len(begins)), key=order)


class _Open:
    """A duration that runs."""

    __slots__ = ("location", "name", "node")

    def __init__(self, location: int, name: int, node: int) -> None:
        self.location, self.name, self.node = location, name, node


class _Stretches:
    """The stretches of time of one thread, each with one stack."""

    def __init__(self, builder: ProfileBuilder, tree: StackTree, thread: int) -> None:
        self._builder = builder
        self._tree = tree
        self._thread = thread
        self._stack: list[_Open] = []
        self._waiting: list[_Open] = []
        self._waiting_names: Counter[int] = Counter()
        # Ends that are known, of durations begun at one time the innermost first.
        self._ends: list[tuple[int, int, _Open]] = []
        self._count = 0
        self._now = 0

    def begin(self, time: int, end: int | None, location: int, name: int) -> None:
        self._advance(time)
        parent = self._stack[-1].node if self._stack else ROOT
        begun = _Open(location, name, self._tree.child(parent, location))
        self._stack.append(begun)
        self._count += 1
        if end is None:
            self._waiting.append(begun)
            self._waiting_names[name] += 1
        else:
            heappush(self._ends, (end, -self._count, begun))

    def end(self, time: int, name: int) -> None:
        self._advance(time)
        names = self._waiting_names
        if not (self._waiting if name == 0 else names[name] or names[0]):
            self._builder.profile.lose("ends of durations without a begin")
            return
        at = len(self._waiting) - 1
        while name and self._waiting[at].name not in {0, name}:
            at -= 1
        ended = self._waiting.pop(at)
        names[ended.name] -= 1
        self._remove(ended)

    def finish(self, last: int) -> None:
        """The trace ends, and with it what still runs."""
        self._builder.profile.lose(UNENDED, len(self._waiting))
        self._advance(last)

    def _advance(self, time: int) -> None:
        """Time passes; durations end in it."""
        while self._ends and self._ends[0][0] <= time:
            end, _, ended = heappop(self._ends)
            self._pass(end)
            self._remove(ended)
        self._pass(time)

    def _remove(self, ended: _Open) -> None:
        """Take a duration off the stack; those above it go on below its caller."""
        stack = self._stack
        if stack[-1] is ended:
            stack.pop()
            return
        at = len(stack) - 2
        while stack[at] is not ended:  # no more steps than there are above it
            at -= 1
        del stack[at]
        self._builder.profile.lose(OVERLAPPING)
        node = stack[at - 1].node if at else ROOT
        for each in stack[at:]:
            node = each.node = self._tree.child(node, each.location)

    def _pass(self, time: int) -> None:
        """Time passes with one stack."""
        if time <= self._now:
            return
        if self._stack:
            stack = self._tree.stack(self._stack[-1].node)
            spent = (time - self._now,)
            self._builder.sample(stack, spent, thread=self._thread, time=self._now)
        self._now = time
