"""All modules of a place go into a store; an import that was broken off goes on."""

from __future__ import annotations

import os

from gsym.errors import GsymError
from gsym.sources.recognition import recognise_file
from gsym.store.adding import add_all
from gsym.store.import_journal import ImportJournal
from gsym.store.parallel_work import in_parallel
from gsym.store.tree_adding import FileOutcome, outcome_of

__all__ = ["import_all"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.directory import Store
    from gsym.store.import_places import ImportItem, ImportPlace


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
