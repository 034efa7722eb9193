"""Evicts the least recently used modules until a store fits its limits."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gsym.errors import FormatError
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple
from gsym.store.layout import (
    LOCKS,
    SIDECAR,
    TEMPORARY,
    debug_id_of_slot,
    lock_name,
    names_in,
    shelves_in,
)
from gsym.store.locking import held_at_once, remove_abandoned
from gsym.store.publication import (
    published_folder,
    remove_leftovers,
    remove_module,
    swap_lock_path,
)
from gsym.store.received_symbfile import iter_return_pads
from gsym.store.sidecar import read_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Collection(NamedTuple):
    """The result of `Store.collect`.

    Attributes:
        size_before: Total bytes of modules and return pads.
        size_after: The same afterwards.
        removed: Number of removed modules and files of return pads.
        locked: Modules that were not removed because they are in use.
        kept: Number of modules and files of return pads that are left.
    """

    size_before: int = 0
    size_after: int = 0
    removed: int = 0
    locked: int = 0
    kept: int = 0


class _Kept(NamedTuple):
    """A module, or return pads, which have no slot.

    *used* is the time of the last use in nanoseconds, of return pads that of their
    publication; *path* is the folder of a module, or the file of return pads.
    """

    used: int
    slot: str
    path: str
    size: int


def collect(
    store: str,
    slots: Iterable[str],
    max_size: int | None,
    max_age: float | None,
    min_free: int,
) -> Collection:
    """Implements `Store.collect`."""
    remove_all_leftovers(store)
    modules = sorted([*_modules(store, slots), *_return_pads(store)])
    before = size = sum(module.size for module in modules)
    lacking = max(0, min_free - free_bytes(store))
    most = min(before - lacking, before if max_size is None else max_size)
    oldest = 0 if max_age is None else time.time_ns() - int(max_age * 1e9)
    removed = locked = 0
    for module in modules:
        if size <= most and module.used >= oldest:
            break
        if not module.slot:
            with suppress(FileNotFoundError):  # removed by another process
                os.unlink(module.path)
            size -= module.size
            removed += 1
            continue
        with held_at_once(_locks(store, module)) as is_mine:
            if not is_mine:
                locked += 1
            elif _is_unused(store, module):
                remove_module(store, module.slot)
                size -= module.size
                removed += 1
    return Collection(before, size, removed, locked, len(modules) - removed)


def free_bytes(path: str) -> int:
    """Bytes that this user may still write to the file system of *path*."""
    status = os.statvfs(path)
    return status.f_bavail * status.f_frsize


def remove_all_leftovers(store: str) -> list[str]:
    """Remove what killed processes have left; return the paths of folders."""
    for name in names_in(os.path.join(store, LOCKS)):
        # Locks of other users cannot be opened, and remain.
        with suppress(OSError), held_at_once([os.path.join(store, LOCKS, name)]):
            pass
    found = []
    temporary = os.path.join(store, TEMPORARY)
    for name in names_in(temporary):
        path = os.path.join(temporary, name)
        if remove_abandoned(path):
            found.append(path)
    for shelf in shelves_in(store):
        found += remove_leftovers(store, shelf)
    return found


def _modules(store: str, slots: Iterable[str]) -> Iterator[_Kept]:
    for slot in slots:
        folder = published_folder(store, slot)
        if folder is None:
            continue
        with suppress(FileNotFoundError), os.scandir(folder) as files:
            size = sum(file.stat(follow_symlinks=False).st_size for file in files)
            yield _Kept(_used(folder), slot, folder, size)


def _return_pads(store: str) -> Iterator[_Kept]:
    for path in iter_return_pads(store):
        with suppress(FileNotFoundError):
            status = os.stat(path)
            yield _Kept(status.st_mtime_ns, "", path, status.st_size)


def _used(folder: str) -> int:
    """Time at which the module in a folder was last used; 0 if it is incomplete."""
    try:
        return os.stat(os.path.join(folder, SIDECAR)).st_mtime_ns
    except FileNotFoundError:
        return 0


def _is_unused(store: str, module: _Kept) -> bool:
    """Whether a module is unchanged since it was selected."""
    return (
        published_folder(store, module.slot) == module.path
        and _used(module.path) == module.used
    )


def _locks(store: str, module: _Kept) -> Iterator[str]:
    """Paths of the locks that users of a module may hold."""
    keys = {ModuleKey(debug_id=debug_id_of_slot(module.slot))}
    with suppress(FormatError, FileNotFoundError):
        identity = read_entry(module.path).identity
        if identity.code_id:
            keys.add(ModuleKey(code_id=identity.code_id))
            keys.add(ModuleKey(code_id=identity.code_id, code_file=identity.code_file))
    for name in {lock_name(key) for key in keys}:
        yield os.path.join(store, LOCKS, name)
    yield swap_lock_path(store, module.slot)
