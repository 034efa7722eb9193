"""Retries: when to repeat a request, and how long to wait before."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime
from itertools import count

from gsym.errors import SourceError
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    Result = TypeVar("Result")

# Statuses of answers that may be others later.
LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
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


class RetryPolicy(NamedTuple):
    """The choice when to repeat a request that failed; times are in seconds.

    Attributes:
        attempts: Maximum number of attempts.
        first_wait: Wait before the second attempt; see `backoff`.
        longest_wait: If a server asks for a longer one, it is not asked again.
        longest_backoff: Maximum of other waits.
        chance: A number from 0 to 1, drawn at random.
    """

    attempts: int
    first_wait: float
    longest_wait: float
    longest_backoff: float = _MAX_BACKOFF
    chance: Callable[[], float] = random.random

    def wait_before(self, error: RetryableError) -> float | None:
        """Seconds to wait after a failure; None to give up."""
        asked = error.wait or 0.0
        if error.attempts >= self.attempts or asked > self.longest_wait:
            return None
        own = backoff(
            self.first_wait,
            error.attempts,
            longest=self.longest_backoff,
            chance=self.chance,
        )
        return max(asked, own)


def check_later(status: int, headers: Mapping[str, str]) -> None:
    """Check that a later attempt would have no other answer.

    Raises:
        RetryableError: It may have one.
    """
    if status in LATER:
        wait = read_retry_after(headers.get("retry-after", ""))
        asked = f", which asks to wait {wait:.0f} s" if wait else ""
        raise RetryableError(f"HTTP status {status}{asked}", wait=wait, status=status)


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
