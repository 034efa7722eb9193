"""Which sources answer: one that is in trouble is not asked by everybody."""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_FAILURES = 60
_WINDOW_SECONDS = 60.0
_PROBE_SECONDS = 2.0


class SourceHealth:
    """What this process knows of its sources, by their names.

    A source that failed *most_failures* times in a row, in *window_seconds* at most, is
    asked no more, but for a probe now and then: the first answer ends it.

    Args:
        most_failures: In a row.
        window_seconds: In which they come.
        probe_seconds: From one probe to the next.
        clock: Seconds since 1970.
    """

    def __init__(
        self,
        *,
        most_failures: int = _MOST_FAILURES,
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
        """Note that a source gave an answer, be it that it has no such module."""
        with self._lock:
            state = self._state(source)
            state.answered = self._clock()
            state.failures.clear()
            state.is_out = False

    def failed(self, source: str) -> None:
        """Note that it gave none."""
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

    def mended(self, source: str) -> None:
        """Note that it gave a file where what it had given before was of no use."""
        with self._lock:
            self._state(source).mended = self._clock()

    def was_mended_since(self, source: str, time: float) -> bool:
        """Whether that happened after *time*, in seconds since 1970."""
        with self._lock:
            return self._state(source).mended > time

    def is_asked(self, source: str) -> bool:
        """Whether to ask it now. Of a source in trouble the caller is the probe."""
        with self._lock:
            return not self._state(source).is_out or self._claim(source)

    def has_answered_since(self, source: str, time: float) -> bool:
        """Whether it gave an answer after *time*, in seconds since 1970."""
        with self._lock:
            return self._state(source).answered > time

    def claims_probe(self, source: str) -> bool:
        """Whether the caller shall see if it answers again: now and then one may."""
        with self._lock:
            return self._claim(source)

    def _claim(self, source: str) -> bool:
        state, now = self._state(source), self._clock()
        # A clock that was put back must not put the next probe off.
        if 0 <= now - state.probed < self._probe_seconds:
            return False
        state.probed = now
        return True

    def _state(self, source: str) -> _State:
        return self._states.setdefault(source, _State())


class _State:
    __slots__ = ("answered", "failures", "is_out", "mended", "probed")

    def __init__(self) -> None:
        self.answered = 0.0
        self.failures: list[float] = []
        self.is_out = False
        self.mended = 0.0
        self.probed = 0.0
