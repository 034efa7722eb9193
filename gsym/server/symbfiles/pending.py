"""Uploads with parts still to come, shared by all workers."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

from gsym.records import NamedTuple
from gsym.server.symbfiles.protocol import (
    BAD_PARTS,
    OTHER_BYTES,
    TOO_LARGE,
    TOO_MANY_OF_KEY,
    TOO_MANY_PENDING,
    PartError,
)
from gsym.store.layout import LOCKS, TEMPORARY, names_in
from gsym.store.locking import held, remove_tree
from gsym.writing.atomic_file import AtomicFile, sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from typing_extensions import Self

    from gsym.server.symbfiles.protocol import PartHead
    from gsym.store.directory import Store


_FINISHED_FOLDER = ".finished-symbfiles"


class FinishedUploads:
    """What the last finished upload of each name was made of.

    Args:
        store: Path of the store.
        seconds: For which they are known.
        clock: Tells seconds since 1970.
    """

    def __init__(self, store: str, seconds: float, clock: Callable[[], float]) -> None:
        self._root = os.path.join(store, _FINISHED_FOLDER)
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


LOCK = "lock"
_TOTAL = "of"
_RANDOM_BYTES = 8
# What only repeats an upload that is finished is forgotten after so many of them.
_ECHO_SECONDS = 300


class PendingUpload:
    """An upload of which parts are there; closed at the end of a `with` block.

    Args:
        path: Its folder.
        lock: Descriptor of its lock, which it closes.
        store: Path of the store.
        limits: Of its size and age.
        finished: What is known of those that are finished.
        clock: Tells seconds since 1970.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - what `PendingUploads` has, handed on
        self,
        path: str,
        lock: int,
        store: str,
        limits: PendingLimits,
        finished: FinishedUploads,
        clock: Callable[[], float],
    ) -> None:
        self._path = path
        self._lock = lock
        self._store = store
        self._limits = limits
        self._finished = finished
        self._name = ".".join(path.split(os.sep)[-2:])
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
            there = os.stat(os.path.join(self._path, LOCK))
            return os.path.samestat(there, os.fstat(self._lock))
        return False

    def is_old(self) -> bool:
        """Whether no part came for so long that it is to be forgotten."""
        return is_old(self._path, self._limits.seconds, self._clock())

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
        if known == f"{head.part}.{digest}":
            return False
        if known is not None:
            if known not in self._finished.parts(self._name):
                text = (
                    f"part {head.part} came before, with other bytes: finish that "
                    "upload, or begin one of another number of parts"
                )
                raise PartError(OTHER_BYTES, text)
            os.unlink(self._at(parts.pop(head.part)))
        there = (os.path.getsize(self._at(name)) for name in parts.values())
        if sum(there) + head.size > self._limits.size:
            text = f"please limit all parts together to <= {self._limits.size} bytes"
            raise PartError(TOO_LARGE, text)
        sync(path)
        os.rename(path, self._at(f"{head.part}.{digest}"))
        self._touch()
        return True

    def finish(self, outcome: str) -> None:
        """Remove it after it was published; its parts are known for a while.

        Args:
            outcome: For those who wait for it.
        """
        with suppress(OSError):  # it is published, whether or not that is known
            self._finished.remember(self._name, self._parts().values())
        self.end(("", outcome))

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
        parts = self._parts().values()
        if parts and self._finished.parts(self._name).issuperset(parts):
            now -= max(self._limits.seconds - _ECHO_SECONDS, 0)
        os.utime(self._path, (now, now))
        sync(self._path)


def is_old(path: str, seconds: float, now: float) -> bool:
    """Whether no part came for so long to the upload at *path*."""
    return os.stat(path).st_mtime <= now - seconds


_PENDING_FOLDER = ".symbfiles"
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
        self._root = os.path.join(store.path, _PENDING_FOLDER)
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
