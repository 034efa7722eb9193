"""The upkeep of a server: its store's figures and limits, and memory of the worker."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import time
from collections.abc import Callable
from functools import partial
from threading import Event, Thread

from gsym.errors import GsymError
from gsym.server.modules import is_uploaded, store_path
from gsym.server.settings import Settings
from gsym.store.collection import (
    Collection,
    ServedTime,
    StoreLimits,
    collect,
    free_bytes,
    read_served_time,
    remove_all_leftovers,
    write_served_time,
)
from gsym.store.directory import Store
from gsym.store.layout import LOCKS
from gsym.store.locking import held_at_once
from gsym.store.publication import remove_evicted

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.server.service import Service

_LOG = logging.getLogger("gsym.server")
_PAUSE = 60.0  # seconds
# A store that takes long to look through is looked at less often.
_PAUSE_PER_WORK = 20.0
_LOCK = "upkeep"
_MOST_OF_A_ROUND = 0.1  # of the modules; the rest follows in later rounds
_NEW_OBJECTS = 100_000  # threshold of the garbage collector
# Parameters of mallopt(3) and their values.
_MALLOC = (
    (-1, 64 << 20),  # M_TRIM_THRESHOLD: free bytes above which memory is returned
    (-3, 32 << 20),  # M_MMAP_THRESHOLD: size from which blocks are mapped separately
    (-8, 2),  # M_ARENA_MAX: each arena keeps memory of its own
)


class Upkeep:
    """Looks after the memory of a worker, and, in one worker at a time, the store."""

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
                look_after_store(self._service(), _PAUSE)
            except (GsymError, OSError) as error:
                _LOG.error("cannot look after the store: %s", error)
            except Exception:  # noqa: BLE001 - a fault must not end all later rounds
                _LOG.exception("cannot look after the store")
            trim_memory()
            self._service().metrics["gsym_resident_bytes"].set(resident_bytes())
            pause = max(_PAUSE, _PAUSE_PER_WORK * (time.monotonic() - started))


def look_after_store(service: Service, pause: float = 0.0) -> None:
    """Apply the limits of the store and update its metrics.

    All workers close the modules that one of them has removed. Only one of them
    removes modules at a time, and none if another one did so in the last half of
    *pause* seconds. Files that killed processes have left are always removed.

    Raises:
        GsymError: The store is damaged.
        OSError: It cannot be read, or a module cannot be removed.
    """
    store = Store(store_path(service.settings))
    if not store.exists():
        return
    service.symbolizer.forget_removed()
    with held_at_once([os.path.join(store.path, LOCKS, _LOCK)]) as is_mine:
        if not is_mine:
            return
        now = time.time()
        served = read_served_time(store.path)
        if 0 <= now - served.last < pause / 2:
            remove_all_leftovers(store.path)
            service.metrics["gsym_store_pending_bytes"].set(remove_evicted(store.path))
            return
        served = served.at(now)
        done = _collect(service, store, served)
        try:
            write_served_time(store.path, served)
        except OSError as error:
            _LOG.error("cannot write the store: %s", error)
    _report(service, store, done)


def _collect(service: Service, store: Store, served: ServedTime) -> Collection:
    """Remove what the limits demand, after closing it."""
    settings = service.settings
    limits = StoreLimits(
        settings.max_store or None,
        settings.max_unused or None,
        settings.min_free,
        max_part=_MOST_OF_A_ROUND,
        is_lasting=partial(is_uploaded, service.symbolizer),
        max_lasting_age=settings.max_unused_uploads or None,
        age=served.since,
    )
    done = collect(store.path, list(store.slots()), limits)
    service.symbolizer.forget_removed()
    return done._replace(pending=remove_evicted(store.path))


def _report(service: Service, store: Store, done: Collection) -> None:
    metrics = service.metrics
    if done.removed:
        metrics["gsym_evictions"].inc(done.removed)
        text = "removed %d modules from the store, %d bytes"
        _LOG.warning(text, done.removed, done.size_before - done.size_after)
    if bool(done.lacking) != service.is_store_over:
        service.is_store_over = bool(done.lacking)
        text = "the store no longer exceeds its limits"
        if done.lacking:
            text = (
                f"the store exceeds its limits by {done.lacking} bytes: max_store, "
                "min_free; uploads are not removed to make space, and of other modules "
                "a tenth at a time"
            )
        _LOG.warning(text)
    metrics["gsym_store_bytes"].set(done.size_after)
    metrics["gsym_store_modules"].set(done.kept)
    metrics["gsym_store_free_bytes"].set(free_bytes(store.path))
    metrics["gsym_store_pending_bytes"].set(done.pending)
    metrics["gsym_store_lacking_bytes"].set(done.lacking)


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


def resident_bytes() -> int:
    """Bytes of memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def trim_memory() -> None:
    """Return free memory to the system, which malloc keeps for the next answer.

    Other threads that need memory wait meanwhile.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError):
        return  # another C library than glibc
    trim(0)
