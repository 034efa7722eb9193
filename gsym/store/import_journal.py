"""What of an import is done: lines of a file, so that an import can go on."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from hashlib import sha256

__all__ = ["ImportJournal"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing_extensions import Self

_FOLDER = ".imports"


class ImportJournal:
    """The journal of imports from one place into one store.

    Args:
        store: Folder of the store.
        place: Where the import is from.
    """

    def __init__(self, store: str, place: str) -> None:
        name = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._path = os.path.join(store, _FOLDER, f"{name}.jsonl")
        self._place = place
        self._lock = threading.Lock()
        self._done: dict[str, str] = {}

    def __enter__(self) -> Self:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with suppress(FileNotFoundError), open(self._path, "rb") as file:
            for line in file:
                with suppress(ValueError, TypeError):  # the last one may be cut off
                    path, mark = json.loads(line)
                    self._done[path] = mark
        self._file = open(self._path, "ab", buffering=0)
        if self._file.tell():
            self._file.write(b"\n")  # behind a line that was cut off
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def is_done(self, path: str, mark: str) -> bool:
        """Whether a file was imported as it is now.

        Args:
            path: Of the file.
            mark: Changes when the file does.
        """
        return self._done.get(path) == mark

    def note(self, path: str, mark: str) -> None:
        """Note that a file is imported."""
        line = json.dumps([path, mark]).encode() + b"\n"
        with self._lock:
            self._done[path] = mark
            self._file.write(line)
