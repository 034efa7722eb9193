"""gsym.profiles.sample_events: samples as durations that nest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from gsym.fxt.records import Event, KernelObject
from gsym.profiles.model import (
    NEGATIVE,
    Frame,
    Profile,
    ProfileBuilder,
    Thread,
    ValueType,
)
from gsym.profiles.sample_events import sample_events
from tests.profiles.profiles import profiles, small_profile
from tests.referee.trace_events import match_events

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.fxt.records import Record

pytestmark = pytest.mark.no_engine


def events(profile: Profile, value: int = -1) -> list[Event]:
    return [each for each in sample_events(profile, value) if isinstance(each, Event)]


def names_of(records: Iterable[Any]) -> dict[int, str]:
    return {each.koid: each.name for each in records if isinstance(each, KernelObject)}


def sampled(*stacks: tuple[int | None, str], period: int = 0) -> Profile:
    """Samples of one thread; each has its time and functions, a letter for each."""
    builder = ProfileBuilder()
    thread = builder.thread(Thread(7, 8, "app", "main"))
    for time, names in stacks:
        indexes = [builder.location(ord(name), None) for name in reversed(names)]
        for index, name in zip(indexes, reversed(names), strict=True):
            location = builder.profile.locations[index]
            frame = Frame(name, name, f"/{name}.c", ord(name))
            builder.profile.locations[index] = location._replace(frames=(frame,))
        builder.sample(builder.stack(indexes), thread=thread, time=time)
    if period:
        builder.profile.period = period
        builder.profile.period_type = ValueType("cpu", "nanoseconds")
    return builder.profile


def drawn(profile: Profile) -> list[tuple[str, int | None, int | None]]:
    return [(each.name, each.ns, each.end_ns) for each in events(profile)]


def test_functions_last_while_samples_contain_them() -> None:
    profile = sampled((10, "abc"), (20, "abd"), (30, "abd"), (40, "a"))
    assert drawn(profile) == [
        ("a", 10, 50),
        ("b", 10, 40),
        ("c", 10, 20),
        ("d", 20, 40),
    ]


def test_samples_far_apart_are_not_joined() -> None:
    profile = sampled((10, "a"), (20, "a"), (30, "a"), (90, "a"))
    assert drawn(profile) == [("a", 10, 40), ("a", 90, 100)]


def test_the_period_of_a_profile_joins_samples() -> None:
    assert drawn(sampled((10, "a"), (90, "a"), period=50)) == [("a", 10, 140)]
    assert drawn(sampled((10, "a"), period=50)) == [("a", 10, 60)]
    assert drawn(sampled((10, "a"))) == [("a", 10, 1_000_010)]


def test_samples_without_times_are_consecutive() -> None:
    ms = 1_000_000
    profile = sampled((None, "ab"), (None, "a"), (None, "b"))
    assert drawn(profile) == [("a", 0, 2 * ms), ("b", 0, ms), ("b", 2 * ms, 3 * ms)]


def test_samples_without_times_last_as_long_as_their_weight() -> None:
    profile = small_profile()
    profile.samples = [sample._replace(time=None) for sample in profile.samples]
    lasts = {
        (each.thread, each.name): (each.end_ns or 0) - (each.ns or 0)
        for each in events(profile, 1)
    }
    assert lasts[11, "main"] == 400
    assert lasts[10, "main"] == 350


def test_events_have_file_and_line_where_calls_do_not_differ_by_them() -> None:
    found = {each.name: each for each in events(small_profile())}
    said = {
        name: {each.name: each.value for each in event.args}
        for name, event in found.items()
    }
    assert said["inner()"] == {"file": "/src/a.h", "inlined": True}
    assert "inlined" not in said["outer(int)"]
    assert said["a.so!0x7fff"] == {}


def test_threads_and_processes_are_named() -> None:
    records = list(sample_events(small_profile(), 0))
    assert names_of(records) == {1: "app", 10: "main"}
    kinds = {each.koid: each.type for each in records if isinstance(each, KernelObject)}
    assert kinds == {1: 1, 10: 2}


def test_colliding_threads_get_separate_tracks() -> None:
    builder = ProfileBuilder()
    stack = builder.stack([builder.location(0x10, None)])
    for number, name in ((1, "first"), (-1, "low"), (2**64 - 1, "high")):
        thread = builder.thread(Thread(number, number, "", name))
        builder.sample(stack, thread=thread, time=10)
    builder.sample(stack, time=10)
    found = list(sample_events(builder.profile, 0))
    tracks = [each.thread for each in found if isinstance(each, Event)]
    free = 2**31 - 1
    assert tracks == [1, 2**64 - 1, free, free - 1]
    assert names_of(found) == {
        1: "first",
        2**64 - 1: "low",
        free: "samples of high",
        free - 1: "samples of no thread",
    }


@given(profiles())
def test_durations_of_a_thread_nest(profile: Profile) -> None:
    durations = match_events(events(profile)).durations
    for duration in durations:
        if duration.parent is not None:
            assert duration.end_ns <= durations[duration.parent].end_ns
    names = {event.name for event in events(profile)}
    assert names == {
        frame.name
        for sample in profile.samples
        for frame in profile.frames_of(sample.stack)
    }


def test_samples_of_a_thread_with_durations_get_another_track() -> None:
    first = 2**31 - 1
    duration = Event("duration_begin", 5, 7, 8, "cat", "name")
    records: list[Record] = [duration, KernelObject(first, 3, "taken")]
    made = list(sample_events(sampled((10, "a")), 0, records))
    assert made[:2] == records
    (track,) = {each.thread for each in made[2:] if isinstance(each, Event)}
    assert track == first - 1
    assert names_of(made)[track] == "samples of main"


def test_samples_without_functions_are_counted() -> None:
    profile = sampled((10, "a"), (20, ""))
    assert drawn(profile) == [("a", 10, 20)]
    assert profile.losses == {"samples without functions": 1}


def test_times_are_cut_at_64_bits() -> None:
    last = 2**64 - 1
    assert drawn(sampled((last - 5, "a"), period=9)) == [("a", last - 5, last)]
    assert drawn(sampled((last + 5, "a"), period=9)) == [("a", last, last)]


@pytest.mark.parametrize("number", [-1, 2**64 - 1])
def test_thread_ids_have_64_bits(number: int) -> None:
    profile = sampled((10, "a"))
    profile.threads[0] = Thread(number, number)
    (found,) = events(profile)
    assert found.thread == 2**64 - 1


def test_the_chosen_value_is_the_length_of_samples_without_times() -> None:
    builder = ProfileBuilder((ValueType("a", "count"), ValueType("b", "bytes")))
    stack = builder.stack([builder.function(Frame("f"))])
    builder.sample(stack, (3, 700))
    builder.sample(stack, (-1, 5))
    profile = builder.profile

    def lengths(value: int) -> list[int]:
        found = events(profile, value)
        return [(each.end_ns or 0) - (each.ns or 0) for each in found]

    assert lengths(1) == [705]
    assert profile.losses == {}
    assert lengths(0) == [3_000_000]
    assert profile.losses == {NEGATIVE: 1}
