"""Retries: when to repeat a request, and which servers to back off from."""

from __future__ import annotations

import random
import threading
import time
from email.utils import parsedate_to_datetime
from itertools import count

from gsym.errors import SourceError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Origin = tuple[str, str, int]
    Result = TypeVar("Result")

_MAX_DIGITS = 9
_MAX_DOUBLINGS = 64  # so that 2 to the number of attempts remains small
_MAX_BACKOFF = 30.0
_PROBE_SECONDS = 1.5


class RetryableError(SourceError):
    """An attempt failed, and a later one may succeed.

    Attributes:
        wait: Seconds that the server asks to wait; None if it does not.
        is_unreachable: Whether no connection could be opened.
        attempts: How many attempts there were, set by `retry`.
    """

    def __init__(
        self,
        reason: str,
        *,
        wait: float | None = None,
        status: int = 0,
        is_unreachable: bool = False,
    ) -> None:
        super().__init__(reason, may_retry=True, status=status)
        self.wait = wait
        self.is_unreachable = is_unreachable
        self.attempts = 1


def retry(
    attempt: Callable[[], Result],
    wait_before: Callable[[RetryableError], float | None],
    *,
    sleep: Callable[[float], object],
    until: float = float("inf"),
) -> Result:
    """The result of *attempt*, which is repeated while it raises `RetryableError`.

    Args:
        attempt: Sends the request.
        wait_before: The seconds before the next attempt; None: there is none.
        sleep: Waits for a number of seconds.
        until: No attempt begins after this time, by `time.monotonic`.

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

    Args:
        first: Seconds after the first attempt.
        attempts: How many there were.
        longest: The limit, in seconds.
        chance: A random number from 0 up to, but not including, 1.
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


class BackoffTable:
    """Servers that sent Retry-After, by origin; safe for threads.

    Args:
        probe_seconds: From one probe of a server to the next.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        *,
        probe_seconds: float = _PROBE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._probe_seconds = probe_seconds
        self._clock = clock
        self._lock = threading.Lock()
        # (end of the back-off, time of the last request)
        self._until: dict[Origin, tuple[float, float]] = {}

    def back_off(self, origin: Origin, seconds: float) -> None:
        """Record that a server asked for no requests for *seconds*."""
        now = self._clock()
        with self._lock:
            self._until[origin] = now + seconds, now

    def clear(self, origin: Origin) -> None:
        """Record that a server answered."""
        with self._lock:
            self._until.pop(origin, None)

    def seconds_left(self, origin: Origin) -> float:
        """Seconds until a server may be asked; 0 or less: now."""
        with self._lock:
            until, _ = self._until.get(origin, (0.0, 0.0))
        return until - self._clock() if until else 0.0

    def claims_probe(self, origin: Origin) -> bool:
        """Whether the caller shall probe a server during its back-off."""
        now = self._clock()
        with self._lock:
            until, asked = self._until.get(origin, (now, 0.0))
            if now - asked < self._probe_seconds:
                return False
            self._until[origin] = until, now
            return True
