"""Retries: when to repeat a request, and how long to wait before."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import TypeVar

from gsym.errors import SourceError
from gsym.records import NamedTuple

Result = TypeVar("Result")
# Statuses of answers that may be others later.
LATER = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_DIGITS = 9
_MAX_DOUBLINGS = 64  # so that 2 to the number of attempts remains small


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
        self.attempts = 1  # how many attempts there were, set by `Attempts`


class RetryPolicy(NamedTuple):
    """The choice when to repeat a request that failed; times are in seconds."""

    attempts: int  # maximum number of attempts
    # The wait before the second attempt, which doubles with each further one. Up to
    # half is subtracted at random, so that clients do not all return at once.
    first_wait: float
    longest_wait: float  # if a server asks for a longer one, it is not asked again
    longest_backoff: float = 30.0  # maximum of other waits
    chance: Callable[[], float] = random.random  # a number from 0 to 1, drawn at random
    # the waits before all further attempts, in place of those that double
    waits: tuple[float, ...] = ()
    # whether a server that asks for a longer wait is asked again after *longest_wait*
    cuts_waits: bool = False
    # whether to give up where no connection can be opened: a wait would only hide a
    # wrong address
    needs_server: bool = False


class Attempts:
    """The attempts at one request, which are repeated until *until* at most.

    *tell* is called with a failure and the wait after it.
    """

    def __init__(
        self,
        policy: RetryPolicy,
        until: float = float("inf"),
        tell: Callable[[RetryableError, float], object] = lambda *_: None,
    ) -> None:
        self._policy = policy
        self._until = until
        self._tell = tell
        self._done = 0

    def wait_after(self, error: RetryableError) -> float:
        """Seconds to wait before the next attempt, after a failure of the last one.

        Raises:
            RetryableError: The policy allows no further attempt.
        """
        policy = self._policy
        self._done = error.attempts = self._done + 1
        asked = error.wait or 0.0
        if policy.cuts_waits:
            asked = min(asked, policy.longest_wait)
        is_last = self._done >= policy.attempts or asked > policy.longest_wait
        if is_last or (policy.needs_server and error.is_unreachable):
            raise error
        wait = max(asked, self._own_wait())
        if time.monotonic() + wait >= self._until:
            raise error
        self._tell(error, wait)
        return wait

    def _own_wait(self) -> float:
        policy, done = self._policy, self._done - 1
        if policy.waits:
            return policy.waits[done]
        doubled = policy.first_wait * 2.0 ** min(done, _MAX_DOUBLINGS)
        return min(doubled, policy.longest_backoff) * (1 - policy.chance() / 2)


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
    attempts: Attempts,
    sleep: Callable[[float], object],
) -> Result:
    """The result of *attempt*, which is repeated while it raises `RetryableError`.

    Raises:
        RetryableError: That of the last attempt.
    """
    while True:
        try:
            return attempt()
        except RetryableError as error:
            wait = attempts.wait_after(error)
        sleep(wait)


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
