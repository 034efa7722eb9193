"""A source in trouble is asked now and then, until it answers."""

from __future__ import annotations

import pytest

from gsym.net.circuit_breaker import CircuitBreaker
from tests.clock import Clock

pytestmark = pytest.mark.no_engine


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> CircuitBreaker:
    return CircuitBreaker(
        most_failures=3, window_seconds=60, probe_seconds=2, clock=clock
    )


def test_failures_in_a_row_take_a_source_out(breaker: CircuitBreaker) -> None:
    for _ in range(2):
        breaker.failed("a")
        assert breaker.is_asked("a")
        assert breaker.is_asked("a")
    breaker.failed("a")
    assert breaker.is_asked("a")  # the probe
    assert not breaker.is_asked("a")
    assert breaker.is_asked("b")


def test_an_answer_between_failures_keeps_a_source_in(breaker: CircuitBreaker) -> None:
    for _ in range(9):
        breaker.failed("a")
        breaker.failed("a")
        breaker.answered("a")
    assert [breaker.is_asked("a") for _ in range(3)] == [True] * 3


def test_distant_failures_are_not_consecutive(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    for _ in range(9):
        breaker.failed("a")
        clock.now += 31
    assert [breaker.is_asked("a") for _ in range(3)] == [True] * 3


def test_probes_are_allowed_periodically(breaker: CircuitBreaker, clock: Clock) -> None:
    for _ in range(3):
        breaker.failed("a")
    asked = []
    for _ in range(60):
        asked.append(breaker.is_asked("a"))
        clock.now += 0.1
    assert asked.count(True) == 3


def test_first_answer_ends_the_pause_of_a_source(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    for _ in range(3):
        breaker.failed("a")
    assert breaker.state("a").answered <= clock.now - 1
    clock.now += 1
    breaker.answered("a")
    assert breaker.state("a").answered > clock.now - 1
    assert breaker.state("a").answered <= clock.now
    assert [breaker.is_asked("a") for _ in range(3)] == [True] * 3


def test_clock_set_back_does_not_delay_the_probe(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    assert breaker.claims_probe("a")
    assert not breaker.claims_probe("a")
    clock.now -= 1000
    assert breaker.claims_probe("a")


def test_a_requested_pause_has_probes_and_ends(
    breaker: CircuitBreaker, clock: Clock
) -> None:
    assert breaker.seconds_left("a") == 0
    breaker.back_off("a", 5)
    assert breaker.seconds_left("a") == 5
    assert not breaker.claims_probe("a")
    clock.now += 2
    assert breaker.claims_probe("a")
    assert not breaker.claims_probe("a")
    assert breaker.seconds_left("a") == 3
    assert breaker.seconds_left("b") == 0
    clock.now += 3
    assert breaker.seconds_left("a") == 0


def test_an_answer_ends_a_requested_pause(breaker: CircuitBreaker) -> None:
    breaker.back_off("a", 5)
    breaker.answered("a")
    assert breaker.seconds_left("a") == 0


def test_failures_that_take_long_take_a_source_out(clock: Clock) -> None:
    breaker = CircuitBreaker(most_failures=60, most_seconds=10, clock=clock)
    assert [breaker.failed("a", 4.0) for _ in range(4)] == [False, False, True, False]
    assert breaker.state("a").is_out
    assert not breaker.state("b").is_out
    assert [breaker.answered("a") for _ in range(2)] == [True, False]
    assert not breaker.state("a").is_out
    assert breaker.failed("a", 13.0)


def test_time_that_failures_took_long_ago_does_not_count(clock: Clock) -> None:
    breaker = CircuitBreaker(most_seconds=10, window_seconds=60, clock=clock)
    for _ in range(9):
        assert not breaker.failed("a", 9.0)
        clock.now += 61


def test_a_state_that_was_read_does_not_change(breaker: CircuitBreaker) -> None:
    before = breaker.state("a")
    breaker.back_off("a", 5)
    breaker.answered("a")
    assert (before.answered, before.probed, before.until) == (0, 0, 0)
    assert breaker.state("a").answered > 0
