"""The upkeep of a server: its store's figures and limits, and memory of the worker."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import time
from threading import Event, Thread

from gsym.errors import GsymError
from gsym.server.modules import store_path
from gsym.store.collection import free_bytes
from gsym.store.directory import Store
from gsym.store.layout import LOCKS
from gsym.store.locking import held_at_once

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.server.service import Service
    from gsym.server.settings import Settings

_LOG = logging.getLogger("gsym.server")
_PAUSE = 60.0  # seconds
# A store that takes long to look through is looked at less often.
_PAUSE_PER_WORK = 20.0
_LOCK = "upkeep"
_NEW_OBJECTS = 100_000  # threshold of the garbage collector
# Parameters of mallopt(3) and their values.
_MALLOC = (
    (-1, 64 << 20),  # M_TRIM_THRESHOLD: free bytes above which memory is returned
    (-3, 32 << 20),  # M_MMAP_THRESHOLD: size from which blocks are mapped separately
    (-8, 2),  # M_ARENA_MAX: each arena keeps memory of its own
)


class Upkeep:
    """Looks after the memory of a worker, and, in one worker at a time, the store.

    Args:
        service: Returns the current service, whose settings and metrics it uses.
    """

    def __init__(self, service: Callable[[], Service]) -> None:
        self._service = service
        self._end = Event()
        self._thread = Thread(target=self._run, name="gsym-upkeep", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, after the module that it removes."""
        self._end.set()

    def _run(self) -> None:
        pause = 0.0
        while not self._end.wait(pause):
            started = time.monotonic()
            try:
                look_after_store(self._service())
            except (GsymError, OSError) as error:
                _LOG.error("cannot look after the store: %s", error)
            except Exception:  # noqa: BLE001 - a fault must not end all later rounds
                _LOG.exception("cannot look after the store")
            trim_memory()
            pause = max(_PAUSE, _PAUSE_PER_WORK * (time.monotonic() - started))


def look_after_store(service: Service) -> None:
    """Apply the limits of the store and update its metrics, in one process at a time.

    Raises:
        GsymError: The store is damaged.
        OSError: It cannot be read, or a module cannot be removed.
    """
    settings, metrics = service.settings, service.metrics
    store = Store(store_path(settings))
    if not store.exists():
        return
    with held_at_once([os.path.join(store.path, LOCKS, _LOCK)]) as is_mine:
        if not is_mine:
            return
        done = store.collect(
            settings.max_store or None,
            max_age=settings.max_unused or None,
            min_free=settings.min_free,
        )
    if done.removed:
        metrics.evictions.inc(done.removed)
        text = "removed %d modules from the store, %d bytes"
        _LOG.info(text, done.removed, done.size_before - done.size_after)
    metrics.store_bytes.set(done.size_after)
    metrics.store_modules.set(done.kept)
    metrics.store_free.set(free_bytes(store.path))


def has_free_space(settings: Settings, size: int) -> bool:
    """Whether *size* bytes more leave the free space that the store needs."""
    folder = store_path(settings)
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder) or os.curdir
    return not settings.min_free or free_bytes(folder) - size >= settings.min_free


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
