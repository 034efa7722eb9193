"""Retries: when to repeat a request, and how long to wait before."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime
from itertools import count

from gsym.errors import SourceError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")

_MAX_DIGITS = 9
_MAX_DOUBLINGS = 64  # so that 2 to the number of attempts remains small
_MAX_BACKOFF = 30.0


class RetryableError(SourceError):
    """An attempt failed, and a later one may succeed."""

    def __init__(
        self,
        reason: str,
        *,
        wait: float | None = None,
        status: int = 0,
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(reason, may_retry=True, status=status)
        self.wait = wait  # seconds that the server asks to wait; None if it does not
        self.is_unreachable = is_unreachable  # whether no connection could be opened
        self.attempts = 1  # how many attempts there were, set by `retry`


def retry(
    attempt: Callable[[], Result],
    wait_before: Callable[[RetryableError], float | None],
    *,
    sleep: Callable[[float], object],
    until: float = float("inf"),
) -> Result:
    """The result of *attempt*, which is repeated while it raises `RetryableError`.

    *wait_before* gives the seconds before the next attempt; None: there is none.

    Raises:
        RetryableError: That of the last attempt.
    """
    for number in count(1):
        try:
            return attempt()
        except RetryableError as error:
            error.attempts = number
            wait = wait_before(error)
            if wait is None or time.monotonic() + wait >= until:
                raise
        sleep(wait)
    raise AssertionError  # count() does not end


def backoff(
    first: float,
    attempts: int,
    *,
    longest: float = _MAX_BACKOFF,
    chance: Callable[[], float] = random.random,
) -> float:
    """The seconds to wait after a number of attempts.

    They double with each attempt. Up to half is subtracted at random, so that clients
    do not all return at once.
    """
    doubled = first * 2.0 ** min(attempts - 1, _MAX_DOUBLINGS)
    return min(doubled, longest) * (1 - chance() / 2)


def read_retry_after(text: str) -> float | None:
    """The seconds of a `Retry-After` header, which is a number or a date.

    None if it is neither.
    """
    if text.isascii() and text.isdigit():
        return float(text[:_MAX_DIGITS])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
