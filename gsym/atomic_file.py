"""Files that appear whole under their name, or not at all.

The bytes go to a temporary file in the same directory, which is synced and then
renamed over the name. A reader that has the old file mapped keeps the old bytes.
"""

from __future__ import annotations

import errno
import os
import stat

__all__ = ["AtomicFile", "is_same_file", "sync"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer, Self


_COMPARED_AT_ONCE = 1 << 20
_HANDED_ON_AT_ONCE = 8 << 20


class AtomicFile:
    """A new file for *path*, published when its `with` block ends without error.

    A symbolic link is followed. What is there and is no regular file, such as a
    pipe or /dev/null, is written to as it is: nothing can take its place.

    Args:
        path: Where the file shall appear.
        keep_same: Leave a file that holds the same bytes already as it is, with
            its time stamp: what was made from it is not out of date.
        mode: Its permissions, from the first byte on; by default those of any new file.

    Raises:
        OSError: The file cannot be created, written, synced or renamed. The
            temporary file is gone then, and *path* is as it was.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        keep_same: bool = False,
        mode: int | None = None,
    ) -> None:
        self._name = os.fspath(path)
        self._path = os.path.realpath(self._name)
        self._keep_same = keep_same
        self._mode = mode
        self._temporary: str | None = None
        self._descriptor = -1
        self._size = self._handed_on = 0

    def __enter__(self) -> Self:
        # By its name: /dev/stdout leads to a pipe, which has no path.
        if _is_special(self._name):
            self._descriptor = os.open(self._name, os.O_WRONLY | os.O_CLOEXEC)
            return self
        directory, name = os.path.split(self._path)
        mode = 0o666 if self._mode is None else self._mode
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        while True:
            # Part of the name only, for it may be as long as names can be.
            candidate = f".{name[:40]}.{os.urandom(6).hex()}.tmp"
            temporary = os.path.join(directory, candidate)
            try:
                self._descriptor = os.open(temporary, flags, mode)
            except FileExistsError:
                continue
            except OSError as error:
                raise self._named(error) from None
            self._temporary = temporary
            return self

    def write(self, data: Buffer) -> None:
        """Append *data*.

        Raises:
            OSError: The device is full or failed.
        """
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

    def _hand_on(self) -> None:
        """Let the disk begin: a sync at the end would wait for all of it.

        Pages that are still to be written stay in memory, whatever the advice.
        """
        if self._temporary is not None and hasattr(os, "posix_fadvise"):
            length = self._size - self._handed_on
            advice = os.POSIX_FADV_DONTNEED
            try:
                os.posix_fadvise(self._descriptor, self._handed_on, length, advice)
            except OSError:
                return  # it was advice only
        self._handed_on = self._size

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None and self._temporary is not None:
                self._publish(self._temporary)
        except OSError as problem:
            raise self._named(problem) from None
        finally:
            os.close(self._descriptor)
            if self._temporary is not None:
                os.unlink(self._temporary)

    def _named(self, error: OSError) -> OSError:
        """The error as one of the file that was asked for: that name means something.

        Made by number, it is of the same subclass again.
        """
        return OSError(error.errno, error.strerror, self._name)

    def _publish(self, temporary: str) -> None:
        if self._keep_same and _is_same(temporary, self._path):
            return
        if self._mode is not None:
            os.fchmod(self._descriptor, self._mode)
        os.fsync(self._descriptor)
        os.replace(temporary, self._path)
        self._temporary = None
        sync(os.path.dirname(self._path))


def sync(path: str) -> None:
    """See to it that what a file or a folder holds is on the disk.

    Raises:
        OSError: It cannot be read, or the disk failed.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders
            raise
    finally:
        os.close(descriptor)


def is_same_file(path: str, other: str) -> bool:
    """Whether both paths lead to one existing file."""
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
    """Whether both files hold the same bytes; False where *other* does not exist."""
    try:
        with open(one, "rb") as first, open(other, "rb") as second:
            while chunk := first.read(_COMPARED_AT_ONCE):
                if chunk != second.read(_COMPARED_AT_ONCE):
                    return False
            return not second.read(1)
    except FileNotFoundError:
        return False
