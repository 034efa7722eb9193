"""Records of Fuchsia traces and their bytes, one of each kind, to read and to write.

Strings and threads stand inline, provider and offset are left to their place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gsym.fxt.records import (
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
from tests.inputs.fxt import MAGIC, Words, inline, stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gsym.fxt.records import Record

    Case = tuple[Record, Callable[[Words], bytes]]

U32, U64 = 2**32 - 1, 2**64 - 1
REFS = (0, inline(b"cat"), inline(b"a name"))
TEXTS = stream(b"cat") + stream(b"a name")


def event(w: Words, kind: int, *last: int) -> bytes:
    return w.event(kind, 500, REFS, w(7, 8) + TEXTS + w(*last))


def with_argument(w: Words, argument: bytes) -> bytes:
    return w.event(0, 500, REFS, w(7, 8) + TEXTS + argument, argument_count=1)


def arguments_case(
    argument: Argument, make: Callable[[Words], bytes]
) -> tuple[Record, Callable[[Words], bytes]]:
    record = Event("instant", 500, 7, 8, "cat", "a name", (argument,), ns=500)
    return record, lambda w: with_argument(w, make(w))


EVENTS: dict[str, Case] = {
    "an instant": (
        Event("instant", 500, 7, 8, "cat", "a name", ns=500),
        lambda w: event(w, 0),
    ),
    "a counter": (
        Event("counter", 500, 7, 8, "cat", "a name", id=U64, ns=500),
        lambda w: event(w, 1, U64),
    ),
    "the beginning of a duration": (
        Event("duration_begin", 500, 7, 8, "cat", "a name", ns=500),
        lambda w: event(w, 2),
    ),
    "the end of a duration": (
        Event("duration_end", 500, 7, 8, "cat", "a name", ns=500),
        lambda w: event(w, 3),
    ),
    "a complete duration": (
        Event(
            *("duration_complete", 500, 7, 8, "cat", "a name"),
            end_ticks=700,
            ns=500,
            end_ns=700,
        ),
        lambda w: event(w, 4, 700),
    ),
    "the beginning of an asynchronous operation": (
        Event("async_begin", 500, 7, 8, "cat", "a name", id=1, ns=500),
        lambda w: event(w, 5, 1),
    ),
    "a moment of an asynchronous operation": (
        Event("async_instant", 500, 7, 8, "cat", "a name", id=2, ns=500),
        lambda w: event(w, 6, 2),
    ),
    "the end of an asynchronous operation": (
        Event("async_end", 500, 7, 8, "cat", "a name", id=3, ns=500),
        lambda w: event(w, 7, 3),
    ),
    "the beginning of a flow": (
        Event("flow_begin", 500, 7, 8, "cat", "a name", id=4, ns=500),
        lambda w: event(w, 8, 4),
    ),
    "a step of a flow": (
        Event("flow_step", 500, 7, 8, "cat", "a name", id=5, ns=500),
        lambda w: event(w, 9, 5),
    ),
    "the end of a flow": (
        Event("flow_end", 500, 7, 8, "cat", "a name", id=6, ns=500),
        lambda w: event(w, 10, 6),
    ),
}

ARGUMENTS: dict[str, Case] = {
    "no value": arguments_case(
        Argument("arg", "null", None), lambda w: w.argument(0, b"arg")
    ),
    "a negative number of 32 bits": arguments_case(
        Argument("arg", "int32", -7), lambda w: w.argument(1, b"arg", U32 - 6)
    ),
    "the least number of 32 bits": arguments_case(
        Argument("arg", "int32", -(2**31)), lambda w: w.argument(1, b"arg", 1 << 31)
    ),
    "an unsigned number of 32 bits": arguments_case(
        Argument("arg", "uint32", U32), lambda w: w.argument(2, b"arg", U32)
    ),
    "a negative number of 64 bits": arguments_case(
        Argument("arg", "int64", -(2**63)),
        lambda w: w.argument(3, b"arg", 0, w(1 << 63)),
    ),
    "an unsigned number of 64 bits": arguments_case(
        Argument("arg", "uint64", U64), lambda w: w.argument(4, b"arg", 0, w(U64))
    ),
    "a floating-point number": arguments_case(
        Argument("arg", "double", 3.1415),
        lambda w: w.argument(5, b"arg", 0, w.double(3.1415)),
    ),
    "a string": arguments_case(
        Argument("arg", "string", "some value"),
        lambda w: w.argument(6, b"arg", inline(b"some value"), stream(b"some value")),
    ),
    "an empty string": arguments_case(
        Argument("arg", "string", ""), lambda w: w.argument(6, b"arg", 0)
    ),
    "a pointer": arguments_case(
        Argument("arg", "pointer", 0x2FD10EA19F4),
        lambda w: w.argument(7, b"arg", 0, w(0x2FD10EA19F4)),
    ),
    "a koid": arguments_case(
        Argument("arg", "koid", 18), lambda w: w.argument(8, b"arg", 0, w(18))
    ),
    "true": arguments_case(
        Argument("arg", "bool", True),  # noqa: FBT003 - that is the value
        lambda w: w.argument(9, b"arg", 1),
    ),
    "false": arguments_case(
        Argument("arg", "bool", False),  # noqa: FBT003 - that is the value
        lambda w: w.argument(9, b"arg", 0),
    ),
    "bytes": arguments_case(
        Argument("arg", "blob", b"\0\1\2\xff binary"),
        lambda w: w.argument(10, b"arg", 11, stream(b"\0\1\2\xff binary")),
    ),
    "no bytes": arguments_case(
        Argument("arg", "blob", b""), lambda w: w.argument(10, b"arg", 0)
    ),
    "a name that is not UTF-8": arguments_case(
        Argument("\udcff", "null", None), lambda w: w.argument(0, b"\xff")
    ),
}

ARGUMENT = (Argument("arg", "int32", 5),)

OTHERS: dict[str, Case] = {
    "the magic number": (TraceInfo(0, 0x16547846), lambda w: w(MAGIC)),
    "another trace info": (
        TraceInfo(3, 0xFF_FFFF_FFFF),
        lambda w: w.record(0, 4 << 16 | 3 << 20 | 0xFF_FFFF_FFFF << 24),
    ),
    "a provider": (
        ProviderInfo("provider", U32),
        lambda w: w.provider_info(U32, b"provider"),
    ),
    "a section": (ProviderSection(9), lambda w: w.provider_section(9)),
    "a full buffer": (
        ProviderEvent(0, 9),
        lambda w: w.record(0, 3 << 16 | 9 << 20),
    ),
    "another event of a provider": (
        ProviderEvent(15, 9),
        lambda w: w.record(0, 3 << 16 | 9 << 20 | 15 << 52),
    ),
    "an initialization": (Initialization(10**9), lambda w: w.initialization(10**9)),
    "an entry of the string table": (
        String(0x7FFF, "grüße"),
        lambda w: w.string(0x7FFF, "grüße".encode()),
    ),
    "an entry of the thread table": (
        Thread(255, U64, 1 << 63),
        lambda w: w.thread(255, U64, 1 << 63),
    ),
    "a blob": (
        Blob("stream", 3, b"perfetto!"),
        lambda w: w.record(
            5,
            inline(b"stream") << 16 | 9 << 32 | 3 << 48,
            stream(b"stream") + stream(b"perfetto!"),
        ),
    ),
    "an object of a process": (
        UserspaceObject(0xABCD, 7, "object", ARGUMENT),
        lambda w: w.record(
            6,
            inline(b"object") << 24 | 1 << 40,
            w(0xABCD, 7) + stream(b"object") + w.argument(1, b"arg", 5),
        ),
    ),
    "an object of the kernel": (
        KernelObject(77, 2, "main", (Argument("process", "koid", 70),)),
        lambda w: w.record(
            7,
            2 << 16 | inline(b"main") << 24 | 1 << 40,
            w(77) + stream(b"main") + w.argument(8, b"process", 0, w(70)),
        ),
    ),
    "a context switch": (
        ContextSwitch(500, 0xFFFF, 3, 70, 71, ARGUMENT, 500),
        lambda w: w.record(
            8,
            1 << 16 | 0xFFFF << 20 | 3 << 36 | 1 << 60,
            w(500, 70, 71) + w.argument(1, b"arg", 5),
        ),
    ),
    "a wakeup": (
        ThreadWakeup(500, 3, 70, ARGUMENT, 500),
        lambda w: w.record(
            8, 1 << 16 | 3 << 20 | 2 << 60, w(500, 70) + w.argument(1, b"arg", 5)
        ),
    ),
    "a legacy context switch": (
        LegacyContextSwitch(500, 255, 5, 7, 8, 9, 10, 254, 3, 500),
        lambda w: w.record(
            8, 255 << 16 | 5 << 24 | 254 << 44 | 3 << 52, w(500, 7, 8, 9, 10)
        ),
    ),
    "a line of a log": (
        Log(500, 7, 8, "hello there", 500),
        lambda w: w.record(9, 11 << 16, w(500, 7, 8) + stream(b"hello there")),
    ),
    "a module": (
        Module(500, 7, 0, 0xFFFF, "libc.so", bytes(range(20)), 500),
        lambda w: w.record(
            10,
            0xFFFF << 28 | 7 << 44 | 20 << 52,
            w(500, 7, 0) + stream(b"libc.so") + stream(bytes(range(20))),
        ),
    ),
    "a mapping": (
        Mmap(500, 7, 0, 3, 5, 0x7F00_0000_1000, 0x2345, 0x1000, 500),
        lambda w: w.record(
            10,
            1 << 16 | 3 << 28 | 5 << 44,
            w(500, 7, 0, 0x7F00_0000_1000, 0x2345, 0x1000),
        ),
    ),
    "a backtrace": (
        Backtrace(500, 7, 8, (0x401000, U64, 0), 500),
        lambda w: w.record(10, 2 << 16 | 3 << 28, w(500, 7, 8, 0x401000, U64, 0)),
    ),
    "a backtrace without frames": (
        Backtrace(500, 7, 8, (), 500),
        lambda w: w.record(10, 2 << 16, w(500, 7, 8)),
    ),
    "a large blob": (
        LargeBlob("cat", "name", b"x" * 40000),
        lambda w: w.large(
            1 << 40,
            w(inline(b"cat") | inline(b"name") << 16)
            + stream(b"cat")
            + stream(b"name")
            + w(40000)
            + b"x" * 40000,
        ),
    ),
    "a large blob with metadata": (
        LargeBlob("cat", "name", b"data", 500, 7, 8, ARGUMENT, 500),
        lambda w: w.large(
            0,
            w(inline(b"cat") | inline(b"name") << 16 | 1 << 32)
            + stream(b"cat")
            + stream(b"name")
            + w(500, 7, 8)
            + w.argument(1, b"arg", 5)
            + w(4)
            + stream(b"data"),
        ),
    ),
}

UNKNOWN: dict[str, tuple[tuple[int, int | None], Callable[[Words], bytes]]] = {
    "an unknown type": ((11, None), lambda w: w.record(11, 5 << 16, w(1, 2))),
    "unknown metadata": ((0, 5), lambda w: w.record(0, 5 << 16, w(1))),
    "an unknown event": ((4, 11), lambda w: w.record(4, 11 << 16, w(1, 2, 3))),
    "unknown scheduling": ((8, 3), lambda w: w.record(8, 3 << 60, w(1))),
    "an unknown record of the profiler": (
        (10, 3),
        lambda w: w.record(10, 3 << 16, w(1)),
    ),
    "an unknown large record": ((15, 1), lambda w: w.large(1 << 36, w(1))),
    "an unknown large blob": ((15, 0), lambda w: w.large(2 << 40, w(1, 0))),
}


def unknown_record(name: str, w: Words) -> Unknown:
    (kind, subtype), make = UNKNOWN[name]
    return Unknown(kind, subtype, make(w))


def bare(records: Iterable[Any]) -> list[Any]:
    """Records without where they stand and, unless they name it, their provider."""
    return [
        record._replace(
            offset=0, **dict.fromkeys({"provider"} & {*record._field_defaults})
        )
        for record in records
    ]
