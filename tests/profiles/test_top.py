"""Which names have most of the samples, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from gsym.profiles.model import Frame, ProfileBuilder, Thread, ValueType
from gsym.profiles.top import GROUPS, TopRow, sparkline, top_rows
from tests.profiles.profiles import profiles, small_profile

if TYPE_CHECKING:
    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine


def test_functions_have_own_and_total_weights() -> None:
    assert top_rows(small_profile()) == [
        TopRow("inner()", 7, 7, ()),
        TopRow("a.so!0x7fff", 1, 1, ()),
        TopRow("main", 0, 8, ()),
        TopRow("outer(int)", 0, 7, ()),
    ]


@pytest.mark.parametrize(
    ("by", "rows"),
    [
        ("module", [("a.so", 8, 8)]),
        (
            "file",
            [
                ("/src/a.h", 7, 7),
                ("(unknown)", 1, 1),
                ("/src/main.c", 0, 8),
                ("/src/a.cc", 0, 7),
            ],
        ),
        (
            "line",
            [
                ("/src/a.h:3", 7, 7),
                ("a.so!0x7fff", 1, 1),
                ("/src/main.c:30", 0, 8),
                ("/src/a.cc:12", 0, 7),
            ],
        ),
        ("thread", [("main (10)", 4, 4), ("thread 11", 4, 4)]),
        ("process", [("app (1)", 8, 8)]),
    ],
)
def test_rows_are_grouped_as_requested(
    by: str, rows: list[tuple[str, int, int]]
) -> None:
    assert [row[:3] for row in top_rows(small_profile(), by)] == rows


def test_functions_of_other_events_have_no_rows() -> None:
    builder = ProfileBuilder(
        (ValueType("clock", "count"), ValueType("faults", "count"))
    )
    for name, values in (("work", (5, 0)), ("touch", (0, 3))):
        builder.sample(builder.stack((builder.function(Frame(name)),)), values)
    assert top_rows(builder.profile, value=0) == [TopRow("work", 5, 5, ())]
    assert top_rows(builder.profile, value=1) == [TopRow("touch", 3, 3, ())]


def test_an_unknown_group_is_refused() -> None:
    with pytest.raises(
        ValueError, match="unknown group 'colour': expected function, module"
    ):
        top_rows(small_profile(), "colour")


def test_totals_are_split_over_time() -> None:
    rows = {row.name: row.over_time for row in top_rows(small_profile(), parts=4)}
    # The samples are at 1000, 1500, 2000 and 3000; a part ends before the next begins.
    assert rows["main"] == (5, 1, 0, 2)
    assert rows["a.so!0x7fff"] == (1, 0, 0, 0)


def test_totals_over_time_need_all_times() -> None:
    profile = small_profile()
    profile.samples[0] = profile.samples[0]._replace(time=None)
    assert {row.over_time for row in top_rows(profile, parts=4)} == {()}


def test_a_function_that_calls_itself_counts_once() -> None:
    profile = small_profile()
    profile.stacks = [(*stack, *stack) for stack in profile.stacks]
    assert next(row[:3] for row in top_rows(profile)) == ("inner()", 7, 7)


@given(profiles(), st.sampled_from(GROUPS), st.integers(0, 5))
def test_weights_add_up(profile: Profile, by: str, parts: int) -> None:
    rows = top_rows(profile, by, parts=parts)
    counted = [
        sample.values[0]
        for sample in profile.samples
        if profile.stacks[sample.stack] or by in {"thread", "process"}
    ]
    assert sum(row.own for row in rows) == sum(counted)
    for row in rows:
        assert row.own <= row.total <= sum(counted)
        assert not row.over_time or sum(row.over_time) == row.total


@pytest.mark.parametrize(
    ("numbers", "bars"),
    [
        ([], ""),
        ([0, 0], "  "),
        ([0, 1, 2, 4, 8], " ▁▂▄█"),
        ([1 << 70, 1], "█▁"),
        ([-1, 5], " █"),
        ([-1, -5], "  "),
    ],
)
def test_bars_are_as_high_as_numbers(numbers: list[int], bars: str) -> None:
    assert sparkline(numbers) == bars


def test_threads_of_one_number_in_two_processes_stay_apart() -> None:
    builder = ProfileBuilder()
    stack = builder.stack([builder.function(Frame("f"))])
    for thread in (
        Thread(7, 1, "app", "main"),
        Thread(8, 1, "web", "main"),
        Thread(8, 2, "web", "pool"),
        Thread(None, None, "", "gc"),
        Thread(9, None, "", "gc"),
    ):
        builder.sample(stack, (1,), thread=builder.thread(thread))
    rows = {row.name: row.total for row in top_rows(builder.profile, "thread")}
    assert rows == {
        "main (1) of app (7)": 1,
        "main (1) of web (8)": 1,
        "pool (2)": 1,
        "gc of process (unknown)": 1,
        "gc of process 9": 1,
    }
    rows = {row.name: row.total for row in top_rows(builder.profile, "process")}
    assert rows == {
        "app (7)": 1,
        "web (8)": 2,
        "process (unknown)": 1,
        "process 9": 1,
    }


def test_all_threads_of_a_process_have_its_name() -> None:
    builder = ProfileBuilder()
    for thread in (Thread(7, 1, "app"), Thread(7, 2), Thread(8, 1)):
        builder.thread(thread)
    for name in ("sh", "cc"):
        builder.thread(Thread(9, 1, name))
    builder.thread(Thread(9, 2))
    builder.profile.name_processes()
    names = [each.process_name for each in builder.profile.threads]
    assert names == ["app", "app", "", "sh", "cc", ""]
