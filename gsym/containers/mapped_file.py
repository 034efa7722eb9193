"""A file mapped for the time of a conversion."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import sys

from gsym.engine.native import ffi
from gsym.errors import FormatError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLOCK = 4 << 20
_by_libc: set[int] = set()  # addresses of the maps that `_map_by_libc` made


def map_file(path: str) -> memoryview:
    """The bytes of a file, mapped for as long as a view of them lives.

    The file may be replaced by rename meanwhile, not rewritten.
    """
    descriptor, _ = _open(path)
    try:
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(descriptor)


def drop_pages(data: memoryview) -> None:
    """Free the memory of a file that `map_file` mapped; it is read again if needed."""
    owner = data.obj
    if isinstance(owner, mmap.mmap) and is_mapped(data):
        owner.madvise(mmap.MADV_DONTNEED)


def map_one_of_many(path: str) -> memoryview:
    """Like `map_file`, but the map keeps no descriptor of its own."""
    descriptor, size = _open(path)
    try:
        return map_descriptor(descriptor, size)
    finally:
        os.close(descriptor)


def map_descriptor(descriptor: int, size: int) -> memoryview:
    """A map of a file of *size* bytes, which keeps no descriptor of its own."""
    if sys.version_info >= (3, 13):
        access = mmap.ACCESS_READ
        return memoryview(mmap.mmap(descriptor, size, access=access, trackfd=False))
    return _map_by_libc(descriptor, size)


def _open(path: str) -> tuple[int, int]:
    """Descriptor and size of a regular file."""
    # Without O_NONBLOCK, opening a pipe would block.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return descriptor, _regular_size(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise


def _regular_size(descriptor: int, path: str) -> int:
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(status.st_mode):
        raise FormatError("not a regular file", path=path)
    if status.st_size == 0:
        raise FormatError("the file is empty", path=path, offset=0)
    return status.st_size


def _map_by_libc(descriptor: int, size: int) -> memoryview:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    word, number = ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = (word, word, number, number, number, ctypes.c_long)
    libc.mmap.restype = word
    libc.munmap.argtypes = (word, word)
    address = libc.mmap(0, size, mmap.PROT_READ, mmap.MAP_PRIVATE, descriptor, 0)
    if address == word(-1).value:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))

    def unmap(_: object) -> None:
        _by_libc.discard(address)
        libc.munmap(address, size)

    memory = ffi.gc(ffi.cast("char *", address), unmap)
    _by_libc.add(address)
    return memoryview(ffi.buffer(memory, size)).toreadonly()


def is_mapped(data: memoryview) -> bool:
    """Whether *data* is a part of a mapped file, whose pages the system reads again.

    What a caller may have written, as in a private map, would be lost.
    """
    owner = data.obj
    if isinstance(owner, mmap.mmap):
        return memoryview(owner).readonly and hasattr(mmap, "MADV_DONTNEED")
    return isinstance(owner, ffi.buffer) and _address(owner) in _by_libc


def give_back(data: memoryview, start: int, size: int) -> None:
    """Release the pages of a part of a mapped file; they are read again if needed."""
    owner = data.obj
    if isinstance(owner, mmap.mmap) and is_mapped(data):
        begin = _address(data) - _address(owner) + start
        end = min(begin + size, len(owner))
        begin &= -mmap.PAGESIZE
        if begin < end:
            owner.madvise(mmap.MADV_DONTNEED, begin, end - begin)


def blocks(data: memoryview) -> Iterator[memoryview]:
    """The parts of a complete mapped file, whose pages are given back one by one."""
    for start in range(0, len(data), _BLOCK):
        yield data[start : start + _BLOCK]
        give_back(data, start, _BLOCK)


def copy_of(data: memoryview) -> memoryview:
    """Copy a part of a mapped file, whose pages are released on the way."""
    step = 1 << 20
    copy = memoryview(bytearray(len(data)))
    for start in range(0, len(data), step):
        copy[start : start + step] = data[start : start + step]
        give_back(data, start, step)
    return copy


def _address(buffer: object) -> int:
    return int(ffi.cast("uintptr_t", ffi.from_buffer(buffer)))
