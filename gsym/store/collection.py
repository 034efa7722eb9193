"""Evicts the least recently used modules until a store fits its limits.

The age of a module is measured by the times in which a server ran, if there is one. The
clock may jump, and a server may not run for long. Neither says that nobody needs a
module, so such gaps do not count.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gsym.cache import stamp_at
from gsym.errors import FormatError
from gsym.lazy import json
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple
from gsym.store import layout, publication
from gsym.store.locking import held_at_once
from gsym.store.received_symbfile import iter_return_pads
from gsym.store.sidecar import read_entry
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


_MOST_AHEAD = 60 * 10**9  # nanoseconds
_MOST_GAPS = 64
_SHORTEST_GAP = 3600.0  # seconds without a round of upkeep
_MOST_SERVED = 1 << 16  # bytes of the record


class Collection(NamedTuple):
    """The result of `Store.collect`.

    Attributes:
        size_before: Total bytes of modules and return pads.
        size_after: The same afterwards.
        removed: Number of removed modules and files of return pads.
        locked: Modules that were not removed because they are in use.
        kept: Number of modules and files of return pads that are left.
        pending: Bytes of removed modules that are freed when processes close them.
        lacking: Bytes by which the store exceeds its limits afterwards.
    """

    size_before: int = 0
    size_after: int = 0
    removed: int = 0
    locked: int = 0
    kept: int = 0
    pending: int = 0
    lacking: int = 0


class StoreLimits(NamedTuple):
    """Limits that `collect` applies to a store."""

    max_size: int | None = None  # maximum total bytes of the files of all modules
    max_age: float | None = None  # maximum seconds since a module was used
    min_free: int = 0  # minimum free bytes of the file system
    # maximum part of the modules that one call removes, but at least one
    max_part: float = 1.0
    # whether a module with this `Entry.source` is removed only because of
    # `max_lasting_age`, as no source has it
    is_lasting: Callable[[str], bool] | None = None
    max_lasting_age: float | None = None  # maximum seconds since such a module was used
    # seconds of use since a time in seconds since 1970
    age: Callable[[float], float] | None = None


class _Kept(NamedTuple):
    """A module, or return pads, which have no slot.

    *used* is the time of the last use in nanoseconds, of return pads that of their
    publication; *path* is the folder of a module, or the file of return pads.
    """

    used: int
    slot: str
    path: str
    size: int


def collect(store: str, slots: Iterable[str], limits: StoreLimits) -> Collection:
    """Implements `Store.collect`."""
    restored = publication.restore_lost(store)
    slots = {*slots, *(each.slot for each in restored)}
    remove_all_leftovers(store)
    pending = publication.remove_evicted(store)
    pads = ((path, stamp_at(path)) for path in iter_return_pads(store))
    kept = [_Kept(each.modified, "", path, each.size) for path, each in pads if each]
    modules = sorted([*_modules(store, slots), *kept])
    before = size = sum(module.size for module in modules)
    lacking = max(0, limits.min_free - free_bytes(store) - pending)
    most = min(before - lacking, before if limits.max_size is None else limits.max_size)
    allowed = max(1, int(len(modules) * limits.max_part))
    removed = locked = 0
    for module, is_expired in _candidates(modules, limits):
        if removed == allowed or (size <= most and not is_expired):
            continue
        if not module.slot:
            with suppress(FileNotFoundError):  # removed by another process
                os.unlink(module.path)
            size -= module.size
            removed += 1
            continue
        with held_at_once(_locks(store, module)) as is_mine:
            if not is_mine:
                locked += 1
            elif (
                publication.published_folder(store, module.slot) == module.path
                and _used(module.path) == module.used
            ):  # it is unchanged since it was selected
                publication.remove_module(store, module.slot)
                size -= module.size
                removed += 1
    return Collection(
        *(before, size, removed, locked, len(modules) - removed),
        pending=publication.remove_evicted(store),
        lacking=max(0, size - most),
    )


def _candidates(
    modules: list[_Kept], limits: StoreLimits
) -> Iterator[tuple[_Kept, bool]]:
    """Modules that may be removed, and whether they were unused for too long."""
    now = time.time()
    for module in modules:
        used = module.used / 1e9
        age = limits.age(used) if limits.age else now - used
        source = ""  # of a module that is damaged, and of return pads
        with suppress(FormatError, FileNotFoundError):
            source = read_entry(module.path).source if module.slot else ""
        is_lasting = limits.is_lasting is not None and limits.is_lasting(source)
        most = limits.max_lasting_age if is_lasting else limits.max_age
        is_expired = most is not None and age > most
        if is_expired or not is_lasting:
            yield module, is_expired


def free_bytes(path: str) -> int:
    """Bytes that this user may still write to the file system of *path*."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def remove_all_leftovers(store: str) -> list[str]:
    """Remove what killed processes have left; return the paths of folders."""
    for name in layout.names_in(os.path.join(store, layout.LOCKS)):
        # Locks of other users cannot be opened, and remain.
        with suppress(OSError), held_at_once([os.path.join(store, layout.LOCKS, name)]):
            pass
    return [path for path in leftovers(store) if publication.remove_left(store, path)]


def leftovers(store: str) -> Iterator[str]:
    """The paths of folders that no process owns any more, and no link leads to."""
    for shelf in (os.path.join(store, layout.TEMPORARY), *layout.shelves_in(store)):
        yield from publication.leftovers(store, shelf)


def _modules(store: str, slots: Iterable[str]) -> Iterator[_Kept]:
    for slot in slots:
        folder = publication.published_folder(store, slot)
        if folder is None:
            continue
        with suppress(FileNotFoundError), os.scandir(folder) as files:
            size = sum(file.stat(follow_symlinks=False).st_size for file in files)
            yield _Kept(_used(folder), slot, folder, size)


def _used(folder: str) -> int:
    """Time at which the module in a folder was last used; 0 if it is incomplete.

    A time to come, from when the clock was wrong, is replaced by that of now.
    """
    path = os.path.join(folder, layout.SIDECAR)
    try:
        used = os.stat(path).st_mtime_ns
        now = time.time_ns()
        if used > now + _MOST_AHEAD:
            os.utime(path, ns=(now, now))
            used = os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return 0
    return used


def _locks(store: str, module: _Kept) -> Iterator[str]:
    """Paths of the locks that users of a module may hold."""
    keys = {ModuleKey(debug_id=layout.debug_id_of_slot(module.slot))}
    with suppress(FormatError, FileNotFoundError):
        identity = read_entry(module.path).identity
        if identity.code_id:
            keys.add(ModuleKey(code_id=identity.code_id))
            keys.add(ModuleKey(code_id=identity.code_id, code_file=identity.code_file))
    for name in {layout.lock_name(key) for key in keys}:
        yield os.path.join(store, layout.LOCKS, name)
    yield publication.swap_lock_path(store, module.slot)


class ServedTime(NamedTuple):
    """The time that was served until the last round of upkeep."""

    last: float  # time of the last round, in seconds since 1970
    # begin and end of the times that do not count
    gaps: tuple[tuple[float, float], ...] = ()

    def at(self, now: float) -> ServedTime:
        """The served time at another round."""
        gaps = [(begin, min(end, now)) for begin, end in self.gaps if begin < now]
        if now - self.last > _SHORTEST_GAP:
            gaps.append((self.last, now))
        longest = sorted(gaps, key=lambda gap: gap[0] - gap[1])[:_MOST_GAPS]
        return ServedTime(now, tuple(sorted(longest)))

    def since(self, time: float) -> float:
        """Seconds that were served since a time."""
        gone = self.last - time
        for begin, end in self.gaps:
            gone -= max(0.0, end - max(begin, time))
        return max(0.0, gone)


def read_served_time(store: str) -> ServedTime:
    """The record of a store; without one, no time was served yet."""
    try:
        with open(os.path.join(store, layout.SERVED), "rb") as file:
            record = json.loads(file.read(_MOST_SERVED))
        gaps = tuple((float(begin), float(end)) for begin, end in record["gaps"])
        return ServedTime(float(record["last"]), gaps)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return ServedTime(0.0)


def write_served_time(store: str, served: ServedTime) -> None:
    """Replace the record of a store."""
    with AtomicFile(os.path.join(store, layout.SERVED)) as file:
        file.write(json.dumps(served._asdict()).encode("ascii"))
