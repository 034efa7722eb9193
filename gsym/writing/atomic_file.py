"""Output files that are complete or absent.

The bytes go to a temporary file in the same directory, which is synced and then
renamed over the name. A reader that has the old file mapped keeps the old bytes.

A process that writes a temporary file holds a lock on it until the process ends. The
names are numbered, so that the next run for the same output finds and removes the files
of killed runs.
"""

from __future__ import annotations

import errno
import os
import stat
from fcntl import LOCK_EX, LOCK_NB, flock

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

# Error numbers of a disk that cannot be written to.
FULL_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
_COMPARED_AT_ONCE = 1 << 20
_HANDED_ON_AT_ONCE = 8 << 20
_RUNS_AT_ONCE = 8  # for one output: numbers that are checked for leftover files
_MOST_NUMBERS = 10_000


class AtomicFile:
    """A new file for *path*, published when its `with` block ends without error.

    Symbolic links are followed. An existing file that is not a regular file, such as a
    pipe or /dev/null, is written to directly.

    Args:
        path: The path of the file.
        keep_same: Do not replace a file with the same bytes, to keep its time stamp.
        mode: Its permissions from the beginning; default: those of new files.
        sync_folder: Whether to sync the folder, too, so that a power failure cannot
            bring the old file back.

    Raises:
        OSError: The file cannot be created, written, synced or renamed. The temporary
            file is removed, and *path* is unchanged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep_same: bool = False,
        mode: int | None = None,
        sync_folder: bool = True,
    ) -> None:
        self._name = os.fspath(path)
        self._path = os.path.realpath(self._name)
        self._keep_same = keep_same
        self._mode = mode
        self._sync_folder = sync_folder
        # whether the bytes are those of *path* now, and were not before
        self.is_written: bool = False
        self._is_discarded = False
        self._temporary: str | None = None
        self._descriptor = -1
        self._size = self._handed_on = 0

    def __enter__(self) -> Self:
        # By name: /dev/stdout is a link to a pipe, which has no path.
        if _is_special(self._name):
            self._descriptor = os.open(self._name, os.O_WRONLY | os.O_CLOEXEC)
            self.is_written = True
            return self
        directory, name = os.path.split(self._path)
        # Only part of the name, which may have the maximum length.
        stem = os.path.join(directory, f".{name[:40]}")
        mode = 0o666 if self._mode is None else self._mode
        try:
            self._temporary, self._descriptor = _create_temporary(stem, mode)
        except OSError as error:
            raise self._named(error) from None
        return self

    def write(self, data: Buffer) -> None:
        """Append *data*."""
        left = memoryview(data).cast("B")
        try:
            while left:
                written = os.write(self._descriptor, left)
                self._size += written
                left = left[written:]
        except OSError as error:
            raise self._named(error) from None
        if self._size - self._handed_on >= _HANDED_ON_AT_ONCE:
            self._hand_on()

    def discard(self) -> None:
        """Publish nothing at the end of the `with` block; *path* stays as it is."""
        self._is_discarded = True

    def _hand_on(self) -> None:
        """Start writing to the disk, so that the sync at the end is short.

        Dirty pages stay in memory, whatever the advice.
        """
        if self._temporary is not None and hasattr(os, "posix_fadvise"):
            length = self._size - self._handed_on
            advice = os.POSIX_FADV_DONTNEED
            try:
                os.posix_fadvise(self._descriptor, self._handed_on, length, advice)
            except OSError:
                return  # only advice
        self._handed_on = self._size

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            is_complete = kind is None and not self._is_discarded
            if is_complete and self._temporary is not None:
                self._publish(self._temporary)
        except OSError as problem:
            raise self._named(problem) from None
        finally:
            try:
                temporary = self._temporary
                if temporary is not None and is_at(temporary, self._descriptor):
                    os.unlink(temporary)
            finally:
                os.close(self._descriptor)  # releases the lock

    def _named(self, error: OSError) -> OSError:
        """The error with the path of the output instead of the temporary file.

        The number selects the same subclass.
        """
        return OSError(error.errno, error.strerror, self._name)

    def _publish(self, temporary: str) -> None:
        if self._keep_same and _is_same(temporary, self._path):
            return
        if self._mode is not None:
            os.fchmod(self._descriptor, self._mode)
        os.fsync(self._descriptor)
        # One that shares the folder without its locks may take it for a leftover.
        if not is_at(temporary, self._descriptor):
            raise OSError(errno.ESTALE, "Another machine removed the temporary file")
        os.replace(temporary, self._path)
        self._temporary = None
        self.is_written = True
        if self._sync_folder:
            sync(os.path.dirname(self._path))


def _create_temporary(stem: str, mode: int) -> tuple[str, int]:
    """Create a file for this process alone; return its path and a descriptor.

    Files of other runs are kept, unless these were killed.
    """
    for number in range(_RUNS_AT_ONCE):
        path = f"{stem}.{number}.tmp"
        if os.access(path, os.F_OK):  # half the time of an open that fails
            _remove_leftover(path)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    for number in range(_MOST_NUMBERS):
        path = f"{stem}.{number}.tmp"
        try:
            descriptor = os.open(path, flags, mode)
        except FileExistsError:
            continue
        # Before it is locked, another run may remove it as a leftover.
        if _lock(descriptor) and is_at(path, descriptor):
            return path, descriptor
        os.close(descriptor)
    raise FileExistsError(errno.EEXIST, "Too many temporary files of this name")


def _remove_leftover(path: str) -> None:
    """Remove a temporary file that no process has open any more."""
    flags = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # it may be a pipe
    try:
        try:
            descriptor = os.open(path, os.O_RDWR | flags)  # locks on NFS need this
        except PermissionError:
            descriptor = os.open(path, os.O_RDONLY | flags)
    except OSError:
        return  # it does not exist, or belongs to another user
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
        if is_at(path, descriptor):
            os.unlink(path)
    except OSError:
        pass  # it is being written, or this file system has no locks
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock a file; False if another process is about to remove it."""
    try:
        flock(descriptor, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: no process can get one
    return True


def is_at(path: str, descriptor: int) -> bool:
    """Whether the open file is the one that *path* names."""
    try:
        return os.path.samestat(os.lstat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def sync(path: str) -> None:
    """Sync a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)


def is_same_file(path: str, other: str) -> bool:
    """Whether both paths refer to the same existing file."""
    try:
        return os.path.samefile(path, other)
    except OSError:
        return False


def _is_special(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode)


def _is_same(one: str, other: str) -> bool:
    """Whether both files have the same bytes; False if *other* does not exist."""
    try:
        with open(one, "rb") as first, open(other, "rb") as second:
            while chunk := first.read(_COMPARED_AT_ONCE):
                if chunk != second.read(_COMPARED_AT_ONCE):
                    return False
            return not second.read(1)
    except FileNotFoundError:
        return False
