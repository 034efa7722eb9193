"""Records of a Fuchsia trace -> the parts of their bytes: type, header bits, body."""

from __future__ import annotations

from gsym._native import lib
from gsym.errors import LimitError
from gsym.formats.fxt_argument_writer import arguments_bytes
from gsym.formats.fxt_records import (
    EVENT_KINDS,
    Backtrace,
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LegacyContextSwitch,
    Log,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    ThreadWakeup,
    TraceInfo,
    UserspaceObject,
)
from gsym.formats.fxt_words import field, stream, text_bytes

__all__ = ["MAKERS", "MOST_FRAMES"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.formats.fxt_references import ReferenceMaker
    from gsym.formats.fxt_words import Words

    _Parts = tuple[int, int, bytes]

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
