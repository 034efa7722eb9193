"""Who works on what, among all threads and processes.

A lock is `flock` on a file, which the system lets go when its holder dies. A folder in
the making is locked by its maker in the same way: one that nobody holds was left
behind and may be removed by anybody.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_RANDOM_BYTES = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1  # seconds, while a lock is waited for
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class FileLock:
    """One holder of *path* at a time; the file is there while somebody wants it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = -1

    def acquire(self, *, wait: float | None = None) -> bool:
        """Take the lock.

        Args:
            wait: Seconds for which to wait for the holder there is; by default as long
                as it takes.

        Returns:
            Whether the lock is taken now.

        Raises:
            OSError: The file cannot be made.
        """
        if wait is None:
            return self._try(is_patient=True)
        until, pause = time.monotonic() + wait, _FIRST_PAUSE
        while not self._try(is_patient=False):
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(pause, left))
            pause = min(2 * pause, _LONGEST_PAUSE)
        return True

    def _try(self, *, is_patient: bool) -> bool:
        while True:
            descriptor = self._open()
            try:
                flock(descriptor, LOCK_EX | (0 if is_patient else LOCK_NB))
            except BlockingIOError:
                os.close(descriptor)
                return False
            except BaseException:
                os.close(descriptor)
                raise
            if _leads_to(self._path, descriptor):
                self._descriptor = descriptor
                return True
            os.close(descriptor)  # the holder before removed it

    def release(self) -> None:
        """Let the lock go, and remove its file: who waits for it looks once more."""
        with suppress(FileNotFoundError):
            os.unlink(self._path)
        # Not by closing alone: a forked child may have the descriptor as well.
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
    """Hold the lock *path* for the time of a block.

    Raises:
        OSError: The file cannot be made.
        TimeoutError: Its holder keeps it for longer than *wait* seconds.
    """
    lock = FileLock(path)
    if not lock.acquire(wait=wait):
        raise TimeoutError(f"somebody works on it for more than {wait:g} s")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def held_at_once(paths: Iterable[str]) -> Iterator[bool]:
    """Hold several locks for the time of a block, or none if one is taken.

    Returns:
        Whether they are held.

    Raises:
        OSError: A file cannot be made.
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
    """A new folder that nobody takes for a leftover while its maker lives.

    Args:
        stem: Path of the folder; a random part is added.

    Raises:
        OSError: It cannot be made.
    """

    def __init__(self, stem: str) -> None:
        while True:
            self.path = f"{stem}{os.urandom(_RANDOM_BYTES).hex()}"
            try:
                os.mkdir(self.path)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                continue
            # Before it is locked, somebody may take it for a leftover.
            with suppress(FileNotFoundError):
                self._descriptor = _lock_folder(self.path)
                return

    def release(self) -> None:
        """Let it go as it is."""
        flock(self._descriptor, LOCK_UN)
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        remove_tree(self.path)
        self.release()


@contextmanager
def owned_folder(stem: str) -> Iterator[str]:
    """Such a folder for the time of a block; then it is removed.

    Raises:
        OSError: It cannot be made.
    """
    folder = OwnedFolder(stem)
    try:
        yield folder.path
    finally:
        folder.remove()


def is_abandoned(path: str) -> bool:
    """Whether a folder is there whose maker has died."""
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
    """Remove a folder whose maker has died.

    Args:
        path: The folder.
        unless: Asked when nobody can own the folder any more; whether it is needed.

    Returns:
        Whether it was removed.
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


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it, as far as it is there."""
    from shutil import rmtree

    rmtree(path, ignore_errors=True)


def _lock_folder(path: str) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    flock(descriptor, LOCK_EX)
    if _leads_to(path, descriptor):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError(path)


def _leads_to(path: str, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
