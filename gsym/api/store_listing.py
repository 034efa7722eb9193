"""The modules of a store as a person looks for them: by a part of a name or an id."""

from __future__ import annotations

import time
from itertools import islice
from threading import Lock

__all__ = ["StoreListing"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.store.directory import Store
    from gsym.store.entry import Entry


class StoreListing:
    """What was in a store a moment ago. Safe to use from many threads.

    Args:
        store: The store.
        max_age: Seconds after which the store is read anew.
        most: How many modules are listed; of a larger store the first ones.
        clock: Seconds that never go back.
    """

    def __init__(
        self,
        store: Store,
        *,
        max_age: float = 5.0,
        most: int = 100_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._max_age = max_age
        self._most = most
        self._clock = clock
        self._lock = Lock()
        self._entries: list[tuple[str, Entry]] = []
        self._read_at: float | None = None

    def search(self, text: str) -> list[Entry]:
        """Modules with all words of *text* in their names and ids, by name.

        Raises:
            OSError: The store cannot be read.
            UnsupportedError: It was made by a newer version.
        """
        words = text.lower().split()
        return [
            entry
            for told, entry in self._current()
            if all(word in told for word in words)
        ]

    def named(self, name: str) -> list[Entry]:
        """Modules of that name, whatever the case of letters; the newest first.

        Raises:
            OSError: The store cannot be read.
            UnsupportedError: It was made by a newer version.
        """
        wanted = name.lower()
        found = [
            entry
            for _told, entry in self._current()
            if wanted
            in (entry.identity.debug_file.lower(), entry.identity.code_file.lower())
        ]
        return sorted(found, key=lambda entry: -entry.added)

    def _current(self) -> Sequence[tuple[str, Entry]]:
        with self._lock:
            now = self._clock()
            if self._read_at is None or now - self._read_at > self._max_age:
                entries = self._store.entries(damaged=lambda _error: None)
                found = [(_told(entry), entry) for entry in islice(entries, self._most)]
                self._entries = sorted(found, key=lambda pair: pair[0])
                self._read_at = now
            return self._entries


def _told(entry: Entry) -> str:
    """What a search looks in."""
    known = entry.identity
    names = known.debug_file, known.code_file, known.debug_id, known.code_id
    return " ".join(names).lower()
