"""Memory whose next byte cannot be read: an overread ends the process at once.

This finds a read past the end of an image without a sanitizer, and where one is
used, also a read that would fall into a neighbour the sanitizer knows nothing of.
"""

from __future__ import annotations

import ctypes
import mmap
import os

_PROT_NONE = 0


class GuardedMemory:
    """Room for one image of up to *capacity* bytes at a time."""

    def __init__(self, capacity: int) -> None:
        self._end = -(-capacity // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, self._end + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        guard = ctypes.c_void_p(start + self._end)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(guard, ctypes.c_size_t(mmap.PAGESIZE), _PROT_NONE) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))

    def hold(self, data: bytes) -> memoryview:
        """A copy of *data* that ends where the unreadable page begins."""
        place = memoryview(self._map)[self._end - len(data) : self._end]
        place[:] = data
        return place
