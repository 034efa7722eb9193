"""Chrome JSON as Fuchsia's trace2json writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.formats.fxt_records import (
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
from gsym.trace.chrome_json import ChromeJson

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.formats.fxt_records import Record

PLACE = (1000, 1001)


def convert(records: list[Record], **options: bool) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("".join(ChromeJson(**options).pieces(records)))
    return found


def event(kind: str, ticks: int, name: str = "e", **fields: Any) -> Event:  # noqa: ANN401
    return Event(kind, ticks, *PLACE, "test", name)._replace(**fields)


def complete(ticks: int, end: int, name: str, thread: int = 1001) -> Event:
    return event("duration_complete", ticks, name, end_ticks=end, thread=thread)


def rounded(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events with times that differ in their last digits made equal."""
    return [
        {key: round(x, 6) if isinstance(x, float) else x for key, x in each.items()}
        for each in events
    ]


def legacy(
    ticks: int, leaving: tuple[int, int, int], coming: tuple[int, int, int]
) -> LegacyContextSwitch:
    return LegacyContextSwitch(
        ticks, 0, 2, *leaving[:2], *coming[:2], leaving[2], coming[2]
    )


def test_the_published_example_is_written_alike(fixtures: Path) -> None:
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
    assert rounded(found["traceEvents"]) == rounded(expected["traceEvents"])
    system, wanted = found["systemTraceEvents"], expected["systemTraceEvents"]
    assert rounded(system["events"]) == rounded(wanted["events"])
    assert found.keys() == expected.keys()


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (event("instant", 0), {"ph": "i", "s": "t"}),
        (event("counter", 0, id=0), {"ph": "C"}),
        (event("counter", 0, id=26), {"ph": "C", "id": "0x1a"}),
        (complete(1000, 3500, "e"), {"ph": "X", "ts": 1.0, "dur": 2.5}),
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
        (Argument("a", "uint64", 2**64 - 1), {"a": 2**64 - 1}),
        (Argument("a", "double", 0.5), {"a": 0.5}),
        (Argument("a", "double", float("nan")), {"a": "nan"}),
        (Argument("a", "string", "\udcff<"), {"a": "\ufffd<"}),
        (Argument("a", "pointer", 4096), {"a": "0x1000"}),
        (Argument("a", "koid", 12), {"a": "#12"}),
        (Argument("a", "bool", value=True), {"a": True}),
        (Argument("a", "blob", b"\0\1"), {"a": "AAE="}),
    ],
)
def test_each_type_of_argument_has_its_form(
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
        "s": "g",
        "args": {"message": "hello"},
    }
    assert (shown["ph"], shown["blob"], shown["ts"]) == ("O", "AA==", 2.0)


def test_names_and_scheduling_stand_behind_all_events() -> None:
    process = Argument("process", "koid", 1000)
    weights = (Argument("outgoing_weight", "int32", -5), Argument("x", "koid", 1))
    records: list[Record] = [
        KernelObject(1000, 1, "app"),
        KernelObject(1000, 1, "applic"),
        KernelObject(0, 1, ""),
        KernelObject(1001, 2, "main", (process,)),
        KernelObject(1002, 2, "of no process"),
        ContextSwitch(1000, 3, 2, 1001, 1002, weights),
        ThreadWakeup(2000, 1, 1001, (Argument("weight", "koid", 5),)),
    ]
    found = convert(records)
    assert found["traceEvents"] == []
    assert found["systemTraceEvents"]["events"] == [
        {"ph": "p", "pid": 0, "name": "", "sort_index": -1},
        {"ph": "p", "pid": 1000, "name": "applic"},
        {"ph": "t", "pid": 1000, "tid": 1001, "name": "main"},
        {
            "ph": "k",
            "ts": 1.0,
            "cpu": 3,
            "out": {"tid": 1001, "state": 2, "prio": -5},
            "in": {"tid": 1002},
        },
        {"ph": "w", "ts": 2.0, "cpu": 1, "tid": 1001},
    ]
    names = convert(records, metadata=True)["traceEvents"]
    assert {
        "ph": "M",
        "name": "thread_name",
        "pid": 1000,
        "tid": 1001,
        "args": {"name": "main"},
    } in names


def test_each_provider_has_its_own_unit_of_time() -> None:
    records: list[Record] = [
        Initialization(1_000_000),
        event("instant", 5),
        Initialization(2_000_000, provider=1),
        event("instant", 5, provider=1),
        event("instant", 5, provider=2),
        Initialization(0, provider=2),
    ]
    times = [each["ts"] for each in convert(records)["traceEvents"]]
    assert times == [5.0, 2.5, 5.0]


def test_what_has_no_end_ends_with_the_trace() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        event("duration_begin", 1000, "a", args=(Argument("x", "int32", 1),)),
        event("duration_begin", 2000, "b"),
        event("duration_end", 3000),
        event("async_begin", 3000, "c", id=1),
        event("duration_end", 3500, thread=5),
        complete(1000, 9000, "d"),
    ]
    events = json.loads("".join(converter.pieces(records)))["traceEvents"]
    assert converter.closed == 2
    ends = [(each["ph"], each["name"], each["ts"]) for each in events[6:]]
    assert ends == [("E", "a", 9.0), ("e", "c", 9.0)]
    assert "args" not in events[6]


def test_what_is_left_out_is_counted() -> None:
    converter = ChromeJson()
    records: list[Record] = [
        Blob("b", 1, b""),
        Backtrace(0, *PLACE, ()),
        Backtrace(0, *PLACE, ()),
    ]
    json.loads("".join(converter.pieces(records)))
    assert converter.left_out == {"blob": 1, "backtrace": 2}
