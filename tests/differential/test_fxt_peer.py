"""Traces as the reader of the package `fxt` understands them, which is not ours.

What it is known to do otherwise is left out or allowed for: it knows neither records of
the profiler nor legacy context switches nor blobs as arguments, wants a provider and an
initialization, and takes the end of a complete duration for its length.
"""

from __future__ import annotations

import io
import random
from typing import Any

import pytest

from gsym.fxt.decoder import Decoder
from gsym.fxt.records import (
    EVENT_KINDS,
    Argument,
    Blob,
    ContextSwitch,
    Event,
    Initialization,
    KernelObject,
    LargeBlob,
    Log,
    ProviderInfo,
    Record,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    UserspaceObject,
)
from gsym.fxt.writer import argument_of, encode

peer = pytest.importorskip("fxt.reader", reason="no package fxt, another reader")

COUNT = 3000


def random_args(chosen: random.Random) -> tuple[Argument, ...]:
    values = (5, -5, 2**40, -(2**40), 2**63, 2.5, "text", "", True, None)
    args = [argument_of(f"a{n}", chosen.choice(values)) for n in range(4)]
    args += [Argument("p", "pointer", 2**63), Argument("k", "koid", 7)]
    return tuple(args[chosen.randrange(6) :])


def random_record(chosen: random.Random, ticks: int) -> Record:
    args = random_args(chosen)
    koids = (chosen.randrange(1, 5), chosen.randrange(1, 400))
    name = f"name {chosen.randrange(1 + ticks)}"
    kind = chosen.choice(EVENT_KINDS)
    value = chosen.randrange(2**64) if kind not in EVENT_KINDS[2:4] else None
    is_complete = kind == "duration_complete"
    event = Event(
        *(kind, ticks, *koids, f"category {ticks % 5}", name, args),
        id=None if is_complete else value,
        end_ticks=ticks + 5 if is_complete else None,
    )
    records: list[Record] = [
        *[event] * 6,
        Blob(name, 1, b"x" * (ticks % 20)),
        UserspaceObject(ticks, koids[0], name, args),
        KernelObject(ticks, 1, name, args),
        ContextSwitch(ticks, 3, 2, *koids, args),
        ThreadWakeup(ticks, 3, koids[1], args),
        Log(ticks, *koids, name),
        LargeBlob("cat", name, b"x" * (ticks % 20)),
        LargeBlob("cat", name, b"x" * (ticks % 20), ticks, *koids, args),
    ]
    return chosen.choice(records)


def peer_view(record: Any) -> tuple[Any, ...]:  # noqa: ANN401 - of any kind
    """What the other reader has of a record, in the order in which it has it."""
    args = {name: value for name, _, value in getattr(record, "args", ())}
    thread = (getattr(record, "process", None), getattr(record, "thread", None))
    if isinstance(record, Event):
        last = [v for v in (record.id, record.end_ns) if v is not None]
        if record.kind == "instant":
            last = []
        return (record.ns, record.category, record.name, thread, args, *last)
    views: dict[type, Any] = {
        Blob: lambda r: (r.name, r.type, r.data),
        UserspaceObject: lambda r: (r.name, r.process, r.pointer, args),
        KernelObject: lambda r: (r.type, r.koid, r.name, args),
        ContextSwitch: lambda r: (
            *(r.ns, r.cpu, r.outgoing_thread, r.outgoing_thread_state),
            *(r.incoming_thread, args),
        ),
        ThreadWakeup: lambda r: (r.ns, r.cpu, r.thread, args),
        Log: lambda r: (r.ns, thread, r.message),
        LargeBlob: lambda r: (
            (r.category, r.name, r.data)
            if r.ticks is None
            else (r.ns, r.category, r.name, thread, args, r.data)
        ),
    }
    return tuple(views[type(record)](record))


def fields_of(record: Any) -> tuple[Any, ...]:  # noqa: ANN401 - of any kind
    """The fields of a record of the other reader."""
    values = [getattr(record, name) for name in record.__dataclass_fields__]
    return tuple(
        (value.process_id, value.thread_id) if hasattr(value, "thread_id") else value
        for value in values
    )


@pytest.mark.parametrize("interning", [True, False])
def test_another_reader_sees_the_same_records(*, interning: bool) -> None:
    chosen = random.Random(11)  # noqa: S311 - no secret
    records = [random_record(chosen, ticks) for ticks in range(COUNT)]
    head: list[Record] = [ProviderInfo("provider", 4), Initialization(10**9)]
    data = b"".join(encode([*head, *records], interning=interning))
    theirs = peer.parse_records(io.BytesIO(data)).records_by_provider[4].records
    context = (Initialization, ProviderInfo, String, Thread, TraceInfo)
    ours = Decoder(strict=True).records([data])
    expected = [peer_view(record) for record in ours if not isinstance(record, context)]
    assert [fields_of(record) for record in theirs] == expected
    assert len(expected) == COUNT
