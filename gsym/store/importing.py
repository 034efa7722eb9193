"""Imports modules from folders, other stores and buckets, with a journal to resume."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from hashlib import sha256

from gsym.cache import stamp_at
from gsym.errors import FormatError, GsymError, NotFoundError
from gsym.net.buckets import BUCKETS
from gsym.records import NamedTuple
from gsym.store.directory import Store
from gsym.store.layout import MARKER
from gsym.store.sources.source import FoundFile
from gsym.store.tree_adding import FileOutcome, added_modules, in_parallel, outcome_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    from gsym.net.limits import TransferLimits
    from gsym.store.sources.object_storage import ObjectStorage

    class ImportPlace(Protocol):
        """A folder, store or bucket to import from."""

        @property
        def name(self) -> str:
            """The location of the place."""

        def items(self) -> Iterator[ImportItem]:
            """All its files."""

        def take(self, item: ImportItem, folder: str) -> FoundFile:
            """Get a file, downloading it into *folder* if it is remote."""

    from typing import Any

    from typing_extensions import Self


class ImportItem(NamedTuple):
    """A file to import."""

    path: str  # path relative to the place
    mark: str  # changes when the file does


def open_import_place(text: str, limits: TransferLimits) -> ImportPlace:
    """Open a folder, store or bucket to import from.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: It is neither a folder nor a bucket.
    """
    if text.startswith(BUCKETS):
        from gsym.store.sources.object_storage import open_bucket

        return _Bucket(open_bucket(text, limits))
    if not os.path.isdir(text):
        raise ValueError(f"'{text}' is neither a folder nor an s3, gs or az URL")
    if os.path.isfile(os.path.join(text, MARKER)):
        return _OtherStore(text)
    return _Folder(text)


class _Folder:
    """All files below a folder; links to folders are not followed."""

    def __init__(self, path: str) -> None:
        self.name = os.path.abspath(path)

    def items(self) -> Iterator[ImportItem]:
        for folder, folders, names in os.walk(self.name):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                stamp = stamp_at(path)
                if stamp is not None:
                    mark = f"{stamp.size} {stamp.modified}"
                    yield ImportItem(os.path.relpath(path, self.name), mark)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        del folder
        path = os.path.join(self.name, item.path)
        return FoundFile(path, path)


class _OtherStore:
    """The modules of another store, with their identities."""

    def __init__(self, path: str) -> None:
        self._store = Store(path)
        self.name = self._store.path

    def items(self) -> Iterator[ImportItem]:
        for slot in self._store.slots():
            try:
                entry = self._store.at(slot)
            except FormatError:
                yield ImportItem(slot, "damaged")  # `take` reports the error
                continue
            if entry is not None:
                yield ImportItem(slot, entry.path)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        del folder
        entry = self._store.at(item.path)
        if entry is None:
            raise NotFoundError("was removed", path=item.path)
        source = entry.source or entry.path
        return FoundFile(entry.path, source, entry.identity, entry.code_ids)


class _Bucket:
    """The objects of a bucket."""

    def __init__(self, storage: ObjectStorage) -> None:
        self._storage = storage
        self.name = storage.name

    def items(self) -> Iterator[ImportItem]:
        for path, mark in self._storage.objects():
            yield ImportItem(path, mark)

    def take(self, item: ImportItem, folder: str) -> FoundFile:
        target = os.path.join(folder, os.path.basename(item.path) or "object")
        self._storage.fetch(item.path, target)
        return FoundFile(target, f"{self.name}/{item.path}")


_FOLDER = ".imports"


class ImportJournal:
    """The journal of imports from one place into one store."""

    def __init__(self, store: str, place: str) -> None:
        name = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        self._path = os.path.join(store, _FOLDER, f"{name}.jsonl")
        self._place = place
        self._lock = threading.Lock()
        self._done: dict[str, str] = {}

    def __enter__(self) -> Self:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        with suppress(FileNotFoundError), open(self._path, "rb") as file:
            for line in file:
                with suppress(ValueError, TypeError):  # the last line may be incomplete
                    path, mark = json.loads(line)
                    self._done[path] = mark
        self._file = open(self._path, "ab", buffering=0)
        if self._file.tell():
            self._file.write(b"\n")  # ends an incomplete line
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def is_done(self, path: str, mark: str) -> bool:
        """Whether the file was imported and has not changed since."""
        return self._done.get(path) == mark

    def note(self, path: str, mark: str) -> None:
        """Record that a file was imported."""
        line = json.dumps([path, mark]).encode() + b"\n"
        with self._lock:
            self._done[path] = mark
            self._file.write(line)


def import_all(
    store: Store,
    place: ImportPlace,
    *,
    jobs: int | None = None,
    is_repeated: bool = False,
    **options: Any,
) -> Iterator[FileOutcome]:
    """Add the modules of all files of a place to a store.

    A journal in the store lets the next call continue where this one ends; files that
    failed or changed are imported again.

    Returns:
        The outcome for each module, in order of completion. Files that were imported
        before have the outcome "done".

    Raises:
        GsymError: The place cannot be listed, or the store cannot be used.
        OSError: The store cannot be written.
    """
    with store.temporary_folder():
        pass  # the store must exist before its journal
    with ImportJournal(store.path, place.name) as journal:

        def work(item: ImportItem) -> list[FileOutcome]:
            if not is_repeated and journal.is_done(item.path, item.mark):
                return [FileOutcome(item.path, "done")]
            found = list(_import(store, place, item, options))
            if all(each.outcome != "failed" for each in found):
                journal.note(item.path, item.mark)
            return found

        own = store.path + os.sep
        items = (
            item
            for item in place.items()
            if not os.path.join(place.name, item.path).startswith(own)
        )
        for _, outcomes in in_parallel(work, items, jobs):
            yield from outcomes


def _import(
    store: Store, place: ImportPlace, item: ImportItem, options: dict[str, Any]
) -> Iterator[FileOutcome]:
    with store.temporary_folder() as folder:
        try:
            found = place.take(item, folder)
            yield from added_modules(
                *(store, item.path, found.path),
                label=found.location,
                identity=found.identity,
                code_ids=found.code_ids,
                **options,
            )
        except (GsymError, OSError) as error:
            yield outcome_of(item.path, error)
