"""How long threads ran, were ready to run, and waited, by switches of processors.

Specification: Fuchsia trace format, "Scheduling record". A thread that leaves a
processor while it could go on running, or that was woken, is ready until a processor
takes it up. One that leaves it otherwise waits.
"""

from __future__ import annotations

import re

from gsym.records import NamedTuple
from gsym.trace.fxt.records import (
    THREAD_STATES,
    ContextSwitch,
    LegacyContextSwitch,
    ThreadWakeup,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.trace.chrome_json import SortedSpool
    from gsym.trace.fxt.records import Argument

    Switch = ContextSwitch | LegacyContextSwitch
    _Task = Callable[[int], tuple[str, int]]


class Scheduled(NamedTuple):
    """The times of a thread, in nanoseconds.

    Attributes:
        thread: Koid.
        running: Time on processors.
        ready: Time in which it could have run.
        waiting: Time in which it could not.
        longest: The longest time between two times on a processor.
        switches: How many times a processor switched to it.
    """

    thread: int
    running: int
    ready: int
    waiting: int
    longest: int
    switches: int


# Of `gsym.trace.fxt.decoder.KINDS`.
SCHEDULING_KINDS = ("legacy_context_switch", "context_switch", "thread_wakeup")

_NEW, _RUNNING, _DYING, _DEAD = map(
    THREAD_STATES.index, ("new", "running", "dying", "dead")
)
_READY = frozenset((_NEW, _RUNNING))
_GONE = frozenset((_DYING, _DEAD))
_IDLE_WEIGHT = -(2**31)


def scheduled_threads(records: Iterable[object]) -> list[Scheduled]:
    """The threads that processors switched between, those that waited longest first.

    Time counts from the first switch of a thread to the last record. Idle threads are
    left out.

    Args:
        records: Of a trace, in any order; others are ignored.
    """
    kinds = (ContextSwitch, LegacyContextSwitch, ThreadWakeup)
    chosen = [record for record in records if isinstance(record, kinds)]
    chosen.sort(key=lambda record: record.ns or 0)
    threads: dict[int, _Thread] = {}
    for record in chosen:
        now = record.ns or 0
        if isinstance(record, ThreadWakeup):
            thread = threads.get(record.thread)
            if thread is not None:
                thread.wake(now)
            continue
        outgoing, incoming = switched_threads(record)
        if outgoing is not None:
            known = threads.setdefault(outgoing, _Thread(outgoing))
            known.leave(now, record.outgoing_thread_state)
        if incoming is not None:
            threads.setdefault(incoming, _Thread(incoming)).enter(now)
    end = (chosen[-1].ns or 0) if chosen else 0
    found = [thread.finish(end) for thread in threads.values()]
    return sorted(found, key=lambda each: (-each.ready - each.waiting, each.thread))


def switched_threads(record: Switch) -> tuple[int | None, int | None]:
    """The threads of a switch; None for one that a processor idles in."""
    if isinstance(record, LegacyContextSwitch):
        is_idle = not record.outgoing_process and not record.outgoing_priority
        becomes_idle = not record.incoming_process and not record.incoming_priority
    else:
        weights = {each.name: each.value for each in record.args}
        is_idle = weights.get("outgoing_weight") == _IDLE_WEIGHT
        becomes_idle = weights.get("incoming_weight") == _IDLE_WEIGHT
    return (
        None if is_idle or not record.outgoing_thread else record.outgoing_thread,
        None if becomes_idle or not record.incoming_thread else record.incoming_thread,
    )


class _Thread:
    """The state of a thread: running, ready or waiting, and since when."""

    __slots__ = ("_left", "_longest", "_since", "_state", "_sums", "_switches", "koid")

    def __init__(self, koid: int) -> None:
        self.koid = koid
        self._state = ""
        self._since = 0
        self._left: int | None = None
        self._sums = {"": 0, "running": 0, "ready": 0, "waiting": 0, "gone": 0}
        self._longest = 0
        self._switches = 0

    def enter(self, now: int) -> None:
        """A processor switches to it."""
        self._go(now, "running")
        if self._left is not None:
            self._longest = max(self._longest, now - self._left)
            self._left = None
        self._switches += 1

    def leave(self, now: int, state: int) -> None:
        """A processor switches from it; its state is one of THREAD_STATES."""
        off = "gone" if state in _GONE else "ready" if state in _READY else "waiting"
        self._go(now, off)
        self._left = None if off == "gone" else now

    def wake(self, now: int) -> None:
        """It may run again."""
        if self._state == "waiting":
            self._go(now, "ready")

    def finish(self, end: int) -> Scheduled:
        """The times of the thread up to the end."""
        self._go(end, "")
        if self._left is not None:
            self._longest = max(self._longest, end - self._left)
        running, ready, waiting = map(
            self._sums.__getitem__, ("running", "ready", "waiting")
        )
        return Scheduled(
            self.koid, running, ready, waiting, self._longest, self._switches
        )

    def _go(self, now: int, state: str) -> None:
        self._sums[self._state] += now - self._since
        self._since, self._state = now, state


# Letters of Linux for THREAD_STATES, as Perfetto uses them for a Fuchsia trace.
_STATES = "RRTSZX"
_UNKNOWN_STATE = "S"
_INTEGERS = frozenset({"int32", "uint32", "int64", "uint64"})
# Spaces and "=" end a name; escapes of JSON are shown as they are written.
_NOT_IN_NAMES = re.compile(r'[\x00-\x20"=\\]')
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


class SchedulingText:
    """Records of the scheduler as Linux ftrace text, which Chrome JSON may contain.

    Source: Linux, `include/trace/events/sched.h`; what Perfetto's importer reads of it.

    Attributes:
        events: Their fields, by time.
        threads: Koids of all threads in them; 0 is idle.
    """

    def __init__(self, spool: SortedSpool) -> None:
        self.events = spool
        self.threads: set[int] = set()

    def add(
        self, record: ContextSwitch | LegacyContextSwitch | ThreadWakeup
    ) -> tuple[int, ...]:
        """Take a record; return the koids of the threads that it names."""
        if isinstance(record, ThreadWakeup):
            threads: tuple[int, ...] = (record.thread,)
            more: tuple[int, ...] = (_weight(record.args, "weight"),)
        else:
            threads = tuple(koid or 0 for koid in switched_threads(record))
            if isinstance(record, LegacyContextSwitch):
                more = (record.outgoing_priority, record.incoming_priority)
            else:
                names = ("outgoing_weight", "incoming_weight")
                more = tuple(_weight(record.args, name) for name in names)
            more = (*more, record.outgoing_thread_state)
        now = record.ns or 0
        self.events.add(now, (now, record.cpu, *threads, *more))
        self.threads.update(threads)
        return threads

    def lines(self, task: _Task, origin: int) -> Iterator[str]:
        """The text, line by line, in the order of time.

        Args:
            task: Returns the name of a thread, and the number used for its koid.
            origin: The time in nanoseconds from which others are counted.
        """
        yield "# tracer: nop\n"
        for time, cpu, *values in self.events.values():
            seconds, nanoseconds = divmod(time - origin, 10**9)
            at = f"[{cpu:03}] .... {seconds}.{nanoseconds:09}"
            if len(values) == len(("thread", "weight")):
                # The trace does not record which thread woke it.
                koid, weight = values
                name, number = _named(task, koid)
                what = f"sched_waking: comm={name} pid={number} prio={weight}"
                yield f"<idle>-0 {at}: {what} target_cpu={cpu:03}\n"
                continue
            leaving, coming, old_weight, new_weight, state = values
            name, number = _named(task, leaving)
            letter = _STATES[state] if state < len(_STATES) else _UNKNOWN_STATE
            old = f"prev_comm={name} prev_pid={number} prev_prio={old_weight}"
            yield f"{name}-{number} {at}: sched_switch: {old} prev_state={letter} ==> "
            name, number = _named(task, coming)
            yield f"next_comm={name} next_pid={number} next_prio={new_weight}\n"


def _named(task: _Task, koid: int) -> tuple[str, int]:
    """The name and number of a thread in the text; 0 is idle."""
    name, number = task(koid) if koid else ("swapper", 0)
    return _NOT_IN_NAMES.sub(_NO_BREAK_SPACE, name) or "<...>", number


def _weight(arguments: tuple[Argument, ...], name: str) -> int:
    """The priority that an argument has; 0 without one."""
    for argument in arguments:
        if argument.name == name and argument.type in _INTEGERS:
            return int(argument.value or 0)
    return 0
