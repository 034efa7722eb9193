"""Durations that nest -> samples: each stretch of time with its stack.

The time that a duration has for itself is the time in which no other one runs within
it. One that outlives the duration around it keeps that on the stack.
"""

from __future__ import annotations

from array import array

from gsym.profiles.stack_tree import ROOT, StackTree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.profiles.model import ProfileBuilder

UNENDED = "durations without an end, which last until that of the trace"
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
        self._last = 0

    def begin(self, thread: int, time: int, location: int) -> None:
        """A duration begins; all times are in nanoseconds, from 0 on."""
        self._add(thread, time, _BEGIN, location)

    def end(self, thread: int, time: int) -> None:
        """The innermost duration ends that has no end yet."""
        self._add(thread, time, _END, 0)

    def complete(self, thread: int, begin: int, end: int, location: int) -> None:
        """A duration with its end."""
        end = min(max(begin, end), _LAST_TIME)
        self._last = max(self._last, end)
        self._add(thread, begin, end, location)

    def finish(self) -> None:
        """Add the samples.

        Raises:
            FormatError: Stacks are larger than any can be.
        """
        tree = StackTree(self._builder)
        for number, thread in self._threads.items():
            stretches = _Stretches(self._builder, tree, number)
            for at in thread.in_order():
                begin, end = thread.begins[at], thread.ends[at]
                if end == _END:
                    stretches.end(begin)
                else:
                    until = None if end == _BEGIN else end
                    stretches.begin(begin, until, thread.locations[at])
            stretches.finish(self._last)

    def _add(self, thread: int, begin: int, end: int, location: int) -> None:
        begin = min(begin, _LAST_TIME)
        self._last = max(self._last, begin)
        known = self._threads.get(thread)
        if known is None:
            known = self._threads[thread] = _Thread()
        known.begins.append(begin)
        known.ends.append(end)
        known.locations.append(location)


class _Thread:
    """The events of a thread as columns."""

    __slots__ = ("begins", "ends", "locations")

    def __init__(self) -> None:
        self.begins = array("q")
        self.ends = array("q")
        self.locations = array("q")

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
    """A duration that runs: its node in the tree, and its end once that is known."""

    __slots__ = ("end", "node")

    def __init__(self, node: int, end: int | None) -> None:
        self.node = node
        self.end = end


class _Stretches:
    """The stretches of time of one thread, each with one stack."""

    def __init__(self, builder: ProfileBuilder, tree: StackTree, thread: int) -> None:
        self._builder = builder
        self._tree = tree
        self._thread = thread
        self._stack: list[_Open] = []
        self._waiting: list[_Open] = []
        self._now = 0

    def begin(self, time: int, end: int | None, location: int) -> None:
        self._advance(time)
        parent = self._stack[-1].node if self._stack else ROOT
        begun = _Open(self._tree.child(parent, location), end)
        self._stack.append(begun)
        if end is None:
            self._waiting.append(begun)

    def end(self, time: int) -> None:
        if self._waiting:
            self._waiting.pop().end = time
        else:
            self._builder.lose("ends of durations without a begin")
        self._advance(time)

    def finish(self, last: int) -> None:
        """The trace ends, and with it what still runs."""
        if self._waiting:
            self._builder.lose(UNENDED, len(self._waiting))
        for each in self._waiting:
            each.end = last
        self._advance(last)

    def _advance(self, time: int) -> None:
        """Time passes; durations end in it."""
        stack = self._stack
        while stack:
            end = stack[-1].end
            if end is None or end > time:
                break
            self._pass(end)
            stack.pop()
        self._pass(time)

    def _pass(self, time: int) -> None:
        """Time passes with one stack."""
        if time <= self._now:
            return
        if self._stack:
            stack = self._tree.stack(self._stack[-1].node)
            spent = (time - self._now,)
            self._builder.sample(stack, spent, thread=self._thread, time=self._now)
        self._now = time
