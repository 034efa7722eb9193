"""A memory budget for the caches of open modules.

When they exceed it, those used least recently are dropped, and made again on demand.
The caches of closed modules go with them.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from weakref import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Kept(Protocol):
        """What is kept of a module.

        Attributes:
            kept_size: Bytes of memory that it takes; the budget's to change.
            last_used: Tells which of two was used later; likewise.
        """

        kept_size: int
        last_used: int

        def drop(self) -> None:
            """Let go of all of it."""


class CacheBudget:
    """A budget; for any number of threads.

    Args:
        most: Bytes.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._clock = count()
        self._kept: WeakSet[Kept] = WeakSet()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes that are in use."""
        with self._lock:
            return sum(each.kept_size for each in self._kept)

    def use(self, kept: Kept) -> None:
        """Note that something is used now."""
        kept.last_used = next(self._clock)

    def take(self, kept: Kept, size: int) -> None:
        """Note that something takes *size* bytes more; it or others may go for that."""
        with self._lock:
            self._kept.add(kept)
            kept.kept_size += size
            self._size += size
            if self._size > self._most:
                self._evict()

    def _evict(self) -> None:
        kept = sorted(self._kept, key=lambda each: each.last_used)
        self._size = sum(each.kept_size for each in kept)
        for each in kept:
            if self._size <= self._most:
                break
            each.drop()
            self._size -= each.kept_size
            each.kept_size = 0
