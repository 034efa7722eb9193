"""Many files go into a store: those in folders and in archives, several at a time."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress

from gsym.errors import EmptyError, GsymError, UnsupportedError
from gsym.sources.dsym import bundle_member
from gsym.sources.recognition import recognise_file
from gsym.store.adding import add_all
from gsym.store.archives import ArchiveLimits, is_archive_file, members

__all__ = ["FileOutcome", "add_tree"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future
    from typing import Any, NamedTuple

    from gsym.store.directory import Store
    from gsym.store.entry import Entry
    from gsym.store.publication import Publication

    class FileOutcome(NamedTuple):
        """What became of a file.

        Attributes:
            path: Where it was found; in an archive, after that of the archive.
            outcome: As of a `Publication`; or "skipped": it is no debug file;
                "failed": it should be one.
            reason: Why it was skipped or failed.
            entry: The module in the store, if it got there.
        """

        path: str
        outcome: str
        reason: str = ""
        entry: Entry | None = None

    class _Found(NamedTuple):
        """A file to add; *place* is held until that is done."""

        path: str
        name: str
        size: int
        place: ExitStack

else:
    from gsym.records import record_type

    FileOutcome = record_type(
        "FileOutcome", "path outcome reason entry", defaults=("", None)
    )
    FileOutcome.__doc__ = "What became of a file."
    _Found = record_type("_Found", "path name size place")

_LIMITS = ArchiveLimits()
_WAITING_PER_JOB = 2
_BUNDLE = ".dSYM"


def add_tree(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    jobs: int | None = None,
    limits: ArchiveLimits = _LIMITS,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Iterator[FileOutcome]:
    """Put all modules into a store that are in some files, folders and archives.

    Of several files of one module the richest one stays. Links to folders are not
    followed, and a file with several names is read once.

    Args:
        store: The store.
        paths: Files, folders with all below them, .zip and .tar archives with all in
            them.
        jobs: How many files are converted at the same time; by default one per core.
        limits: What an archive may hold.
        progress: Called with (bytes done, bytes in all) when a file is done.
        options: Keywords of `add_file`, for each file.

    Returns:
        What became of each file, as they are done.

    Raises:
        OSError: One of *paths* cannot be read, or the store not be written to.
    """
    from concurrent.futures import ThreadPoolExecutor

    files = list(_files([os.fspath(path) for path in paths], store.path))
    total = sum(size for _, size in files)
    count = jobs or len(os.sched_getaffinity(0))
    pool = ThreadPoolExecutor(count, "gsym-add")
    tasks = _Tasks(total, progress)
    try:
        for found in _unpacked(store, files, limits, tasks):
            while len(tasks.waiting) >= count * _WAITING_PER_JOB:
                yield from tasks.finished()
            tasks.waiting[pool.submit(_add, store, found, options)] = found
        while tasks.waiting:
            yield from tasks.finished()
        yield from tasks.told
    finally:
        pool.shutdown(cancel_futures=True)
        for found in tasks.waiting.values():
            found.place.close()


class _Tasks:
    """What is under way, and how far all is.

    Attributes:
        waiting: Tasks that are not done, with the file of each.
        told: What became of files that no task was made for.
    """

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self._total = total
        self._done = 0
        self._progress = progress
        self.waiting: dict[Future[list[FileOutcome]], _Found] = {}
        self.told: list[FileOutcome] = []

    def finished(self) -> Iterator[FileOutcome]:
        """Wait for a task; what became of the files of all that are done."""
        from concurrent.futures import FIRST_COMPLETED, wait

        done, _ = wait(self.waiting, return_when=FIRST_COMPLETED)
        for task in done:
            self.count(self.waiting.pop(task).size)
            yield from task.result()

    def count(self, size: int) -> None:
        self._done += size
        if self._progress is not None:
            self._progress(self._done, self._total)


def _files(paths: Iterable[str], store: str) -> Iterator[tuple[str, int]]:
    """Path and size of each file that is meant; bundles are one file."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.isdir(path) or _is_bundle(path):
            yield path, os.path.getsize(path)
            continue
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(
                name
                for name in folders
                if os.path.join(os.path.abspath(folder), name) != store
            )
            bundles = [name for name in folders if _is_bundle(f"{folder}/{name}")]
            folders[:] = [name for name in folders if name not in bundles]
            for name in (*bundles, *sorted(names)):
                file = os.path.join(folder, name)
                with suppress(OSError):
                    status = os.stat(file)
                    mark = (status.st_dev, status.st_ino)
                    if mark not in seen and (os.path.isfile(file) or name in bundles):
                        seen.add(mark)
                        yield file, status.st_size


def _is_bundle(path: str) -> bool:
    if not path.rstrip(os.sep).endswith(_BUNDLE):
        return False
    try:
        bundle_member(path)
    except (GsymError, OSError):
        return False  # its files are looked at one by one
    return True


def _unpacked(
    store: Store, files: list[tuple[str, int]], limits: ArchiveLimits, tasks: _Tasks
) -> Iterator[_Found]:
    """The files, and in place of archives what is in them."""
    for path, size in files:
        try:
            is_archive = not os.path.isdir(path) and is_archive_file(path)
        except OSError as error:
            tasks.told.append(FileOutcome(path, "failed", error.strerror or str(error)))
            continue
        if is_archive:
            yield from _members(store, path, path, limits, tasks)
            tasks.count(size)
        else:
            yield _Found(path, path, size, ExitStack())


def _members(
    store: Store, path: str, name: str, limits: ArchiveLimits, tasks: _Tasks
) -> Iterator[_Found]:
    try:
        for member in members(path, limits):
            label = f"{name}: {member.name}"
            with ExitStack() as place:
                folder = place.enter_context(store.temporary_folder())
                try:
                    file = member.extract(folder)
                except GsymError as error:
                    tasks.told.append(FileOutcome(label, "failed", error.reason))
                    continue
                if limits.depth > 1 and is_archive_file(file):
                    deeper = limits._replace(depth=limits.depth - 1)
                    yield from _members(store, file, label, deeper, tasks)
                else:
                    yield _Found(file, label, 0, place.pop_all())
    except GsymError as error:
        tasks.told.append(FileOutcome(name, "failed", error.reason))


def _add(store: Store, found: _Found, options: dict[str, Any]) -> list[FileOutcome]:
    """Put the modules of a file into the store."""
    path, name = found.path, found.name
    with found.place:
        try:
            if not os.path.isdir(path) and recognise_file(path) == "":
                return [FileOutcome(name, "skipped", "no debug file")]
            results = add_all(store, path, label=name, **options)
            return [_outcome(name, result) for result in results]
        except GsymError as error:
            return [_outcome(name, error)]
        except OSError as error:
            if error.filename != path:
                raise  # the store is at fault
            return [FileOutcome(name, "failed", error.strerror or str(error))]


def _outcome(name: str, result: Publication | GsymError) -> FileOutcome:
    if isinstance(result, EmptyError):
        return FileOutcome(name, "skipped", "it names no function")
    if isinstance(result, UnsupportedError):
        return FileOutcome(name, "skipped", result.reason)
    if isinstance(result, GsymError):
        return FileOutcome(name, "failed", result.reason)
    return FileOutcome(name, result.outcome, entry=result.entry)
