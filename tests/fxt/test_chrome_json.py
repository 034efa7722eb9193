"""Chrome JSON: events as Fuchsia's trace2json writes them, sorted and complete."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gsym.fxt import chrome_json
from gsym.fxt.chrome_json import ChromeJson
from gsym.fxt.reader import open_trace
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
    ThreadWakeup,
)
from gsym.fxt.writer import encode
from tests.referee.trace_events import match_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.fxt.records import Record

PLACE = (1000, 1001)


def convert(
    records: list[Record], converter: ChromeJson | None = None
) -> dict[str, Any]:
    """The Chrome JSON of a trace with these records."""
    trace = open_trace(b"".join(encode(records)))
    text = "".join((converter or ChromeJson()).pieces(trace))
    found: dict[str, Any] = json.loads(text)
    return found


def event(kind: str, ticks: int, name: str = "e", **fields: Any) -> Event:  # noqa: ANN401
    return Event(kind, ticks, *PLACE, "test", name)._replace(**fields)


def complete(ticks: int, end: int, name: str, thread: int = 1001) -> Event:
    return event("duration_complete", ticks, name, end_ticks=end, thread=thread)


def legacy(
    ticks: int, leaving: tuple[int, int, int], coming: tuple[int, int, int]
) -> LegacyContextSwitch:
    return LegacyContextSwitch(
        ticks, 0, 2, *leaving[:2], *coming[:2], leaving[2], coming[2]
    )


def test_the_published_example_is_reproduced(fixtures: Path) -> None:
    path = fixtures / "fxt/fuchsia_simple_trace_expected.json"
    # The events of that trace, in its order; 24 ticks are a microsecond.
    idle, main, other = (4660, 17185, 0), (1000, 1001, 20), (1000, 1002, 20)
    records: list[Record] = [
        Initialization(24_000_000),
        legacy(1, idle, main),
        event("duration_begin", 0, "begin_end_ref"),
        complete(2_640_000, 3_600_000, "complete_inline"),
        event("duration_begin", 4_800_000, "begin_end_inline"),
        event("duration_end", 10_800_000, "begin_end_inline"),
        complete(2_400_000, 12_000_000, "complete_ref"),
        event("async_begin", 12_000_005, "async", id=1),
        legacy(12_000_010, main, other),
        complete(12_000_011, 14_400_000, "complete_ref", 1002),
        legacy(14_400_256, other, main),
        event("async_end", 14_400_384, "async", id=1),
        event("duration_begin", 15_120_000, "begin_end_ref"),
        event("duration_end", 22_800_000, "begin_end_ref"),
        event("duration_end", 24_000_000, "begin_end_ref"),
        legacy(24_000_016, main, idle),
    ]
    expected = json.loads(path.read_text(encoding="utf-8"))
    found = convert(records)
    wanted = sorted(halves(expected["traceEvents"]), key=lambda each: each["ts"])
    for made, event_of_example in zip(found["traceEvents"], wanted, strict=True):
        assert made == pytest.approx(event_of_example, abs=0.001)  # a nanosecond
    # Scheduling is ftrace text here: Perfetto refuses the object of the example.
    switches = expected["systemTraceEvents"]["events"]
    assert found["systemTraceEvents"].count("sched_switch") == len(switches)


def halves(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Events with a begin and an end in place of a complete duration."""
    for each in events:
        if each["ph"] != "X":
            yield each
            continue
        length = each.pop("dur")
        yield {**each, "ph": "B"}
        yield {**each, "ph": "E", "ts": each["ts"] + length}


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (event("instant", 0), {"ph": "i", "s": "t"}),
        (event("counter", 0, id=0), {"ph": "C"}),
        (event("counter", 0, id=26), {"ph": "C", "id": "0x1a"}),
        (event("async_instant", 0, id=7), {"ph": "n", "id": 7}),
        (event("flow_begin", 0, id=7), {"ph": "s", "id": "7"}),
        (event("flow_step", 0, id=7), {"ph": "t", "id": "7"}),
        (event("flow_end", 0, id=7), {"ph": "f", "bp": "e", "id": "7"}),
    ],
)
def test_each_kind_of_event_has_its_phase(made: Event, shown: dict[str, Any]) -> None:
    whole = {"cat": "test", "name": "e", "ts": 0.0, "pid": 1000, "tid": 1001, **shown}
    assert convert([made])["traceEvents"] == [whole]


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        (Argument("a", "null", None), {}),
        (Argument("a", "int32", -1), {"a": -1}),
        (Argument("a", "uint64", 2**53), {"a": 2**53}),
        (Argument("a", "uint64", 2**64 - 1), {"a": str(2**64 - 1)}),
        (Argument("a", "int64", -(2**63)), {"a": str(-(2**63))}),
        (Argument("a", "double", 0.5), {"a": 0.5}),
        (Argument("a", "double", float("nan")), {"a": "nan"}),
        (Argument("a", "string", "\udcff<"), {"a": "\ufffd<"}),
        (Argument("a", "pointer", 4096), {"a": "0x1000"}),
        (Argument("a", "koid", 12), {"a": "#12"}),
        (Argument("a", "bool", value=True), {"a": True}),
        (Argument("a", "blob", b"\0\1"), {"a": "AAE="}),
    ],
)
def test_each_argument_type_has_its_json_value(
    argument: Argument, shown: dict[str, Any]
) -> None:
    (made,) = convert([event("instant", 0, args=(argument,))])["traceEvents"]
    assert made["args"] == shown


def test_logs_and_fidl_blobs_are_events() -> None:
    blob = LargeBlob("fidl:blob", "b", b"\0", 2000, *PLACE)
    log, shown = convert([Log(1000, *PLACE, "hello"), blob])["traceEvents"]
    assert log == {
        "name": "log",
        "ph": "i",
        "ts": 1.0,
        "pid": 1000,
        "tid": 1001,
        "s": "t",
        "args": {"message": "hello"},
    }
    assert (shown["ph"], shown["blob"], shown["ts"]) == ("O", "AA==", 2.0)


def test_a_large_blob_without_a_time_is_counted() -> None:
    converter = ChromeJson()
    blob = LargeBlob("fidl:blob", "b", b"\0")
    assert convert([blob], converter)["traceEvents"] == []
    assert converter.left_out == {"large_blob": 1}


def test_processes_and_threads_are_named() -> None:
    records: list[Record] = [
        KernelObject(1000, 1, "app"),
        KernelObject(1000, 1, "applic"),
        KernelObject(1001, 2, "main", (Argument("process", "koid", 1000),)),
        # If the argument is not a koid, the process comes from events of the thread.
        KernelObject(1002, 2, "worker", (Argument("process", "string", "app"),)),
        event("instant", 0, thread=1002),
    ]
    names = [
        (each["name"], each["pid"], each["tid"], each["args"]["name"])
        for each in convert(records)["traceEvents"]
        if each["ph"] == "M"
    ]
    assert names == [
        ("process_name", 1000, 0, "applic"),
        ("thread_name", 1000, 1001, "main"),
        ("thread_name", 1000, 1002, "worker"),
    ]


def test_kernel_objects_without_a_thread_are_counted() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        KernelObject(5, 4, "a channel"),
        KernelObject(1001, 2, "of no process"),
        KernelObject(1002, 2, "scheduled"),
        ContextSwitch(1000, 3, 2, 1002, 1003),
    ]
    assert convert(records, converter)["traceEvents"] == []
    assert converter.left_out == {"kernel_object": 2}


def test_scheduling_is_ftrace_text() -> None:
    weights = (Argument("outgoing_weight", "int32", 5), Argument("x", "koid", 1))
    idle = (Argument("incoming_weight", "int32", -(2**31)),)
    records: list[Record] = [
        KernelObject(1001, 2, 'my "thread', (Argument("process", "koid", 1000),)),
        ThreadWakeup(3000, 1, 1001, (Argument("weight", "koid", 5),)),
        ContextSwitch(1000, 3, 2, 1001, 1002, weights),
        ContextSwitch(2000, 3, 3, 1002, 1003, idle),
    ]
    text = convert(records)["systemTraceEvents"].replace("\N{NO-BREAK SPACE}", "~")
    switch = (
        "{0}-{1} [003] .... 0.00000{2}000: sched_switch: prev_comm={0} prev_pid={1}"
    )
    waking = "sched_waking: comm=my~~thread pid=1001 prio=0 target_cpu=001"
    assert text.splitlines() == [
        "# tracer: nop",
        switch.format("my~~thread", 1001, 1)
        + " prev_prio=5 prev_state=T ==> next_comm=<...> next_pid=1002 next_prio=0",
        switch.format("<...>", 1002, 2)
        + " prev_prio=0 prev_state=S ==> next_comm=swapper next_pid=0"
        + " next_prio=-2147483648",
        f"<idle>-0 [001] .... 0.000003000: {waking}",
    ]


def test_an_event_at_the_end_of_a_duration_stays_within_it() -> None:
    records: list[Record] = [
        event("duration_begin", 1000, "first"),
        event("flow_begin", 5000, "flow", id=1),
        event("duration_end", 5000, "first"),
        complete(5000, 6000, "second"),
    ]
    names = [each["name"] for each in convert(records)["traceEvents"]]
    assert names == ["first", "flow", "first", "second", "second"]


def phases(*records: Record) -> list[str]:
    """The events of a trace as texts, `B outer`."""
    events = convert(list(records))["traceEvents"]
    return [f"{each['ph']} {each['name']}" for each in events]


def test_complete_durations_are_begins_and_ends_that_nest() -> None:
    # Those that touch, an outer one that begins or ends with its inner one, and some
    # without a length.
    assert phases(
        complete(1000, 2000, "inner"),
        complete(2000, 3000, "next"),
        complete(1000, 3000, "outer"),
        complete(3000, 3000, "instant"),
        complete(3000, 4000, "after"),
    ) == [
        *("B outer", "B inner", "E inner", "B next", "E next", "E outer"),
        *("B after", "B instant", "E instant", "E after"),
    ]
    assert phases(
        event("duration_begin", 1000, "recorded"),
        complete(1000, 2000, "inner"),
        event("duration_end", 2000, "recorded"),
        event("duration_begin", 2500, "short"),
        event("duration_end", 2500, "short"),
    ) == [
        *("B recorded", "B inner", "E inner", "E recorded", "B short", "E short"),
    ]
    assert phases(
        event("duration_begin", 1500, "inner"),
        event("duration_end", 2000, "inner"),
        complete(1000, 2000, "outer"),
    ) == ["B outer", "B inner", "E inner", "E outer"]


def test_a_flow_that_ends_with_a_nested_call_is_of_the_call_around_it() -> None:
    assert phases(
        complete(1000, 9000, "outer"),
        complete(2000, 3000, "nested"),
        event("flow_end", 3000, "flow", id=1),
    ) == ["B outer", "B nested", "E nested", "f flow", "E outer"]


def test_durations_that_overlap_are_operations() -> None:
    converter = ChromeJson()
    records: list[Record] = [complete(1000, 3000, "a"), complete(2000, 4000, "b")]
    events = convert(records, converter)["traceEvents"]
    assert [(each["ph"], each["name"], each["ts"]) for each in events] == [
        ("B", "a", 1.0),
        ("b", "b", 2.0),
        ("E", "a", 3.0),
        ("e", "b", 4.0),
    ]
    assert events[1]["id2"] == events[3]["id2"]
    assert list(converter.changed.values()) == [1]


def test_begins_and_ends_are_matched_in_the_order_of_time() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        event("duration_end", 9000, "outer"),
        event("duration_end", 4000, "any name"),
        event("duration_begin", 3000, "inner"),
        event("duration_begin", 1000, "outer"),
    ]
    events = convert(records, converter)["traceEvents"]
    assert converter.closed == 0
    assert [(each["ph"], each["name"], each["ts"]) for each in events] == [
        ("B", "outer", 1.0),
        ("B", "inner", 3.0),
        ("E", "inner", 4.0),  # viewers match by the name
        ("E", "outer", 9.0),
    ]


def test_operations_of_two_processes_with_one_id_stay_apart() -> None:
    records: list[Record] = [
        event("async_begin", 1000, "a", id=7),
        event("async_begin", 2000, "b", id=7, process=2000),
        event("async_end", 3000, "a", id=7),
        event("async_end", 4000, "b", id=7, process=2000),
        event("flow_begin", 5000, "c", id=7),
        event("flow_begin", 5000, "d", id=7, process=2000),
        event("flow_end", 6000, "c", id=7),
        event("flow_end", 6000, "other name", id=7, process=2000),
    ]
    events = convert(records)["traceEvents"]
    ids = [(each["name"], each.get("id"), each.get("id2")) for each in events]
    local = {"local": "7 b"}
    own = str(2000 << 32 ^ 7)
    assert ids[:4] == [("a", 7, None), ("b", None, local)] * 2
    assert ids[4:] == [("c", "7", None), ("d", own, None)] * 2


def test_operations_end_as_matched() -> None:
    records: list[Record] = [
        event("async_begin", 1000, "a", id=7, category="one"),
        event("async_begin", 2000, "b", id=7, category="one"),
        event("async_begin", 3000, "c", id=7, category="two", process=2000),
        # Of the same name, if one is open; else of the same category.
        event("async_end", 4000, "a", id=7, category="one", process=2000),
        event("async_end", 5000, "other name", id=7, category="two"),
        event("async_end", 6000, "b", id=7, category="one"),
    ]
    trace = open_trace(b"".join(encode(records)))
    matches = match_events([each for each in trace if isinstance(each, Event)])
    expected = [
        (each.begin.name, each.begin.process, each.end_ns / 1000)
        for each in matches.operations
    ]
    ends = [each for each in convert(records)["traceEvents"] if each["ph"] == "e"]
    shown = [(each["name"], each["pid"], each["ts"]) for each in ends]
    assert sorted(shown) == [("a", 2000, 4.0), ("b", 1000, 6.0), ("c", 2000, 5.0)]
    assert expected == [("a", 1000, 4.0), ("b", 1000, 6.0), ("c", 2000, 5.0)]


def test_open_events_end_with_the_trace() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        event("duration_begin", 1000, "a", args=(Argument("x", "int32", 1),)),
        event("duration_begin", 2000, "b"),
        event("duration_end", 3000, "b"),
        event("async_begin", 3000, "c", id=1),
        event("duration_end", 3500, thread=5),
        complete(1000, 9000, "d"),
    ]
    events = convert(records, converter)["traceEvents"]
    assert converter.closed == 2
    ends = [(each["ph"], each["name"], each["ts"]) for each in events[6:]]
    # What ends with the trace begins in the other duration.
    assert ends == [("E", "d", 9.0), ("E", "a", 9.0), ("e", "c", 9.0)]
    assert "args" not in events[7]


def test_values_that_viewers_misread_are_changed_and_counted() -> None:
    converter = ChromeJson()
    koid, now = 2**63 + 5, 1_700_000_000_123_456_789
    records: list[Record] = [
        complete(now, now - 5, "backward"),
        complete(now, now + 1001, "e", koid),
        event("instant", now, thread=2**31),
    ]
    found = convert(records, converter)
    origin = "1700000000000000000"
    assert found["otherData"] == {"koid_of_2147483649": str(koid), "origin_ns": origin}
    assert list(converter.changed.values()) == [1, 1, 4]
    events = found["traceEvents"]
    backward = [each["ts"] for each in events if each["name"] == "backward"]
    assert backward == [123456.789, 123456.789]
    longest = [each["ts"] for each in events if each["tid"] == 2**31 + 1]
    assert longest == [123456.789, 123457.79]


def test_a_full_disk_is_an_error_that_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    open_full = partial(Path("/dev/full").open, "r+b")
    monkeypatch.setattr(chrome_json, "TemporaryFile", open_full)
    with pytest.raises(OSError, match="No space left") as caught:
        convert([event("instant", 1)])
    assert caught.value.filename == str(tmp_path)


def test_omitted_records_are_counted() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        Blob("b", 1, b""),
        Backtrace(0, *PLACE, ()),
        Backtrace(0, *PLACE, ()),
    ]
    convert(records, converter)
    assert converter.left_out == {"blob": 1, "backtrace": 2}
