"""Availability of sources: a source that does not answer is only probed."""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_FAILURES = 60
_WINDOW_SECONDS = 60.0
_PROBE_SECONDS = 2.0


class SourceHealth:
    """A circuit breaker for each source, by name, in this process.

    A source that failed *most_failures* times in a row within *window_seconds* is only
    probed every *probe_seconds*, until it answers.

    Args:
        most_failures: Consecutive failures.
        window_seconds: Time in which they occur.
        probe_seconds: Time between probes.
        clock: Returns seconds since 1970.
    """

    def __init__(
        self,
        *,
        most_failures: int = _MAX_FAILURES,
        window_seconds: float = _WINDOW_SECONDS,
        probe_seconds: float = _PROBE_SECONDS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._most_failures = most_failures
        self._window_seconds = window_seconds
        self._probe_seconds = probe_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._states: dict[str, _State] = {}

    def answered(self, source: str) -> None:
        """Record an answer, even if the source does not have the module."""
        with self._lock:
            state = self._state(source)
            state.answered = self._clock()
            state.failures.clear()
            state.is_out = False

    def failed(self, source: str) -> None:
        """Record a failure to answer."""
        now = self._clock()
        with self._lock:
            state = self._state(source)
            state.failures = [
                each for each in state.failures if now - each <= self._window_seconds
            ]
            state.failures.append(now)
            if len(state.failures) >= self._most_failures:
                state.is_out = True
                state.failures.clear()

    def repaired(self, source: str) -> None:
        """Record a valid file for a module whose file had been refused."""
        with self._lock:
            self._state(source).repaired = self._clock()

    def was_repaired_since(self, source: str, time: float) -> bool:
        """Whether that happened after *time*, in seconds since 1970."""
        with self._lock:
            return self._state(source).repaired > time

    def is_asked(self, source: str) -> bool:
        """Whether to ask it now, perhaps as a probe."""
        with self._lock:
            return not self._state(source).is_out or self._claim(source)

    def has_answered_since(self, source: str, time: float) -> bool:
        """Whether it answered after *time*, in seconds since 1970."""
        with self._lock:
            return self._state(source).answered > time

    def claims_probe(self, source: str) -> bool:
        """Whether the caller should probe the source now."""
        with self._lock:
            return self._claim(source)

    def _claim(self, source: str) -> bool:
        state, now = self._state(source), self._clock()
        # A clock that was set back must not delay the next probe.
        if 0 <= now - state.probed < self._probe_seconds:
            return False
        state.probed = now
        return True

    def _state(self, source: str) -> _State:
        return self._states.setdefault(source, _State())


class _State:
    __slots__ = ("answered", "failures", "is_out", "probed", "repaired")

    def __init__(self) -> None:
        self.answered = 0.0
        self.failures: list[float] = []
        self.is_out = False
        self.probed = 0.0
        self.repaired = 0.0
