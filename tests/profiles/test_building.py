"""Profiles share what is equal."""

from __future__ import annotations

import sys

import pytest

from gsym.profiles.model import Frame, Mapping, ProfileBuilder, Thread

pytestmark = pytest.mark.no_engine


def test_equal_parts_are_shared() -> None:
    builder = ProfileBuilder()
    first, second = Mapping(0, 16), Mapping(16, 32)
    assert [builder.mapping(each) for each in (first, second, first)] == [0, 1, 0]
    assert [builder.stack(each) for each in ((1, 2), [2, 1], [1, 2])] == [0, 1, 0]
    assert builder.location(4, 0) == builder.location(4, 0)
    assert builder.location(4, 0, is_return=True) != builder.location(4, 0)
    assert builder.profile.mappings == [first, second]
    assert builder.profile.stacks == [(1, 2), (2, 1)]


def test_names_of_threads_may_come_later() -> None:
    builder = ProfileBuilder()
    assert builder.thread(Thread(1, 2)) == builder.thread(Thread(1, 2, "", "main"))
    assert builder.thread(Thread(1, 2, "app")) == 0
    assert builder.profile.threads == [Thread(1, 2, "app", "main")]


@pytest.mark.parametrize("number", [None, 7])
def test_many_names_of_threads_are_found_at_once(number: int | None) -> None:
    def steps(count: int) -> int:
        """The calls that it takes to add threads."""
        events = []
        builder = ProfileBuilder()
        threads = [Thread(None, number, "", f"worker {at}") for at in range(count)]
        sys.setprofile(lambda *event: events.append(event[1]))
        try:
            indexes = [builder.thread(each) for each in threads + threads]
        finally:
            sys.setprofile(None)
        assert indexes == [*range(count), *range(count)]
        return len(events)

    assert steps(800) < 6 * steps(200)


def test_a_stack_shows_inlined_frames_and_addresses_without_any() -> None:
    builder = ProfileBuilder()
    module = builder.mapping(Mapping(0x1000, 0x2000, path="/lib/a.so"))
    leaf = builder.location(0x1010, module)
    stack = builder.stack(
        [leaf, builder.location(0x1020, module), builder.location(5, None)]
    )
    frames = (Frame("inner"), Frame("outer"))
    locations = builder.profile.locations
    locations[leaf] = locations[leaf]._replace(frames=frames)
    assert [frame.name for frame in builder.profile.frames_of(stack)] == [
        "inner",
        "outer",
        "a.so!0x1020",
        "0x5",
    ]
