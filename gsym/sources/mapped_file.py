"""A file mapped for the time of a conversion."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys

from gsym._native import ffi
from gsym.errors import FormatError

__all__ = ["give_back", "map_file"]


def map_file(path: str) -> memoryview:
    """The bytes of a file, mapped for as long as a view of them lives.

    The file may be replaced by rename meanwhile, not rewritten.

    Raises:
        FormatError: It is empty, or no regular file.
        OSError: It cannot be opened or mapped.
    """
    # Without O_NONBLOCK a pipe would be waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(status.st_mode):
            raise FormatError("not a regular file", path=path)
        if status.st_size == 0:
            raise FormatError("the file is empty", path=path, offset=0)
        return memoryview(_map(descriptor))
    finally:
        os.close(descriptor)


def _map(descriptor: int) -> mmap.mmap:
    if sys.version_info >= (3, 13):
        # Each map would keep a descriptor of its own otherwise.
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ, trackfd=False)
    return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)


def give_back(data: memoryview, start: int, size: int) -> None:
    """Let go of the pages of a part of a mapped file; they are read again if needed.

    Args:
        data: A view of the map, or of other memory, which is left alone.
        start: Of the part, in *data*.
        size: Of the part, in bytes; it may reach past the end.
    """
    owner = data.obj
    if isinstance(owner, mmap.mmap):
        begin = _address(data) - _address(owner) + start
        end = min(begin + size, len(owner))
        begin &= -mmap.PAGESIZE
        if begin < end:
            owner.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def _address(buffer: memoryview | mmap.mmap) -> int:
    return int(ffi.cast("uintptr_t", ffi.from_buffer(buffer)))
