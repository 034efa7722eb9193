"""Durations that nest become stretches of time, each with its stack."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.fxt.reader import open_trace
from gsym.fxt.records import Argument, Event
from gsym.profiles.durations import UNENDED, DurationStacks
from gsym.profiles.fxt_input import read_fxt_durations, read_fxt_file
from gsym.profiles.model import TIME, Frame, Profile, ProfileBuilder, Thread
from gsym.profiles.opening import ProfileOptions
from tests.fxt.traces import small_trace
from tests.profiles.test_round_trips import sums_of

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.no_engine

# Begin, end and name of complete durations; None in place of what comes on its own.
Spans = list[tuple[int | None, int | None, str]]


def profile_of(spans: Spans) -> Profile:
    builder = ProfileBuilder((TIME,))
    thread = builder.thread(Thread(1, 2))
    stacks = DurationStacks(builder)
    for begin, end, name in spans:
        location = builder.function(Frame(name))
        if begin is None:
            stacks.end(thread, end or 0)
        elif end is None:
            stacks.begin(thread, begin, location)
        else:
            stacks.complete(thread, begin, end, location)
    stacks.finish()
    return builder.profile


@pytest.mark.parametrize(
    ("spans", "sums"),
    [
        ([], {}),
        ([(5, 9, "a")], {"a": 4}),
        # An inner one is written before the one around it.
        ([(2, 4, "b"), (1, 9, "a")], {"a": 6, "a;b": 2}),
        # Of two that begin together, the longer one is around.
        ([(1, 3, "b"), (1, 9, "a")], {"a;b": 2, "a": 6}),
        ([(1, 9, "a"), (2, 3, "b"), (3, 5, "c")], {"a": 5, "a;b": 1, "a;c": 2}),
        ([(1, None, "a"), (2, None, "b"), (None, 4, ""), (None, 6, "")], None),
        # One that outlives the one around it goes on without that.
        ([(1, 4, "a"), (2, 6, "b")], {"a": 1, "a;b": 2, "b": 2}),
        ([(3, 3, "a"), (4, 2, "b")], {}),
        ([(1, 3, "a"), (5, 7, "a")], {"a": 4}),
    ],
)
def test_each_stretch_has_the_stack_around_it(
    spans: Spans, sums: dict[str, int] | None
) -> None:
    found = sums_of(profile_of(spans))
    made = {";".join(reversed(names)): count for names, count in found.items()}
    assert made == (sums if sums is not None else {"a": 3, "a;b": 2})


def test_halves_without_the_other_are_counted() -> None:
    profile = profile_of([(None, 1, ""), (2, None, "a"), (3, 8, "b")])
    assert profile.losses == {UNENDED: 1, "ends of durations without a begin": 1}
    assert sums_of(profile) == {("a",): 1, ("b", "a"): 5}


def test_times_beyond_63_bits_are_cut() -> None:
    last = (1 << 63) - 1
    assert sums_of(profile_of([(last - 5, 1 << 64, "a")])) == {("a",): 5}


def test_durations_of_a_trace_have_its_names() -> None:
    profile = read_fxt_durations(open_trace(small_trace()))
    assert profile.value_types == (TIME,)
    names = {frame.name for each in profile.locations for frame in each.frames}
    assert "read" in names
    assert "io" in {mapping.path for mapping in profile.mappings}
    assert [thread for thread in profile.threads if not thread.process_name] == []


@pytest.mark.parametrize(("value", "line"), [(7, 7), (True, 0), (-1, 0), (1 << 31, 0)])
def test_the_line_of_a_duration_is_a_number(value: int, line: int) -> None:
    args = Argument("file", "string", "/a.c"), Argument("line", "int64", value)
    event = Event("duration_complete", 1, 2, 3, "io", "read", args, end_ticks=5)
    profile = read_fxt_durations([event._replace(ns=1, end_ns=5)])
    (location,) = profile.locations
    assert location.frames == (Frame("read", path="/a.c", line=line),)


def test_a_file_of_durations_is_a_profile(tmp_path: Path) -> None:
    path = tmp_path / "trace.fxt"
    path.write_bytes(small_trace()[:-3])
    profile = read_fxt_file(str(path), ProfileOptions())
    assert profile.samples
    assert profile.losses["damaged records of the trace"] == 1


def test_traces_one_after_another_are_one_profile() -> None:
    once = read_fxt_durations(open_trace(small_trace()))
    twice = read_fxt_durations(open_trace(small_trace() + small_trace()))
    assert len(twice.samples) == 2 * len(once.samples) > 0
