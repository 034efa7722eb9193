"""Records of the scheduler as Linux ftrace text, which Chrome JSON may contain.

Specification: Fuchsia trace format, "Scheduling record". Source of the text: Linux,
`include/trace/events/sched.h`; what Perfetto's importer reads of it.
"""

from __future__ import annotations

import re

from gsym.fxt.records import Argument, ContextSwitch, LegacyContextSwitch, ThreadWakeup

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.fxt.chrome_json import SortedSpool

    _Task = Callable[[int], tuple[str, int]]

_IDLE_WEIGHT = -(2**31)
# Letters of Linux for THREAD_STATES, as Perfetto uses them for a Fuchsia trace.
_STATES = "RRTSZX"
_UNKNOWN_STATE = "S"
_INTEGERS = frozenset({"int32", "uint32", "int64", "uint64"})
# Spaces and "=" end a name; escapes of JSON are shown as they are written.
_NOT_IN_NAMES = re.compile(r'[\x00-\x20"=\\]')
_NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


class SchedulingText:
    """The text of a trace."""

    def __init__(self, spool: SortedSpool) -> None:
        self.events = spool  # their fields, by time
        self.threads: set[int] = set()  # koids of all threads in them; 0 is idle

    def add(
        self, record: ContextSwitch | LegacyContextSwitch | ThreadWakeup
    ) -> tuple[int, ...]:
        """Take a record; return the koids of the threads that it names."""
        more: tuple[int, ...]
        if isinstance(record, ThreadWakeup):
            threads: tuple[int, ...] = (record.thread,)
            more = (_weight(record.args, "weight"),)
        else:
            threads, more = _switch(record)
        now = record.ns or 0
        self.events.add(now, (now, record.cpu, *threads, *more))
        self.threads.update(threads)
        return threads

    def lines(self, task: _Task, origin: int) -> Iterator[str]:
        """The text, line by line, in the order of time."""
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


def _switch(
    record: ContextSwitch | LegacyContextSwitch,
) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """The threads of a switch, 0 for one that a processor idles in; weights, state."""
    if isinstance(record, LegacyContextSwitch):
        old, new = record.outgoing_priority, record.incoming_priority
        is_idle = not record.outgoing_process and not old
        becomes_idle = not record.incoming_process and not new
    else:
        names = "outgoing_weight", "incoming_weight"
        old, new = (_weight(record.args, name) for name in names)
        is_idle, becomes_idle = old == _IDLE_WEIGHT, new == _IDLE_WEIGHT
    leaving = 0 if is_idle else record.outgoing_thread
    coming = 0 if becomes_idle else record.incoming_thread
    return (leaving, coming), (old, new, record.outgoing_thread_state)


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
