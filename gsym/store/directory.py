"""A store: a folder with the GSYM files of modules, found by their ids.

Safe for concurrent threads and processes. `get` never returns an incomplete file or one
of another module; docs/store.md describes the layout.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

import gsym.reading.reader
from gsym.arguments import instance_of, path_of, text_of
from gsym.cache import BoundedCache
from gsym.errors import FormatError
from gsym.lazy import re
from gsym.modules.key import (
    GUID_DIGITS,
    ModuleKey,
    build_id_digits,
    code_id_of,
    debug_ids_of_build_id,
    is_absent,
    read_go_id,
)
from gsym.store import layout
from gsym.store.aliases import parse_target
from gsym.store.choosing import chosen
from gsym.store.entries import Entry, Quality
from gsym.store.locking import held, owned_folder, remove_abandoned
from gsym.store.publication import (
    Publication,
    lost_modules,
    publish_module,
    remove_module,
    swap_lock,
)
from gsym.store.sidecar import read_entry

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gsym.reading.reader import Reader
    from gsym.store.collection import Collection

_MAX_CACHED = 16384
_OPEN_TRIES = 10
# Notes and paths come from untrusted files.
_MAX_NOTES, _MAX_NOTE, _MAX_WANTED = 16, 4096, 32


class Store:
    """The store in the folder *path*.

    The folder is created when the first module is added. A store may be read-only.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str = os.path.abspath(path_of("path", path))
        self._is_checked = False
        # Entries by the target of the link that publishes them, which is different for
        # each file.
        self._known: BoundedCache[str, Entry] = BoundedCache(_MAX_CACHED)

    def __repr__(self) -> str:
        return f"<gsym.store.Store {self.path}>"

    def exists(self) -> bool:
        """Whether the folder is a store.

        Raises:
            FormatError: The folder is damaged.
            UnsupportedError: It was made by a newer version.
        """
        self._is_checked = self._is_checked or layout.is_store(self.path)
        return self._is_checked

    # ---- reading

    def get(self, key: ModuleKey, *, is_use: bool = True) -> Entry | None:
        """The module; counts as a use of it if *is_use*.

        A module is found by its debug id, code id and Go build id; what another id in
        *key* contradicts is left out. Names choose between several modules, and code
        ids of Windows need the name of the binary. `Entry.compare` tells how certain it
        is that the module is the one of *key*.

        The file may be replaced or removed later: a caller that fails to open it has to
        call `get` again, as `open` does.

        Raises:
            AmbiguousModuleError: Several modules have the ids in *key*.
            FormatError: The record of the module is damaged.
            UnsupportedError: The store was made by a newer version.
        """
        instance_of("key", key, ModuleKey)
        self.exists()
        damaged: list[FormatError] = []
        found = chosen(key, self._candidates(key, damaged))
        if found is None and damaged:
            raise damaged[0]
        if found is None or not is_use:
            return found
        try:
            os.utime(os.path.join(found.folder, layout.SIDECAR))
        except FileNotFoundError:
            return self.get(key)  # replaced meanwhile
        except OSError:
            pass  # the store is read-only
        return found

    def open(self, key: ModuleKey) -> tuple[Entry, Reader] | None:
        """The module and its open file.

        Raises:
            GsymError: As for `get`; or the GSYM file is damaged.
        """
        left = _OPEN_TRIES
        while (entry := self.get(key)) is not None:
            left -= 1
            try:
                return entry, gsym.reading.reader.open(entry.path, read_ahead=False)
            except FileNotFoundError:
                if not left:
                    raise
        return None

    def entries(
        self, *, damaged: Callable[[FormatError], None] | None = None
    ) -> Iterator[Entry]:
        """All modules, in the order of their debug ids.

        Args:
            damaged: Called if the record of a module is damaged, instead of raising
                the error.

        Raises:
            FormatError: The record of a module is damaged.
        """
        self.exists()
        slots = list(self.slots())
        if not slots and (lost := lost_modules(self.path)):
            reason = f"the links of {len(lost)} modules are missing; {layout.REMEDY}"
            error = FormatError(reason, path=self.path)
            if damaged is None:
                raise error
            damaged(error)
        for slot in slots:
            try:
                entry = self.at(slot)
            except FormatError as error:
                if damaged is None:
                    raise
                damaged(error)
                continue
            if entry is not None:
                yield entry

    def slots(self) -> Iterator[str]:
        """Slots of all modules, in order: their debug ids.

        Where several modules share one, there is more after it.
        """
        return layout.slots_in(self.path)

    def at(self, slot: str) -> Entry | None:
        """The module in a slot; None if there is none.

        Raises:
            FormatError: Its record is damaged.
        """
        link = f"{self.path}/{layout.link_of_slot(text_of('slot', slot))}"
        before = None
        while True:
            try:
                target = os.readlink(link)
            except FileNotFoundError:
                return None
            except OSError:
                if not layout.is_copy(self.path, slot):
                    raise
                return _checked(read_entry(link), slot)
            if target == before:
                return None  # the link is broken
            before = target
            try:
                return self._known_at(slot, target)
            except FileNotFoundError:
                continue  # replaced meanwhile

    def last_used(self, entry: Entry) -> float:
        """Time at which a module was last added or used, in seconds since 1970.

        Raises:
            FileNotFoundError: It was removed.
        """
        folder = instance_of("entry", entry, Entry).folder
        return os.stat(os.path.join(folder, layout.SIDECAR)).st_mtime

    # ---- writing

    def publish(  # noqa: PLR0913 - independent keywords
        self,
        gsym_path: str | os.PathLike[str],
        identity: ModuleKey,
        *,
        uuid: bytes = b"",
        quality: Quality,
        source: str = "",
        originals: Mapping[str, str] | None = None,
        key: ModuleKey | None = None,
        missing: Sequence[str] = (),
        wanted: Sequence[str] = (),
        code_ids: Sequence[str] = (),
        may_replace: bool = True,
    ) -> Publication:
        """Move a GSYM file into the store, unless it has a more complete one.

        Args:
            gsym_path: The file; in a `temporary_folder` it is on the right file
                system. It no longer exists afterwards, even if it was not needed. "":
                there is none, and the executable in *originals* joins a stored module.
            identity: The module. It needs a debug id.
            uuid: Its complete identifier.
            quality: The file with the higher quality is kept; of equal ones the stored
                file, unless the new one has originals.
            source: Where the debug information is from.
            originals: Files to move with it, by kind as in `Entry.originals`.
            key: Further names by which the module is found.
            missing: As `Entry.missing`; truncated if too long, and without the paths
                of temporary folders of the store.
            wanted: As `Entry.wanted`; those that are too long are left out, and those
                in temporary folders of the store.
            code_ids: As `Entry.code_ids`.
            may_replace: Whether to replace a file; else the stored one is kept.

        Raises:
            AmbiguousModuleError: It may be any of several modules of the store.
            EmptyError: There is no file, and no stored module.
            OSError: The store cannot be written.
            UnsupportedError: The store was made by a newer version.
            ValueError: The identity is invalid.
        """
        instance_of("identity", identity, ModuleKey)
        checked = layout.checked_identity(identity)
        self._prepare()
        notes = missing[:_MAX_NOTES]
        # The paths of temporary folders, which are gone when the notes are read.
        passing = re.escape(os.path.join(self.path, layout.TEMPORARY, "")) + "[^/]*/"
        # Files may appear at these paths, but not where one was unpacked in the store.
        lasting = tuple(
            each
            for each in wanted
            if len(each) <= _MAX_NOTE and not each.startswith(self.path + os.sep)
        )
        entry = Entry(
            path=os.fspath(gsym_path),
            identity=checked,
            uuid=uuid,
            quality=quality,
            source=source,
            missing=tuple(re.sub(passing, "", note)[:_MAX_NOTE] for note in notes),
            wanted=lasting[:_MAX_WANTED],
            code_ids=tuple(map(str.upper, code_ids)),
        )
        return self._publish(entry, originals or {}, key, may_replace=may_replace)

    def remove(self, entry: Entry) -> None:
        """Remove a module, unless it was replaced meanwhile."""
        slot = instance_of("entry", entry, Entry).slot
        with swap_lock(self.path, slot):
            current = self.at(slot)
            if current is not None and current.path == entry.path:
                remove_module(self.path, slot)

    @contextmanager
    def temporary_folder(self) -> Iterator[str]:
        """A new folder in the store, removed at the end of the block.

        Such folders left by killed processes are removed first.
        """
        self._prepare()
        root = os.path.join(self.path, layout.TEMPORARY)
        for name in layout.names_in(root):
            remove_abandoned(os.path.join(root, name))
        with owned_folder(root + os.sep) as folder:
            yield folder

    @contextmanager
    def lock(self, key: ModuleKey, wait: float | None = None) -> Iterator[None]:
        """Lock a module for fetching or converting it, until the end of the block.

        This does not lock the same module under another id.

        Args:
            key: The module.
            wait: Maximum seconds to wait for the lock; None: no limit.

        Raises:
            TimeoutError: The lock was held by another process for longer than *wait*.
        """
        self._prepare()
        with held(os.path.join(self.path, layout.LOCKS, layout.lock_name(key)), wait):
            yield

    def collect(
        self,
        max_size: int | None = None,
        *,
        max_age: float | None = None,
        min_free: int = 0,
    ) -> Collection:
        """Remove the least recently used modules until the store fits its limits.

        Locked modules are kept. Files left by killed processes are always removed. The
        bytes of a module that is open are freed when it is closed.

        Args:
            max_size: Maximum total bytes of the files of all modules.
            max_age: Maximum seconds since a module was used.
            min_free: Minimum free bytes of the file system.
        """
        from gsym.store.collection import Collection, StoreLimits, collect

        if not self.exists():
            return Collection()
        limits = StoreLimits(max_size, max_age, min_free)
        return collect(self.path, list(self.slots()), limits)

    # ---- internal

    def _publish(
        self,
        entry: Entry,
        originals: Mapping[str, str],
        key: ModuleKey | None,
        *,
        may_replace: bool,
    ) -> Publication:
        """Publish a checked entry; the store of a confined process only keeps it."""
        return publish_module(self.path, entry, originals, key, may_replace=may_replace)

    def _candidates(
        self, key: ModuleKey, damaged: list[FormatError]
    ) -> Iterator[Entry]:
        """The modules that have an id of *key*, or a part of one."""
        try:
            named = {}  # modules of Windows, by a name and a code id
            code_id, name = code_id_of(key), key.code_file
            if name and code_id and not layout.name_problem(name):
                link = layout.link_of_code_id(name, code_id)
                named = dict.fromkeys(self._slots_of(link, damaged), code_id)
            debug_ids = [layout.debug_id_of_slot(slot) for slot in named]
            debug_ids += self._debug_ids(key, damaged)
        except ValueError:
            return  # no module has such an id
        slots = [*named]
        if go_id := read_go_id(key.go_id):
            slots += self._slots_of(layout.link_of_go_id(go_id), damaged)
        for debug_id in dict.fromkeys(debug_ids):
            slots += layout.slots_of(self.path, debug_id)
        for slot in dict.fromkeys(slots):
            try:
                entry = self.at(slot)
            except FormatError as error:
                damaged.append(error)
                continue
            if entry is None:
                continue
            code_id = named.get(slot, "")
            if code_id and code_id not in entry.all_code_ids:
                # A file of the module had it, says a store of before.
                entry = entry._replace(code_ids=(*entry.code_ids, code_id))
            yield entry

    def _debug_ids(self, key: ModuleKey, damaged: list[FormatError]) -> Iterator[str]:
        """Debug ids that the module may have; an invalid one is a `ValueError`."""
        if not is_absent(key.debug_id[:GUID_DIGITS]):
            yield layout.normal_debug_id(key.debug_id)
        build_id = build_id_digits(code_id_of(key))
        if build_id:
            alias = layout.links_of_build_id(build_id, "gsym")[0]
            for slot in self._targets(alias, damaged):
                yield layout.debug_id_of_slot(slot)
            if is_absent(key.debug_id[:GUID_DIGITS]):
                yield from debug_ids_of_build_id(build_id)

    def _slots_of(self, alias: str, damaged: list[FormatError]) -> Iterator[str]:
        """The slots of the modules that have an alias, or a replacement for it."""
        folder, name = os.path.split(alias)
        for each in layout.names_in(os.path.join(self.path, folder)):
            if each == name or each.startswith(f"{name}-"):
                yield from self._targets(f"{folder}/{each}", damaged)

    def _targets(self, alias: str, damaged: list[FormatError]) -> Iterator[str]:
        """The slot of the module that an alias points to, if any."""
        path = os.path.join(self.path, alias)
        try:
            target = os.readlink(path)
        except (OSError, ValueError):
            if os.path.isfile(path):
                damaged.append(FormatError(layout.COPIED_REMEDY, path=path))
            return
        slot, file = parse_target(target)
        if file == layout.GSYM_FILE:
            yield slot

    def _known_at(self, slot: str, target: str) -> Entry:
        root = f"/{os.path.dirname(layout.shelf_of_slot(slot))}/"
        _, slash, place = target.partition(root)
        folder = f"{self.path}{root}{place}"
        entry = self._known.get(target)
        if entry is not None:
            os.stat(f"{folder}/{layout.SIDECAR}")  # it may be gone
            return entry
        entry = _checked(read_entry(folder), slot if slash else "")
        self._known.keep(target, entry)
        return entry

    def _prepare(self) -> None:
        """Create the store if necessary."""
        if not self.exists():
            layout.make_store(self.path)
            self._is_checked = True


def _checked(entry: Entry, slot: str) -> Entry:
    """*entry*, if it is the one of a slot."""
    if entry.identity.debug_id != layout.debug_id_of_slot(slot):
        raise FormatError(
            f"the module is published as {slot}, but its record has "
            f"{entry.identity.debug_id}",
            path=f"{entry.folder}/{layout.SIDECAR}",
        )
    return entry
