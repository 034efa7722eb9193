"""Which pages of a file are in memory: what a process touched of it, and no more.

Only where the kernel can be made to forget a file: on a disk, not on a tmpfs.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

_MAP_FAILED = ctypes.c_size_t(-1).value
_IN_MEMORY = 1


def forget(path: Path) -> None:
    """Drop the file from memory; skips the test where that does nothing."""
    if sys.platform != "linux":
        pytest.skip("only Linux tells which pages of a file are in memory")
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
    if pages_in_memory(path):
        pytest.skip(f"the file system of {path.parent} keeps files in memory")


def pages_in_memory(path: Path) -> int:
    """How many pages of the file are, whoever brought them there."""
    libc = ctypes.CDLL(None, use_errno=True)
    word, number = ctypes.c_size_t, ctypes.c_int
    libc.mmap.argtypes = (word, word, number, number, number, ctypes.c_long)
    libc.mmap.restype = word
    libc.munmap.argtypes = (word, word)
    libc.mincore.argtypes = (word, word, ctypes.c_void_p)
    size = path.stat().st_size
    pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
    descriptor = os.open(path, os.O_RDONLY)
    try:
        start = libc.mmap(0, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    finally:
        os.close(descriptor)
    if start == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), "mmap")
    try:
        if libc.mincore(start, size, pages):
            raise OSError(ctypes.get_errno(), "mincore")
    finally:
        libc.munmap(start, size)
    return sum(page & _IN_MEMORY for page in pages)
