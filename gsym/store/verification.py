"""Verifies the links, records and GSYM files of a store."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager, suppress

import gsym.reading.reader
from gsym.errors import FormatError, GsymError
from gsym.modules.key import compare
from gsym.records import NamedTuple
from gsym.store import aliases, layout
from gsym.store.collection import leftovers, remove_all_leftovers
from gsym.store.publication import (
    lost_modules,
    published_folder,
    remove_module,
    restore_lost,
    swap_lock,
)
from gsym.store.sidecar import read_entry
from gsym.verification.check import check_structure

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gsym.store.directory import Store
    from gsym.store.entries import Entry


class StoreFinding(NamedTuple):
    """A problem in a store."""

    path: str  # path of the file, link or folder, relative to the store
    reason: str  # the problem
    # whether it was repaired by removing or creating the path
    is_repaired: bool = False


_OWN_FOLDERS = {
    *layout.ENTRY_ROOTS,
    *layout.LINK_ROOTS,
    layout.LOCKS,
    layout.TEMPORARY,
    layout.EVICTED,
    ".misses",
}
_ALIAS_FOLDERS = {layout.BUILD_IDS, layout.CODE_IDS}


def verify_store(
    store: Store,
    *,
    repair: bool = False,
    quick: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[StoreFinding]:
    """Check everything in a store.

    Args:
        store: The store.
        repair: Remove damaged modules, broken links and files left by killed processes;
            create missing links.
        quick: Do not read GSYM files completely.
        progress: Called with (modules done, total modules).

    Raises:
        GsymError: This is not a store, or one of a newer version.
        OSError: It cannot be read, or not repaired.
    """
    lost = []
    for entry in lost_modules(store.path):
        is_copy = layout.is_copy(store.path, entry.slot)
        reason = layout.COPIED if is_copy else "the link is missing"
        lost.append(StoreFinding(layout.link_of_slot(entry.slot), reason, repair))
    if repair:
        restore_lost(store.path)
    yield from lost
    slots = list(store.slots())
    if not slots and not os.path.exists(os.path.join(store.path, layout.MARKER)):
        raise GsymError("not a store", path=store.path)
    verification = _Verification(store.path, repair, quick)
    # Searched again at the end, as a new folder is not locked immediately.
    left = {*leftovers(store.path)}
    for number, slot in enumerate(slots, 1):
        yield from verification.check_module(slot)
        if progress is not None:
            progress(number, len(slots))
    yield from verification.check_aliases()
    if repair or not lost:
        paths = left.intersection(leftovers(store.path))
        for path in remove_all_leftovers(store.path) if repair else sorted(paths):
            relative = os.path.relpath(path, store.path)
            yield StoreFinding(relative, "unused files", repair)


class _Verification(NamedTuple):
    store: str
    repair: bool
    quick: bool

    # ---- modules

    def check_module(self, slot: str) -> Iterator[StoreFinding]:
        link = layout.link_of_slot(slot)
        if layout.is_copy(self.store, slot):
            return
        folder = published_folder(self.store, slot)
        if folder is None:
            return  # removed meanwhile
        try:
            entry = self._checked_entry(slot, folder)
        except (GsymError, FileNotFoundError) as error:
            if published_folder(self.store, slot) == folder:
                yield self._remove(slot, folder, link, error)
            return
        yield from self._check_own_aliases(entry)

    def _checked_entry(self, slot: str, folder: str) -> Entry:
        """The module that a link points to; a `GsymError` says how it is damaged."""
        normal = ""
        with suppress(ValueError):
            normal = layout.normal_debug_id(layout.debug_id_of_slot(slot))
        if normal != layout.debug_id_of_slot(slot):
            raise FormatError("the name of the link is not a debug id")
        shelf = os.path.join(self.store, layout.shelf_of_slot(slot))
        if os.path.dirname(folder) != shelf or layout.slot_of_folder(folder) != slot:
            raise FormatError("the link points to the folder of another module")
        entry = read_entry(folder)
        if entry.identity.debug_id != layout.debug_id_of_slot(slot):
            raise FormatError(f"its record has debug id {entry.identity.debug_id}")
        size = layout.size_of(entry)
        if size != entry.size:
            raise FormatError(f"its files have {size} bytes, not {entry.size}")
        with gsym.reading.reader.open(entry.path) as reader:
            fit = compare(entry.identity, reader.module_like(entry.identity))
            if fit.is_refused:
                raise FormatError(f"its GSYM file is of another build: {fit.reason}")
            if len(reader) != entry.quality.functions:
                raise FormatError(f"its GSYM file has {len(reader)} functions")
        problems = [] if self.quick else check_structure(entry.path)
        if problems:
            offset, reason = problems[0]
            raise FormatError(f"its GSYM file is damaged: {reason}", offset=offset)
        return entry

    def _remove(
        self, slot: str, folder: str, link: str, error: Exception
    ) -> StoreFinding:
        reason = str(error)
        if isinstance(error, FileNotFoundError):
            reason = f"{os.path.relpath(str(error.filename), self.store)} is missing"
        if self.repair:
            with swap_lock(self.store, slot):
                if published_folder(self.store, slot) == folder:
                    remove_module(self.store, slot)
        return StoreFinding(link, reason, self.repair)

    # ---- aliases

    def _check_own_aliases(self, entry: Entry) -> Iterator[StoreFinding]:
        """Check that all aliases of a module exist."""
        slot, folder = entry.slot, entry.folder
        wanted = {**aliases.read_aliases(folder), **layout.aliases_of(entry)}
        if not self._missing(wanted, slot):
            return
        with self._settled(slot):
            is_there = published_folder(self.store, slot) == folder
            missing = self._missing(wanted, slot) if is_there else {}
            if self.repair:
                aliases.add_aliases(self.store, folder, slot, missing)
        for alias in sorted(missing):
            yield StoreFinding(alias, "the link is missing", self.repair)

    def _missing(self, wanted: Mapping[str, str], slot: str) -> dict[str, str]:
        def exists(alias: str) -> bool:
            return os.path.islink(os.path.join(self.store, alias))

        return {
            alias: file
            for alias, file in wanted.items()
            if not exists(alias) and not exists(aliases.replacement(alias, slot))
        }

    @contextmanager
    def _settled(self, slot: str) -> Iterator[None]:
        """Hold the lock of the links of a module, if the store is writable."""
        with ExitStack() as stack:
            try:
                stack.enter_context(swap_lock(self.store, slot))
            except OSError:
                if self.repair:
                    raise
            yield

    def check_aliases(self) -> Iterator[StoreFinding]:
        """Check that each alias points to a file of a module."""
        for alias in self._all_aliases():
            path = os.path.join(self.store, alias)
            try:
                target = os.readlink(path)
            except FileNotFoundError:
                continue  # removed meanwhile
            except OSError:
                yield StoreFinding(alias, "not a link, and not part of a store")
                continue
            slot, file = aliases.parse_target(target)
            if target != aliases.alias_target(alias, slot, file):
                yield StoreFinding(alias, f"a link to {target}, which is not a module")
            elif not os.path.exists(path):
                yield from self._check_dead_link(alias, slot)

    def _check_dead_link(self, alias: str, slot: str) -> Iterator[StoreFinding]:
        path = os.path.join(self.store, alias)
        # Links are created before the module is published.
        with self._settled(slot):
            is_dead = os.path.lexists(path) and not os.path.exists(path)
            if is_dead and self.repair:
                with suppress(OSError):
                    os.unlink(path)
                    os.removedirs(os.path.dirname(path))
        if is_dead:
            yield StoreFinding(alias, "the link is broken", self.repair)

    def _all_aliases(self) -> Iterator[str]:
        for top in layout.names_in(self.store):
            if top in _OWN_FOLDERS or top in {layout.MARKER, layout.SERVED}:
                continue
            if top.startswith(".") and top not in _ALIAS_FOLDERS:
                continue  # not part of a store
            if not os.path.isdir(os.path.join(self.store, top)):
                yield top
            for name in layout.names_in(os.path.join(self.store, top)):
                inner = os.path.join(self.store, top, name)
                if os.path.isdir(inner) and not os.path.islink(inner):
                    for last in layout.names_in(inner):
                        yield f"{top}/{name}/{last}"
                else:
                    yield f"{top}/{name}"
