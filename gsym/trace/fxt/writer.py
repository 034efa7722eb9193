"""Records -> Fuchsia traces (FXT).

What comes is checked against what the format has room for; unused bits are 0.
"""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.errors import LimitError
from gsym.trace.fxt.records import (
    ARGUMENT_TYPES,
    EVENT_KINDS,
    Argument,
    Backtrace,
    Blob,
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LargeBlob,
    LegacyContextSwitch,
    Log,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    Unknown,
    UserspaceObject,
)
from gsym.trace.fxt.references import References, Words, field, stream, text_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.trace.fxt.records import Arguments, Value
    from gsym.trace.fxt.references import ReferenceMaker

    _ArgumentParts = tuple[str, int, bytes]
    _Parts = tuple[int, int, bytes]
    from collections.abc import Iterable, Iterator
    from typing import Literal

    from gsym.trace.fxt.records import Record


_MOST_ARGUMENTS = 15
_INT32, _INT64 = range(-(1 << 31), 1 << 31), range(-(1 << 63), 1 << 63)
_UINT32, _UINT64 = range(1 << 32), range(1 << 64)
_ONES_32, _ONES_64 = _UINT32[-1], _UINT64[-1]
_KINDS = {
    bool: "bool",
    float: "double",
    str: "string",
    bytes: "blob",
    type(None): "null",
}


def argument_of(name: str, value: Value) -> Argument:
    """An argument of the type that fits a value; of integers the smallest one.

    Raises:
        OverflowError: The value is an integer of more than 64 bits.
        TypeError: There is no type for it.
    """
    kind = _KINDS.get(type(value))
    if kind is None:
        if not isinstance(value, int):
            raise TypeError(f"no argument can be a {type(value).__name__}")
        value = int(value)  # to look for an object of a subclass goes through the range
        ranges = {
            "int32": _INT32,
            "uint32": _UINT32,
            "int64": _INT64,
            "uint64": _UINT64,
        }
        kind = next((each for each, fit in ranges.items() if value in fit), None)
        if kind is None:
            raise OverflowError(f"{value} is not a number of 64 bits")
    return Argument(name, kind, value)


def arguments_bytes(
    args: Arguments, words: Words, references: ReferenceMaker
) -> tuple[int, bytes]:
    """How many arguments there are, and their bytes.

    Raises:
        LimitError: There are more than 15, or one is too large.
        OverflowError: A value is not of its type.
        ValueError: A type is not known.
    """
    if len(args) > _MOST_ARGUMENTS:
        reason = f"{len(args)} arguments; there is room for {_MOST_ARGUMENTS}"
        raise LimitError(reason)
    parts = [argument_bytes(argument, words, references) for argument in args]
    return len(parts), b"".join(parts)


def argument_bytes(
    argument: Argument, words: Words, references: ReferenceMaker
) -> bytes:
    """One argument; a number of 64 bits takes 32 where that is enough."""
    make = _MAKERS.get(argument.type)
    if make is None:
        raise ValueError(f"arguments have no type {argument.type!r}")
    kind, upper, body = make(argument.value, words, references)
    name, name_stream = references.name(argument.name)
    header = name << 16 | upper << 32
    number = ARGUMENT_TYPES.index(kind)
    return words.with_header(number, header, name_stream + body)


def _null(_value: Any, _words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "null", 0, b""


def _int32(value: Any, _words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "int32", _checked(value, _INT32, 32) & _ONES_32, b""


def _uint32(value: Any, _words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "uint32", field(value, 0, 32, "an argument"), b""


def _int64(value: Any, words: Words, references: ReferenceMaker) -> _ArgumentParts:
    if int(value) in _INT32:
        return _int32(value, words, references)
    return "int64", 0, words(_checked(value, _INT64, 64) & _ONES_64)


def _uint64(value: Any, words: Words, references: ReferenceMaker) -> _ArgumentParts:
    if int(value) in _UINT32:
        return _uint32(value, words, references)
    return "uint64", 0, words(value)


def _double(value: Any, words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "double", 0, words.double(value)


def _string(value: Any, _words: Words, references: ReferenceMaker) -> _ArgumentParts:
    return ("string", *references.text(value))


def _pointer(value: Any, words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "pointer", 0, words(value)


def _koid(value: Any, words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "koid", 0, words(value)


def _bool(value: Any, _words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "bool", bool(value), b""


def _blob(value: Any, _words: Words, _references: ReferenceMaker) -> _ArgumentParts:
    return "blob", len(value), stream(value)


def _checked(value: int, fit: range, count: int) -> int:
    if int(value) not in fit:
        raise OverflowError(f"an argument {value} is not a number of {count} bits")
    return value


_MAKERS: dict[str, Callable[[Any, Words, ReferenceMaker], _ArgumentParts]] = {
    "null": _null,
    "int32": _int32,
    "uint32": _uint32,
    "int64": _int64,
    "uint64": _uint64,
    "double": _double,
    "string": _string,
    "pointer": _pointer,
    "koid": _koid,
    "bool": _bool,
    "blob": _blob,
}


MOST_FRAMES = 255
"""Of a backtrace."""

_MOST_NAME_SIZE = 255
_EVENT_NUMBERS = {kind: number for number, kind in enumerate(EVENT_KINDS)}
_COUNTER = lib.GSYM_FXT_COUNTER
_COMPLETE = lib.GSYM_FXT_DURATION_COMPLETE  # those behind have a word more, too


def _trace_info(
    record: TraceInfo, _words: Words, _references: ReferenceMaker
) -> _Parts:
    header = 4 << 16 | field(record.type, 20, 4, "the type of a trace info")
    value = field(record.value, 24, 40, "the value of a trace info")
    return lib.GSYM_FXT_TYPE_METADATA, header | value, b""


def _provider_info(
    record: ProviderInfo, _words: Words, _references: ReferenceMaker
) -> _Parts:
    name = text_bytes(record.name, _MOST_NAME_SIZE)
    provider = field(record.provider, 20, 32, "the id of a provider")
    return (
        lib.GSYM_FXT_TYPE_METADATA,
        1 << 16 | provider | len(name) << 52,
        stream(name),
    )


def _provider_section(
    record: ProviderSection, _words: Words, _references: ReferenceMaker
) -> _Parts:
    provider = field(record.provider, 20, 32, "the id of a provider")
    return lib.GSYM_FXT_TYPE_METADATA, 2 << 16 | provider, b""


def _provider_event(
    record: ProviderEvent, _words: Words, _references: ReferenceMaker
) -> _Parts:
    provider = field(record.provider, 20, 32, "the id of a provider")
    event = field(record.event, 52, 4, "the event of a provider")
    return lib.GSYM_FXT_TYPE_METADATA, 3 << 16 | provider | event, b""


def _initialization(
    record: Initialization, words: Words, _references: ReferenceMaker
) -> _Parts:
    return lib.GSYM_FXT_TYPE_INITIALIZATION, 0, words(record.ticks_per_second)


def _event(record: Event, words: Words, references: ReferenceMaker) -> _Parts:
    number = _EVENT_NUMBERS.get(record.kind)
    if number is None:
        raise ValueError(f"events have no kind {record.kind!r}")
    thread, koids = references.thread(record.process, record.thread)
    category, category_stream = references.name(record.category)
    name, name_stream = references.name(record.name)
    count, args = arguments_bytes(record.args, words, references)
    header = number << 16 | count << 20 | thread << 24 | category << 32 | name << 48
    body = words(record.ticks) + koids + category_stream + name_stream + args
    if number == _COUNTER or number >= _COMPLETE:
        last = record.end_ticks if number == _COMPLETE else record.id
        if last is None:
            raise ValueError(f"an event of the kind {record.kind} lacks its id or end")
        body += words(last)
    return lib.GSYM_FXT_TYPE_EVENT, header, body


def _userspace_object(
    record: UserspaceObject, words: Words, references: ReferenceMaker
) -> _Parts:
    name, name_stream = references.text(record.name)
    count, args = arguments_bytes(record.args, words, references)
    body = words(record.pointer, record.process) + name_stream + args
    return lib.GSYM_FXT_TYPE_USERSPACE_OBJECT, name << 24 | count << 40, body


def _kernel_object(
    record: KernelObject, words: Words, references: ReferenceMaker
) -> _Parts:
    name, name_stream = references.text(record.name)
    count, args = arguments_bytes(record.args, words, references)
    kind = field(record.type, 16, 8, "the type of an object")
    body = words(record.koid) + name_stream + args
    return lib.GSYM_FXT_TYPE_KERNEL_OBJECT, kind | name << 24 | count << 40, body


def _context_switch(
    record: ContextSwitch, words: Words, references: ReferenceMaker
) -> _Parts:
    count, args = arguments_bytes(record.args, words, references)
    state = field(record.outgoing_thread_state, 36, 4, "the state of a thread")
    header = 1 << 60 | state | field(record.cpu, 20, 16, "a processor") | count << 16
    threads = (record.outgoing_thread, record.incoming_thread)
    return lib.GSYM_FXT_TYPE_SCHEDULING, header, words(record.ticks, *threads) + args


def _thread_wakeup(
    record: ThreadWakeup, words: Words, references: ReferenceMaker
) -> _Parts:
    count, args = arguments_bytes(record.args, words, references)
    header = 2 << 60 | field(record.cpu, 20, 16, "a processor") | count << 16
    return (
        lib.GSYM_FXT_TYPE_SCHEDULING,
        header,
        words(record.ticks, record.thread) + args,
    )


def _legacy_context_switch(
    record: LegacyContextSwitch, words: Words, references: ReferenceMaker
) -> _Parts:
    outgoing, outgoing_koids = references.thread(
        record.outgoing_process, record.outgoing_thread
    )
    incoming, incoming_koids = references.thread(
        record.incoming_process, record.incoming_thread
    )
    header = field(record.cpu, 16, 8, "a processor")
    header |= field(record.outgoing_thread_state, 24, 4, "the state of a thread")
    header |= outgoing << 28 | incoming << 36
    header |= field(record.outgoing_priority, 44, 8, "a priority")
    header |= field(record.incoming_priority, 52, 8, "a priority")
    body = words(record.ticks) + outgoing_koids + incoming_koids
    return lib.GSYM_FXT_TYPE_SCHEDULING, header, body


def _log(record: Log, words: Words, references: ReferenceMaker) -> _Parts:
    message = text_bytes(record.message)
    thread, koids = references.thread(record.process, record.thread)
    body = words(record.ticks) + koids + stream(message)
    return lib.GSYM_FXT_TYPE_LOG, len(message) << 16 | thread << 32, body


def _profiler_thread(
    record: Module | Mmap | Backtrace, words: Words, references: ReferenceMaker
) -> tuple[int, bytes]:
    """Reference of the thread in its place; time and koids."""
    thread, koids = references.thread(record.process, record.thread)
    return thread << 20, words(record.ticks) + koids


def _module(record: Module, words: Words, references: ReferenceMaker) -> _Parts:
    name = text_bytes(record.name, _MOST_NAME_SIZE)
    if len(record.build_id) > _MOST_NAME_SIZE:
        size = len(record.build_id)
        raise LimitError(f"a build id of {size} bytes; there is room for 255")
    number = field(record.module_id, 28, 16, "the id of a module")
    thread, body = _profiler_thread(record, words, references)
    sizes = len(name) << 44 | len(record.build_id) << 52
    body += stream(name) + stream(record.build_id)
    return lib.GSYM_FXT_TYPE_PROFILER, thread | number | sizes, body


def _mmap(record: Mmap, words: Words, references: ReferenceMaker) -> _Parts:
    number = field(record.module_id, 28, 16, "the id of a module")
    flags = field(record.flags, 44, 3, "the flags of a mapping")
    thread, body = _profiler_thread(record, words, references)
    place = (record.start_address, record.address_range, record.vaddr)
    body += words(*place)
    return lib.GSYM_FXT_TYPE_PROFILER, 1 << 16 | thread | number | flags, body


def _backtrace(record: Backtrace, words: Words, references: ReferenceMaker) -> _Parts:
    count = len(record.frames)
    if count > MOST_FRAMES:
        raise LimitError(f"{count} frames; there is room for {MOST_FRAMES}")
    thread, body = _profiler_thread(record, words, references)
    body += words(*record.frames)
    return lib.GSYM_FXT_TYPE_PROFILER, 2 << 16 | thread | count << 28, body


MAKERS: dict[type, Callable[[Any, Words, ReferenceMaker], _Parts]] = {
    TraceInfo: _trace_info,
    ProviderInfo: _provider_info,
    ProviderSection: _provider_section,
    ProviderEvent: _provider_event,
    Initialization: _initialization,
    Event: _event,
    UserspaceObject: _userspace_object,
    KernelObject: _kernel_object,
    ContextSwitch: _context_switch,
    ThreadWakeup: _thread_wakeup,
    LegacyContextSwitch: _legacy_context_switch,
    Log: _log,
    Module: _module,
    Mmap: _mmap,
    Backtrace: _backtrace,
}
"""What makes the parts of records that take one record and change no table."""


__all__ = ["MOST_FRAMES", "TAKEN_AFTER", "Encoder", "argument_of", "encode"]


_MAGIC = TraceInfo(0, lib.GSYM_FXT_MAGIC)
_MOST_BLOB_SIZE = 32000  # of one record; more is split
_MOST_LARGE_SIZE = (1 << 32) - 1  # in words
TAKEN_AFTER = 1 << 18
"""Bytes that are worth writing to a file."""

# They name the provider themselves, or are of the trace as a whole.
_OF_NO_PROVIDER = {ProviderInfo, ProviderSection, ProviderEvent, TraceInfo}


class Encoder:
    """Writes a trace; same records, same bytes.

    It begins with the magic number. A record of another provider than the one before
    gets a section in front of it; one without a provider (None) goes with those before.

    Args:
        byteorder: Of words.
        interning: Strings that are likely to come again, and threads, stand in tables
            of their provider; without, where they are used.
    """

    def __init__(
        self,
        byteorder: Literal["little", "big"] = "little",
        *,
        interning: bool = True,
    ) -> None:
        self._words = Words(byteorder)
        self._out = bytearray()
        self._references = References(self._words, self._out, interning=interning)
        self._provider: int | None = None
        self._has_records = False
        self._put(_MAGIC)

    def add(self, record: Record) -> None:
        """Append a record; a blob that is too large for one becomes several.

        Raises:
            LimitError: A text has more than 32000 bytes, or a name of a provider or a
                module or a build id more than 255; there are more than 15 arguments or
                255 frames; or all of it takes more than 32760 bytes.
            OverflowError: A number does not fit its field.
            ValueError: A kind or type is not known, or an event lacks its id or end, or
                a large blob without a time has other metadata, or a record of type
                `Unknown` is not of whole words, or a text has a surrogate that does not
                represent a byte.
        """
        kind = type(record)
        if kind not in _OF_NO_PROVIDER and record.provider != self._provider:
            self._enter_section(record.provider)
        if kind not in MAKERS:
            self._put_other(record)
        elif self._has_records or kind is not TraceInfo or record[:2] != _MAGIC[:2]:
            self._put(record)
        if isinstance(record, (ProviderInfo, ProviderSection)):
            self._enter(record.provider)
        self._has_records = True

    def take(self) -> bytes:
        """What was written since it was asked for last."""
        taken = bytes(self._out)
        self._out.clear()
        return taken

    @property
    def size(self) -> int:
        """Bytes that `take` would give."""
        return len(self._out)

    def _enter(self, provider: int) -> None:
        self._provider = provider
        self._references.enter(provider)

    def _enter_section(self, provider: int | None) -> None:
        if provider is not None:
            self._put(ProviderSection(provider))
            self._enter(provider)

    def _put(self, record: Record) -> None:
        parts = MAKERS[type(record)](record, self._words, self._references)
        self._out += self._words.with_header(*parts)

    def _put_other(self, record: Record) -> None:
        """Write a record that changes a table, takes several records or a large one."""
        if isinstance(record, String):
            self._references.define_string(record.string_index, record.value)
        elif isinstance(record, Thread):
            koids = (record.process, record.thread)
            self._references.define_thread(record.thread_index, *koids)
        elif isinstance(record, Blob):
            self._put_blob(record)
        elif isinstance(record, LargeBlob):
            self._put_large_blob(record)
        elif isinstance(record, Unknown):
            self._put_unknown(record)

    def _put_blob(self, record: Blob) -> None:
        kind = field(record.type, 48, 8, "the type of a blob")
        for start in range(0, len(record.data) or 1, _MOST_BLOB_SIZE):
            data = record.data[start : start + _MOST_BLOB_SIZE]
            name, body = self._references.name(record.name)
            header = name << 16 | len(data) << 32 | kind
            body += stream(data)
            self._out += self._words.with_header(lib.GSYM_FXT_TYPE_BLOB, header, body)

    def _put_large_blob(self, record: LargeBlob) -> None:
        words, references = self._words, self._references
        category, category_stream = references.name(record.category)
        name, name_stream = references.name(record.name)
        names, body = category | name << 16, category_stream + name_stream
        if record.ticks is not None:
            process, thread = record.process or 0, record.thread or 0
            reference, koids = references.thread(process, thread)
            count, args = arguments_bytes(record.args, words, references)
            names |= count << 32 | reference << 36
            body += words(record.ticks) + koids + args
        elif record.args or (record.process, record.thread) != (None, None):
            raise ValueError(
                f"large blob '{record.name}' has arguments or a thread but no time, "
                "which the format requires"
            )
        data = record.data
        size = 3 + (len(body) + len(data) + 7) // 8  # in words
        if size > _MOST_LARGE_SIZE:
            raise LimitError(f"a record of {size} words; there is room for 2^32 - 1")
        blob_format = 1 if record.ticks is None else 0
        self._out += (
            words(lib.GSYM_FXT_TYPE_LARGE | size << 4 | blob_format << 40, names) + body
        )
        self._out += words(len(data))
        self._out += data
        self._out += bytes(-len(data) % 8)

    def _put_unknown(self, record: Unknown) -> None:
        size = len(record.data)
        if not size or size % 8:
            raise ValueError(f"a record of {size} bytes is not one of whole words")
        self._out += record.data


def encode(
    records: Iterable[Record],
    byteorder: Literal["little", "big"] = "little",
    *,
    interning: bool = True,
) -> Iterator[bytes]:
    """The bytes of a trace of these records, in blocks.

    Raises:
        LimitError: As for `Encoder.add`.
        OverflowError: Likewise.
        ValueError: Likewise.
    """
    encoder = Encoder(byteorder, interning=interning)
    for record in records:
        encoder.add(record)
        if encoder.size > TAKEN_AFTER:
            yield encoder.take()
    yield encoder.take()
