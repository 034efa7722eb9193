"""A store: a folder that has the GSYM files of modules by their ids.

Safe for many threads and processes at once. What `get` answers is never half of a file
and never that of another module; docs/store.md tells how it is laid out.
"""

from __future__ import annotations

import os
from contextlib import contextmanager

from gsym.cache import BoundedCache
from gsym.errors import FormatError
from gsym.store.layout import (
    ENTRIES,
    GSYM_FILE,
    LOCKS,
    PUBLISHED,
    SIDECAR,
    TEMPORARY,
    build_id_digits,
    checked_identity,
    debug_ids_of_build_id,
    is_store,
    link_of_code_id,
    link_of_debug_id,
    links_of_build_id,
    lock_name,
    make_store,
    name_fault,
    names_in,
    normal_debug_id,
)
from gsym.store.locking import held, owned_folder, remove_abandoned
from gsym.store.publication import publish_module, remove_module, swap_lock
from gsym.store.sidecar import read_entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gsym.conversion.identity import ModuleIdentity
    from gsym.reading.reader import Reader
    from gsym.store.collection import Collection
    from gsym.store.modules import Entry, ModuleKey, Quality
    from gsym.store.publication import Publication

_MOST_KNOWN = 16384
_OPEN_TRIES = 10
_MOST_NOTES, _LONGEST_NOTE = 16, 4096  # they come from untrusted files


class Store:
    """The store in the folder *path*.

    Nothing is made until something is put there; one that may only be read can be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._is_checked = False
        # What was read of modules, by what the link that publishes them holds: that
        # is another one for another file.
        self._known: BoundedCache[str, Entry] = BoundedCache(_MOST_KNOWN)

    def __repr__(self) -> str:
        return f"<gsym.store.Store {self.path}>"

    def exists(self) -> bool:
        """Whether something was put there ever.

        Raises:
            FormatError: The folder is damaged.
            OSError: It cannot be read.
            UnsupportedError: It was made by a newer version.
        """
        return self._check_marker()

    # ---- asking

    def get(self, key: ModuleKey, *, is_use: bool = True) -> Entry | None:
        """The module, which then counts as used now, unless not *is_use*.

        An id decides: by the debug id, else by the code id. What the module is called
        matters for code ids of Windows only, which need the name of the binary.

        The file may be replaced or removed later: who opens it and finds it gone has
        to ask again, as `open` does.

        Raises:
            FormatError: What is written of the module is damaged.
            OSError: The store cannot be read.
            UnsupportedError: It was made by a newer version.
        """
        self._check_marker()
        for debug_id in self._debug_ids(key):
            entry = self._at(debug_id, is_use=is_use)
            if entry is not None:
                return entry
        return None

    def open(self, key: ModuleKey) -> tuple[Entry, Reader] | None:
        """The module and its file, opened.

        Raises:
            GsymError: As for `get`; or the GSYM file is damaged.
            OSError: The store cannot be read.
        """
        import gsym.reading.reader

        for left in reversed(range(_OPEN_TRIES)):
            entry = self.get(key)
            if entry is None:
                return None
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
            damaged: Called for a module of which what is written is damaged; by
                default that is raised.

        Raises:
            FormatError: What is written of a module is damaged.
            OSError: The store cannot be read.
        """
        self._check_marker()
        for debug_id in self.debug_ids():
            try:
                entry = self._at(debug_id)
            except FormatError as error:
                if damaged is None:
                    raise
                damaged(error)
                continue
            if entry is not None:
                yield entry

    def debug_ids(self) -> Iterator[str]:
        """The debug ids of all modules, in order."""
        root = os.path.join(self.path, PUBLISHED)
        for shelf in names_in(root):
            for rest in names_in(os.path.join(root, shelf)):
                yield shelf + rest

    def last_used(self, entry: Entry) -> float:
        """When a module was put here or asked for last, in seconds since 1970.

        Raises:
            FileNotFoundError: It is gone.
        """
        return os.stat(os.path.join(os.path.dirname(entry.path), SIDECAR)).st_mtime

    # ---- changing

    def publish(  # noqa: PLR0913 - keywords, what is known of a module
        self,
        gsym_path: str | os.PathLike[str],
        identity: ModuleIdentity,
        *,
        uuid: bytes = b"",
        quality: Quality,
        source: str = "",
        originals: Mapping[str, str] | None = None,
        key: ModuleKey | None = None,
        missing: Sequence[str] = (),
    ) -> Publication:
        """Move a GSYM file into the store, unless it has a richer one of the module.

        Args:
            gsym_path: The file; in a `temporary_folder` it is on the right file
                system. It is gone afterwards, also where it was not needed.
            identity: The module. It needs a debug id.
            uuid: Its whole identifier.
            quality: Decides which of two files of a module stays: the richer one, of
                equal ones that which is there, unless the new one brings originals.
            source: Where the debug information is from.
            originals: Files to move in with it, by kind as in `Entry.originals`.
            key: Names that the module is found under as well.
            missing: As `Entry.missing`; cut if too long.

        Raises:
            OSError: The store cannot be written to.
            UnsupportedError: The store was made by a newer version.
            ValueError: The identity is none that a store can have.
        """
        from gsym.store.modules import Entry

        checked = checked_identity(identity)
        self._prepare()
        entry = Entry(
            path=os.fspath(gsym_path),
            identity=checked,
            uuid=uuid,
            quality=quality,
            source=source,
            missing=tuple(text[:_LONGEST_NOTE] for text in missing[:_MOST_NOTES]),
        )
        return publish_module(self.path, entry, originals or {}, key)

    def remove(self, entry: Entry) -> None:
        """Remove a module, unless another file took its place meanwhile.

        Raises:
            OSError: The store cannot be written to.
        """
        debug_id = entry.identity.debug_id
        with swap_lock(self.path, debug_id):
            current = self._at(debug_id)
            if current is not None and current.path == entry.path:
                remove_module(self.path, debug_id)

    @contextmanager
    def temporary_folder(self) -> Iterator[str]:
        """A new folder in the store, removed at the end of the block.

        What killed processes left of such folders is removed before.

        Raises:
            OSError: It cannot be made.
        """
        self._prepare()
        place = os.path.join(self.path, TEMPORARY)
        for name in names_in(place):
            remove_abandoned(os.path.join(place, name))
        with owned_folder(place + os.sep) as folder:
            yield folder

    @contextmanager
    def lock(self, key: ModuleKey, wait: float | None = None) -> Iterator[None]:
        """Be the only one who fetches or converts a module, for the time of a block.

        Whoever asks for the same module by another id is not kept out.

        Args:
            key: The module.
            wait: Seconds for which to wait for another one; by default as long as it
                takes.

        Raises:
            OSError: The lock cannot be made.
            TimeoutError: Another one keeps it for longer than *wait*.
        """
        self._prepare()
        with held(os.path.join(self.path, LOCKS, lock_name(key)), wait):
            yield

    def collect(self, max_size: int) -> Collection:
        """Remove what was not used for longest, until the store is small enough.

        What somebody holds the lock of stays. What killed processes left behind goes in
        any case.

        Args:
            max_size: Bytes that the files of all modules may have together.

        Raises:
            OSError: The store cannot be written to.
        """
        from gsym.store.collection import Collection, collect

        if not self._check_marker():
            return Collection()
        return collect(self.path, list(self.debug_ids()), max_size)

    # ---- inside

    def _debug_ids(self, key: ModuleKey) -> Iterator[str]:
        """Those that the module may be published by, the likeliest first."""
        if key.debug_id:
            try:
                yield normal_debug_id(key.debug_id)
            except ValueError:
                return  # no module has it
        if build_id := build_id_digits(key.code_id):
            yield from self._behind(links_of_build_id(build_id, "gsym")[0])
            if not key.debug_id:
                yield from debug_ids_of_build_id(build_id)
        if key.code_file and not key.debug_id and not name_fault(key.code_file):
            yield from self._behind(link_of_code_id(key.code_file, key.code_id))

    def _behind(self, alias: str) -> Iterator[str]:
        """The debug id of the module that an alias leads to, if there is one."""
        try:
            target = os.readlink(os.path.join(self.path, alias))
        except (OSError, ValueError):
            return
        shelf, rest, file = ("", "", *target.split("/"))[-3:]
        if file == GSYM_FILE:
            yield shelf + rest

    def _at(self, debug_id: str, *, is_use: bool = False) -> Entry | None:
        """The module that is published under a debug id."""
        link = f"{self.path}/{link_of_debug_id(debug_id)}"
        before = None
        while True:
            try:
                target = os.readlink(link)
            except FileNotFoundError:
                return None
            if target == before:
                return None  # it leads nowhere
            before = target
            try:
                return self._known_at(debug_id, target, is_use=is_use)
            except FileNotFoundError:
                continue  # replaced meanwhile

    def _known_at(self, debug_id: str, target: str, *, is_use: bool) -> Entry:
        _, slash, place = target.partition(f"/{ENTRIES}/")
        folder = f"{self.path}/{ENTRIES}/{place}"
        entry = self._known.get(target)
        if is_use or entry is not None:
            _touch(f"{folder}/{SIDECAR}", is_use=is_use)
        if entry is None:
            entry = read_entry(folder)
            if not slash or entry.identity.debug_id != debug_id:
                raise FormatError(
                    f"it is published as {debug_id}, and says that it is "
                    f"{entry.identity.debug_id}",
                    path=f"{folder}/{SIDECAR}",
                )
            self._known.keep(target, entry)
        return entry

    def _check_marker(self) -> bool:
        """Whether there is a store, as `is_store` tells."""
        self._is_checked = self._is_checked or is_store(self.path)
        return self._is_checked

    def _prepare(self) -> None:
        """Make the store, if there is none."""
        if not self._check_marker():
            make_store(self.path)
            self._is_checked = True


def _touch(path: str, *, is_use: bool) -> None:
    """Note that a module is used, as far as that may be noted.

    Raises:
        FileNotFoundError: It is gone.
    """
    if is_use:
        try:
            os.utime(path)
        except FileNotFoundError:
            raise
        except OSError:
            pass  # a store that may only be read
        else:
            return
    os.stat(path)
