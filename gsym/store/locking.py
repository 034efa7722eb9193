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
from contextlib import ExitStack, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock

from gsym.lazy import shutil
from gsym.store.layout import SIDECAR
from gsym.writing.atomic_file import is_at

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_RANDOM_BYTES = 8
_FIRST_PAUSE, _LONGEST_PAUSE = 0.005, 0.1  # seconds between attempts to lock
_FILE_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def held(path: str, wait: float | None = None) -> Iterator[None]:
    """Hold an exclusive lock until the end of the block.

    Args:
        path: Its file, which exists while the lock is held or waited for.
        wait: Maximum seconds to wait for it; None: no limit.

    Raises:
        TimeoutError: It was not released within *wait* seconds.
    """
    until, pause = time.monotonic() + (wait or 0), _FIRST_PAUSE
    while (descriptor := _lock(path, 0 if wait is None else LOCK_NB)) is None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"locked by another process for more than {wait:g} s")
        time.sleep(min(pause, left))
        pause = min(2 * pause, _LONGEST_PAUSE)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
        _release(descriptor)


def _lock(path: str, flags: int) -> int | None:
    """A descriptor of the locked file at *path*; None if another process holds it."""
    while True:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        descriptor = os.open(path, _FILE_FLAGS, 0o666)
        try:
            flock(descriptor, LOCK_EX | flags)
        except BaseException as error:
            os.close(descriptor)
            if isinstance(error, BlockingIOError):
                return None
            raise
        if is_at(path, descriptor):
            return descriptor
        os.close(descriptor)  # removed by the previous holder


def _release(descriptor: int) -> None:
    # Closing is not enough: a forked child may have the descriptor as well.
    flock(descriptor, LOCK_UN)
    os.close(descriptor)


@contextmanager
def held_at_once(paths: Iterable[str]) -> Iterator[bool]:
    """Hold several locks until the end of the block, or none if one is held already.

    Returns:
        Whether they are held.
    """
    with ExitStack() as locks:
        try:
            for path in paths:
                locks.enter_context(held(path, 0))
            is_mine = True
        except TimeoutError:
            locks.close()
            is_mine = False
        yield is_mine


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
                descriptor = os.open(self.path, _FOLDER_FLAGS)
                flock(descriptor, LOCK_EX)
                if is_at(self.path, descriptor):
                    self._descriptor = descriptor
                    return
                os.close(descriptor)

    def move(self, stem: str) -> None:
        """Rename it, as if it had been made with another stem."""
        path = f"{stem}{os.urandom(_RANDOM_BYTES).hex()}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.rename(self.path, path)
        self.path = path

    def release(self) -> None:
        """Keep it, without owning it."""
        _release(self._descriptor)

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


@contextmanager
def _unowned(path: str, kind: int) -> Iterator[bool]:
    """Lock a folder for the block; whether it exists and no process owns it."""
    try:
        descriptor = os.open(path, _FOLDER_FLAGS)
    except OSError:
        yield False
        return
    try:
        try:
            flock(descriptor, kind | LOCK_NB)
            is_free = True
        except BlockingIOError:
            is_free = False
        yield is_free
    finally:
        os.close(descriptor)


def is_abandoned(path: str) -> bool:
    """Whether a folder exists that no process owns."""
    with _unowned(path, LOCK_SH) as is_free:
        return is_free


def remove_abandoned(path: str, *, unless: Callable[[], bool] = lambda: False) -> bool:
    """Remove a folder that no process owns; return whether it was removed.

    Args:
        path: The folder.
        unless: Called when the folder is locked; if it returns true, it is kept.
    """
    with _unowned(path, LOCK_EX) as is_free:
        if not is_free or unless():
            return False
        remove_tree(path)
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
    with suppress(OSError):  # first: a folder without its record is not a module
        os.unlink(os.path.join(path, SIDECAR))
    shutil.rmtree(path, ignore_errors=True)
