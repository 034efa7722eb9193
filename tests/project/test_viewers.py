"""Files written by gsym, as shown by the programs that open them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.cli.main import main
from gsym.fxt.reader import open_trace
from gsym.fxt.records import (
    Argument,
    ContextSwitch,
    Event,
    KernelObject,
    Log,
    ThreadWakeup,
)
from gsym.fxt.tracer import Tracer
from gsym.fxt.writer import encode
from tests.fxt.traces import APP, LOADED, profile_trace
from tests.http_server import Server, files_of
from tests.profiles.symbols import BUILD_ID
from tests.project.viewers import (
    Perfetto,
    firefox_samples,
    perfetto_folder,
    speedscope_table,
)
from tests.referee.trace_events import match_events
from tests.server.page_browser import open_browser

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from gsym.fxt.records import Record

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

MAIN, WORKER, OTHER = (1, 11), (1, 12), (2, 21)
"""Koids of processes and threads."""
PROFILE = """\
app 7/7 [001] 10.000000: 250000 cpu-clock:
\t 7b7 leaf+0x3 (/opt/app)
\t 8b7 main+0x3 (/opt/app)

app 7/7 [001] 10.000500: 750000 cpu-clock:
\t 8b7 main+0x3 (/opt/app)

"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    yield from open_browser()


@pytest.fixture(scope="module")
def perfetto(browser: Any) -> Iterator[Perfetto]:  # noqa: ANN401
    with Server(files_of(perfetto_folder())) as server:
        context = browser.new_context(service_workers="block")
        yield Perfetto(context.new_page(), server.url)
        context.close()


def event(kind: str, ns: int, place: tuple[int, int], name: str, id_: int) -> Event:
    return Event(kind, ns, *place, "test", name, id=id_)


def complete(ns: int, end_ns: int, place: tuple[int, int], name: str) -> Event:
    made = Event("duration_complete", ns, *place, "test", name)
    return made._replace(end_ticks=end_ns)


def number(name: str, value: int) -> Argument:
    return Argument(name, "int32", value)


RECORDS: list[Record] = [
    KernelObject(1, 1, "app"),
    KernelObject(2, 1, "other"),
    KernelObject(11, 2, "main", (Argument("process", "koid", 1),)),
    KernelObject(12, 2, "worker", (Argument("process", "koid", 1),)),
    KernelObject(21, 2, "with a space", (Argument("process", "koid", 2),)),
    # Out of order: the end of a duration comes first.
    Event("duration_end", 9_000, *MAIN, "test", "outer"),
    Event("duration_begin", 1_000, *MAIN, "test", "outer"),
    complete(2_000, 5_000, MAIN, "inner"),
    event("flow_begin", 3_000, MAIN, "flow", 5),
    complete(6_000, 8_001, OTHER, "called"),
    event("flow_end", 6_000, OTHER, "flow", 5),
    Event("instant", 4_000, *WORKER, "test", "moment", (number("n", -1),)),
    Event("counter", 4_500, *MAIN, "test", "count", (number("value", 7),), 0),
    event("async_begin", 2_500, MAIN, "operation", 2**64 - 1),
    event("async_end", 7_500, MAIN, "operation", 2**64 - 1),
    ContextSwitch(3_500, 1, 3, 11, 12, (number("incoming_weight", 5),)),
    ThreadWakeup(3_600, 1, 11, (number("weight", 6),)),
    ContextSwitch(4_200, 1, 1, 12, 11, (number("incoming_weight", 6),)),
    ContextSwitch(4_800, 1, 4, 11, 12),
]


def chrome_json(trace: bytes, folder: Path) -> bytes:
    path, made = folder / "trace.fxt", folder / "trace.json"
    path.write_bytes(trace)
    assert main(["trace", "convert", str(path), "--to", "chrome", "-o", str(made)]) == 0
    return made.read_bytes()


def spans(perfetto: Perfetto) -> list[tuple[Any, ...]]:
    return perfetto.query("select name, ts, dur from slice order by ts, dur desc, name")


def problems(perfetto: Perfetto) -> list[tuple[Any, ...]]:
    return perfetto.query(
        "select name, value from stats"
        " where severity in ('error', 'data_loss') and value > 0"
    )


@pytest.mark.parametrize("form", ["fxt", "chrome"])
def test_perfetto_shows_a_whole_trace(
    form: str, perfetto: Perfetto, tmp_path: Path
) -> None:
    trace = b"".join(encode(RECORDS))
    perfetto.open(trace if form == "fxt" else chrome_json(trace, tmp_path))
    assert not problems(perfetto)
    events = [each for each in open_trace(trace) if isinstance(each, Event)]
    matches = match_events(events)
    known = [
        *((each.event, each.end_ns) for each in matches.durations),
        *((each.begin, each.end_ns) for each in matches.operations),
        *((each, each.ns or 0) for each in events if each.kind == "instant"),
    ]
    expected = [(each.name, each.ns or 0, end - (each.ns or 0)) for each, end in known]
    expected.sort(key=lambda row: (row[1], -row[2], row[0]))
    assert spans(perfetto) == expected
    names = "select name from {} where name is not null and {} != 0 order by name"
    threads = [row[0] for row in perfetto.query(names.format("thread", "tid"))]
    processes = [row[0] for row in perfetto.query(names.format("process", "pid"))]
    assert (threads, processes) == (
        ["main", "with a space", "worker"],
        ["app", "other"],
    )
    assert perfetto.query("select ts, value from counter") == [(4_500, 7)]
    assert len(perfetto.query("select * from flow")) == len(matches.flows) == 1
    switches = (
        "select ts, dur, ucpu, tid, end_state, priority"
        " from sched join thread using (utid) order by ts"
    )
    assert perfetto.query(switches) == [
        (3_500, 700, 1, 12, "R", 5),
        (4_200, 600, 1, 11, "Z", 6),
        (4_800, -1, 1, 12, None, 0),
    ]


def test_perfetto_distinguishes_large_koids_and_shared_ids(
    perfetto: Perfetto, tmp_path: Path
) -> None:
    high, now = 2**63, 1_700_000_000_000_000_000
    records: list[Record] = [
        Log(now, *MAIN, "a line"),
        complete(now + 1, now + 3, (high, high + 1), "a"),
        complete(now + 1, now + 2, (high, high + 2), "b"),
        event("async_begin", now + 10, MAIN, "one", 1),
        event("async_begin", now + 20, OTHER, "two", 1),
        event("async_end", now + 30, MAIN, "one", 1),
        event("async_end", now + 50, OTHER, "other name", 1),
        event("async_begin", now + 60, MAIN, "three", 1),
        event("async_begin", now + 70, MAIN, "four", 1),
        event("async_end", now + 80, OTHER, "three", 1),
        event("async_end", now + 90, MAIN, "four", 1),
    ]
    perfetto.open(chrome_json(b"".join(encode(records)), tmp_path))
    assert not problems(perfetto)
    assert spans(perfetto) == [
        ("log", 0, 0),
        ("a", 1, 2),
        ("b", 1, 1),
        ("one", 10, 20),
        ("two", 20, 30),
        ("three", 60, 20),
        ("four", 70, 20),
    ]
    tracks = "select count(distinct utid) from thread_track"
    assert perfetto.query(tracks) == [(3,)]  # of the two large koids, and the log


def test_perfetto_shows_log_records_on_their_threads(
    perfetto: Perfetto, tmp_path: Path
) -> None:
    records: list[Record] = [
        *RECORDS[:5],
        Log(2_500, *WORKER, 'disk full: 3 < 4 & "5"'),
        complete(2_000, 5_000, MAIN, "inner"),
    ]
    perfetto.open(chrome_json(b"".join(encode(records)), tmp_path))
    assert not problems(perfetto)
    logs = (
        "select slice.name, ts, dur, thread.name,"
        " extract_arg(arg_set_id, 'args.message') from slice"
        " join thread_track on track_id = thread_track.id"
        " join thread using (utid) where slice.name = 'log'"
    )
    assert perfetto.query(logs) == [
        ("log", 2_500, 0, "worker", 'disk full: 3 < 4 & "5"')
    ]


def test_perfetto_shows_samples_as_durations(
    perfetto: Perfetto, tmp_path: Path
) -> None:
    samples = [(1000 * n, 1, (LOADED + 0x10 * (n // 3), LOADED)) for n in range(1, 9)]
    path, made = tmp_path / "samples.fxt", tmp_path / "made.json"
    path.write_bytes(profile_trace(BUILD_ID, 0, samples))
    assert main(["trace", "convert", str(path), "-o", str(made)]) == 0
    perfetto.open(made.read_bytes())
    events = json.loads(made.read_text())["traceEvents"]
    written = [each for each in events if each["ph"] == "B"]
    assert len(spans(perfetto)) == len(written) > 0
    (row,) = perfetto.query(
        "select tid, count(*) from slice join thread_track"
        " on track_id = thread_track.id join thread using (utid) group by tid"
    )
    assert row == (APP + 1, len(written))


def test_perfetto_shows_the_trace_of_a_python_program(
    perfetto: Perfetto, tmp_path: Path
) -> None:
    path = tmp_path / "program.fxt"
    with Tracer(path) as tracer:
        with tracer.duration("disk", "read", bytes=4096):
            flow = tracer.flow("net", "answer")
            tracer.instant("disk", "cache full")
        with tracer.duration("net", "send"):
            flow.end()
    perfetto.open(path.read_bytes())
    assert not problems(perfetto)
    assert [row[0] for row in spans(perfetto)] == ["read", "cache full", "send"]
    assert len(perfetto.query("select * from flow")) == 1


@pytest.fixture
def perf(tmp_path: Path) -> Path:
    path = tmp_path / "perf.txt"
    path.write_text(PROFILE)
    return path


def test_perfetto_shows_the_samples_of_a_profile(
    perfetto: Perfetto, perf: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.json"
    assert main(["trace", "convert", str(perf), "-o", str(made)]) == 0
    perfetto.open(made.read_bytes())
    assert not problems(perfetto)
    first = 10**10  # nanoseconds
    assert spans(perfetto) == [
        ("main", first, 10**6),
        ("leaf", first, 5 * 10**5),
    ]


def test_speedscope_shows_functions_with_their_times(
    browser: Any,  # noqa: ANN401
    perf: Path,
    tmp_path: Path,
) -> None:
    made = tmp_path / "made.speedscope.json"
    assert main(["trace", "convert", str(perf), "-o", str(made)]) == 0
    rows = speedscope_table(browser, tmp_path, made.name)
    assert sorted(rows) == [
        ["1.00ms (100%)", "750.00µs (75%)", "main"],
        ["250.00µs (25%)", "250.00µs (25%)", "leaf"],
    ]


@pytest.mark.parametrize(
    ("value", "weight_type", "total"),
    [(None, "samples", 2), ("cpu-clock", "tracing-ms", 1.0)],
)
def test_the_firefox_profiler_shows_samples_and_milliseconds(
    value: str | None, weight_type: str, total: float, perf: Path, tmp_path: Path
) -> None:
    made = tmp_path / "made.firefox.json"
    words = [] if value is None else ["--value", value]
    assert main(["trace", "convert", str(perf), "-o", str(made), *words]) == 0
    shown = firefox_samples(made)
    assert shown["weightType"] == weight_type
    functions = {
        each["name"]: each["totalSamples"] for each in shown["topFunctionsByTotal"]
    }
    assert functions["app!main"] == total


def test_durations_are_shown_as_stacks_with_milliseconds(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    trace, made = tmp_path / "trace.json", tmp_path / "made.speedscope.json"
    lasting = {"ph": "X", "pid": 7, "tid": 7, "cat": "app", "ts": 10}
    events = [
        {**lasting, "name": "main", "dur": 1000},
        {**lasting, "name": "leaf", "dur": 250},
    ]
    trace.write_text(json.dumps(events))
    assert main(["trace", "convert", str(trace), "-o", str(made)]) == 0
    assert sorted(speedscope_table(browser, tmp_path, made.name)) == [
        ["1.00ms (100%)", "750.00µs (75%)", "main"],
        ["250.00µs (25%)", "250.00µs (25%)", "leaf"],
    ]
    made = tmp_path / "made.firefox.json"
    assert main(["trace", "convert", str(trace), "-o", str(made)]) == 0
    shown = firefox_samples(made)
    assert shown["weightType"] == "tracing-ms"
    functions = {
        each["name"]: each["totalSamples"] for each in shown["topFunctionsByTotal"]
    }
    assert functions["app!main"] == 1.0


def test_perfetto_shows_durations_that_touch_or_overlap(
    perfetto: Perfetto, tmp_path: Path
) -> None:
    trace = b"".join(
        encode(
            [
                # The outer one begins with the inner one, and the next touches that.
                complete(1_028_442_154_544, 1_028_442_654_265, MAIN, "inner"),
                complete(1_028_442_654_265, 1_028_443_153_576, MAIN, "next"),
                complete(1_028_442_154_544, 1_028_443_153_576, MAIN, "outer"),
                # Jobs of coroutines on one thread.
                complete(1_000, 3_000, WORKER, "first"),
                complete(1_100, 4_000, WORKER, "second"),
                complete(1_200, 5_000, WORKER, "third"),
            ]
        )
    )
    perfetto.open(chrome_json(trace, tmp_path))
    assert not problems(perfetto)
    rows = perfetto.query("select name, dur, depth from slice order by name")
    assert [(name, dur) for name, dur, _ in rows] == [
        ("first", 2_000),
        ("inner", 499_721),
        ("next", 499_311),
        ("outer", 999_032),
        ("second", 2_900),
        ("third", 3_800),
    ]
    assert {name: depth for name, _, depth in rows if name in {"inner", "next"}} == {
        "inner": 1,
        "next": 1,
    }


def test_the_firefox_profiler_asks_for_names_that_are_missing(tmp_path: Path) -> None:
    text, made = tmp_path / "addresses.txt", tmp_path / "made.firefox.json"
    text.write_text("/nowhere/app+0x454\n")
    assert main(["trace", "convert", str(text), "-o", str(made)]) == 0
    assert json.loads(made.read_text())["meta"]["symbolicated"] is False
    shown = firefox_samples(made)
    names = [each["name"] for each in shown["topFunctionsByTotal"]]
    assert names == ["app!0x454"]


def test_speedscope_shows_calls_that_touch_in_chrome_json(
    browser: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    # As doubles, the first ends after the second begins; leaf has two addresses.
    text, made = tmp_path / "perf.txt", tmp_path / "made.json"
    samples = (
        ("1028.441654961", "1000 leaf"),
        ("1028.442154961", "1010 mid"),
        ("1028.442654961", "1008 leaf"),
        ("1028.443154961", "1020 cb"),
    )
    text.write_text(
        "".join(
            f"app 7/7 {time}: cpu-clock: \n\t {what} (/nowhere/app)\n"
            "\t 1100 work (/nowhere/app)\n\n"
            for time, what in samples
        )
    )
    assert main(["trace", "convert", str(text), "--to", "chrome", "-o", str(made)]) == 0
    rows = speedscope_table(browser, tmp_path, made.name)
    assert sorted(rows) == [
        ["1.00ms (50%)", "1.00ms (50%)", "leaf"],
        ["2.00ms (100%)", "0.00ns (<0.01%)", "work"],
        ["500.00µs (25%)", "500.00µs (25%)", "cb"],
        ["500.00µs (25%)", "500.00µs (25%)", "mid"],
    ]
