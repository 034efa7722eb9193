"""A store in a bucket, with the layout in which a store in a folder is published.

A module is two objects, `.debug-id/09/05AE.../module.gsym` and `module.json`. The GSYM
file comes last and only if there is none: it publishes the module, which never changes.
"""

from __future__ import annotations

from gsym.cache import BoundedCache
from gsym.errors import NotFoundError
from gsym.net.buckets import errors_of, open_object_store
from gsym.net.limits import TransferLimits
from gsym.store.layout import GSYM_FILE, SIDECAR, link_of_debug_id
from gsym.store.sidecar import MOST_SIDECAR, parse_entry, sidecar_text
from gsym.store.sources.foreign_layouts import STORE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.modules.key import ModuleKey
    from gsym.reading.reader import Reader
    from gsym.store.modules import Entry

_MAX_CACHED = 16384


class BucketStore:
    """The store at a URL. Safe for concurrent threads and processes.

    Args:
        url: Of a bucket and a prefix; see `open_bucket`.
        limits: Limits of each request.

    Raises:
        UnsupportedError: The package for object storage is not installed.
        ValueError: The URL or a setting is invalid.
    """

    def __init__(self, url: str, limits: TransferLimits | None = None) -> None:
        self._limits = TransferLimits() if limits is None else limits
        self._bucket, self.name = open_object_store(url, self._limits)
        self._url, question, settings = url.partition("?")
        self._settings = question + settings
        self._known: BoundedCache[str, Entry] = BoundedCache(_MAX_CACHED)

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
        folder = link_of_debug_id(entry.identity.debug_id)
        text = sidecar_text(entry, {GSYM_FILE: len(data)})
        self._create(f"{folder}/{SIDECAR}", text)
        return self._create(f"{folder}/{GSYM_FILE}", data)

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
            FormatError: The record of the module is damaged.
            SourceError: The bucket cannot be read.
        """
        del is_use  # which a bucket does not record
        for path in STORE.paths(key):
            entry = self._known.get(path)
            if entry is None:
                entry = self._read(path)
            if entry is not None:
                return self._known.keep(path, entry)
        return None

    def _read(self, path: str) -> Entry | None:
        folder = path.removesuffix(GSYM_FILE)
        sidecar = f"{self.name}/{folder}{SIDECAR}"
        try:
            with errors_of(sidecar):
                self._bucket.head(path)  # it is the last one of both
                text = bytes(
                    self._bucket.get_range(
                        folder + SIDECAR, start=0, length=MOST_SIDECAR
                    )
                )
        except NotFoundError:
            return None
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
