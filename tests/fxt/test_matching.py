"""Durations nest per thread; operations and flows are found by id."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gsym.fxt.matching import unmatched_halves
from gsym.fxt.records import Event
from tests.referee.trace_events import Matches, match_events


def event(kind: str, ns: int, name: str = "", **fields: Any) -> Event:  # noqa: ANN401
    """An event of process 1, thread 2, where *fields* do not say otherwise."""
    return Event(kind, ns, 1, 2, "test", name, ns=ns)._replace(**fields)


def begin(ns: int, name: str, thread: int = 2) -> Event:
    return event("duration_begin", ns, name, thread=thread)


def end(ns: int, thread: int = 2) -> Event:
    return event("duration_end", ns, thread=thread)


def complete(ns: int, end_ns: int, name: str) -> Event:
    return event("duration_complete", ns, name, end_ticks=end_ns, end_ns=end_ns)


def tree(matches: Matches) -> list[tuple[str, int, int, int]]:
    """Name, begin, end and depth of each duration; parents are checked."""
    for duration in matches.durations:
        if duration.parent is None:
            assert duration.depth == 0
        else:
            parent = matches.durations[duration.parent]
            assert parent.depth == duration.depth - 1
    return [
        (each.event.name, each.event.ns or 0, each.end_ns, each.depth)
        for each in matches.durations
    ]


def test_durations_nest() -> None:
    events = [begin(0, "a"), begin(1, "b"), end(2), begin(3, "c"), end(4), end(9)]
    matches = match_events(events)
    assert tree(matches) == [("a", 0, 9, 0), ("b", 1, 2, 1), ("c", 3, 4, 1)]
    assert matches.unmatched == {}


def test_complete_durations_are_ordered_by_time() -> None:
    events = [complete(2, 3, "b"), complete(1, 4, "a"), complete(4, 5, "c")]
    assert tree(match_events(events)) == [
        ("a", 1, 4, 0),
        ("b", 2, 3, 1),
        ("c", 4, 5, 0),
    ]


def test_the_longest_of_simultaneous_durations_is_the_parent() -> None:
    events = [complete(1, 2, "c"), complete(1, 3, "b"), complete(1, 9, "a")]
    assert tree(match_events(events)) == [
        ("a", 1, 9, 0),
        ("b", 1, 3, 1),
        ("c", 1, 2, 2),
    ]


def test_both_kinds_of_durations_nest_in_each_other() -> None:
    events = [begin(0, "a"), complete(1, 8, "b"), begin(2, "c"), end(3), end(9)]
    assert tree(match_events(events)) == [
        ("a", 0, 9, 0),
        ("b", 1, 8, 1),
        ("c", 2, 3, 2),
    ]


def test_unmatched_begins_end_with_the_trace() -> None:
    events = [end(0), begin(1, "a"), begin(2, "b"), event("instant", 7)]
    matches = match_events(events)
    assert tree(matches) == [("a", 1, 7, 0), ("b", 2, 7, 1)]
    assert matches.unmatched == {"duration_end": 1, "duration_begin": 2}
    assert matches.end_ns == 7


def test_an_operation_may_span_threads() -> None:
    events = [
        event("async_end", 9, id=5, thread=4),
        event("async_begin", 1, "a", id=5),
        event("async_instant", 3, "m", id=5, thread=3),
        event("async_begin", 2, "other", id=6),
    ]
    matches = match_events(events)
    first, second = matches.operations
    assert (first.begin.name, first.end_ns) == ("a", 9)
    assert [each.name for each in first.instants] == ["m"]
    assert first.end is not None
    assert (second.begin.name, second.end, second.end_ns) == ("other", None, 9)
    assert matches.unmatched == {"async_begin": 1}


@pytest.mark.parametrize("kind", ["async", "flow"])
def test_ids_are_local_to_a_process(kind: str) -> None:
    events = [
        event(f"{kind}_begin", 0, "a", id=1, process=1),
        event(f"{kind}_begin", 1, "b", id=1, process=2),
        event(f"{kind}_end", 2, "b", id=1, process=2),
        # Only one is left, so it is that of another process as well.
        event(f"{kind}_end", 3, "a", id=1, process=9),
        event(f"{kind}_end", 4, "c", id=1, process=9),
    ]
    matches = match_events(events)
    assert matches.unmatched == {f"{kind}_end": 1}
    if kind == "async":
        ends = [(each.begin.name, each.end_ns) for each in matches.operations]
        assert ends == [("a", 3), ("b", 2)]
    else:
        assert [
            [point.event.ns for point in flow.points] for flow in matches.flows
        ] == [
            [0, 3],
            [1, 2],
        ]


def test_an_id_open_in_two_processes_is_ambiguous() -> None:
    events = [
        event("async_begin", 0, id=1, process=1),
        event("async_begin", 1, id=1, process=2),
        event("async_end", 2, id=1, process=3),
    ]
    assert match_events(events).unmatched == {"async_end": 1, "async_begin": 2}


def test_an_id_may_be_used_again() -> None:
    events = [
        event("async_begin", 0, "a", id=1),
        event("async_end", 1, id=1),
        event("async_begin", 2, "b", id=1),
        event("async_begin", 3, "c", id=1),
        event("async_end", 4, id=1),
        event("async_end", 5, id=1),
    ]
    ends = [(e.begin.name, e.end_ns) for e in match_events(events).operations]
    assert ends == [("a", 1), ("b", 5), ("c", 4)]


def test_points_of_a_flow_have_their_enclosing_duration() -> None:
    events = [
        complete(0, 10, "outer"),
        complete(2, 4, "inner"),
        event("flow_begin", 2, id=7),
        event("flow_step", 4, id=7),
        event("flow_end", 10, id=7, thread=3),
    ]
    (flow,) = match_events(events).flows
    durations = match_events(events).durations
    around = [
        None if point.duration is None else durations[point.duration].event.name
        for point in flow.points
    ]
    assert around == ["inner", "outer", None]


A, B = [begin(0, "a"), end(10)], [begin(10, "b"), end(20)]
POINT = event("flow_begin", 10, id=1)


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([A[0], POINT, A[1]], "a"),
        ([A[0], POINT, A[1], *B], "a"),
        ([*A, POINT], None),
        ([*A, B[0], POINT, B[1]], "b"),
        ([begin(10, "a"), POINT, end(10)], "a"),
        ([POINT, complete(0, 10, "a")], "a"),
        ([complete(0, 10, "a"), POINT], None),
        ([POINT, complete(0, 10, "a"), complete(10, 20, "b")], "a"),
        ([*A, POINT, complete(10, 20, "b")], "b"),
        ([A[0], POINT, complete(10, 20, "b"), end(20)], "b"),
    ],
)
def test_a_point_at_the_end_of_a_duration_is_in_it_if_it_comes_first(
    events: list[Event], name: str | None
) -> None:
    matches = match_events(events)
    around = matches.flows[0].points[0].duration
    assert name == (None if around is None else matches.durations[around].event.name)


@pytest.mark.parametrize("kind", ["async", "flow"])
def test_equal_ids_of_two_categories_are_not_confused(kind: str) -> None:
    events = [
        event(f"{kind}_begin", 0, "a", id=1, category="one"),
        event(f"{kind}_begin", 1, "b", id=1, category="two"),
        event(f"{kind}_begin", 2, "c", id=1, category="two"),
        event(f"{kind}_end", 3, "a", id=1, category="one"),
        event(f"{kind}_end", 4, "b", id=1, category="two"),
        event(f"{kind}_end", 5, "another name", id=1, category="three"),
    ]
    matches = match_events(events)
    assert matches.unmatched == {}
    found = [
        *((each.begin.name, each.end_ns) for each in matches.operations),
        *((f.points[0].event.name, f.points[-1].event.ns) for f in matches.flows),
    ]
    assert found == [("a", 3), ("b", 4), ("c", 5)]


_KINDS = ["duration_begin", "duration_end", "duration_complete", "instant", "counter"]
_KINDS += [f"{kind}_{half}" for kind in ("async", "flow") for half in ("begin", "end")]
_KINDS += ["async_instant", "flow_step"]


@st.composite
def events_of_traces(draw: st.DrawFn) -> list[Event]:
    def made(kind: str, ns: int, length: int, number: int, place: int) -> Event:
        fields: dict[str, Any] = {"process": place % 2, "thread": place}
        if kind == "duration_complete":
            fields["end_ns"] = ns + length
        elif kind.startswith(("async", "flow", "counter")):
            fields["id"] = number
        return event(kind, ns, **fields)

    small = st.integers(0, 3)
    parts = st.tuples(st.sampled_from(_KINDS), st.integers(0, 9), small, small, small)
    return [made(*each) for each in draw(st.lists(parts))]


@given(events_of_traces())
def test_each_event_is_matched_once(events: list[Event]) -> None:
    matches = match_events(events)
    assert unmatched_halves(events) == matches.unmatched
    tree(matches)
    placed = [each.event for each in matches.durations]
    placed += [each.end for each in matches.durations if each.end is not None]
    for operation in matches.operations:
        placed += [operation.begin, *operation.instants]
        placed += [operation.end] if operation.end else []
    for flow in matches.flows:
        placed += [point.event for point in flow.points]
    lost = sum(
        count for kind, count in matches.unmatched.items() if not kind.endswith("begin")
    )
    matched = [each for each in events if each.kind not in {"instant", "counter"}]
    assert len(placed) + lost == len(matched)
    assert [each for each in matches.durations if each.end_ns > matches.end_ns] == []
