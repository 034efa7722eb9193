"""Equal stacks are one; what stands in front of them; collapsed stacks."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given

from gsym.trace.profiles.call_tree import ROOTS, call_stacks
from gsym.trace.profiles.model import Frame, Profile
from gsym.trace.profiles.outputs import collapsed_lines
from tests.trace.profiles.profiles import INNER, MAIN, OUTER, profiles, small_profile

pytestmark = pytest.mark.no_engine

UNKNOWN = Frame("a.so!0x7fff")


def test_equal_stacks_are_summed_over_threads() -> None:
    assert list(call_stacks(small_profile())) == [
        ((MAIN, OUTER, INNER), 7),
        ((MAIN, UNKNOWN), 1),
    ]


def test_any_value_can_be_summed() -> None:
    assert [weight for _, weight in call_stacks(small_profile(), 1)] == [700, 50]


@pytest.mark.parametrize(
    ("roots", "fronts"),
    [
        (("process",), [["app (1)"], ["app (1)"]]),
        (("thread",), [["main (10)"], ["main (10)"], ["thread 11"]]),
        (
            ROOTS,
            [
                ["app (1)", "main (10)"],
                ["app (1)", "main (10)"],
                ["app (1)", "thread 11"],
            ],
        ),
    ],
)
def test_processes_and_threads_stand_in_front(
    roots: tuple[str, ...], fronts: list[list[str]]
) -> None:
    found = [
        [frame.name for frame in frames[: len(roots)]]
        for frames, _ in call_stacks(small_profile(), 0, roots)
    ]
    assert found == fronts


def test_collapsed_stacks_are_lines_in_order() -> None:
    assert list(collapsed_lines(small_profile())) == [
        "main;a.so!0x7fff 1",
        "main;outer(int);inner() 7",
    ]


def test_names_cannot_break_a_collapsed_line() -> None:
    profile = small_profile()
    evil = (Frame("a;b\r\nc\x1b\x9b\udc9b 1"),)
    profile.locations = [each._replace(frames=evil) for each in profile.locations]
    assert list(collapsed_lines(profile)) == ["a:b  c    1;a:b  c    1 8"]


@given(profiles())
def test_no_weight_is_lost(profile: Profile) -> None:
    whole = sum(sample.values[0] for sample in profile.samples)
    assert sum(weight for _, weight in call_stacks(profile)) == whole
    lines = list(collapsed_lines(profile, roots=ROOTS))
    counts: Counter[str] = Counter()
    for line in lines:
        matched = re.fullmatch(r"([^\n\r]*) (\d+)", line)
        assert matched
        counts[matched[1]] += int(matched[2])
    assert counts.total() == whole
    assert len(counts) == len(lines)
