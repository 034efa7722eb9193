"""Records of a Fuchsia trace, and the layout of each kind, for reading and writing.

Of all records, *ns* is the time in nanoseconds, *provider* the id of the provider that
wrote it (None before any), and *offset* its first byte in the trace.

A layout lists the fields of a record in the order of its body:

    field              a word
    field@first:count  a number of some bits of the header
    field@first/how    what the header refers to or gives the size of, as one of:

        name, text   a string; names are likely to come again
        thread       a process and a thread
        args         arguments
        utf8, bytes  data whose size is in the header
        words        as many words as the header says
        optional     a number with a value for None
"""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.lazy import re
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class ProviderInfo(NamedTuple):
    """The name of a provider, which wrote the records that follow."""

    name: str
    provider: int
    offset: int = 0


class ProviderSection(NamedTuple):
    """The records that follow are of this provider."""

    provider: int
    offset: int = 0


class ProviderEvent(NamedTuple):
    """An event of a provider; *event* 0: its buffer filled up."""

    event: int
    provider: int
    offset: int = 0


class TraceInfo(NamedTuple):
    """About the trace; *type* 0: the magic number, *value*."""

    type: int
    value: int
    provider: int | None = None
    offset: int = 0


class Initialization(NamedTuple):
    """The unit of the times that follow."""

    ticks_per_second: int
    provider: int | None = None
    offset: int = 0


class String(NamedTuple):
    """An entry of the string table; it replaces one of the same index."""

    string_index: int
    value: str
    provider: int | None = None
    offset: int = 0


class Thread(NamedTuple):
    """An entry of the thread table; it replaces one of the same index."""

    thread_index: int
    process: int
    thread: int
    provider: int | None = None
    offset: int = 0


# They apply to the records after them.
TABLES = (
    *(Initialization, ProviderInfo, ProviderSection),
    *(String, Thread, TraceInfo),
)


def begins_trace(record: object) -> bool:
    """Whether a record is the magic number, which ends the state of earlier records."""
    return isinstance(record, TraceInfo) and record[:2] == (0, lib.GSYM_FXT_MAGIC)


# By number. A counter has series of values as its arguments.
EVENT_KINDS = (
    "instant",
    "counter",
    "duration_begin",
    "duration_end",
    "duration_complete",
    "async_begin",
    "async_instant",
    "async_end",
    "flow_begin",
    "flow_step",
    "flow_end",
)
ARGUMENT_TYPES = (
    "null",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "double",
    "string",
    "pointer",
    "koid",
    "bool",
    "blob",
)
THREAD_STATES = ("new", "running", "suspended", "blocked", "dying", "dead")
# In place of a thread that no earlier record has defined.
UNKNOWN_KOID = UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import TypeAlias

    Value: TypeAlias = int | float | str | bytes | None
    Arguments: TypeAlias = tuple["Argument", ...]


class Argument(NamedTuple):
    """A typed value with a name; *type* is one of ARGUMENT_TYPES."""

    name: str
    type: str
    value: Value


class Event(NamedTuple):
    """Something that happened on a thread."""

    kind: str  # one of EVENT_KINDS
    ticks: int  # when, or when it began
    process: int  # koid
    thread: int  # koid
    category: str  # the kind of code that reports it
    name: str  # what happened
    args: Arguments = ()  # at most 15
    # of a counter, or what correlates asynchronous events or those of a flow; None for
    # other kinds
    id: int | None = None
    end_ticks: int | None = None  # when a complete duration ended; None for other kinds
    ns: int | None = None
    end_ns: int | None = None  # the same for the end
    provider: int | None = None
    offset: int = 0


class Blob(NamedTuple):
    """A piece of a stream *name*; *type* 1: data, 2: last branch, 3: Perfetto."""

    name: str
    type: int
    data: bytes
    provider: int | None = None
    offset: int = 0


class UserspaceObject(NamedTuple):
    """The object at *pointer* in a process."""

    pointer: int
    process: int
    name: str
    args: Arguments = ()
    provider: int | None = None
    offset: int = 0


class KernelObject(NamedTuple):
    """A kernel object; *type* 1: a process, 2: a thread, others as in Zircon."""

    koid: int
    type: int
    name: str
    args: Arguments = ()
    provider: int | None = None
    offset: int = 0


class ContextSwitch(NamedTuple):
    """A processor leaves a thread, now in a state of THREAD_STATES, for another."""

    ticks: int
    cpu: int
    outgoing_thread_state: int
    outgoing_thread: int
    incoming_thread: int
    args: Arguments = ()
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class ThreadWakeup(NamedTuple):
    """A thread may run again."""

    ticks: int
    cpu: int
    thread: int
    args: Arguments = ()
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class LegacyContextSwitch(NamedTuple):
    """A context switch as older systems record it."""

    ticks: int
    cpu: int
    outgoing_thread_state: int
    outgoing_process: int
    outgoing_thread: int
    incoming_process: int
    incoming_thread: int
    outgoing_priority: int
    incoming_priority: int
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class Log(NamedTuple):
    """A line of a log."""

    ticks: int
    process: int
    thread: int
    message: str
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class Module(NamedTuple):
    """A module that a process has loaded, for the profiler; *thread* is 0."""

    ticks: int
    process: int
    thread: int
    module_id: int
    name: str
    build_id: bytes
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class Mmap(NamedTuple):
    """A mapping of a part of a module; *thread* is 0."""

    ticks: int  # when it was seen
    process: int  # koid
    thread: int  # koid, 0
    module_id: int  # of a `Module` record of the process, which may come later
    flags: int  # of its pages; writers do not agree what the bits mean
    start_address: int  # first address in the process
    address_range: int  # bytes covered
    vaddr: int  # address within the module, as it was linked, of the first byte
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class Backtrace(NamedTuple):
    """A sample of the profiler: addresses, innermost frame first."""

    ticks: int
    process: int
    thread: int
    frames: tuple[int, ...]
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class LargeBlob(NamedTuple):
    """Data of any size; without metadata *ticks*, *process*, *thread* are None.

    If *data* of a file has more than 256 MiB, it is a view of the file.
    """

    category: str
    name: str
    data: bytes | memoryview
    ticks: int | None = None
    process: int | None = None
    thread: int | None = None
    args: Arguments = ()
    ns: int | None = None
    provider: int | None = None
    offset: int = 0


class Unknown(NamedTuple):
    """A record of an unknown type."""

    type: int  # type of the record
    subtype: int | None  # of records whose type has some; None for others
    data: bytes  # the complete record, header included
    provider: int | None = None
    offset: int = 0


Record: TypeAlias = (
    ProviderInfo
    | ProviderSection
    | ProviderEvent
    | TraceInfo
    | Initialization
    | String
    | Thread
    | Event
    | Blob
    | UserspaceObject
    | KernelObject
    | ContextSwitch
    | ThreadWakeup
    | LegacyContextSwitch
    | Log
    | Module
    | Mmap
    | Backtrace
    | LargeBlob
    | Unknown
)


_WITH_METADATA = "_with_metadata"


def snake_case(name: str) -> str:
    """The name of a type as the specification would spell it in a program."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def kind_of(record: Record) -> str:
    """The kind of a record, of `gsym.fxt.decoder.KINDS`."""
    if isinstance(record, Event):
        return record.kind
    kind = snake_case(type(record).__name__)
    if isinstance(record, LargeBlob) and record.ticks is not None:
        return kind + _WITH_METADATA
    return kind


class Part(NamedTuple):
    """A field: its name, bits of the header (none for words), and how it is stored."""

    field: str
    first: int
    bits: int
    how: str


class Layout(NamedTuple):
    """A kind of record."""

    kind: str  # its name
    record: Any  # the class of its records
    type: int  # in the header
    subtype: int  # constant bits of the header
    parts: tuple[Part, ...]  # its fields, in the order of the body
    is_timed: bool  # whether it begins with a time


def process_field(thread_field: str) -> str:
    """The field of the process beside that of a thread."""
    return thread_field.replace("thread", "process")


def _parts(text: str) -> Iterator[Part]:
    for each in text.split():
        place, _, how = each.partition("/")
        field, _, header = place.partition("@")
        first, _, bits = header.partition(":")
        how = how or ("bits" if bits else "word")
        yield Part(field, int(first or 0), int(bits or 0), how)


def _layout(
    record: Any, type_name: str, subtype: int, fields: str, suffix: str = ""
) -> Layout:
    kind = snake_case(record.__name__) + suffix
    number = getattr(lib, f"GSYM_FXT_TYPE_{type_name}") if type_name else 0
    parts = tuple(_parts(fields))
    is_timed = any(part.field == "ticks" for part in parts)
    return Layout(kind, record, number, subtype, parts, is_timed)


# In the order of the engine's numbers, which follow those of events. Of large and
# unknown records only the fields are listed.
LAYOUTS = (
    _layout(ProviderInfo, "METADATA", 1 << 16, "provider@20:32 name@52:8/utf8"),
    _layout(ProviderSection, "METADATA", 2 << 16, "provider@20:32"),
    _layout(ProviderEvent, "METADATA", 3 << 16, "provider@20:32 event@52:4"),
    _layout(TraceInfo, "METADATA", 4 << 16, "type@20:4 value@24:40"),
    _layout(Initialization, "INITIALIZATION", 0, "ticks_per_second"),
    _layout(String, "STRING", 0, "string_index@16:15 value@32:15/utf8"),
    _layout(Thread, "THREAD", 0, "thread_index@16:8 process thread"),
    _layout(Blob, "BLOB", 0, "type@48:8 name@16/name data@32:15/bytes"),
    _layout(
        *(UserspaceObject, "USERSPACE_OBJECT", 0),
        "pointer process name@24/text args@40/args",
    ),
    _layout(
        KernelObject, "KERNEL_OBJECT", 0, "koid type@16:8 name@24/text args@40/args"
    ),
    _layout(
        *(LegacyContextSwitch, "SCHEDULING", 0),
        "cpu@16:8 outgoing_thread_state@24:4 ticks outgoing_thread@28/thread"
        " incoming_thread@36/thread outgoing_priority@44:8 incoming_priority@52:8",
    ),
    _layout(
        *(ContextSwitch, "SCHEDULING", 1 << 60),
        "cpu@20:16 outgoing_thread_state@36:4 ticks outgoing_thread incoming_thread"
        " args@16/args",
    ),
    _layout(ThreadWakeup, "SCHEDULING", 2 << 60, "cpu@20:16 ticks thread args@16/args"),
    _layout(Log, "LOG", 0, "ticks thread@32/thread message@16:15/utf8"),
    _layout(
        *(Module, "PROFILER", 0),
        "ticks thread@20/thread module_id@28:16 name@44:8/utf8 build_id@52:8/bytes",
    ),
    _layout(
        *(Mmap, "PROFILER", 1 << 16),
        "ticks thread@20/thread module_id@28:16 flags@44:3 start_address address_range"
        " vaddr",
    ),
    _layout(Backtrace, "PROFILER", 2 << 16, "ticks thread@20/thread frames@28:8/words"),
    _layout(
        *(LargeBlob, "LARGE", 0),
        "category/name name/name ticks thread/thread args/args data/bytes",
        _WITH_METADATA,
    ),
    _layout(LargeBlob, "LARGE", 1 << 40, "category/name name/name data/bytes"),
    _layout(Unknown, "", 0, "type subtype/optional data/bytes"),
)
KINDS = (*EVENT_KINDS, *(layout.kind for layout in LAYOUTS))
"""The kinds of records by the engine's numbers; the first ones are those of events."""
