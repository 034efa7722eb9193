"""Locks shared by threads and processes, and folders owned by one of them.

A lock is `flock` on a file, which the system releases when its holder dies. A process
that fills a folder locks it in the same way: a folder that is not locked was abandoned,
and any process may remove it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock

from gsym.writing.atomic_file import is_at

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_RANDOM_BYTES = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1  # seconds between attempts to lock
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileLock:
    """An exclusive lock; its file *path* exists while it is held or waited for."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self, *, wait: float | None = None) -> bool:
        """Acquire the lock; return whether that succeeded.

        Args:
            wait: Maximum seconds to wait for the lock; None: no limit.
        """
        if wait is None:
            return self._try(is_blocking=True)
        until, pause = time.monotonic() + wait, _FIRST_PAUSE
        while not self._try(is_blocking=False):
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _try(self, *, is_blocking: bool) -> bool:
        while True:
            descriptor = self._open()
            try:
                flock(descriptor, LOCK_EX | (0 if is_blocking else LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                return False
            except BaseException:
                os.close(descriptor)
                raise
            if is_at(self._path, descriptor):
                self._descriptor = descriptor
                return True
            os.close(descriptor)  # removed by the previous holder

    def release(self) -> None:
        """Release the lock and remove its file; waiting processes try again."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        # Closing is not enough: a forked child may have the descriptor as well.
        flock(self._descriptor, LOCK_UN)
        os.close(self._descriptor)

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            return os.open(self._path, flags, 0o666)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            return os.open(self._path, flags, 0o666)


@contextmanager
def held(path: str, wait: float | None = None) -> Iterator[None]:
    """Hold the lock *path* until the end of the block.

    Raises:
        TimeoutError: It was not released within *wait* seconds.
    """
    lock = FileLock(path)
    if not lock.acquire(wait=wait):
        raise TimeoutError(f"locked by another process for more than {wait:g} s")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def held_at_once(paths: Iterable[str]) -> Iterator[bool]:
    """Hold several locks until the end of the block, or none if one is held already.

    Returns:
        Whether they are held.
    """
    locks: list[FileLock] = []
    try:
        for path in paths:
            lock = FileLock(path)
            if not lock.acquire(wait=0):
                yield False
                return
            locks.append(lock)
        yield True
    finally:
        for lock in locks:
            lock.release()


class OwnedFolder:
    """A new folder that does not count as abandoned while this process lives.

    Args:
        stem: Path of the folder; a random suffix is added.
    """

    def __init__(self, stem: str) -> None:
        while True:
            self.path: str = f"{stem}{os.urandom(_RANDOM_BYTES).hex()}"
            try:
                os.mkdir(self.path)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                continue
            # Before it is locked, another process may remove it as abandoned.
            with suppress(FileNotFoundError):
                self._descriptor = _lock_folder(self.path)
                return

    def move(self, stem: str) -> None:
        """Rename it, as if it had been made with another stem."""
        path = f"{stem}{os.urandom(_RANDOM_BYTES).hex()}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.rename(self.path, path)
        self.path = path

    def release(self) -> None:
        """Keep it, without owning it."""
        flock(self._descriptor, LOCK_UN)
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove it with its contents."""
        remove_tree(self.path)
        self.release()


@contextmanager
def owned_folder(stem: str) -> Iterator[str]:
    """An `OwnedFolder` that is removed at the end of the block."""
    folder = OwnedFolder(stem)
    try:
        yield folder.path
    finally:
        folder.remove()


def is_abandoned(path: str) -> bool:
    """Whether a folder exists that no process owns."""
    try:
        descriptor = os.open(path, _FOLDER_FLAGS)
    except OSError:
        return False
    try:
        flock(descriptor, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def remove_abandoned(path: str, *, unless: Callable[[], bool] = lambda: False) -> bool:
    """Remove a folder that no process owns; return whether it was removed.

    Args:
        path: The folder.
        unless: Called when the folder is locked; if it returns true, it is kept.
    """
    try:
        descriptor = os.open(path, _FOLDER_FLAGS)
    except OSError:
        return False
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        if unless():
            return False
        remove_tree(path)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return not os.path.lexists(path)


def is_open(path: str) -> bool:
    """Whether a process has a file open or mapped, as far as the system tells.

    A lease on a file is granted where nobody has it open.
    """
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)  # not SIGIO
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN  # others: no leases on this file system
    finally:
        os.close(descriptor)  # which ends the lease
    return False


def remove_tree(path: str) -> None:
    """Remove a folder with its contents, ignoring errors."""
    from shutil import rmtree

    rmtree(path, ignore_errors=True)


def _lock_folder(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    flock(descriptor, LOCK_EX)
    if is_at(path, descriptor):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(path)
