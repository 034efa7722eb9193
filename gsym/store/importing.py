"""Imports modules from folders, other stores and buckets, with a journal to resume."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256

from gsym.cache import stamps_below
from gsym.errors import FormatError, GsymError, NotFoundError
from gsym.lazy import json, threading
from gsym.net.buckets import BUCKETS, open_object_store
from gsym.records import NamedTuple
from gsym.store.directory import Store
from gsym.store.layout import MARKER
from gsym.store.sources.source import FoundFile
from gsym.store.tree_adding import FileOutcome, added_modules, in_parallel, outcome_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.net.limits import TransferLimits
    from gsym.store.sources.object_storage import ObjectStorage


class ImportItem(NamedTuple):
    """A file to import."""

    path: str  # path relative to the place
    mark: str  # changes when the file does
    # returns the file, downloaded into a folder if it is remote
    take: Callable[[str], FoundFile]


class ImportPlace(NamedTuple):
    """A folder, store or bucket to import from."""

    name: str  # its location
    items: Callable[[], Iterator[ImportItem]]  # returns all its files


def open_import_place(text: str, limits: TransferLimits) -> ImportPlace:
    """Open a folder, store or bucket to import from.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: It is neither a folder nor a bucket.
    """
    if text.startswith(BUCKETS):
        from gsym.store.sources.object_storage import ObjectStorage

        bucket = ObjectStorage(*open_object_store(text, limits), limits)
        return ImportPlace(bucket.name, partial(_objects, bucket))
    if not os.path.isdir(text):
        raise ValueError(f"'{text}' is neither a folder nor an s3, gs or az URL")
    path = os.path.abspath(text)
    items = _modules if os.path.isfile(os.path.join(text, MARKER)) else _files
    return ImportPlace(path, partial(items, path))


def _files(root: str) -> Iterator[ImportItem]:
    """All files below a folder; links to folders are not followed."""
    unread: list[OSError] = []
    for path, stamp in stamps_below(root, unread=unread.append):
        mark, take = f"{stamp.size} {stamp.modified}", partial(_take_file, path)
        yield ImportItem(os.path.relpath(path, root), mark, take)
    for path in (error.filename for error in unread):  # reading it says why
        yield ImportItem(os.path.relpath(path, root), "", partial(_take_file, path))


def _take_file(path: str, _folder: str) -> FoundFile:
    return FoundFile(path, path)


def _modules(path: str) -> Iterator[ImportItem]:
    """The modules of another store, with their identities."""
    store = Store(path)
    for slot in store.slots():
        try:
            entry = store.at(slot)
        except FormatError:
            mark = "damaged"  # `take` reports the error
        else:
            mark = entry.path if entry else ""
        if mark:
            yield ImportItem(slot, mark, partial(_take_module, store, slot))


def _take_module(store: Store, slot: str, _folder: str) -> FoundFile:
    entry = store.at(slot)
    if entry is None:
        raise NotFoundError("was removed", path=slot)
    source = entry.source or entry.path
    return FoundFile(entry.path, source, entry.identity, entry.code_ids)


def _objects(storage: ObjectStorage) -> Iterator[ImportItem]:
    """The objects of a bucket."""
    for path, mark in storage.objects():
        yield ImportItem(path, mark, partial(_take_object, storage, path))


def _take_object(storage: ObjectStorage, path: str, folder: str) -> FoundFile:
    target = os.path.join(folder, os.path.basename(path) or "object")
    storage.fetch(path, target)
    return FoundFile(target, f"{storage.name}/{path}")


_FOLDER = ".imports"


@contextmanager
def _journal(
    store: str, place: str
) -> Iterator[tuple[dict[str, str], Callable[[ImportItem], None]]]:
    """The journal of imports from one place into one store.

    Marks of the files that were imported, by path; and what records that one was.
    """
    name = sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    path = os.path.join(store, _FOLDER, f"{name}.jsonl")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done: dict[str, str] = {}
    with suppress(FileNotFoundError), open(path, "rb") as before:
        for line in before:
            with suppress(ValueError, TypeError):  # the last line may be incomplete
                item, mark = json.loads(line)
                done[item] = mark
    with open(path, "ab", buffering=0) as file:
        if file.tell():
            file.write(b"\n")  # ends an incomplete line
        lock = threading.Lock()

        def note(item: ImportItem) -> None:
            with lock:
                file.write(json.dumps([item.path, item.mark]).encode() + b"\n")

        yield done, note


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
    with _journal(store.path, place.name) as (done, note):

        def work(item: ImportItem) -> list[FileOutcome]:
            if not is_repeated and done.get(item.path) == item.mark:
                return [FileOutcome(item.path, "done")]
            found = list(_import(store, item, options))
            if all(each.outcome != "failed" for each in found):
                note(item)
            return found

        inside = store.path + os.sep
        items = (
            item
            for item in place.items()
            if not os.path.join(place.name, item.path).startswith(inside)
        )
        for _, outcomes in in_parallel(work, items, jobs):
            yield from outcomes


def _import(
    store: Store, item: ImportItem, options: dict[str, Any]
) -> Iterator[FileOutcome]:
    with store.temporary_folder() as folder:
        try:
            found = item.take(folder)
            yield from added_modules(
                *(store, item.path, found.path),
                label=found.location,
                identity=found.identity,
                code_ids=found.code_ids,
                **options,
            )
        except (GsymError, OSError) as error:
            yield outcome_of(item.path, error)
