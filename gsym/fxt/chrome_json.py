"""A trace as Chrome JSON, which Perfetto opens.

Events are as Fuchsia's trace2json writes them, but sorted by time, and processes and
threads are named by metadata events. A complete duration is a begin and an end: viewers
compute the end of one event by floating point, so that durations that touch would nest
or be dropped, and put it before others of its time. `systemTraceEvents` is Linux ftrace
text, as the format requires; trace2json writes an object there, and Perfetto refuses
such files.

Specification: Fuchsia trace format, "Scheduling record". Source: Google's document
"Trace Event Format"; Linux, `include/trace/events/sched.h`; what Perfetto's importer
reads.
"""

from __future__ import annotations

import json
import marshal
import math
import re
from array import array
from base64 import b64encode
from collections import Counter
from contextlib import closing, suppress
from itertools import chain, compress, count, groupby
from tempfile import TemporaryFile, gettempdir

from gsym.fxt import records as fxt
from gsym.fxt.matching import OpenById
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.records import Argument, ContextSwitch, LegacyContextSwitch, ThreadWakeup
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    _Task = Callable[[int], tuple[str, int]]


class SortedSpool:
    """Takes values in any order and returns them in the order of their times.

    They are of the types that `marshal` supports. Each takes 16 bytes of memory, and
    about 100 during the sort.
    """

    def __init__(self) -> None:
        self._file = TemporaryFile()  # noqa: SIM115 - `close` closes it
        self._times = array("Q")
        self._ends = array("Q", [0])

    def __len__(self) -> int:
        return len(self._times)

    def close(self) -> None:
        """Delete the file."""
        with suppress(OSError):  # a failed write was already reported
            self._file.close()

    def add(self, time: int, value: Any) -> None:
        """Take a value; all times from 2 ** 64 - 1 count as equal."""
        data = marshal.dumps(value)
        self._on_disk(self._file.write, data)
        self._times.append(min(time, UINT64_MAX))
        self._ends.append(self._ends[-1] + len(data))

    def first_time(self) -> int:
        """The lowest of the times; 0 without any value."""
        return min(self._times, default=0)

    def values(
        self, arrange: Callable[[list[Any]], list[Any]] | None = None
    ) -> Iterator[Any]:
        """The values; those of one time in the order in which they were added."""
        self._on_disk(self._file.flush)
        time_of = self._times.__getitem__
        for _, group in groupby(sorted(range(len(self)), key=time_of), time_of):
            values = [self._value(index) for index in group]
            yield from values if arrange is None else arrange(values)

    @staticmethod
    def _on_disk(write: Callable[..., object], *data: bytes) -> None:
        try:
            write(*data)
        except OSError as error:
            error.filename = gettempdir()  # the file has no name
            raise

    def _value(self, index: int) -> Any:
        start, end = self._ends[index : index + 2]
        self._file.seek(start)
        return marshal.loads(self._file.read(end - start))  # noqa: S302 - our own bytes


_COMPLETE = "X"
_PHASES = {
    "instant": "i",
    "counter": "C",
    "duration_begin": "B",
    "duration_end": "E",
    "duration_complete": _COMPLETE,
    "async_begin": "b",
    "async_instant": "n",
    "async_end": "e",
    "flow_begin": "s",
    "flow_step": "t",
    "flow_end": "f",
}
_END_OF = {"B": "E", "b": "e"}
# Of a complete duration while it is sorted: its end and its number.
_END, _NUMBER = "end", "number"
_FIDL_BLOB = "fidl:blob"  # the one category of blobs that is shown
_MOST_INTEGER = 2**53  # a double holds all integers up to it
# A double holds microseconds with all three decimals up to this many nanoseconds.
_MOST_NANOSECONDS = 2**51
_SECOND = 10**9
_KOIDS = 2**32  # Perfetto distinguishes this many

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class ChromeJson:
    """Converts one trace."""

    def __init__(self) -> None:
        # how many records of each kind Chrome JSON cannot hold
        self.left_out: Counter[str] = Counter()
        # how many durations and operations have no end and get that of the trace
        self.closed: int = 0
        # differences from the recorded data, and their number
        self.changed: Counter[str] = Counter()
        self._events = SortedSpool()
        self._scheduling = SchedulingText(SortedSpool())
        self._objects = Objects()
        # Names by koid, of threads also by that of the process if it is said.
        self._processes: dict[tuple[int | None, int], str] = {}
        self._threads: dict[tuple[int | None, int], str] = {}
        self._koids: set[int] = set()
        self._numbers: dict[int, int] = {}  # of koids that Perfetto would truncate
        self._origin = 0
        self._last = 0
        # Events that have begun and have no end yet.
        self._durations: dict[tuple[int, int], list[dict[str, Any]]] = {}
        self._complete = 0  # number of the last complete duration
        self._operations: dict[int, dict[str, Any]] = {}  # in place of some, by number
        operations, flows = OpenById(), OpenById()
        self._open = {**dict.fromkeys("bne", operations), **dict.fromkeys("stf", flows)}

    def pieces(self, records: Iterable[fxt.Record]) -> Iterator[str]:
        """The JSON text of a trace, piece by piece, the first after the last record."""
        with closing(self._events), closing(self._scheduling.events):
            for record in records:
                self._take(record)
            yield from self._text()

    def _text(self) -> Iterator[str]:
        names = list(self._names())
        free = (number for number in count(_KOIDS // 2) if number not in self._koids)
        for koid in sorted(koid for koid in self._koids if koid >= _KOIDS):
            self._numbers[koid] = next(free)
            self.changed["koids of more than 32 bits: renumbered"] += 1
        # Count times from the first second if a double cannot hold them
        spools = (self._events, self._scheduling.events)
        first = min((spool.first_time() for spool in spools if spool), default=0)
        if first > _MOST_NANOSECONDS:
            self._origin = first - first % _SECOND
            times = sum(map(len, spools))
            self.changed[f"times count from {self._origin} ns"] = times
        yield '{"displayTimeUnit":"ns","traceEvents":['
        comma = ""
        for event in chain(names, self._sorted_events()):
            if "ts" in event:  # in microseconds
                event["ts"] = (event["ts"] - self._origin) / 1000
            for key in ("pid", "tid"):
                event[key] = self._numbers.get(event[key], event[key])
            yield comma + _encode(event)
            comma = ","
        yield "]"
        if self._scheduling.events:
            yield ',"systemTraceEvents":"'
            for line in self._scheduling.lines(self._task, self._origin):
                yield _encode(line)[1:-1]
            yield '"'
        other = {f"koid_of_{new}": str(old) for old, new in self._numbers.items()}
        if self._origin:
            other["origin_ns"] = str(self._origin)
        yield f',"otherData":{_encode(other)}}}' if other else "}"

    def _take(self, record: fxt.Record) -> None:
        self._objects.add(record)
        if isinstance(record, fxt.Event):
            self._add(_of_event(record))
        elif isinstance(record, fxt.Log):
            place = {"ts": record.ns or 0, "pid": record.process, "tid": record.thread}
            args = {"message": _text(record.message)}
            self._add({"name": "log", "ph": "i", **place, "s": "t", "args": args})
        elif isinstance(record, _SCHEDULING):
            self._koids.update(self._scheduling.add(record))
        elif (
            isinstance(record, fxt.LargeBlob)
            and record.category == _FIDL_BLOB
            and record.ticks is not None
        ):
            self._add(_of_blob(record))
        elif isinstance(record, fxt.KernelObject) and record.type in {PROCESS, THREAD}:
            self._koids.add(record.koid)
            key = _process(record) if record.type == THREAD else None, record.koid
            names = self._threads if record.type == THREAD else self._processes
            # The longest one, for some writers cut names off.
            names[key] = max(names.get(key, ""), record.name, key=len)
        elif not isinstance(record, fxt.TABLES):
            self.left_out[fxt.kind_of(record)] += 1

    def _add(self, event: dict[str, Any]) -> None:
        self._koids.update((event["pid"], event["tid"]))
        end = event.pop(_END, event["ts"])
        if end < event["ts"]:
            end = event["ts"]
            self.changed["durations that end before they begin: set to 0"] += 1
        self._last = max(self._last, end)
        if event["ph"] == _COMPLETE:
            self._complete += 1
            event.update({"ph": "B", _END: end, _NUMBER: self._complete})
            if end > event["ts"]:
                self._events.add(end, {**event, "ph": "E", "ts": end, "args": None})
        self._events.add(event["ts"], event)

    def _names(self) -> Iterator[dict[str, Any]]:
        """The events that name processes and threads."""
        for koid, name in sorted(
            (koid, each) for (_, koid), each in self._processes.items()
        ):
            made = {"ph": "M", "name": "process_name", "pid": koid, "tid": 0}
            yield {**made, "args": {"name": _text(name)}}
        for (stated, thread), name in self._threads.items():
            known = self._objects.process_of(thread)
            process = known if stated is None else stated
            if process is not None:
                self._koids.add(process)
                made = {"ph": "M", "name": "thread_name", "pid": process, "tid": thread}
                yield {**made, "args": {"name": _text(name)}}
            elif thread not in self._scheduling.threads:  # those are named there
                self.left_out["kernel_object"] += 1

    def _task(self, koid: int) -> tuple[str, int]:
        """The name and the number of a thread."""
        name = self._objects.name_of(koid, kind=THREAD)
        return _text(name or ""), self._numbers.get(koid, koid)

    def _sorted_events(self) -> Iterator[dict[str, Any]]:
        for event in self._events.values(self._arranged):
            self._link(event)
            made = event.copy()
            for key in (_END, _NUMBER):
                made.pop(key, None)
            if made.get("args", made) is None:
                del made["args"]
            yield made
        operations = (begun.item for begun in self._open["b"].open)
        durations = chain.from_iterable(map(reversed, self._durations.values()))
        for begin in chain(durations, operations):
            self.closed += 1
            end = {**begin, "ts": self._last, "ph": _END_OF[begin["ph"]]}
            end.pop("args", None)
            yield end

    def _arranged(self, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Events of one time so that those within a duration follow its begin.

        Durations end before others begin, the innermost first; those that begin come
        before other events, unless these were recorded before an end, the longest last
        of those that were recorded when they ended.
        """
        made: list[dict[str, Any]] = []
        threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
        for event in events:
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
        for thread, of_thread in threads.items():
            begins = self._durations.setdefault(thread, [])
            moment = _Moment(of_thread)
            made += moment.early
            while moment.ends or moment.complete_ends:
                made += self._end(begins, moment)
            for event in moment.recorded:
                if event["ph"] == "B":
                    begins.append(event)
                else:
                    _take_links(event, begins.pop())
                made.append(event)
            for event in moment.complete_begins:
                made += self._begin(begins, event)
            made += moment.late
        return made

    def _end(
        self, begins: list[dict[str, Any]], moment: _Moment
    ) -> list[dict[str, Any]]:
        """The next end of a thread: that of the innermost duration that ends now."""
        for at in range(len(begins) - 1, -1, -1):
            number = begins[at].get(_NUMBER)
            if number is None and moment.ends:
                event = moment.ends.pop(0)
            elif number in moment.complete_ends:
                event = moment.complete_ends.pop(number)
            else:
                continue
            _take_links(event, begins.pop(at))
            return [event]
        if moment.ends:
            return [moment.ends.pop(0)]
        # An operation, in place of a duration.
        number, event = moment.complete_ends.popitem()
        return [{**event, **self._operations.pop(number), "ph": "e", "ts": event["ts"]}]

    def _begin(
        self, begins: list[dict[str, Any]], event: dict[str, Any]
    ) -> list[dict[str, Any]]:
        """A complete duration, with its end if it has no length."""
        ends = (begin[_END] for begin in reversed(begins) if _END in begin)
        if event[_END] > next(ends, event[_END]):
            # It outlives the one around it, which viewers would drop.
            self.changed["durations that overlap: operations"] += 1
            number = event[_NUMBER]
            event = {**event, "ph": "b", "id2": {"local": f"{_COMPLETE}{number}"}}
            self._operations[number] = {"id2": event["id2"]}
            return [event]
        if event[_END] == event["ts"]:
            end = {**event, "ph": "E", "args": None}
            return [event, end]
        begins.append(event)
        return [event]

    def _link(self, event: dict[str, Any]) -> None:
        """Copy the category, name and id of the matching event to an event.

        Viewers match by all of these; a trace matches durations by their threads, other
        events as `OpenById` does.
        """
        phase = event["ph"]
        if phase in self._open and _NUMBER not in event:
            open_by_id = self._open[phase]
            where = event["id"], event["cat"], event["name"], event["pid"]
            if phase in "bs":
                if open_by_id.is_taken(*where):
                    _keep_apart(event)
                open_by_id.begin(*where, event)
            elif begun := open_by_id.find(*where):
                _take_links(event, begun.item)
                if phase in "ef":
                    open_by_id.end(begun)


_SCHEDULING = (fxt.ContextSwitch, fxt.LegacyContextSwitch, fxt.ThreadWakeup)
_LINKS = ("cat", "name", "id", "id2")


def _head(record: Any) -> dict[str, Any]:
    """Category and name, the time in nanoseconds, process and thread."""
    return {
        "cat": _text(record.category),
        "name": _text(record.name),
        "ts": record.ns or 0,
        "pid": record.process,
        "tid": record.thread,
    }


def _of_event(event: fxt.Event) -> dict[str, Any]:
    kind = event.kind
    made = {**_head(event), "ph": _PHASES[kind]}
    if kind == "instant":
        made["s"] = "t"
    elif kind == "counter" and event.id:
        made["id"] = f"{event.id:#x}"
    elif kind == "duration_complete":
        made[_END] = event.end_ns or 0
    elif kind.startswith("async"):
        number = event.id or 0
        made["id"] = number if number <= _MOST_INTEGER else f"{number:#x}"
    elif kind.startswith("flow"):
        if kind == "flow_end":
            made["bp"] = "e"
        made["id"] = str(event.id)
    if event.args:
        made["args"] = _arguments(event.args, _series if kind == "counter" else _value)
    return made


def _of_blob(blob: fxt.LargeBlob) -> dict[str, Any]:
    made = {"ph": "O", "id": "", **_head(blob), "blob": b64encode(blob.data).decode()}
    if blob.args:
        made["args"] = _arguments(blob.args, _value)
    return made


class _Moment:
    """The events of a thread at one time."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        is_end = [each["ph"] == "E" and _NUMBER not in each for each in events]
        last_end = max(compress(count(), is_end), default=-1)
        # those that no duration is, recorded before an end
        self.early: list[dict[str, Any]] = []
        # of durations that began before, in the order of their records
        self.ends: list[dict[str, Any]] = []
        # of complete durations, by their numbers
        self.complete_ends: dict[int, dict[str, Any]] = {}
        # begins, and ends of those that begin now
        self.recorded: list[dict[str, Any]] = []
        # of complete durations, the longest first
        self.complete_begins: list[dict[str, Any]] = []
        self.late: list[dict[str, Any]] = []  # the others
        begun = 0
        for at, event in enumerate(events):
            is_complete, phase = _NUMBER in event, event["ph"]
            if phase == "E" and is_complete:
                self.complete_ends[event[_NUMBER]] = event
            elif phase == "B" and is_complete:
                self.complete_begins.append(event)
            elif phase == "B" or (phase == "E" and begun):
                begun += 1 if phase == "B" else -1
                self.recorded.append(event)
            elif phase == "E":
                self.ends.append(event)
            else:
                (self.early if at < last_end else self.late).append(event)
        self.complete_begins.sort(key=lambda event: -event[_END])


def _take_links(event: dict[str, Any], begin: dict[str, Any]) -> None:
    """Copy the category, name and id of its begin to an event."""
    event.pop("id", None)
    event.update({key: begin[key] for key in _LINKS if key in begin})
    if "id2" in begin:  # it is local to the process
        event["pid"] = begin["pid"]


def _keep_apart(begin: dict[str, Any]) -> None:
    """Set a unique id for a begin, made from its name or, for a flow, its process."""
    if begin["ph"] == "b":
        begin["id2"] = {"local": f"{begin.pop('id')} {begin['name']}"}
    else:  # viewers accept only plain numbers for flows
        begin["id"] = str((begin["pid"] << 32 ^ int(begin["id"])) & UINT64_MAX)


def _process(thread: fxt.KernelObject) -> int | None:
    """The process that the description of a thread names."""
    found = (
        int(each.value or 0) for each in thread.args if each[:2] == ("process", "koid")
    )
    return next(found, None)


def _arguments(arguments: tuple[fxt.Argument, ...], shown: Any) -> dict[str, Any]:
    """Values by their names; null has none."""
    return {
        _text(argument.name): shown(argument)
        for argument in arguments
        if argument.type != "null"
    }


def _series(argument: fxt.Argument) -> Any:
    """A value of a counter: a number, if it is one."""
    is_integer = argument.type in {"int64", "uint64"}
    return float(argument.value or 0) if is_integer else _value(argument)


def _value(argument: fxt.Argument) -> Any:
    value: Any = argument.value
    kind = argument.type
    if kind in {"pointer", "koid"}:
        return f"{value:#x}" if kind == "pointer" else f"#{value}"
    if kind == "blob":
        return b64encode(value).decode()
    if kind == "string":
        return _text(value)
    exceeds_double = kind in {"int64", "uint64"} and abs(value) > _MOST_INTEGER
    if exceeds_double or (kind == "double" and not math.isfinite(value)):
        return str(value)  # JSON has no such numbers, or readers round them
    return value


def _text(text: str) -> str:
    """Text with invalid UTF-8 replaced."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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
    found = (each for each in arguments if each.name == name and each.type in _INTEGERS)
    return next((int(each.value or 0) for each in found), 0)
