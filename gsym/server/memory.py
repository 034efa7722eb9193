"""The memory of a worker: garbage collector and malloc."""

from __future__ import annotations

import ctypes
import gc

_NEW_OBJECTS = 100_000  # threshold of the garbage collector
# Parameters of mallopt(3) and their values.
_MALLOC = (
    (-1, 64 << 20),  # M_TRIM_THRESHOLD: free bytes above which memory is returned
    (-3, 32 << 20),  # M_MMAP_THRESHOLD: size from which blocks are mapped separately
    (-8, 2),  # M_ARENA_MAX: each arena keeps memory of its own
)


def tune_memory() -> None:
    """Tune garbage collector and malloc of this process after start-up."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW_OBJECTS)
    try:
        tune = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # another C library than glibc
    for parameter, value in _MALLOC:
        tune(parameter, value)


def trim_memory() -> None:
    """Return free memory to the system, which malloc keeps for the next answer.

    Other threads that need memory wait meanwhile.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return  # another C library than glibc
    trim(0)
