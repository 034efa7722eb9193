"""When a server may be asked again."""

from __future__ import annotations

import threading
import time
from email.utils import parsedate_to_datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Origin = tuple[str, str, int]


_MOST_DIGITS = 9


def read_retry_after(text: str) -> float | None:
    """The seconds of a `Retry-After` header, which is a number or a date.

    None where it says nothing that can be read.
    """
    if text.isascii() and text.isdigit():
        return float(text[:_MOST_DIGITS])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


_PROBE_SECONDS = 1.5


class ServerRests:
    """Which servers rest, by their origins; for any number of threads.

    Args:
        probe_seconds: From one probe of a server to the next.
        clock: Tells seconds.
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
        # (when the rest ends, when the server was asked last)
        self._rests: dict[Origin, tuple[float, float]] = {}

    def begin(self, origin: Origin, seconds: float) -> None:
        """Note that a server asks for no requests for so long."""
        now = self._clock()
        with self._lock:
            self._rests[origin] = now + seconds, now

    def end(self, origin: Origin) -> None:
        """Note that it answers."""
        with self._lock:
            self._rests.pop(origin, None)

    def seconds_left(self, origin: Origin) -> float:
        """For how long a server rests yet; 0 or less where it does not."""
        with self._lock:
            until, _ = self._rests.get(origin, (0.0, 0.0))
        return until - self._clock() if until else 0.0

    def claims_probe(self, origin: Origin) -> bool:
        """Whether the caller shall see if a server that rests answers again."""
        now = self._clock()
        with self._lock:
            until, asked = self._rests.get(origin, (now, 0.0))
            if now - asked < self._probe_seconds:
                return False
            self._rests[origin] = until, now
            return True
