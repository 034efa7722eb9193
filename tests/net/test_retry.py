"""When a request that failed is repeated."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest

from gsym.net.retry import Attempts, RetryableError, RetryPolicy

pytestmark = pytest.mark.no_engine

POLICY = RetryPolicy(4, 1.0, 10.0, chance=lambda: 0.0)


def waits_of(policy: RetryPolicy, *errors: RetryableError) -> list[float]:
    """The wait after each failure, up to the one that is the last."""
    attempts = Attempts(policy)
    found: list[float] = []
    with suppress(RetryableError):
        found.extend(map(attempts.wait_after, errors))
    return found


@pytest.mark.parametrize(
    ("changes", "asked", "waits"),
    [
        ({}, None, [1, 2, 4]),
        ({"longest_backoff": 3.0}, None, [1, 2, 3]),
        ({"chance": lambda: 1.0}, None, [0.5, 1, 2]),
        ({"waits": (0.0, 7.0, 0.0)}, None, [0, 7, 0]),
        ({}, 3.0, [3, 3, 4]),
        ({}, 11.0, []),
        ({"cuts_waits": True}, 11.0, [10, 10, 10]),
    ],
)
def test_waits_are_those_of_the_policy_or_of_the_server(
    changes: dict[str, Any], asked: float | None, waits: list[float]
) -> None:
    policy = POLICY._replace(**changes)
    errors = [RetryableError("busy", wait=asked) for _ in range(6)]
    assert waits_of(policy, *errors) == waits
    assert errors[len(waits)].attempts == len(waits) + 1


@pytest.mark.parametrize(("needs_server", "count"), [(True, 0), (False, 3)])
def test_a_server_that_nothing_connects_to_is_given_up(
    needs_server: bool,  # noqa: FBT001 - a parameter
    count: int,
) -> None:
    errors = [RetryableError("refused", is_unreachable=True) for _ in range(6)]
    policy = POLICY._replace(needs_server=needs_server)
    assert len(waits_of(policy, *errors)) == count


def test_no_attempt_begins_after_the_end() -> None:
    error = RetryableError("busy")
    assert Attempts(POLICY, time.monotonic() + 60).wait_after(error) == 1
    with pytest.raises(RetryableError):
        Attempts(POLICY, time.monotonic() + 0.9).wait_after(error)
