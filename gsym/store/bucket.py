"""A store in a bucket, with the layout in which a store in a folder is published.

A module is two objects, `.debug-id/09/05AE.../module.gsym` and `module.json`, or two in
`.further`. The GSYM file comes last and only if there is none: it publishes the module,
which never changes.
"""

from __future__ import annotations

import time

from gsym.cache import BoundedCache
from gsym.errors import NotFoundError
from gsym.modules.key import GUID_DIGITS, ModuleKey
from gsym.net.buckets import errors_of, open_object_store
from gsym.net.limits import TransferLimits
from gsym.store import layout
from gsym.store.choosing import chosen
from gsym.store.sidecar import MOST_SIDECAR, parse_entry, sidecar_text
from gsym.store.sources.foreign_layouts import store_debug_ids

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.reading.reader import Reader
    from gsym.store.entries import Entry

_MAX_CACHED = 16384
_LISTED_SECONDS = 60.0  # for which it is remembered which further modules there are


class BucketStore:
    """The store at a URL. Safe for concurrent threads and processes.

    Args:
        url: Of a bucket and a prefix; see `open_object_store`.
        limits: Limits of each request.

    Raises:
        UnsupportedError: The package for object storage is not installed.
        ValueError: The URL or a setting is invalid.
    """

    def __init__(self, url: str, limits: TransferLimits | None = None) -> None:
        self._limits = TransferLimits() if limits is None else limits
        self.name: str
        self._bucket, self.name = open_object_store(url, self._limits)
        self._url, question, settings = url.partition("?")
        self._settings = question + settings
        self._known: BoundedCache[str, Entry] = BoundedCache(_MAX_CACHED)
        self._listed: dict[str, tuple[float, list[str]]] = {}  # by shelf

    def __repr__(self) -> str:
        return f"<gsym.store.BucketStore {self.name}>"

    def publish(self, entry: Entry) -> bool:
        """Copy a module of another store into this one, unless it is there.

        Returns:
            Whether it was not there.

        Raises:
            OSError: Its file cannot be read.
            SourceError: The bucket cannot be written.
        """
        with open(entry.path, "rb") as file:
            data = file.read()
        text = sidecar_text(entry, {layout.GSYM_FILE: len(data)})
        debug_id = entry.identity.debug_id
        if len(debug_id) > GUID_DIGITS:
            folder = layout.link_of_slot(debug_id)
            # Whoever writes the record decides which module it is.
            path = f"{folder}/{layout.GSYM_FILE}"
            is_mine = self._create(f"{folder}/{layout.SIDECAR}", text)
            first = entry if is_mine else self._parsed(folder, path)
            if not first.compare(entry.identity).is_refused:
                return self._create(path, data)
        self._listed.pop(debug_id[:2], None)
        for other in self._further(debug_id):
            is_other = other.identity.debug_id != debug_id
            if not is_other and not other.compare(entry.identity).is_refused:
                return False
        folder = layout.link_of_slot(layout.further_slot(entry.identity))
        self._create(f"{folder}/{layout.SIDECAR}", text)
        self._listed.pop(debug_id[:2], None)
        return self._create(f"{folder}/{layout.GSYM_FILE}", data)

    def _create(self, path: str, data: bytes) -> bool:
        from obstore.exceptions import AlreadyExistsError

        with errors_of(f"{self.name}/{path}"):
            try:
                self._bucket.put(path, data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return False
        return True

    def get(self, key: ModuleKey, *, is_use: bool = True) -> Entry | None:
        """The module, whose path is a URL; for `is_use` see `Store.get`.

        Raises:
            AmbiguousModuleError: Several modules have the ids in *key*.
            FormatError: The record of the module is damaged.
            SourceError: The bucket cannot be read.
        """
        del is_use  # which a bucket does not record
        return chosen(key, self._candidates(key))

    def _candidates(self, key: ModuleKey) -> Iterator[Entry]:
        """The modules that have an id of *key*, or a part of one."""
        for debug_id in store_debug_ids(key):
            first = self._at(debug_id)
            if first is not None:
                yield first
            # ELF and Mach-O files have further ones only beside a first one.
            guid, age = debug_id[:GUID_DIGITS], debug_id[GUID_DIGITS:]
            if first is not None or age != "0":
                for each in self._further(debug_id):
                    if each.identity.debug_id in {debug_id, guid}:
                        yield each
            if first is not None and not first.compare(key).is_refused:
                return  # the others are of the other byte order

    def _further(self, debug_id: str) -> Iterator[Entry]:
        """The further modules of a GUID."""
        when, slots = self._listed.get(debug_id[:2], (float("-inf"), []))
        if time.monotonic() - when > _LISTED_SECONDS:
            shelf, end = f"{layout.FURTHER}/{debug_id[:2]}", f"/{layout.GSYM_FILE}"
            with errors_of(f"{self.name}/{shelf}"):
                batches = self._bucket.list(shelf)
                paths: list[str] = [each["path"] for batch in batches for each in batch]
            named = (path.split("/")[-3:-1] for path in paths if path.endswith(end))
            slots = sorted(map("".join, named))
            self._listed[debug_id[:2]] = time.monotonic(), slots
        guid = debug_id[:GUID_DIGITS]
        for slot in slots:
            entry = self._at(slot) if slot.startswith(guid) else None
            if entry is not None:
                yield entry

    def _at(self, slot: str) -> Entry | None:
        """The module in a slot."""
        folder = layout.link_of_slot(slot)
        path = f"{folder}/{layout.GSYM_FILE}"
        entry = self._known.get(path)
        if entry is not None:
            return entry
        try:
            with errors_of(f"{self.name}/{path}"):
                self._bucket.head(path)  # it is the last one of both
            return self._known.keep(path, self._parsed(folder, path))
        except NotFoundError:
            return None

    def _parsed(self, folder: str, path: str) -> Entry:
        sidecar = f"{self.name}/{folder}/{layout.SIDECAR}"
        with errors_of(sidecar):
            text = bytes(
                self._bucket.get_range(
                    f"{folder}/{layout.SIDECAR}", start=0, length=MOST_SIDECAR
                )
            )
        entry = parse_entry("", text, sidecar)
        return entry._replace(path=f"{self._url}/{path}{self._settings}")

    def open(self, key: ModuleKey) -> tuple[Entry, Reader] | None:
        """The module and its open file, of which lookups read parts.

        Raises:
            GsymError: As for `get`; or the GSYM file is damaged or cannot be read.
        """
        from gsym.remote.reader import open_remote

        entry = self.get(key)
        if entry is None:
            return None
        return entry, open_remote(entry.path, limits=self._limits)
