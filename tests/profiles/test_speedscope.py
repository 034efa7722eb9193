"""Files for speedscope follow its schema and hold the profile."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from gsym.profiles.model import NEGATIVE, Frame, ProfileBuilder
from gsym.profiles.outputs import speedscope_file
from tests.profiles.profiles import profiles, small_profile

if TYPE_CHECKING:
    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine


def stacks_of(file: dict[str, Any], number: int) -> list[list[str]]:
    frames = file["shared"]["frames"]
    samples = file["profiles"][number]["samples"]
    return [[frames[index]["name"] for index in sample] for sample in samples]


def test_each_thread_is_a_profile_in_the_order_of_time() -> None:
    file = speedscope_file(small_profile(), 1, "run")
    first, second = file["profiles"]
    assert (first["name"], second["name"]) == (
        "app (1) / main (10)",
        "app (1) / thread 11",
    )
    deep, flat = ["main", "outer(int)", "inner()"], ["main", "a.so!0x7fff"]
    assert stacks_of(file, 0) == [flat, deep, deep]
    assert stacks_of(file, 1) == [deep]
    assert first["weights"] == [50, 100, 200]
    assert (first["endValue"], first["unit"]) == (350, "nanoseconds")


def test_known_frames_have_files_and_lines() -> None:
    frames = speedscope_file(small_profile())["shared"]["frames"]
    assert {"name": "inner()", "file": "/src/a.h", "line": 3} in frames
    assert {"name": "a.so!0x7fff"} in frames


@given(profiles())
def test_any_profile_has_valid_indexes_and_weights(profile: Profile) -> None:
    file = json.loads(json.dumps(speedscope_file(profile)))
    count = len(file["shared"]["frames"])
    for each in file["profiles"]:
        assert len(each["samples"]) == len(each["weights"])
        assert [
            (stack, index)
            for stack in each["samples"]
            for index in stack
            if not 0 <= index < count
        ] == []
    whole = sum(sample.values[0] for sample in profile.samples)
    assert sum(each["endValue"] for each in file["profiles"]) == whole


def test_a_function_of_two_lines_is_one_frame() -> None:
    builder = ProfileBuilder()
    for line in (7, 3):
        function = builder.function(Frame("f", path="a.c", line=line))
        builder.sample(builder.stack([function]), (1,))
    made = speedscope_file(builder.profile)
    assert made["shared"]["frames"] == [{"name": "f", "file": "a.c", "line": 3}]
    assert made["profiles"][0]["samples"] == [[0], [0]]


def test_values_below_0_are_counted() -> None:
    builder = ProfileBuilder()
    stack = builder.stack([builder.function(Frame("f"))])
    builder.sample(stack, (5,))
    builder.sample(stack, (-2,))
    assert speedscope_file(builder.profile)["profiles"][0]["weights"] == [5]
    assert builder.profile.losses == {NEGATIVE: 1}
