"""Records of Fuchsia traces as lines of text and as objects of JSON.

An object has the fields of its record by their names (`gsym.fxt.records`), and
`record` before them, its kind. Nothing is lost:

- whole numbers have all their digits, up to 20;
- numbers that are not finite are the texts `NaN`, `Infinity` and `-Infinity`;
- bytes are base64, build ids hexadecimal digits;
- invalid UTF-8 is replaced by U+FFFD, and another field, as `name_base64` for `name`,
  has all bytes of the text.
"""

from __future__ import annotations

import math
from base64 import b64encode

from gsym.fxt.blobs import BLOB_TYPES
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.fxt.records import (
    THREAD_STATES,
    Argument,
    Event,
    LargeBlob,
    Module,
    Record,
    begins_trace,
    kind_of,
    snake_case,
)
from gsym.fxt.summary import BUFFER_FULL
from gsym.lazy import json

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OBJECT_TYPES = {PROCESS: "process", THREAD: "thread"}
_KIND_WIDTH = 18
_TIME_WIDTH = 16
_SECOND = 10**9
_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def seconds(ns: int) -> str:
    """A time in seconds, to the nanosecond."""
    whole, part = divmod(abs(ns), _SECOND)
    return f"{'-' * (ns < 0)}{whole}.{part:09}"


class RecordText:
    """Makes lines of the records of one trace, in their order.

    Koids are printed with the names that earlier records of their trace gave them.
    """

    def __init__(self, objects: Objects | None = None) -> None:
        self._is_complete = objects is not None
        self._objects = objects or Objects()
        # The text after the kind.
        self._makers: dict[str, Callable[[Any], str]] = {
            "backtrace": lambda r: f"{self._thread(r)}  {' '.join(map(hex, r.frames))}",
            "blob": lambda r: (
                f"{_text(r.name)} {BLOB_TYPES.get(r.type, f'type {r.type}')}"
                f" {_size(r.data)}"
            ),
            "context_switch": lambda r: (
                f"cpu {r.cpu}  {self._name(r.outgoing_thread, r, THREAD)} {_state(r)}"
                f" -> {self._name(r.incoming_thread, r, THREAD)}{self._arguments(r)}"
            ),
            "initialization": lambda r: f"{r.ticks_per_second} ticks per second",
            "kernel_object": lambda r: (
                f"{_OBJECT_TYPES.get(r.type, f'type {r.type}')} {r.koid}"
                f" {_text(r.name)}{self._arguments(r)}"
            ),
            "large_blob": lambda r: (
                f"{'' if r.ticks is None else self._thread(r) + '  '}"
                f"{r.category}:{r.name} {_size(r.data)}{self._arguments(r)}"
            ),
            "legacy_context_switch": lambda r: (
                f"cpu {r.cpu}  {self._pair(r.outgoing_process, r.outgoing_thread, r)}"
                f" {_state(r)} -> "
                f"{self._pair(r.incoming_process, r.incoming_thread, r)}"
                f"  priorities {r.outgoing_priority} -> {r.incoming_priority}"
            ),
            "log": lambda r: f"{self._thread(r)}  {r.message}",
            "mmap": lambda r: (
                f"{self._name(r.process, r, PROCESS)}  {r.start_address:#x}.."
                f"{r.start_address + r.address_range:#x} module {r.module_id}"
                f" at {r.vaddr:#x} flags {r.flags}"
            ),
            "module": lambda r: (
                f"{self._name(r.process, r, PROCESS)}  {r.module_id} {_text(r.name)}"
                f" build id {r.build_id.hex()}"
            ),
            "provider_event": lambda r: (
                f"{r.provider} its buffer was full, records were dropped"
                if r.event == BUFFER_FULL
                else f"{r.provider} event {r.event}"
            ),
            "provider_info": lambda r: f"{r.provider} {_text(r.name)}",
            "provider_section": lambda r: f"{r.provider}",
            "string": lambda r: f"{r.string_index} {_text(r.value)}",
            "thread": lambda r: (
                f"{r.thread_index} process {r.process} thread {r.thread}"
            ),
            "thread_wakeup": lambda r: (
                f"cpu {r.cpu}  {self._name(r.thread, r, THREAD)}{self._arguments(r)}"
            ),
            "trace_info": lambda r: f"type {r.type} value {r.value:#x}",
            "unknown": lambda r: (
                f"type {r.type}"
                f"{'' if r.subtype is None else f' subtype {r.subtype}'}"
                f" {_size(r.data)}"
            ),
            "userspace_object": lambda r: (
                f"{r.pointer:#x} of {self._name(r.process, r, PROCESS)}"
                f" {_text(r.name)}{self._arguments(r)}"
            ),
        }

    def line(self, record: Record) -> str:
        """The line of a record, without its end."""
        if begins_trace(record) and not self._is_complete:
            self._objects = Objects()
        elif not isinstance(record, Event):
            self._objects.add(record)
        kind = kind_of(record).removesuffix("_with_metadata")
        # All other kinds are those of events.
        rest = self._makers.get(kind, self._event)(record)
        ns = getattr(record, "ns", None)
        time = "" if ns is None else seconds(ns)
        return (
            f"{record.offset:#010x} {time:>{_TIME_WIDTH}}  {kind:<{_KIND_WIDTH}} {rest}"
        )

    def _event(self, event: Any) -> str:
        parts = [self._thread(event), f"{event.category}:{event.name}"]
        if event.id is not None:
            parts.append(f"id {event.id}")
        if event.end_ns is not None:
            parts.append(f"for {seconds(event.end_ns - (event.ns or 0))}")
        return "  ".join(parts) + self._arguments(event)

    def _thread(self, record: Any) -> str:
        return self._pair(record.process, record.thread, record)

    def _pair(self, process: int, thread: int, record: Record) -> str:
        return (
            f"{self._name(process, record, PROCESS)} "
            f"{self._name(thread, record, THREAD)}"
        )

    def _name(self, koid: int, record: Record, kind: int | None = None) -> str:
        name = self._objects.name_of(koid, record.provider, kind)
        return f"{name}({koid})" if name else str(koid)

    def _arguments(self, record: Any) -> str:
        texts = (f"{each.name}={self._value(each, record)}" for each in record.args)
        return "  " + " ".join(texts) if record.args else ""

    def _value(self, argument: Argument, record: Any) -> str:
        value: Any = argument.value
        if argument.type == "pointer":
            process = getattr(record, "process", None) or 0
            found = self._objects.referent(argument, process, record.provider)
            return f"{value:#x}({found.name})" if found else f"{value:#x}"
        if argument.type == "koid":
            return f"#{self._name(value, record)}"
        if argument.type == "blob":
            return f"<{_size(value)}>"
        is_text = argument.type in {"bool", "null", "string"}
        return _text(value) if is_text else str(value)


def _text(value: str | bool | None) -> str:
    return json.dumps(value, ensure_ascii=False)


def _size(data: bytes | memoryview) -> str:
    return f"{len(data)} bytes"


def _state(record: Any) -> str:
    state = record.outgoing_thread_state
    return THREAD_STATES[state] if state < len(THREAD_STATES) else f"state {state}"


# Objects lack the fields that their kind of record lacks.
_OPTIONAL = frozenset({"id", "end_ticks", "end_ns"})
_OF_METADATA = frozenset({"ticks", "ns", "process", "thread", "args"})
# Times in nanoseconds follow those that they are made from.
_TIMES = {"ticks": "ns", "end_ticks": "end_ns"}


def record_object(record: Record) -> dict[str, Any]:
    """The object of a record."""
    made: dict[str, Any] = {
        "record": snake_case(type(record).__name__),
        "provider": record.provider,
    }
    has_metadata = not isinstance(record, LargeBlob) or record.ticks is not None
    left_out = _OPTIONAL if has_metadata else _OPTIONAL | _OF_METADATA
    value: Any
    for field, value in zip(record._fields, record, strict=True):
        if field in _TIMES.values() or (field in left_out and value in {None, ()}):
            continue
        if field == "args":
            made["args"] = [_argument(each) for each in value]
        elif isinstance(value, (bytes, memoryview)):
            is_id = isinstance(record, Module)
            made[field] = value.hex() if is_id else _base64(value)
        elif isinstance(value, str):
            put_text(made, field, value)
        else:
            made[field] = value
            if field in _TIMES:
                made[_TIMES[field]] = getattr(record, _TIMES[field])
    return made


def _argument(argument: Argument) -> dict[str, Any]:
    made: dict[str, Any] = {}
    name, made_type, value = argument
    put_text(made, "name", name)
    made["type"] = made_type
    if isinstance(value, str):
        put_text(made, "value", value)
        return made
    if isinstance(value, bytes):
        value = _base64(value)
    elif isinstance(value, float) and not math.isfinite(value):
        value = _NOT_FINITE[str(value)]
    return {**made, "value": value}


def put_text(made: dict[str, Any], field: str, text: str) -> None:
    """Put a text into an object; its bytes as well if it is not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raw = text.encode("utf-8", "surrogateescape")
        made[field] = raw.decode("utf-8", "replace")
        made[f"{field}_base64"] = _base64(raw)
    else:
        made[field] = text


def _base64(data: bytes | memoryview) -> str:
    return b64encode(data).decode()
