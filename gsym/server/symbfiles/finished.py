"""Uploads that are finished, known for a while by their parts.

Whoever did not get the answer to a part sends it again, as does a second client that
pushes the same; by then the upload may be finished. Such parts wait for the others as
any do, for they may begin an upload that differs in another part; but they are in
nobody's way, and are forgotten sooner.

    .finished-symbfiles/NAME     names of the parts, as `PendingUpload` has them
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from gsym.store.layout import names_in
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_FOLDER = ".finished-symbfiles"


class FinishedUploads:
    """What the last finished upload of each name was made of.

    Args:
        store: Path of the store.
        seconds: For which they are known.
        clock: Tells seconds since 1970.
    """

    def __init__(self, store: str, seconds: float, clock: Callable[[], float]) -> None:
        self._root = os.path.join(store, _FOLDER)
        self._seconds = seconds
        self._clock = clock

    def remember(self, name: str, parts: Iterable[str]) -> None:
        """Note the parts of an upload that is finished.

        Raises:
            OSError: The store cannot be written to.
        """
        os.makedirs(self._root, exist_ok=True)
        path, now = os.path.join(self._root, name), self._clock()
        with AtomicFile(path) as file:
            file.write(json.dumps([*parts]).encode())
        os.utime(path, (now, now))

    def parts(self, name: str) -> frozenset[str]:
        """The parts of the upload that was finished last; none if that is not known."""
        path = os.path.join(self._root, name)
        with suppress(OSError, TypeError, ValueError):  # it is not there, or damaged
            if not self._is_old(path):
                with open(path, "rb") as file:
                    return frozenset(json.load(file))
        return frozenset()

    def forget_old(self) -> None:
        """Let go of those that were finished long ago."""
        for name in names_in(self._root):
            path = os.path.join(self._root, name)
            with suppress(FileNotFoundError):  # another process was faster
                if self._is_old(path):
                    os.unlink(path)

    def _is_old(self, path: str) -> bool:
        return os.stat(path).st_mtime <= self._clock() - self._seconds
