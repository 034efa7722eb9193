"""Profiles in JSON: what the readers take from them, and what they refuse."""

from __future__ import annotations

import copy
import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.errors import FormatError, UnsupportedError
from gsym.profiles import input_bytes, json_input, model
from gsym.profiles.durations import OVERLAPPING
from gsym.profiles.json_input import json_members
from gsym.profiles.model import SAMPLES, TIME, ValueType
from gsym.profiles.opening import read_profile
from tests.profiles.json_profiles import (
    CHROME,
    CPUPROFILE,
    SPEEDSCOPE,
    call,
    chrome,
    firefox,
    newer_firefox,
)
from tests.profiles.test_round_trips import sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

ALL = {
    "chrome": CHROME,
    "cpuprofile": CPUPROFILE,
    "speedscope": SPEEDSCOPE,
    "firefox": firefox(),
    "newer firefox": newer_firefox(),
}


def read(folder: Path, made: object) -> Profile:
    path = folder / "profile.json"
    path.write_text(made if isinstance(made, str) else json.dumps(made))
    return read_profile(path)


def test_durations_of_chrome_are_stacks(tmp_path: Path) -> None:
    profile = read(tmp_path, CHROME)
    assert profile.value_types == (TIME,)
    assert sums_of(profile) == {("main",): 69500, ("leaf", "main"): 30500}
    assert [sample.time for sample in profile.samples] == [10000, 20000, 50500]
    assert {mapping.path for mapping in profile.mappings} == {"app"}


def test_names_and_places_of_chrome_are_taken(tmp_path: Path) -> None:
    name = {"ph": "M", "name": "process_name", "args": {"name": "app"}}
    thread = {"ph": "M", "name": "thread_name", "args": {"name": "main"}}
    place = {"file": "b.py", "line": 7}
    profile = read(
        tmp_path,
        chrome(
            {"ph": "X", "name": "f (a.py:12)", "ts": "1", "dur": 1},
            {"ph": "X", "name": "g", "ts": 3, "dur": 1, "args": place},
            {"ph": "X", "name": "h", "ts": 3, "dur": 1, "pid": "a", "tid": "7"},
            name,
            thread,
        ),
    )
    frames = [location.frames[0] for location in profile.locations]
    assert [(each.name, each.path, each.line) for each in frames] == [
        ("f", "a.py", 12),
        ("g", "b.py", 7),
        ("h", "", 0),
    ]
    assert profile.threads[0] == (1, 2, "app", "main")
    assert profile.threads[1].thread == 7


def test_sums_that_llvm_writes_as_threads_are_no_time(tmp_path: Path) -> None:
    """clang -ftime-trace: each of them begins at 0, on a thread of its own."""
    args = {"count": 2, "avg ms": 1}
    total = {"ph": "X", "name": "Total Source", "ts": 0, "dur": 8, "args": args}
    profile = read(
        tmp_path,
        chrome(
            {"ph": "X", "name": "Total Recall", "ts": 0, "dur": 9, "args": {}},
            {"ph": "X", "name": "Source", "ts": 1, "dur": 4, "args": {"detail": "a.h"}},
            {**total, "tid": 3},
            {**total, "tid": 4, "name": "Total ParseClass"},
        ),
    )
    assert profile.losses == {"sums of LLVM's -ftime-trace": 2}
    assert sums_of(profile) == {
        ("Total Recall",): 5000,
        ("Source", "Total Recall"): 4000,
    }
    assert len(profile.threads) == 1


def test_what_is_no_duration_is_counted(tmp_path: Path) -> None:
    phases = ("b", "e", "s", "f", "i", "C", "N", 3, None)
    profile = read(
        tmp_path,
        chrome(
            *({"ph": phase, "ts": 1, "name": "a"} for phase in phases),
            {"ph": "X", "name": "a", "ts": "soon", "dur": 1},
            {"ph": "X", "name": "a", "ts": 1, "dur": None},
            {"ph": "E", "ts": 5},
            {"ph": "B", "name": "open", "ts": 6},
            {"ph": "X", "name": "last", "ts": 7, "dur": 2},
        ),
    )
    assert profile.losses == {
        "asynchronous events": 2,
        "flow events": 2,
        "instants": 1,
        "counters": 1,
        "other events": 3,
        "durations without a valid time": 2,
        "ends of durations without a begin": 1,
        "durations without an end, which last until that of the trace": 1,
    }
    assert sums_of(profile) == {("open",): 1000, ("last", "open"): 2000}


def test_a_list_of_events_may_be_cut(tmp_path: Path) -> None:
    events = json.dumps(CHROME["traceEvents"])
    whole = read(tmp_path, events)
    for cut in (events[:-1], f"{events[:-1]},", f'{events[:-1]}, {{"ph": "B'):
        profile = read(tmp_path, cut)
        assert sums_of(profile) == sums_of(whole)
        damaged = {"events that are damaged or cut": 1} if '"B' in cut[-4:] else {}
        assert profile.losses == damaged
    with pytest.raises(FormatError, match="not JSON"):
        read(tmp_path, json.dumps(CHROME)[:-3])


def test_samples_of_chrome_win_over_durations(tmp_path: Path) -> None:
    tables = {
        "stackFrames": {
            "1": {"name": "main", "category": "app"},
            "2": {"name": "leaf", "category": "app", "parent": 1},
        },
        "samples": [
            {"cpu": 0, "tid": 4, "ts": 10.5, "sf": 2, "weight": 3},
            {"cpu": 0, "tid": 4, "ts": 11, "sf": "1"},
        ],
    }
    profile = read(tmp_path, {**CHROME, **tables})
    assert profile.value_types == (SAMPLES,)
    assert sums_of(profile) == {("leaf", "main"): 3, ("main",): 1}
    assert profile.losses == {"durations, as there are samples": 3}


def test_hermes_names_a_function_by_its_place(tmp_path: Path) -> None:
    # As Hermes 0.12.0 writes it, with --sample-profiling.
    place = {"funcLine": "1", "funcColumn": "1", "category": "JavaScript"}
    frames: dict[str, dict[str, Any]] = {
        "1": {"name": "[root]", "category": "root"},
        "2": {"name": "fib(a.js:1:54)", "line": "1", "column": "54", "parent": 1},
        "3": {"name": "fib(a.js:1:41)", "line": "1", "column": "41", "parent": 2},
    }
    samples = [
        {"cpu": "-1", "name": "", "ts": "40316430984", "pid": 7, "tid": "7"}
        | {"weight": "1", "sf": number}
        for number in (2, 3)
    ]
    tables = {number: {**place, **frame} for number, frame in frames.items()}
    made = {"traceEvents": [], "samples": samples, "stackFrames": tables}
    profile = read(tmp_path, made)
    assert sums_of(profile) == {("fib", "[root]"): 1, ("fib", "fib", "[root]"): 1}
    frame = profile.frames_of(profile.samples[0].stack)[0]
    assert (frame.path, frame.line) == ("a.js", 1)


def test_a_profile_of_v8_lasts_from_sample_to_sample(tmp_path: Path) -> None:
    profile = read(tmp_path, CPUPROFILE)
    assert profile.value_types == (SAMPLES, TIME)
    assert sums_of(profile) == {("main",): 200_000, ("leaf", "main"): 300_000}
    assert [sample.time for sample in profile.samples] == [1100000, 1300000, 1350000]
    frame = profile.frames_of(profile.samples[0].stack)[0]
    assert (frame.path, frame.line) == ("app.js", 2)


def test_a_profile_of_v8_in_a_trace_comes_in_pieces(tmp_path: Path) -> None:
    def piece(nodes: list[dict[str, Any]], samples: list[int]) -> dict[str, Any]:
        made = {"nodes": nodes, "samples": samples}
        data = {"cpuProfile": made, "timeDeltas": [100] * len(samples)}
        return {"ph": "P", "id": "0x1", "name": "ProfileChunk", "args": {"data": data}}

    start = {"ph": "P", "id": "0x1", "name": "Profile"}
    main, leaf = call(2, "main"), {**call(3, "leaf"), "parent": 2}
    profile = read(
        tmp_path,
        chrome(
            {**start, "args": {"data": {"startTime": 1000}}},
            piece([call(1, "(root)"), {**main, "parent": 1}], [2]),
            piece([leaf], [3, 3]),
        ),
    )
    assert sums_of(profile) == {("main",): 100_000, ("leaf", "main"): 100_000}
    assert sums_of(profile, 0) == {("main",): 1, ("leaf", "main"): 2}
    assert profile.threads == [(1, 2, "", "")]


def test_events_of_speedscope_are_stacks(tmp_path: Path) -> None:
    profile = read(tmp_path, SPEEDSCOPE)
    assert sums_of(profile) == {("main",): 1_500_000, ("leaf", "main"): 3_500_000}
    assert profile.threads[0].thread_name == "worker"


def test_units_of_speedscope_are_values(tmp_path: Path) -> None:
    made: dict[str, Any] = copy.deepcopy(SPEEDSCOPE)
    sampled: dict[str, Any] = {
        "type": "sampled",
        "name": "app (1) / thread 5",
        "startValue": 0,
    }
    sampled.update(unit="bytes", samples=[[0, 1], [0]], weights=[7, 8])
    made["profiles"].append(sampled)
    profile = read(tmp_path, made)
    assert profile.value_types == (TIME, ValueType("space", "bytes"))
    assert sums_of(profile, 1) == {("leaf", "main"): 7, ("main",): 8}
    assert profile.threads[1] == (1, 5, "app", "")


def test_inlined_calls_of_firefox_are_at_one_address(tmp_path: Path) -> None:
    profile = read(tmp_path, firefox())
    assert sums_of(profile) == {("leaf", "main"): 1, ("main",): 1, (): 1}
    deep = profile.stacks[profile.samples[0].stack]
    (location,) = (profile.locations[index] for index in deep)
    assert [frame.name for frame in location.frames] == ["leaf", "main"]
    assert location.address == 16
    assert location.is_named_only
    assert profile.mappings[0].build_id == "ab" * 20
    assert profile.mappings[0].is_relative


def test_shared_tables_of_newer_firefox_are_read(tmp_path: Path) -> None:
    old, made = firefox(), firefox()
    (thread,) = made["threads"]
    names = ("stackTable", "frameTable", "funcTable", "resourceTable", "stringArray")
    made["shared"] = {name: thread.pop(name) for name in names}
    functions = made["shared"]["funcTable"]
    functions["source"] = functions.pop("fileName")
    made["shared"]["sources"] = {"filename": [None, None, 2]}
    deltas = {"timeDeltas": [1, 1.5, 0.5], "stack": thread["samples"]["stack"]}
    thread["samples"] = {**deltas, "weight": [2, 4, 6], "weightType": "tracing-ms"}
    first, second = read(tmp_path, old), read(tmp_path, made)
    assert first.locations == second.locations
    times = [[sample.time for sample in each.samples] for each in (first, second)]
    assert times[0] == times[1] == [1_000_000, 2_500_000, 3_000_000]
    assert [sample.values for sample in second.samples] == [
        (2_000_000,),
        (4_000_000,),
        (6_000_000,),
    ]


def test_the_newest_layout_of_firefox_is_read(tmp_path: Path) -> None:
    old, new = read(tmp_path, firefox()), read(tmp_path, newer_firefox())
    for name in ("samples", "stacks", "locations", "mappings", "threads"):
        assert getattr(new, name) == getattr(old, name)
    made = newer_firefox()
    made["shared"]["frameTable"]["flags"] = [0, 0]
    profile = read(tmp_path, made)
    assert [location.mapping for location in profile.locations] == [None, None]


def test_tables_that_threads_of_firefox_share_are_read_once(tmp_path: Path) -> None:
    made = newer_firefox()
    (thread,) = made["threads"]
    one = read(tmp_path, made)
    made["threads"] = [{**thread, "tid": number} for number in range(3)]
    several = read(tmp_path, made)
    assert (several.locations, several.stacks) == (one.locations, one.stacks)


def test_addresses_of_firefox_without_a_name_are_looked_up(tmp_path: Path) -> None:
    made = firefox()
    made["threads"][0]["stringArray"][:2] = ["0x10", "app!0x10"]
    profile = read(tmp_path, made)
    assert [location for location in profile.locations if location.frames] == []


def test_a_profile_as_firefox_writes_it_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=r"open it at profiler\.firefox\.com"):
        read(tmp_path, {"meta": {"version": 29}, "libs": [], "threads": []})


def set_at(
    original: dict[str, Any], path: tuple[Any, ...], value: object
) -> dict[str, Any]:
    """A copy with another value at a path."""
    made = copy.deepcopy(original)
    inner: Any = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


FIRST = ("threads", 0)


@pytest.mark.parametrize(
    ("kind", "path", "value", "place"),
    [
        ("cpuprofile", ("nodes", 2, "id"), "x", "nodes[2].id"),
        ("cpuprofile", ("nodes", 1, "children"), [1], "nodes[0]: its parents"),
        ("cpuprofile", ("samples", 0), 99, "samples: no node has the id 99"),
        ("cpuprofile", ("timeDeltas",), [1], "timeDeltas: not 3 times"),
        ("cpuprofile", ("timeDeltas", 1), 1e300, "timeDeltas[1]: not a number"),
        ("speedscope", ("profiles", 0, "unit"), "cows", "profiles[0].unit"),
        (
            "speedscope",
            ("profiles", 0, "events", 1, "at"),
            0,
            "profiles[0].events[1]: earlier",
        ),
        (
            "speedscope",
            ("profiles", 0, "events", 2, "frame"),
            0,
            "profiles[0].events[2]: closes",
        ),
        ("speedscope", ("shared", "frames"), {}, "shared.frames: not a list"),
        ("firefox", (*FIRST, "samples", "stack", 0), 9, "no stack 9"),
        ("firefox", (*FIRST, "stackTable", "prefix", 1), 1, "row 1 is called by 1"),
        ("firefox", (*FIRST, "stackTable", "frame", 1), [], "row 1 has no frame"),
        ("firefox", (*FIRST, "stackTable", "frame", 1), 5, "frameTable: no frame 5"),
        ("firefox", (*FIRST, "samples", "weightType"), "cows", "weightType: none of"),
        ("chrome", ("stackFrames",), {"1": {"parent": "1"}}, "it calls itself"),
    ],
)
def test_errors_say_where_they_are(
    kind: str, path: tuple[Any, ...], value: object, place: str, tmp_path: Path
) -> None:
    made = set_at(ALL[kind], path, value)
    if kind == "chrome":
        made["samples"] = [{"sf": "1", "ts": 1}]
    with pytest.raises(FormatError) as caught:
        read(tmp_path, made)
    assert place in caught.value.reason
    assert caught.value.path == str(tmp_path / "profile.json")


def test_damaged_parts_of_profiles_of_v8_are_counted(tmp_path: Path) -> None:
    chunk = {"ph": "P", "id": "0x1", "name": "ProfileChunk", "args": {"data": 7}}
    made = chrome({"ph": "X", "name": "main", "ts": 10, "dur": 100}, {}, chunk)
    profile = read(tmp_path, made)
    assert sums_of(profile) == {("main",): 100_000}
    assert profile.losses == {
        "other events": 1,
        "profiles of V8 without their begin": 1,
        "damaged parts of profiles of V8": 1,
    }


def test_parts_of_profiles_of_v8_come_in_any_order(tmp_path: Path) -> None:
    def event(name: str, time: int, thread: int, data: object) -> dict[str, Any]:
        place = {"pid": 10, "tid": thread, "ts": time, "ph": "P", "id": "0x1"}
        return {**place, "name": name, "args": {"data": data}}

    call = {"functionName": "main", "url": "a.js", "lineNumber": 0}
    piece = {"nodes": [{"id": 1, "callFrame": call}], "samples": [1, 1]}
    later = {"cpuProfile": {"samples": [1]}, "timeDeltas": [50], "endTime": 1400}
    profile = read(
        tmp_path,
        {
            "traceEvents": [
                event("ProfileChunk", 1300, 99, later),
                event(
                    *("ProfileChunk", 1100, 99),
                    {"cpuProfile": piece, "timeDeltas": [100, 100]},
                ),
                event("Profile", 1000, 7, {"startTime": 1000}),
            ]
        },
    )
    assert profile.threads == [(10, 7, "", "")]
    assert [each.time for each in profile.samples] == [1_100_000, 1_200_000, 1_250_000]
    assert sums_of(profile) == {("main",): 300_000}
    assert profile.losses == {}


def test_a_profile_of_v8_may_be_one_event(tmp_path: Path) -> None:
    call = {"functionName": "main", "url": "a.js", "lineNumber": 0}
    whole = {
        "nodes": [{"id": 1, "callFrame": call}],
        "samples": [1, 1],
        "timeDeltas": [0, 100],
        "startTime": 1000,
        "endTime": 1200,
    }
    data = {"data": {"cpuProfile": whole}}
    event = {"pid": 1, "tid": 2, "ts": 5, "ph": "I", "name": "CpuProfile", "args": data}
    profile = read(tmp_path, {"traceEvents": [event]})
    assert sums_of(profile) == {("main",): 200_000}
    assert [each.time for each in profile.samples] == [1_000_000, 1_100_000]


def test_the_older_layout_of_node_is_a_tree(tmp_path: Path) -> None:
    def node(name: str, number: int, *children: object) -> dict[str, Any]:
        place = {"functionName": name, "url": "a.js", "lineNumber": number}
        return {**place, "id": number, "children": list(children)}

    profile = read(
        tmp_path,
        {
            "head": node("(root)", 1, node("start", 2, node("compute", 3))),
            "startTime": 1,
            "endTime": 1.0004,
            "samples": [3, 2, 3],
            "timestamps": [1_000_000, 1_000_100, 1_000_200],
        },
    )
    assert sums_of(profile) == {("compute", "start"): 300_000, ("start",): 100_000}
    assert {each.frames[0].line for each in profile.locations} == {2, 3}


def test_text_ids_and_missing_ones_are_threads_of_their_own(tmp_path: Path) -> None:
    def event(process: object, **others: object) -> dict[str, Any]:
        return {"ph": "X", "name": "f", "ts": 1, "dur": 2, "pid": process, **others}

    names = {"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "GPU"}}
    made = [event("Spans", tid="x"), event(0, tid=1), event(7), event("12", tid="3")]
    profile = read(tmp_path, {"traceEvents": [names, *made]})
    assert profile.threads == [
        (None, None, "Spans", "x"),
        (0, 1, "GPU", ""),
        (7, 7, "", ""),
        (12, 3, "", ""),
    ]


def test_times_of_16_digits_with_a_fraction_are_exact(tmp_path: Path) -> None:
    text = """{"traceEvents": [
        {"ph":"X","name":"a","pid":1,"tid":1,"ts":1666382280874284.100,"dur":20.000},
        {"ph":"X","name":"b","pid":1,"tid":1,"ts":1666382280874284.200,"dur":9.900},
        {"ph":"X","name":"c","pid":1,"tid":1,"ts":1666382280874294.100,"dur":5.000}]}"""
    path = tmp_path / "trace.json"
    path.write_text(text)
    sums = {("a",): 5_100, ("b", "a"): 9_900, ("c", "a"): 5_000}
    assert sums_of(read_profile(path)) == sums


def test_an_end_that_names_another_event_ends_nothing(tmp_path: Path) -> None:
    def half(phase: str, time: int, name: str | None = None) -> dict[str, Any]:
        event = {"ph": phase, "pid": 1, "tid": 1, "ts": time}
        return event if name is None else {**event, "name": name}

    events = [
        half("B", 0, "a"),
        half("B", 1, "b"),
        half("E", 2, "x"),
        half("E", 3, "a"),
        half("E", 5),
    ]
    profile = read(tmp_path, {"traceEvents": events})
    assert sums_of(profile) == {("a",): 1000, ("b", "a"): 2000, ("b",): 2000}
    assert profile.losses == {
        "ends of durations without a begin": 1,
        OVERLAPPING: 1,
    }


def test_fractions_of_speedscope_are_exact(tmp_path: Path) -> None:
    sampled = {
        "type": "sampled",
        "name": "p",
        "unit": "none",
        "startValue": 0,
        "endValue": 1,
        "samples": [[0], [0, 1]],
        "weights": [0.4, -0.3],
    }
    shared = {"frames": [{"name": "a"}, {"name": "b"}]}
    profile = read(tmp_path, {"shared": shared, "profiles": [sampled]})
    (kind,) = profile.value_types
    assert [kind.plain(each.values[0]) for each in profile.samples] == [0.4, -0.3]


def test_profiles_of_speedscope_with_the_same_stacks_are_values(tmp_path: Path) -> None:
    both = {"type": "sampled", "startValue": 0, "endValue": 9, "samples": [[0], [0, 1]]}
    profiles = [
        {**both, "name": "x", "unit": "none", "weights": [1, 2]},
        {**both, "name": "x", "unit": "bytes", "weights": [10, 20]},
    ]
    shared = {"frames": [{"name": "a"}, {"name": "b"}]}
    profile = read(tmp_path, {"shared": shared, "profiles": profiles})
    assert [each.values for each in profile.samples] == [(1, 10), (2, 20)]
    assert profile.default_value == 0
    file = {"shared": shared, "profiles": profiles, "activeProfileIndex": 1}
    assert read(tmp_path, file).default_value == 1


def test_threads_of_speedscope_with_the_same_stacks_have_their_own_values(
    tmp_path: Path,
) -> None:
    one = {"type": "sampled", "startValue": 0, "endValue": 9, "samples": [[0]]}
    weights = {"Thread 1": 1, "Thread 2": 2}
    profiles = [
        {**one, "name": name, "unit": unit, "weights": [weight * factor]}
        for unit, factor in (("none", 1), ("bytes", 10))
        for name, weight in weights.items()
    ]
    profile = read(
        tmp_path, {"shared": {"frames": [{"name": "a"}]}, "profiles": profiles}
    )
    assert [each.values for each in profile.samples] == [(1, 10), (2, 20)]
    assert [profile.threads[each.thread or 0].thread for each in profile.samples] == [
        1,
        2,
    ]


def test_profiles_of_speedscope_are_not_compared_with_all_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = range(300)
    profiles = [
        {
            "type": "sampled",
            "name": f"{unit} {number}",
            "unit": unit,
            "startValue": 0,
            "endValue": 1,
            "samples": [[0]] * (number + 1),
            "weights": [1] * (number + 1),
        }
        for unit in ("none", "bytes")
        for number in numbers
    ]
    path = tmp_path / "many.json"
    path.write_text(
        json.dumps({"shared": {"frames": [{"name": "a"}]}, "profiles": profiles})
    )
    compared = 0

    class Stacks(list[Any]):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return list.__eq__(self, other)

        __hash__ = None

    whole = json_input.read_node(str(path), None)
    for each in whole.value["profiles"]:
        each["samples"] = Stacks(each["samples"])
    monkeypatch.setattr("gsym.profiles.speedscope_input.read_node", lambda *_: whole)
    profile = read_profile(path)
    assert compared < 10 * len(profiles)
    assert {each.values for each in profile.samples} == {(1, 1)}


def test_open_frames_of_speedscope_last_until_the_end(tmp_path: Path) -> None:
    evented = {
        "type": "evented",
        "name": "Process 3 Thread 4",
        "unit": "milliseconds",
        "startValue": 0,
        "endValue": 100,
        "events": [{"type": "O", "frame": 0, "at": 30}],
    }
    shared = {"frames": [{"name": "a"}]}
    profile = read(tmp_path, {"shared": shared, "profiles": [evented]})
    assert sums_of(profile) == {("a",): 70_000_000}
    assert profile.threads == [(3, 4, "", "")]


@pytest.mark.parametrize(
    ("name", "thread"),
    [
        ('Process 3 Thread 4 "MainThread"', (3, 4, "", "MainThread")),
        ('Thread 4 "pool 1"', (None, 4, "", "pool 1")),
        ("Thread 0x7F3164EA", (None, 0x7F3164EA, "", "")),
        ("app (3) / worker 2 (4)", (3, 4, "app", "worker 2")),
    ],
)
def test_names_of_profiles_of_speedscope_tell_threads(
    tmp_path: Path, name: str, thread: tuple[object, ...]
) -> None:
    sampled = {
        "type": "sampled",
        "name": name,
        "unit": "seconds",
        "startValue": 0,
        "endValue": 0.01,
        "samples": [[0]],
        "weights": [0.01],
    }
    shared = {"frames": [{"name": "a"}]}
    profile = read(tmp_path, {"shared": shared, "profiles": [sampled]})
    assert profile.threads == [thread]
    assert sums_of(profile) == {("a",): 10_000_000}


def paths_in(made: object, front: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items: Iterable[tuple[Any, object]] = ()
    if isinstance(made, (dict, list)):
        items = made.items() if isinstance(made, dict) else enumerate(made)
    below = [paths_in(value, (*front, key)) for key, value in items]
    return ([front] if front else []) + [path for each in below for path in each]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "name", "args", "0"]), inner)
    ),
    max_leaves=4,
)


@pytest.mark.parametrize("kind", ALL)
@given(data=st.data(), value=VALUES)
def test_any_value_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    data: st.DataObject,
    value: object,
) -> None:
    path = data.draw(st.sampled_from(paths_in(ALL[kind])))
    found: str | None = "read"
    try:
        read(tmp_path_factory.getbasetemp(), set_at(ALL[kind], path, value))
    except (FormatError, UnsupportedError) as error:
        found = error.path
    assert found


@pytest.mark.parametrize("opened", ["[", '{"a":'])
@pytest.mark.parametrize("front", ['{"traceEvents": [', '{"nodes": '])
def test_deep_nesting_is_refused(tmp_path: Path, front: str, opened: str) -> None:
    with pytest.raises(FormatError, match="nested too deep") as caught:
        read(tmp_path, front + opened * 200_000)
    assert caught.value.offset is not None


def test_a_large_value_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_input, "MOST_VALUE", 1 << 16)
    trace = '{"traceEvents": [{"name": "' + "x" * (1 << 20)
    with pytest.raises(FormatError, match="more than 65536 characters"):
        list(json_members([trace.encode()], "traceEvents"))


def test_a_compressed_profile_is_limited_by_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_bytes, "MOST_BYTES", input_bytes.Bound(1 << 16, 2))
    text = b'{"nodes": "' + b"x" * (1 << 20)
    path = tmp_path / "large"
    path.write_bytes(gzip.compress(text))
    with pytest.raises(FormatError, match=r"more than 6[67]\d+ bytes of data"):
        b"".join(input_bytes.read_pieces(str(path), is_text=False))
    path.write_bytes(text)
    pieces = input_bytes.read_pieces(str(path), is_text=False)
    assert b"".join(pieces) == text


def test_numbers_of_many_digits_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="not JSON"):
        read(tmp_path, '{"nodes": ' + "9" * 10_000 + "}")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_text_in_pieces_is_the_same(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_input, "_LEAST", size)
    text = json.dumps({"a": [1.5e3, "\u00e9\U0001f600", None], "b": -12, "c": {}})
    data = text.encode().replace(b"\\u00e9", "\u00e9".encode())
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert dict(json_members(iter(pieces))) == json.loads(text)
    items = [value for _, value in json_members(iter(pieces), "a")]
    assert items == [1500.0, "\u00e9\U0001f600", None, -12, {}]


def test_stacks_of_a_deep_tree_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "MOST_ENTRIES", 10_000)
    count = 1000  # the stacks of a chain have as many frames as its square has
    begins = [{"ph": "B", "name": "f", "ts": at} for at in range(count)]
    nodes = [call(number, "f", (number + 1,)) for number in range(count)]
    numbers = list(range(count))
    v8 = {"nodes": [*nodes, call(count, "f")], "startTime": 0, "samples": numbers}
    for made in (chrome(*begins), {**v8, "timeDeltas": numbers}):
        with pytest.raises(FormatError, match="all stacks have more than 10000"):
            read(tmp_path, made)


def test_a_compressed_text_has_a_believable_size(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents":' + b" " * (24 << 20)))
    with pytest.raises(FormatError, match="bytes of data"):
        read_profile(path)


def test_a_stack_of_firefox_may_begin_with_minus_one(tmp_path: Path) -> None:
    made = firefox()
    expected = sums_of(read(tmp_path, made))
    made["threads"][0]["stackTable"]["prefix"] = [-1, 0]
    assert sums_of(read(tmp_path, made)) == expected


def test_times_before_the_start_are_kept(tmp_path: Path) -> None:
    made: dict[str, Any] = copy.deepcopy(firefox())
    times = made["threads"][0]["samples"]["time"]
    times[0] = -1.5
    profile = read(tmp_path, made)
    assert profile.samples[0].time == -1_500_000
