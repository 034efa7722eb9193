"""Uploads of which parts are still to come, shared by all workers.

.symbfiles/OWNER/FILEID.KIND/   as `PendingUpload` has it
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gsym.server.symbfiles.faults import (
    TOO_MANY_OF_KEY,
    TOO_MANY_PENDING,
    PartError,
)
from gsym.server.symbfiles.finished import FinishedUploads
from gsym.server.symbfiles.pending_upload import (
    LOCK,
    PendingLimits,
    PendingUpload,
    is_old,
)
from gsym.store.layout import LOCKS, names_in
from gsym.store.locking import held
from gsym.writing.atomic_file import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.store.directory import Store

_FOLDER = ".symbfiles"
_BEGINNING = "symbfiles"  # the lock of who begins an upload
_LOCK_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class PendingUploads:
    """Uploads that are not finished.

    Args:
        store: Where they are kept. It exists, for bodies of requests wait there.
        limits: How many, and for how long.
        clock: Tells seconds since 1970.
    """

    def __init__(
        self,
        store: Store,
        limits: PendingLimits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store.path
        self._root = os.path.join(store.path, _FOLDER)
        self._limits = limits
        self._clock = clock
        self._finished = FinishedUploads(store.path, limits.seconds, clock)

    def open(self, owner: str, name: str) -> PendingUpload:
        """An upload, which begins if there is none.

        Args:
            owner: Whose it is; what different ones send is kept apart.
            name: Of what is uploaded.

        Raises:
            OSError: It cannot be made.
            PartError: There are too many.
        """
        path = os.path.join(self._root, owner, name)
        while True:
            upload = self._open(path)
            if upload is not None:
                return upload
            self._begin(path)

    def forget_old(self) -> int:
        """Remove uploads that no part came for in a while; how many they were."""
        self._finished.forget_old()
        return sum(map(self._forget_if_old, self._all()))

    def _open(self, path: str) -> PendingUpload | None:
        try:
            lock = os.open(os.path.join(path, LOCK), _LOCK_FLAGS)
        except FileNotFoundError:
            return None
        return PendingUpload(
            path, lock, self._store, self._limits, self._finished, self._clock
        )

    def _forget_if_old(self, path: str) -> bool:
        upload = self._open(path)
        if upload is None:  # it begins, or it is gone, or its maker died
            with suppress(OSError):
                if is_old(path, self._limits.seconds, self._clock()):
                    os.rmdir(path)
            return False
        with upload:
            if not upload.try_lock() or not upload.is_there() or not upload.is_old():
                return False
            upload.remove()
        return True

    def _begin(self, path: str) -> None:
        owner = os.path.dirname(path)
        with held(os.path.join(self._store, LOCKS, _BEGINNING)):
            self.forget_old()
            there = set(self._all()) - {path}
            of_key = sum(os.path.dirname(each) == owner for each in there)
            if len(there) >= self._limits.in_all:
                text = f"there are {self._limits.in_all} unfinished uploads"
                raise PartError(TOO_MANY_PENDING, text)
            if of_key >= self._limits.of_key:
                text = f"please finish some of {self._limits.of_key} uploads before"
                raise PartError(TOO_MANY_OF_KEY, text)
            with suppress(FileNotFoundError):  # begun and finished by another
                os.makedirs(path, exist_ok=True)
                lock = os.path.join(path, LOCK)
                os.close(os.open(lock, _LOCK_FLAGS | os.O_CREAT, 0o666))
                for folder in (path, owner, self._root, self._store):
                    sync(folder)

    def _all(self) -> list[str]:
        return [
            os.path.join(self._root, owner, name)
            for owner in names_in(self._root)
            for name in names_in(os.path.join(self._root, owner))
        ]
