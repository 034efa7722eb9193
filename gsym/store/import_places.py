"""Places all of whose files can be imported: folders, other stores, buckets."""

from __future__ import annotations

import os
from stat import S_ISREG

from gsym.errors import FormatError, NotFoundError
from gsym.records import NamedTuple
from gsym.store.directory import Store
from gsym.store.layout import MARKER
from gsym.store.modules import ModuleKey
from gsym.store.sources.source import FoundFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from gsym.net.limits import TransferLimits
    from gsym.store.sources.object_storage import ObjectStorage

    class ImportPlace(Protocol):
        """What an import is from."""

        @property
        def name(self) -> str:
            """Where it is."""

        def items(self) -> Iterator[ImportItem]:
            """All files."""

        def take(self, item: ImportItem, folder: str) -> FoundFile:
            """A file, fetched into *folder* if it is not on this machine."""


class ImportItem(NamedTuple):
    """A file of a place.

    Attributes:
        path: Within the place.
        mark: Changes when the file does.
    """

    path: str
    mark: str


_BUCKETS = ("s3://", "gs://", "az://")


def open_import_place(text: str, limits: TransferLimits) -> ImportPlace:
    """The place that *text* names.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: It is neither a folder nor a bucket.
    """
    if text.startswith(_BUCKETS):
        from gsym.store.sources.object_storage import open_bucket

        return _Bucket(open_bucket(text, limits))
    if not os.path.isdir(text):
        raise ValueError(f"'{text}' is neither a folder nor an s3, gs or az URL")
    if os.path.isfile(os.path.join(text, MARKER)):
        return _OtherStore(text)
    return _Folder(text)


class _Folder:
    """A folder with all below it; links to folders are not followed."""

    def __init__(self, path: str) -> None:
        self.name = os.path.abspath(path)

    def items(self) -> Iterator[ImportItem]:
        for folder, folders, names in os.walk(self.name):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    status = os.stat(path)
                except OSError:
                    continue  # gone, or a link that leads nowhere
                if not S_ISREG(status.st_mode):
                    continue  # who opens a pipe waits for a writer
                mark = f"{status.st_size} {status.st_mtime_ns}"
                yield ImportItem(os.path.relpath(path, self.name), mark)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        del folder
        path = os.path.join(self.name, item.path)
        return FoundFile(path, path)


class _OtherStore:
    """The modules of another store, with all that it knows of them."""

    def __init__(self, path: str) -> None:
        self._store = Store(path)

    @property
    def name(self) -> str:
        return self._store.path

    def items(self) -> Iterator[ImportItem]:
        for debug_id in self._store.debug_ids():
            try:
                entry = self._store.get(ModuleKey(debug_id=debug_id), is_use=False)
            except FormatError:
                yield ImportItem(debug_id, "damaged")  # who takes it is told more
                continue
            if entry is not None:
                yield ImportItem(debug_id, entry.path)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        del folder
        entry = self._store.get(ModuleKey(debug_id=item.path))
        if entry is None:
            raise NotFoundError("is gone", path=item.path)
        return FoundFile(entry.path, entry.source or entry.path, entry.identity)


class _Bucket:
    """The objects of a bucket."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage

    @property
    def name(self) -> str:
        return self._storage.name

    def items(self) -> Iterator[ImportItem]:
        for path, mark in self._storage.objects():
            yield ImportItem(path, mark)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        target = os.path.join(folder, os.path.basename(item.path) or "object")
        self._storage.fetch(item.path, target)
        return FoundFile(target, f"{self.name}/{item.path}")
