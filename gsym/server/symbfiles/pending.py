"""Incomplete uploads of symbfiles, shared by all workers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from typing import Any

from gsym.server.settings import Limits
from gsym.server.symbfiles import protocol
from gsym.server.symbfiles.protocol import PartHeader
from gsym.store.directory import Store
from gsym.store.layout import LOCKS, TEMPORARY, names_in
from gsym.store.locking import held, remove_tree
from gsym.writing.atomic_file import AtomicFile, sync

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Self


LOCK = "lock"
_TOTAL = "of"
_RANDOM_BYTES = 8
_FINISHED_FOLDER = ".finished-symbfiles"
_PENDING_FOLDER = ".symbfiles"
_BEGINNING = "symbfiles"  # name of the lock held to start an upload
_LOCK_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
# Time after which an upload is removed that only repeats parts of a finished one.
_ECHO_SECONDS = 300


class PendingUpload:
    """An incomplete upload; closed, with its lock, at the end of a `with` block."""

    def __init__(self, path: str, lock: int, uploads: PendingUploads) -> None:
        self._path = path
        self._lock = lock
        self._uploads = uploads
        self._limits = uploads.limits
        self._name = ".".join(path.split(os.sep)[-2:])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        flock(self._lock, LOCK_UN)
        os.close(self._lock)

    # ---- without the lock

    def try_lock(self) -> bool:
        """Try to lock it; only the holder of the lock changes it."""
        try:
            flock(self._lock, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
        return True

    # ---- with the lock

    def exists(self) -> bool:
        """Whether it was neither finished nor removed."""
        with suppress(FileNotFoundError):
            status = os.stat(os.path.join(self._path, LOCK))
            return os.path.samestat(status, os.fstat(self._lock))
        return False

    def is_old(self) -> bool:
        """Whether it has expired."""
        return self._uploads.is_old(self._path)

    def includes(self, header: PartHeader) -> bool:
        """Whether a part belongs to this upload, and not to another attempt."""
        total = self._total()
        return total is None or header.parts is None or total == header.parts

    def add(self, header: PartHeader, digest: str, path: str) -> bool:
        """Move a part into the upload, and sync it to disk; return whether it is new.

        Raises:
            PartError: The part was sent before with other bytes, or is too large.
        """
        parts, total = self._parts(), self._total()
        if total is not None and header.part >= total:
            raise protocol.PartError(
                protocol.BAD_PARTS, f"there are {total} parts, from 0"
            )
        if total is None and header.parts is not None:
            if max(parts, default=0) >= header.parts:
                text = f"there are {header.parts} parts, from 0"
                text += f", and part {max(parts)} was sent"
                raise protocol.PartError(protocol.BAD_PARTS, text)
            with open(self._at(f"{_TOTAL}.{header.parts}"), "xb"):
                self._touch()
        known = parts.get(header.part)
        if known == f"{header.part}.{digest}":
            return False
        if known is not None:
            if known not in self._uploads.finished_parts(self._name):
                text = (
                    f"part {header.part} was already sent with other bytes: finish "
                    "that upload, or start one with another number of parts"
                )
                raise protocol.PartError(protocol.OTHER_BYTES, text)
            os.unlink(self._at(parts.pop(header.part)))
        sizes = (os.path.getsize(self._at(name)) for name in parts.values())
        most = self._limits.max_symbfile
        if sum(sizes) + header.size > most:
            text = f"please limit all parts together to <= {most} bytes"
            raise protocol.PartError(protocol.TOO_LARGE, text)
        sync(path)
        os.rename(path, self._at(f"{header.part}.{digest}"))
        self._touch()
        return True

    def finish(self, outcome: str) -> None:
        """Remove it after it was published; its parts are remembered for a while."""
        with suppress(OSError):  # it is published, even if that is not remembered
            self._uploads.remember(self._name, self._parts().values())
        self.end(("", outcome))

    def all_parts(self) -> list[str]:
        """The paths of the parts in order, if the upload is complete; else none."""
        parts, total = self._parts(), self._total() or 0
        if len(parts) < total:
            return []
        return [self._at(parts[number]) for number in range(total)]

    def end(self, outcome: object) -> None:
        """Remove it, and record its outcome for requests that wait for it."""
        record = {"outcome": outcome, "parts": list(self._parts().values())}
        os.pwrite(self._lock, json.dumps(record).encode(), 0)
        self.remove()

    def remove(self) -> None:
        """Remove it."""
        name = os.urandom(_RANDOM_BYTES).hex()
        grave = os.path.join(self._uploads.store, TEMPORARY, name)
        os.rename(self._path, grave)
        remove_tree(grave)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self._path))  # fails if its owner has others

    def outcome(self, header: PartHeader, digest: str) -> Any:
        """The recorded outcome, if the part belonged to the upload; else None.

        For a request that waited for the lock while the upload ended.
        """
        text = os.pread(self._lock, os.fstat(self._lock).st_size, 0)
        if not text:
            return None
        record = json.loads(text)
        is_one = f"{header.part}.{digest}" in record["parts"]
        return record["outcome"] if is_one else None

    # ---- internal

    def _parts(self) -> dict[int, str]:
        """File names of the parts, by number."""
        names = ((name.partition(".")[0], name) for name in names_in(self._path))
        return {int(number): name for number, name in names if number.isdigit()}

    def _total(self) -> int | None:
        """The number of parts of the complete upload, if known."""
        for name in names_in(self._path):
            kind, _, number = name.partition(".")
            if kind == _TOTAL:
                return int(number)
        return None

    def _at(self, name: str) -> str:
        return os.path.join(self._path, name)

    def _touch(self) -> None:
        """Set its time to now, and sync it to disk."""
        now = self._uploads.clock()
        parts = self._parts().values()
        if parts and self._uploads.finished_parts(self._name).issuperset(parts):
            now -= max(self._limits.symbfile_time - _ECHO_SECONDS, 0)
        os.utime(self._path, (now, now))
        sync(self._path)


class PendingUploads:
    """All incomplete uploads."""

    def __init__(
        self,
        store: Store,
        limits: Limits,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.store: str = store.path
        self.limits = limits
        self.clock = clock
        self._root = os.path.join(store.path, _PENDING_FOLDER)
        # which remembers the parts of the last finished upload of each name
        self._finished = os.path.join(store.path, _FINISHED_FOLDER)

    def open(self, owner: str, name: str) -> PendingUpload:
        """Open an upload, starting it if necessary.

        Raises:
            OSError: It cannot be created.
            PartError: There are too many uploads.
        """
        path = os.path.join(self._root, owner, name)
        while True:
            upload = self._open(path)
            if upload is not None:
                return upload
            self._begin(path)

    def forget_old(self) -> int:
        """Remove expired uploads; return how many. Forget old finished ones."""
        for name in names_in(self._finished):
            path = os.path.join(self._finished, name)
            with suppress(FileNotFoundError):  # removed by another process
                if self.is_old(path):
                    os.unlink(path)
        return sum(map(self._forget_if_old, self._all()))

    def is_old(self, path: str) -> bool:
        """Whether the upload at *path* got no part for `symbfile_time`."""
        return os.stat(path).st_mtime <= self.clock() - self.limits.symbfile_time

    def remember(self, name: str, parts: Iterable[str]) -> None:
        """Store the parts of a finished upload."""
        os.makedirs(self._finished, exist_ok=True)
        path, now = os.path.join(self._finished, name), self.clock()
        with AtomicFile(path) as file:
            file.write(json.dumps([*parts]).encode())
        os.utime(path, (now, now))

    def finished_parts(self, name: str) -> frozenset[str]:
        """The parts of the last finished upload, if known."""
        path = os.path.join(self._finished, name)
        with suppress(OSError, TypeError, ValueError):  # missing or damaged
            if not self.is_old(path):
                with open(path, "rb") as file:
                    return frozenset(json.load(file))
        return frozenset()

    def _open(self, path: str) -> PendingUpload | None:
        try:
            lock = os.open(os.path.join(path, LOCK), _LOCK_FLAGS)
        except FileNotFoundError:
            return None
        return PendingUpload(path, lock, self)

    def _forget_if_old(self, path: str) -> bool:
        upload = self._open(path)
        if upload is None:  # being started, removed, or left by a killed process
            with suppress(OSError):
                if self.is_old(path):
                    os.rmdir(path)
            return False
        with upload:
            if not upload.try_lock() or not upload.exists() or not upload.is_old():
                return False
            upload.remove()
        return True

    def _begin(self, path: str) -> None:
        owner = os.path.dirname(path)
        with held(os.path.join(self.store, LOCKS, _BEGINNING)):
            self.forget_old()
            others = set(self._all()) - {path}
            of_key = sum(os.path.dirname(each) == owner for each in others)
            in_all = self.limits.max_pending_symbfiles
            if len(others) >= in_all:
                text = f"there are {in_all} unfinished uploads"
                raise protocol.PartError(protocol.TOO_MANY_PENDING, text)
            most = self.limits.max_pending_of_key
            if of_key >= most:
                text = f"please finish some of your {most} uploads first"
                raise protocol.PartError(protocol.TOO_MANY_OF_KEY, text)
            with suppress(FileNotFoundError):  # started and finished by another process
                os.makedirs(path, exist_ok=True)
                lock = os.path.join(path, LOCK)
                os.close(os.open(lock, _LOCK_FLAGS | os.O_CREAT, 0o666))
                for folder in (path, owner, self._root, self.store):
                    sync(folder)

    def _all(self) -> list[str]:
        return [
            os.path.join(self._root, owner, name)
            for owner in names_in(self._root)
            for name in names_in(os.path.join(self._root, owner))
        ]
