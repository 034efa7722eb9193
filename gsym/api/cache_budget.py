"""A memory budget for the caches of open modules.

If they exceed it, least recently used ones are dropped, and filled again on demand. The
caches of closed modules are freed with them.
"""

from __future__ import annotations

from itertools import count
from threading import Lock
from weakref import WeakSet

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Protocol

    class Kept(Protocol):
        """A cache of a module."""

        kept_size: int  # bytes of memory that it takes; changed by the budget
        last_used: int  # the order of use; changed by the budget

        def drop(self) -> None:
            """Empty the cache."""


class CacheBudget:
    """A budget; thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._clock = count()
        self._kept: WeakSet[Kept] = WeakSet()
        self._size = 0

    @property
    def size(self) -> int:
        """Bytes in use."""
        with self._lock:
            return sum(each.kept_size for each in self._kept)

    def use(self, kept: Kept) -> None:
        """Mark a cache as used now."""
        kept.last_used = next(self._clock)

    def take(self, kept: Kept, size: int) -> None:
        """Add *size* bytes to a cache; caches may be dropped for that."""
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
