"""A trace as Chrome JSON, as Fuchsia's trace2json writes it.

Events stand in the order of the trace, in microseconds. What Chrome's format has no
place for (who switched to whom, names of processes and threads) is in an object
`systemTraceEvents`, which Fuchsia's viewers know.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from tempfile import TemporaryFile

from gsym.formats.fxt_records import (
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LargeBlob,
    LegacyContextSwitch,
    Log,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
)
from gsym.fxt.objects import PROCESS, THREAD
from gsym.trace.description import kind_of

__all__ = ["ChromeJson"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from gsym.formats.fxt_records import Argument, Record

_PHASES = {
    "instant": "i",
    "counter": "C",
    "duration_begin": "B",
    "duration_end": "E",
    "duration_complete": "X",
    "async_begin": "b",
    "async_instant": "n",
    "async_end": "e",
    "flow_begin": "s",
    "flow_step": "t",
    "flow_end": "f",
}
_DEFAULT_RATE = 1_000_000_000  # ticks per second
_FIDL_BLOB = "fidl:blob"  # the one category of blobs that is shown
_INTEGERS = frozenset({"int32", "uint32", "int64", "uint64"})

_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


class ChromeJson:
    """Converts one trace.

    Args:
        metadata: Whether names of processes and threads are told by metadata events as
            well, which other viewers understand.

    Attributes:
        left_out: How many records of each kind Chrome JSON has no place for.
        closed: How many durations and operations end with the trace, for want of an
            end of their own.
    """

    def __init__(self, *, metadata: bool = False) -> None:
        self.left_out: dict[str, int] = {}
        self.closed = 0
        self._metadata = metadata
        self._scales: dict[int | None, float] = {}
        self._processes: dict[int, str] = {}
        self._threads: dict[tuple[int, int], str] = {}
        self._begun: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
        self._last = 0.0

    def pieces(self, records: Iterable[Record]) -> Iterator[str]:
        """The JSON text of a trace, piece by piece.

        Args:
            records: Of the trace, in its order.
        """
        yield '{"displayTimeUnit":"ns","traceEvents":['
        comma = ""
        # Scheduling has a place of its own behind all events, and there may be much.
        with TemporaryFile("w+", encoding="utf-8") as scheduling:
            for record in records:
                event = self._event(record)
                if event is not None:
                    yield comma + _encode(event)
                    comma = ","
                elif isinstance(record, _SCHEDULING):
                    scheduling.write(_encode(self._scheduled(record)) + "\n")
                else:
                    self._note(record)
            for event in (*self._missing_ends(), *self._name_events()):
                yield comma + _encode(event)
                comma = ","
            yield '],"systemTraceEvents":{"type":"fuchsia","events":['
            comma = ""
            for name in self._names():
                yield comma + _encode(name)
                comma = ","
            scheduling.seek(0)
            for line in scheduling:
                yield comma + line.rstrip("\n")
                comma = ","
        yield "]}}"

    def _event(self, record: Record) -> dict[str, Any] | None:
        """What stands for a record among the events."""
        if isinstance(record, Event):
            return self._of_event(record)
        if isinstance(record, Log):
            return {
                "name": "log",
                "ph": "i",
                **self._place(record),
                "s": "g",
                "args": {"message": _text(record.message)},
            }
        if isinstance(record, LargeBlob) and record.category == _FIDL_BLOB:
            return {
                "ph": "O",
                "id": "",
                "cat": _text(record.category),
                "name": _text(record.name),
                **self._place(record),
                "blob": b64encode(record.data).decode(),
            }
        return None

    def _of_event(self, event: Event) -> dict[str, Any]:
        kind = event.kind
        made: dict[str, Any] = {
            "cat": _text(event.category),
            "name": _text(event.name),
            **self._place(event),
            "ph": _PHASES[kind],
        }
        if kind == "instant":
            made["s"] = "t"
        elif kind == "counter":
            if event.id:
                made["id"] = f"{event.id:#x}"
        elif kind == "duration_complete":
            ticks = (event.end_ticks or 0) - event.ticks
            made["dur"] = ticks * self._scale(event.provider)
            self._last = max(self._last, made["ts"] + made["dur"])
        elif kind.startswith("async"):
            made["id"] = event.id
        elif kind.startswith("flow"):
            if kind == "flow_end":
                made["bp"] = "e"
            made["id"] = str(event.id)
        if event.args:
            made["args"] = _arguments(event.args)
        self._count_halves(made)
        return made

    def _place(self, record: Any) -> dict[str, Any]:
        """When and where something was, for a record that says so."""
        time = record.ticks * self._scale(record.provider)
        self._last = max(self._last, time)
        return {"ts": time, "pid": record.process, "tid": record.thread}

    def _scale(self, provider: int | None) -> float:
        """Microseconds in a tick of a provider."""
        scale = self._scales.get(provider)
        if scale is None:  # one without a unit has that of what is in front of all
            scale = self._scales.get(None, 1e6 / _DEFAULT_RATE)
        return scale

    def _scheduled(self, record: Any) -> dict[str, Any]:
        """What stands for a record of the scheduler."""
        made: dict[str, Any] = {
            "ph": "w" if isinstance(record, ThreadWakeup) else "k",
            "ts": record.ticks * self._scale(record.provider),
            "cpu": record.cpu,
        }
        if isinstance(record, LegacyContextSwitch):
            made["out"] = {
                "pid": record.outgoing_process,
                "tid": record.outgoing_thread,
                "state": record.outgoing_thread_state,
                "prio": record.outgoing_priority,
            }
            made["in"] = {
                "pid": record.incoming_process,
                "tid": record.incoming_thread,
                "prio": record.incoming_priority,
            }
        elif isinstance(record, ContextSwitch):
            made["out"] = {
                "tid": record.outgoing_thread,
                "state": record.outgoing_thread_state,
                **_weight(record.args, "outgoing_weight"),
            }
            made["in"] = {
                "tid": record.incoming_thread,
                **_weight(record.args, "incoming_weight"),
            }
        else:
            made["tid"] = record.thread
            made.update(_weight(record.args, "weight"))
        return made

    def _note(self, record: Record) -> None:
        """Take what a record says of those that follow; count what is lost."""
        if isinstance(record, Initialization):
            if record.ticks_per_second:
                self._scales[record.provider] = 1e6 / record.ticks_per_second
        elif isinstance(record, KernelObject) and record.type == PROCESS:
            _keep_longest(self._processes, record.koid, record.name)
        elif isinstance(record, KernelObject) and record.type == THREAD:
            for argument in record.args:
                if argument.name == "process" and argument.type == "koid":
                    key = (int(argument.value or 0), record.koid)
                    _keep_longest(self._threads, key, record.name)
        elif not isinstance(record, _CONTEXT):
            kind = kind_of(record)
            self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def _count_halves(self, event: dict[str, Any]) -> None:
        """Remember what waits for its end."""
        phase = event["ph"]
        if phase in "BE":
            key: tuple[Any, ...] = (event["pid"], event["tid"])
        elif phase in "be":
            key = (event["pid"], event["cat"], event["id"])
        else:
            return
        waiting = self._begun.setdefault(key, [])
        if phase in "Bb":
            waiting.append(event)
        elif waiting:
            waiting.pop()

    def _missing_ends(self) -> Iterator[dict[str, Any]]:
        """Ends, at the end of the trace, of what has none."""
        for waiting in self._begun.values():
            while waiting:
                event = waiting.pop()
                event.pop("args", None)
                yield {
                    **event,
                    "ts": self._last,
                    "ph": {"B": "E", "b": "e"}[event["ph"]],
                }
                self.closed += 1

    def _names(self) -> Iterator[dict[str, Any]]:
        for process, name in sorted(self._processes.items()):
            made: dict[str, Any] = {"ph": "p", "pid": process, "name": _text(name)}
            if not process:
                made["sort_index"] = -1
            yield made
        for (process, thread), name in sorted(self._threads.items()):
            yield {"ph": "t", "pid": process, "tid": thread, "name": _text(name)}

    def _name_events(self) -> Iterator[dict[str, Any]]:
        if not self._metadata:
            return
        kinds = {"p": "process_name", "t": "thread_name"}
        for name in self._names():
            yield {
                "ph": "M",
                "name": kinds[name["ph"]],
                "pid": name["pid"],
                "tid": name.get("tid", 0),
                "args": {"name": name["name"]},
            }


_SCHEDULING = (ContextSwitch, LegacyContextSwitch, ThreadWakeup)
# What is told by all other records.
_CONTEXT = (KernelObject, ProviderInfo, ProviderSection, String, Thread, TraceInfo)


def _keep_longest(names: dict[Any, str], key: Any, name: str) -> None:
    """Keep a name, for some writers cut names off."""
    if len(name) > len(names.get(key, "")) or key not in names:
        names[key] = name


def _weight(arguments: tuple[Argument, ...], name: str) -> dict[str, Any]:
    """The priority that an argument tells, if it does."""
    for argument in arguments:
        if argument.name == name:
            return {"prio": argument.value} if argument.type in _INTEGERS else {}
    return {}


def _arguments(arguments: tuple[Argument, ...]) -> dict[str, Any]:
    """Values by their names; null has none."""
    return {
        _text(argument.name): _value(argument)
        for argument in arguments
        if argument.type != "null"
    }


def _value(argument: Argument) -> Any:
    value: Any = argument.value
    if argument.type == "pointer":
        return f"{value:#x}"
    if argument.type == "koid":
        return f"#{value}"
    if argument.type == "blob":
        return b64encode(value).decode()
    if argument.type == "string":
        return _text(value)
    if argument.type == "double" and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    return value


def _text(text: str) -> str:
    """Text with a replacement for what is not UTF-8."""
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
