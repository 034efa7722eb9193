"""Uploads of which parts are still to come, on the disk and shared by all workers.

    .symbfiles/OWNER/FILEID.KIND/lock       held by who changes the upload
    .symbfiles/OWNER/FILEID.KIND/of.5       it has five parts
    .symbfiles/OWNER/FILEID.KIND/3.SHA256   a part

A part is there when it is synced and renamed. When all are, the holder of the lock
publishes what they make, writes into the lock what became of it, for those who wait
for the lock meanwhile, and removes the folder. Killed at any step, it leaves what was
there before the step, and any part that comes again goes on from there.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from gsym.atomic_file import sync
from gsym.server.symbfiles.faults import (
    BAD_PARTS,
    OTHER_BYTES,
    TOO_LARGE,
    TOO_MANY_OF_KEY,
    TOO_MANY_PENDING,
    PartError,
)
from gsym.store.layout import LOCKS, TEMPORARY, names_in
from gsym.store.locking import held, remove_tree

__all__ = ["PendingLimits", "PendingUpload", "PendingUploads"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    from typing_extensions import Self

    from gsym.server.symbfiles.part_head import PartHead
    from gsym.store.directory import Store

    class PendingLimits(NamedTuple):
        """Limits of what waits for more.

        Attributes:
            size: Bytes of all parts of a symbfile.
            of_key: Unfinished uploads of one API key.
            in_all: Of all of them.
            seconds: After which an upload is forgotten that no part comes for.
        """

        size: int
        of_key: int
        in_all: int
        seconds: float

else:
    from gsym.records import record_type

    PendingLimits = record_type("PendingLimits", "size of_key in_all seconds")
    PendingLimits.__doc__ = "Limits of what waits for more."

_FOLDER = ".symbfiles"
_LOCK, _TOTAL = "lock", "of"
_BEGINNING = "symbfiles"  # the lock of who begins an upload
_RANDOM_BYTES = 8
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
        return sum(map(self._forget_if_old, self._all()))

    def _open(self, path: str) -> PendingUpload | None:
        try:
            lock = os.open(os.path.join(path, _LOCK), _LOCK_FLAGS)
        except FileNotFoundError:
            return None
        return PendingUpload(path, lock, self._store, self._limits, self._clock)

    def _forget_if_old(self, path: str) -> bool:
        upload = self._open(path)
        if upload is None:
            return False  # it begins, or it is gone
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
            os.makedirs(path, exist_ok=True)
            lock = os.path.join(path, _LOCK)
            os.close(os.open(lock, _LOCK_FLAGS | os.O_CREAT, 0o666))
        with suppress(FileNotFoundError):  # finished meanwhile, by another
            for folder in (path, owner, self._root, self._store):
                sync(folder)

    def _all(self) -> list[str]:
        return [
            os.path.join(self._root, owner, name)
            for owner in names_in(self._root)
            for name in names_in(os.path.join(self._root, owner))
        ]


class PendingUpload:
    """An upload of which parts are there; closed at the end of a `with` block.

    Args:
        path: Its folder.
        lock: Descriptor of its lock, which it closes.
        store: Path of the store.
        limits: Of its size and age.
        clock: Tells seconds since 1970.
    """

    def __init__(
        self,
        path: str,
        lock: int,
        store: str,
        limits: PendingLimits,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._lock = lock
        self._store = store
        self._limits = limits
        self._clock = clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        flock(self._lock, LOCK_UN)
        os.close(self._lock)

    # ---- by anybody

    def try_lock(self) -> bool:
        """Become the only one who changes it; whether that is so."""
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        return True

    # ---- by the holder of the lock

    def is_there(self) -> bool:
        """Whether it is still there."""
        with suppress(FileNotFoundError):
            there = os.stat(os.path.join(self._path, _LOCK))
            return os.path.samestat(there, os.fstat(self._lock))
        return False

    def is_old(self) -> bool:
        """Whether no part came for so long that it is to be forgotten."""
        return os.stat(self._path).st_mtime <= self._clock() - self._limits.seconds

    def is_of(self, head: PartHead) -> bool:
        """Whether a part is one of this upload, and not of another attempt at it."""
        total = self._total()
        return total is None or head.parts is None or total == head.parts

    def add(self, head: PartHead, digest: str, path: str) -> bool:
        """Move a part in, and see it on the disk.

        Args:
            head: What it is.
            digest: SHA-256 of its bytes, in hexadecimal.
            path: Where they are, on the same file system.

        Returns:
            Whether it is new.

        Raises:
            OSError: The disk is full, or failed.
            PartError: It was here with other bytes, or it is too much.
        """
        parts, total = self._parts(), self._total()
        if total is not None and head.part >= total:
            raise PartError(BAD_PARTS, f"there are {total} parts, from 0")
        if total is None and head.parts is not None:
            self._set_total(head.parts, parts)
        known = parts.get(head.part)
        if known is not None:
            if known.partition(".")[2] != digest:
                text = f"part {head.part} came before, with other bytes"
                raise PartError(OTHER_BYTES, text)
            return False
        there = (os.path.getsize(self._at(name)) for name in parts.values())
        if sum(there) + head.size > self._limits.size:
            text = f"please limit all parts together to <= {self._limits.size} bytes"
            raise PartError(TOO_LARGE, text)
        sync(path)
        os.rename(path, self._at(f"{head.part}.{digest}"))
        self._touch()
        return True

    def whole(self) -> list[str]:
        """The paths of all parts in order, if all are there; else none."""
        parts, total = self._parts(), self._total() or 0
        if len(parts) < total:
            return []
        return [self._at(parts[number]) for number in range(total)]

    def end(self, outcome: object) -> None:
        """Remove it, and tell those who wait for it what became of it.

        Args:
            outcome: As JSON can have it.
        """
        record = {"outcome": outcome, "parts": list(self._parts().values())}
        os.pwrite(self._lock, json.dumps(record).encode(), 0)
        self.remove()

    def remove(self) -> None:
        """Remove it, as if no part had come."""
        name = os.urandom(_RANDOM_BYTES).hex()
        grave = os.path.join(self._store, TEMPORARY, name)
        os.rename(self._path, grave)
        remove_tree(grave)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self._path))  # its owner has no other

    def outcome(self, head: PartHead, digest: str) -> Any:
        """What became of it, if the part was one of its; else None.

        For who waited for the lock while it came to its end.
        """
        text = os.pread(self._lock, os.fstat(self._lock).st_size, 0)
        if not text:
            return None
        record = json.loads(text)
        is_one = f"{head.part}.{digest}" in record["parts"]
        return record["outcome"] if is_one else None

    # ---- inside

    def _parts(self) -> dict[int, str]:
        """Names of the files of parts, by number."""
        heads = ((name.partition(".")[0], name) for name in names_in(self._path))
        return {int(number): name for number, name in heads if number.isdigit()}

    def _total(self) -> int | None:
        """How many parts there are to be, if that is known."""
        for name in names_in(self._path):
            kind, _, number = name.partition(".")
            if kind == _TOTAL:
                return int(number)
        return None

    def _set_total(self, total: int, parts: dict[int, str]) -> None:
        if max(parts, default=0) >= total:
            text = f"there are {total} parts, from 0, and part {max(parts)} was sent"
            raise PartError(BAD_PARTS, text)
        with open(self._at(f"{_TOTAL}.{total}"), "xb"):
            self._touch()

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)

    def _touch(self) -> None:
        """Let it be as new, and on the disk."""
        now = self._clock()
        os.utime(self._path, (now, now))
        sync(self._path)
