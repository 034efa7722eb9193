"""How a worker process handles its memory: tuned for large answers, one after another.

Without this, an answer of megabytes takes its memory from the system page by page and
gives it back at once, and Python looks for cycles in what has none; together that took
up to half of the time.
"""

from __future__ import annotations

import ctypes
import gc

_NEW_OBJECTS = 100_000  # until cycles are looked for
# Of glibc's malloc.h: parameters, and what they are set to.
_MALLOC = (
    (-1, 64 << 20),  # M_TRIM_THRESHOLD: bytes that are free before some are given back
    (-3, 32 << 20),  # M_MMAP_THRESHOLD: bytes from which a block is mapped by itself
    (-8, 2),  # M_ARENA_MAX: each keeps memory of its own
)


def tune_memory() -> None:
    """Tune this process, once it is made of what it will be made of."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library than glibc
    for parameter, value in _MALLOC:
        tune(parameter, value)
