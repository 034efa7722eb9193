"""Add a folder of debug files to a store."""

from __future__ import annotations

import os
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing

from gsym.arguments import paths_of
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import is_bundle
from gsym.conversion.tree import files_below
from gsym.engine.workers import core_count
from gsym.errors import EmptyError, GsymError, UnsupportedError, reason_of
from gsym.records import NamedTuple
from gsym.store.adding import add_all
from gsym.store.archives import ArchiveLimits, is_archive_file, members

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import TypeVar

    Thing = TypeVar("Thing")
    Result = TypeVar("Result")
    from typing import Any

    from gsym.store.directory import Store
    from gsym.store.entries import Entry
    from gsym.store.publication import Publication


_WAITING_PER_JOB = 2


def in_parallel(
    work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int | None = None
) -> Generator[tuple[Thing, Result]]:
    """Yield (thing, result of *work*) in order of completion, by a thread a core.

    *things* is consumed as work proceeds. An exception of *work* stops everything.
    """
    count = jobs or core_count()
    pool = ThreadPoolExecutor(count, "gsym-work")
    waiting: dict[Future[Result], Thing] = {}

    def finished() -> Iterator[tuple[Thing, Result]]:
        done, _ = wait(waiting, return_when=FIRST_COMPLETED)
        for future in done:
            yield waiting.pop(future), future.result()

    try:
        for thing in things:
            while len(waiting) >= count * _WAITING_PER_JOB:
                yield from finished()
            waiting[pool.submit(work, thing)] = thing
        while waiting:
            yield from finished()
    finally:
        pool.shutdown(cancel_futures=True)


class FileOutcome(NamedTuple):
    """The outcome for a file."""

    path: str  # path of the file; for a member of an archive, that of the archive first
    # as of a `Publication`; or "skipped": it is not a debug file; "failed": it is a
    # debug file with an error
    outcome: str
    reason: str = ""  # why it was skipped or failed; or as `Publication.note`
    entry: Entry | None = None  # the module in the store, if it was added


class _Found(NamedTuple):
    """A file to add; *cleanup* is closed afterwards."""

    path: str
    name: str
    size: int
    cleanup: ExitStack


_LIMITS = ArchiveLimits()


def add_tree(
    store: Store,
    paths: Iterable[str | os.PathLike[str]],
    *,
    jobs: int | None = None,
    limits: ArchiveLimits = _LIMITS,
    progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> Iterator[FileOutcome]:
    """Add all modules in files, folders and archives to a store.

    Of several files of one module, the most complete one is kept. Links to folders are
    not followed, and a file with several names is read once.

    Args:
        store: The store.
        paths: Files, folders (recursively), and .zip and .tar archives.
        jobs: Number of files to convert at a time; by default one per core.
        limits: Limits of an archive.
        progress: Called with (bytes done, total bytes) after each file.
        options: Keywords of `add_file`, for each file.

    Returns:
        The outcome for each file, in order of completion.

    Raises:
        OSError: One of *paths* cannot be read, or the store cannot be written.
    """
    seen: set[tuple[int, int]] = set()
    files: list[tuple[str, int]] = []
    for path in paths_of("paths", paths):
        if os.path.isdir(path) and not is_bundle(path):  # a bundle is one file
            files += files_below(path, store.path, seen)
        else:
            files.append((path, os.path.getsize(path)))
    total, counted = sum(size for _, size in files), 0
    # Outcomes of files and archives that could not be read.
    failures: list[FileOutcome] = []
    cleanups: set[ExitStack] = set()

    def count(size: int) -> None:
        nonlocal counted
        counted += size
        if progress is not None:
            progress(counted, total)

    def found() -> Iterator[_Found]:
        for each in _unpacked(store, files, limits, failures, count):
            cleanups.add(each.cleanup)
            yield each

    def work(each: _Found) -> list[FileOutcome]:
        return _add(store, each, options)

    try:
        with closing(in_parallel(work, found(), jobs)) as added:
            for each, outcomes in added:
                cleanups.discard(each.cleanup)
                count(each.size)
                yield from outcomes
        yield from failures
    finally:
        for cleanup in cleanups:
            cleanup.close()


def outcome_of(name: str, result: Publication | GsymError | OSError) -> FileOutcome:
    """The outcome for the file *name*, from a result or error."""
    if isinstance(result, EmptyError):
        return FileOutcome(name, "skipped", "it contains no function")
    if isinstance(result, UnsupportedError):
        return FileOutcome(name, "skipped", result.reason)
    if isinstance(result, (GsymError, OSError)):
        return FileOutcome(name, "failed", reason_of(result))
    return FileOutcome(name, result.outcome, result.note, result.entry)


def added_modules(
    store: Store, name: str, path: str, **options: Any
) -> Iterator[FileOutcome]:
    """Add the modules of a file to a store; yields the outcome for each."""
    if not os.path.isdir(path) and recognise_file(path) == "":
        yield FileOutcome(name, "skipped", "not a debug file")
        return
    for result in add_all(store, path, **options):
        yield outcome_of(name, result)


def _unpacked(
    store: Store,
    files: list[tuple[str, int]],
    limits: ArchiveLimits,
    failures: list[FileOutcome],
    count: Callable[[int], None],
) -> Iterator[_Found]:
    """The files, with archives replaced by their members."""
    for path, size in files:
        try:
            is_archive = not os.path.isdir(path) and is_archive_file(path)
        except OSError as error:
            failures.append(outcome_of(path, error))
            continue
        if is_archive:
            yield from _members(store, path, path, limits, failures)
            count(size)
        else:
            yield _Found(path, path, size, ExitStack())


def _members(
    store: Store,
    path: str,
    name: str,
    limits: ArchiveLimits,
    failures: list[FileOutcome],
) -> Iterator[_Found]:
    try:
        for member in members(path, limits):
            label = f"{name}: {member.name}"
            with ExitStack() as cleanup:
                folder = cleanup.enter_context(store.temporary_folder())
                try:
                    file = member.extract(folder)
                except GsymError as error:
                    failures.append(FileOutcome(label, "failed", error.reason))
                    continue
                if limits.depth > 1 and is_archive_file(file):
                    deeper = limits._replace(depth=limits.depth - 1)
                    yield from _members(store, file, label, deeper, failures)
                else:
                    yield _Found(file, label, 0, cleanup.pop_all())
    except GsymError as error:
        failures.append(FileOutcome(name, "failed", error.reason))


def _add(store: Store, found: _Found, options: dict[str, Any]) -> list[FileOutcome]:
    path, name = found.path, found.name
    with found.cleanup:
        try:
            return list(added_modules(store, name, path, label=name, **options))
        except GsymError as error:
            return [outcome_of(name, error)]
        except OSError as error:
            if error.filename != path:
                raise  # an error of the store
            return [outcome_of(name, error)]
