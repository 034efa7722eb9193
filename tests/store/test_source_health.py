"""A source in trouble is asked now and then, until it answers."""

from __future__ import annotations

import pytest

from gsym.store.sources.health import SourceHealth
from tests.clock import Clock

pytestmark = pytest.mark.no_engine


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def health(clock: Clock) -> SourceHealth:
    return SourceHealth(
        most_failures=3, window_seconds=60, probe_seconds=2, clock=clock
    )


def test_failures_in_a_row_take_a_source_out(health: SourceHealth) -> None:
    for _ in range(2):
        health.failed("a")
        assert health.is_asked("a")
        assert health.is_asked("a")
    health.failed("a")
    assert health.is_asked("a")  # the probe
    assert not health.is_asked("a")
    assert health.is_asked("b")


def test_an_answer_between_failures_keeps_a_source_in(health: SourceHealth) -> None:
    for _ in range(9):
        health.failed("a")
        health.failed("a")
        health.answered("a")
    assert [health.is_asked("a") for _ in range(3)] == [True] * 3


def test_distant_failures_are_not_consecutive(
    health: SourceHealth, clock: Clock
) -> None:
    for _ in range(9):
        health.failed("a")
        clock.now += 31
    assert [health.is_asked("a") for _ in range(3)] == [True] * 3


def test_probes_are_allowed_periodically(health: SourceHealth, clock: Clock) -> None:
    for _ in range(3):
        health.failed("a")
    asked = []
    for _ in range(60):
        asked.append(health.is_asked("a"))
        clock.now += 0.1
    assert asked.count(True) == 3


def test_first_answer_ends_the_pause_of_a_source(
    health: SourceHealth, clock: Clock
) -> None:
    for _ in range(3):
        health.failed("a")
    assert not health.has_answered_since("a", clock.now - 1)
    clock.now += 1
    health.answered("a")
    assert health.has_answered_since("a", clock.now - 1)
    assert not health.has_answered_since("a", clock.now)
    assert [health.is_asked("a") for _ in range(3)] == [True] * 3


def test_clock_set_back_does_not_delay_the_probe(
    health: SourceHealth, clock: Clock
) -> None:
    assert health.claims_probe("a")
    assert not health.claims_probe("a")
    clock.now -= 1000
    assert health.claims_probe("a")
