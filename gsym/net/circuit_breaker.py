"""Circuit breakers: whoever does not answer, or asks to wait, is only probed."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from copy import copy

from gsym.lazy import threading

_MAX_FAILURES = 60
_MAX_SECONDS = 10.0
_WINDOW_SECONDS = 60.0
_PROBE_SECONDS = 2.0


class CircuitBreaker:
    """A circuit breaker for each source or server, by its key; safe for threads.

    One that failed *most_failures* times in a row within *window_seconds*, or for which
    that took *most_seconds*, is only probed every *probe_seconds*, until it answers.
    """

    def __init__(
        self,
        *,
        most_failures: int = _MAX_FAILURES,
        most_seconds: float = _MAX_SECONDS,
        window_seconds: float = _WINDOW_SECONDS,
        probe_seconds: float = _PROBE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._most_failures = most_failures
        self._most_seconds = most_seconds
        self._window_seconds = window_seconds
        self._probe_seconds = probe_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._states: dict[Hashable, BreakerState] = {}

    def answered(self, key: Hashable) -> bool:
        """Record an answer, even if the source does not have the module.

        Returns:
            Whether it was only probed until then.
        """
        with self._lock:
            state = self._state(key)
            state.answered = self._clock()
            state.failures.clear()
            state.until = 0.0
            was_out, state.is_out = state.is_out, False
        return was_out

    def failed(self, key: Hashable, seconds: float = 0.0) -> bool:
        """Record a failure to answer, and the time that was spent on it.

        Returns:
            Whether it is only probed from now on.
        """
        now = self._clock()
        with self._lock:
            state = self._state(key)
            state.failures = [
                each for each in state.failures if now - each[0] <= self._window_seconds
            ]
            state.failures.append((now, seconds))
            spent = sum(each for _, each in state.failures)
            is_over = len(state.failures) >= self._most_failures
            if not is_over and spent < self._most_seconds:
                return False
            was_out, state.is_out = state.is_out, True
            state.failures.clear()
        return not was_out

    def back_off(self, key: Hashable, seconds: float) -> None:
        """Record a request for a pause of *seconds*; the next probe has to wait."""
        with self._lock:
            state = self._state(key)
            state.probed = self._clock()
            state.until = state.probed + seconds

    def seconds_left(self, key: Hashable) -> float:
        """Seconds until the end of the pause; 0 or less: there is none."""
        until = self.state(key).until
        return until - self._clock() if until else 0.0

    def repaired(self, key: Hashable) -> None:
        """Record a valid file for a module whose file had been refused."""
        with self._lock:
            self._state(key).repaired = self._clock()

    def is_asked(self, key: Hashable) -> bool:
        """Whether to ask it now, perhaps as a probe."""
        with self._lock:
            return not self._state(key).is_out or self._claim(key)

    def state(self, key: Hashable) -> BreakerState:
        """The state of a source or server, as it is now."""
        with self._lock:
            return copy(self._state(key))

    def claims_probe(self, key: Hashable) -> bool:
        """Whether the caller should probe it now."""
        with self._lock:
            return self._claim(key)

    def _claim(self, key: Hashable) -> bool:
        state, now = self._state(key), self._clock()
        # A clock that was set back must not delay the next probe.
        if 0 <= now - state.probed < self._probe_seconds:
            return False
        state.probed = now
        return True

    def _state(self, key: Hashable) -> BreakerState:
        return self._states.setdefault(key, BreakerState())


class BreakerState:
    """The state of a source or server; times are those of the clock, or 0."""

    answered: float = 0.0  # when it gave the last answer
    is_out: bool = False  # whether it is only probed
    probed: float = 0.0
    repaired: float = 0.0
    until: float = 0.0  # the end of a pause

    def __init__(self) -> None:
        self.failures: list[tuple[float, float]] = []  # times, and what they took
