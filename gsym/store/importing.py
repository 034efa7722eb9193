"""Import modules from other stores, with a journal to resume from."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from hashlib import sha256

from gsym.containers.recognition import recognise_file
from gsym.errors import GsymError
from gsym.store.adding import add_all
from gsym.store.tree_adding import FileOutcome, in_parallel, outcome_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from typing_extensions import Self

    from gsym.store.directory import Store
    from gsym.store.import_places import ImportItem, ImportPlace


_FOLDER = ".imports"


class ImportJournal:
    """The journal of imports from one place into one store.

    Args:
        store: Folder of the store.
        place: Where the import is from.
    """

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
                with suppress(ValueError, TypeError):  # the last one may be cut off
                    path, mark = json.loads(line)
                    self._done[path] = mark
        self._file = open(self._path, "ab", buffering=0)
        if self._file.tell():
            self._file.write(b"\n")  # behind a line that was cut off
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def is_done(self, path: str, mark: str) -> bool:
        """Whether a file was imported as it is now.

        Args:
            path: Of the file.
            mark: Changes when the file does.
        """
        return self._done.get(path) == mark

    def note(self, path: str, mark: str) -> None:
        """Note that a file is imported."""
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
    """Put the modules of all files of a place into a store.

    What is done is written down in the store, so that the next call goes on where this
    one ends; files that failed are tried again, and so are those that changed.

    Args:
        store: The store.
        place: Where the files are.
        jobs: How many are fetched and converted at a time; by default one per core.
        is_repeated: Take files again that are done.
        options: Keywords of `add_all`.

    Returns:
        What became of each module, as they are done. Files that were done before have
        the outcome "done".

    Raises:
        GsymError: The place cannot be listed, or the store not be used.
        OSError: The store cannot be written to.
    """
    with store.temporary_folder():
        pass  # the store is made before its journal
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
            if recognise_file(found.path) == "":
                yield FileOutcome(item.path, "skipped", "no debug file")
                return
            for result in add_all(
                store,
                found.path,
                label=found.location,
                identity=found.identity,
                source=found.location,
                **options,
            ):
                yield outcome_of(item.path, result)
        except GsymError as error:
            yield outcome_of(item.path, error)
        except OSError as error:
            yield FileOutcome(item.path, "failed", error.strerror or str(error))
