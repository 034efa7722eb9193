"""Search for modules of a store and of folders by a part of a name or id."""

from __future__ import annotations

import time
from itertools import islice
from threading import Lock

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.store.directory import Store
    from gsym.store.entries import Entry
    from gsym.store.loose_files import LooseFiles

_MAX_AGE = 5.0  # seconds
_MOST = 100_000  # modules
_PAUSE_PER_WORK = 20.0
_PATIENCE = 1.0  # seconds to wait for another thread that reads the folders


class StoreListing:
    """A list of a store and folders, read again after some seconds; thread-safe.

    While one thread reads the folders, others soon continue with the previous contents.
    During the first reading they wait. All methods raise an `UnsupportedError` if the
    store was made by a newer version.
    """

    def __init__(self, store: Store, folders: Sequence[LooseFiles] = ()) -> None:
        self._store = store
        self._folders = folders
        self._lock = Lock()
        self._entries: list[tuple[str, Entry]] = []
        self._by_name: dict[str, list[Entry]] = {}
        self._due = float("-inf")

    def search(self, text: str) -> list[Entry]:
        """Modules with all words of *text* in their names and ids, by name."""
        words = text.lower().split()
        return [
            entry
            for text_of, entry in self._current()
            if all(word in text_of for word in words)
        ]

    def named(self, name: str) -> list[Entry]:
        """Modules of a name, ignoring case, the newest first."""
        self._current()
        found = self._by_name.get(name.lower(), [])
        return sorted(found, key=lambda entry: -entry.added)

    def in_folders(self, debug_id: str) -> bool:
        """Whether a module is only in the folders, and not converted yet."""
        return any(not each.quality.functions for each in self._of_id(debug_id))

    def has_several(self, debug_id: str) -> bool:
        """Whether several modules have a debug id."""
        return len(self._of_id(debug_id)) > 1

    def _of_id(self, debug_id: str) -> list[Entry]:
        found = (entry for _, entry in self._current())
        return [each for each in found if each.identity.debug_id == debug_id]

    def _current(self) -> Sequence[tuple[str, Entry]]:
        is_first = self._due == float("-inf")
        if self._lock.acquire(timeout=-1 if is_first else _PATIENCE):
            try:
                now = time.monotonic()
                if now > self._due:
                    found: list[tuple[str, Entry]] = []
                    by_name: dict[str, list[Entry]] = {}
                    for entry in self._read():
                        known = entry.identity
                        names = known.debug_file.lower(), known.code_file.lower()
                        ids = known.debug_id.lower(), known.code_id.lower()
                        found.append((" ".join((*names, *ids)), entry))
                        for name in {*names}:
                            by_name.setdefault(name, []).append(entry)
                    self._entries = sorted(found, key=lambda pair: pair[0])
                    self._by_name = by_name
                    took = time.monotonic() - now
                    self._due = now + max(_MAX_AGE, took * _PAUSE_PER_WORK)
            finally:
                self._lock.release()
        return self._entries

    def _read(self) -> list[Entry]:
        stored = self._store.entries(damaged=lambda _error: None)
        found = list(islice(stored, _MOST))
        known = {entry.identity.debug_id for entry in found}
        for folder in self._folders:
            for entry in folder.entries():
                debug_id = entry.identity.debug_id.upper()
                if debug_id not in known and len(found) < _MOST:
                    known.add(debug_id)
                    identity = entry.identity._replace(debug_id=debug_id)
                    found.append(entry._replace(identity=identity))
        return found
