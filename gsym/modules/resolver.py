"""Finds modules in a store, else gets them from sources."""

from __future__ import annotations

import logging
import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial

from gsym import errors
from gsym.arguments import instance_of, integer_of, items_of
from gsym.cache import BoundedCache, FileStamp, stamp_at
from gsym.engine.workers import core_count
from gsym.model import BEST_LEVEL
from gsym.modules.key import Attempt, ModuleKey, has_id
from gsym.net.circuit_breaker import CircuitBreaker
from gsym.store.adding import add_file, opened_store
from gsym.store.entries import Entry, Resolution, resolved
from gsym.store.loose_files import LooseFiles
from gsym.store.sources.local_trees import LocalTree
from gsym.store.sources.negative_cache import Answer, Miss, MissLifetimes, NegativeCache
from gsym.store.sources.source import FoundFile, SourceList, stored_binaries
from gsym.store.sources.web_server import FetchedFiles
from gsym.writing.atomic_file import FULL_DISK

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Hashable, Iterator, Sequence
    from typing import Any, TypeAlias, TypeVar

    from gsym.store.directory import Store
    from gsym.store.publication import Publication
    from gsym.store.sources.source import Source

    T = TypeVar("T")

    # Converts and publishes a file: `add_file`, or a confined variant of it.
    Adder: TypeAlias = Callable[..., Publication]


class SingleFlight:
    """Shares the results of concurrent work on the same subject."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._flights: dict[Hashable, Future[Any]] = {}

    def run(self, subject: Hashable, work: Callable[[], T]) -> T:
        """The result of *work*, which only the first of concurrent callers runs."""
        mine: Future[Any] = Future()
        with self._lock:
            flight = self._flights.setdefault(subject, mine)
        if flight is not mine:
            result: T = flight.result()
            return result
        try:
            result = work()
            mine.set_result(result)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._flights[subject]
        return result


_LOG = logging.getLogger("gsym.store")
_LOG.addHandler(logging.NullHandler())  # for servers; commands print the reason
_MISSES = ".misses"
_OF_CODE = {"", "executable"}  # kinds of `binaries` that need code
_ENOUGH = 2  # stored files, for no more to be fetched
# File names in layouts that use the build id.
_NAMELESS = {"gsym", "debuginfo", "executable", "_"}
_MAX_TRIED = 16384  # modules whose news were tried
_MAX_COMPARED = 400  # characters of a path in the detail of an attempt


class Resolver:
    """Finds modules in the store, else in sources, which are tried in order.

    Safe for concurrent threads and processes.

    Args:
        store: The store, or its folder, to which modules that are found are added.
        sources: Sources, in order.
        misses: The negative cache; by default that of the store.
        breaker: Availability of the sources.
        add: Adds a file to the store.
        conversions: Number of conversions at a time; by default one per core.
        longest_wait: Seconds to wait for another process that fetches the same module,
            which may have been stopped.
        probe: Runs a probe of a source that does not answer, which may take long; by
            default the request that is due waits for it.
    """

    def __init__(  # noqa: PLR0913 - independent keywords
        self,
        store: Store | str | os.PathLike[str],
        sources: Sequence[Source] = (),
        *,
        misses: NegativeCache | None = None,
        breaker: CircuitBreaker | None = None,
        add: Adder = add_file,
        conversions: int | None = None,
        longest_wait: float = 600,
        probe: Callable[[Callable[[], object]], object] | None = None,
    ) -> None:
        self.store: Store = opened_store(store)
        self.sources: list[Source] = [
            part
            for each in items_of("sources", sources, "sources")
            for part in (each.parts if isinstance(each, SourceList) else (each,))
        ]
        self.misses: NegativeCache = misses or negative_cache_of(self.store)
        self.breaker: CircuitBreaker = breaker or CircuitBreaker()
        self._add = add
        self._conversions = threading.BoundedSemaphore(
            core_count()
            if conversions is None
            else integer_of("conversions", conversions, 1)
        )
        self._longest_wait = longest_wait
        self._probe = probe
        self._flights = SingleFlight()
        self._folders = [
            each for each in self.sources if isinstance(each, (LocalTree, LooseFiles))
        ]
        # By the path of the module's file, which is another after each replacement.
        self._tried: BoundedCache[str, frozenset[tuple[str, FileStamp]]]
        self._tried = BoundedCache(_MAX_TRIED)

    def resolve(self, key: ModuleKey) -> Resolution:
        """Find a module, fetching and converting it if necessary.

        Errors of sources and of the store are reported in the result.
        """
        instance_of("key", key, ModuleKey)
        try:
            entry, damage = self._stored(key)
        except (errors.GsymError, OSError) as error:
            return self._store_failure(error)
        if entry is not None:
            if self._news_of(entry):
                improve = partial(self._improve, key, entry)
                return self._flights.run((key, "better"), improve)
            return resolved(key, entry, is_cached=True)
        if not has_id(key):
            return Resolution(None)
        found = self._flights.run(key, partial(self._search, key))
        if found.entry is not None:
            return found
        return found._replace(attempts=damage + found.attempts)

    def may_improve(self, entry: Entry) -> bool:
        """Whether `resolve` would look for a better file of a stored module."""
        return bool(self._news_of(instance_of("entry", entry, Entry)))

    def local_files(self, key: ModuleKey) -> Iterator[str]:
        """All files of a module in folders that are sources.

        Raises:
            AmbiguousModuleError: A folder has several modules that fit.
        """
        for source in self._folders:
            with suppress(errors.SourceError):
                yield from source.find_all(key)

    def binaries(
        self,
        key: ModuleKey,
        kind: str = "",
        *,
        fetches: bool = True,
        keeps: bool = True,
    ) -> Iterator[FoundFile]:
        """The files of a module that may have its code and call frame information.

        Stored ones come first, then those in folders, then, one at a time, those in
        packages and of other sources. A file may be of another module.

        Args:
            key: The module.
            kind: "executable", "debuginfo" or "image" for the files that may be one;
                "" for all that may have code.
            fetches: Whether to ask other sources than folders.
            keeps: Whether to keep what is fetched or unpacked in the store; else the
                files are removed at the end of the search.

        Raises:
            AmbiguousModuleError: A folder has several modules that fit, and the file
                that was wanted is not in another place.
        """
        if not has_id(instance_of("key", key, ModuleKey)):
            return
        entry = None
        with suppress(errors.GsymError, OSError):
            entry = self.store.get(key)
        stored = stored_binaries(entry, kind)
        yield from stored
        ambiguity = None
        try:
            for path in self.local_files(key):
                yield FoundFile(path, path)
        except errors.AmbiguousModuleError as error:
            ambiguity = error
        if not keeps or len(stored) < _ENOUGH:
            if keeps:
                self.resolve(key)  # or what has only code would be all that is stored
            with self.store.temporary_folder() as folder:
                known = {} if entry is None else entry.originals
                for found in self._elsewhere(key, kind, known, folder, fetches=fetches):
                    yield from self._kept(key, found) if keeps else (found,)
        if ambiguity is not None:
            raise ambiguity

    def _elsewhere(
        self,
        key: ModuleKey,
        kind: str,
        kept: Container[str],
        folder: str,
        *,
        fetches: bool,
    ) -> Iterator[FoundFile]:
        """The binaries of a module in packages and in sources that are no folders.

        Those of *kept* kinds are left out. A source that lacks them is not asked again
        for a while.
        """
        is_of_code = kind in _OF_CODE
        miss = self.misses.find(key, of_code=is_of_code)
        known = self._known(miss, key) if fetches else {}
        for number, source in enumerate(self.sources):
            name, is_folder = source.name, source in self._folders
            is_due = fetches and name not in known and self.breaker.is_asked(name)
            if not (is_folder or is_due):
                continue
            place = os.path.join(folder, str(number))
            os.mkdir(place)
            answer = Attempt(name, "missing")
            try:
                if not is_folder and not is_of_code:
                    yield source.find(key, place)
                elif isinstance(source, FetchedFiles):
                    but = {"debuginfo"} if kind else kept
                    yield from source.find_binaries(key, place, but)
                elif isinstance(source, LooseFiles) and source.packages is not None:
                    yield from source.packages.unpacked(key, kind, place)
            except (errors.AmbiguousModuleError, errors.NotFoundError):
                pass
            except errors.SourceError as error:
                answer = Attempt(name, "failed", error.reason)
            if not is_folder:
                known[name] = answer, self.misses.now()
        if known and not kind:
            attempts, times = zip(*known.values(), strict=True)
            self.misses.remember(key, attempts, times, of_code=True)

    def _kept(self, key: ModuleKey, found: FoundFile) -> Iterator[FoundFile]:
        """The places in the store of a fetched file, which is kept with its module.

        One that the store cannot keep, such as one without functions, stays where it is
        until the end of the search.
        """
        try:
            entry = self._publish(key, found, keep_original=True)
        except (errors.GsymError, OSError, MemoryError):
            yield found
        else:
            yield from stored_binaries(entry)

    def _publish(self, key: ModuleKey, found: FoundFile, **options: Any) -> Entry:
        with self._conversions:
            publication = self._add(
                self.store,
                found.path,
                key=key,
                identity=_identity(key, found),
                source=found.location,
                **options,
            )
        return publication.entry

    def source_file(self, key: ModuleKey, path: str) -> bytes | None:
        """A source file of a module, from a server that has it; None if none has."""
        for source in self.sources:
            if not isinstance(source, FetchedFiles):
                continue
            if not self.breaker.is_asked(source.name):
                continue
            with (
                self.store.temporary_folder() as folder,
                suppress(errors.NotFoundError, errors.SourceError),
                open(source.find_source(key, path, folder), "rb") as file,
            ):
                return file.read()
        return None

    @property
    def loose_folders(self) -> list[LooseFiles]:
        """The folders among the sources whose files may have any names."""
        return [each for each in self._folders if isinstance(each, LooseFiles)]

    def _news_of(self, entry: Entry) -> frozenset[tuple[str, FileStamp]]:
        """Files of folders that have appeared or changed since a module was made.

        Only of a poor module, without inlined calls or with companion files missing,
        and each state of the folders once.
        """
        news: set[tuple[str, FileStamp]] = set()
        if entry.quality.level >= BEST_LEVEL and not entry.missing:
            return frozenset()
        for source in self._folders:
            with suppress(errors.AmbiguousModuleError, errors.SourceError):
                path = source.best(entry.identity)
                stamp = stamp_at(path)
                # The source of a file in a package begins with that package.
                is_source = entry.source.startswith(path)
                if stamp and (not is_source or stamp.modified > entry.added * 1e9):
                    news.add((path, stamp))
        for path in entry.wanted:
            if stamp := stamp_at(path):
                news.add((path, stamp))
        found = frozenset(news)
        return frozenset() if found == self._tried.get(entry.path) else found

    def _improve(self, asked: ModuleKey, entry: Entry) -> Resolution:
        """Replace a poor module by a better one of the folders, if they have one."""
        key, attempts = entry.identity, []
        news = self._news_of(entry)
        try:
            with self.store.lock(key, self._longest_wait):
                current = self.store.get(key)  # perhaps replaced while waiting
                if current is not None and current.path != entry.path:
                    return resolved(asked, current, is_cached=True)
                for source in self._folders:
                    attempt, found = self._ask(source, key, is_probe=False)
                    attempts.append(attempt)
                    entry = found or entry
        except (errors.GsymError, OSError) as error:
            _LOG.error(
                "the store %s: %s", self.store.path, _local_failure(error).detail
            )
        self._tried.keep(entry.path, news)
        return resolved(asked, entry, tuple(attempts))

    def _stored(self, key: ModuleKey) -> tuple[Entry | None, tuple[Attempt, ...]]:
        """The module in the store, or the error if it is damaged.

        A damaged module counts as missing, so that a fetched one replaces it.
        """
        try:
            opened = self.store.open(key)
        except (errors.FormatError, FileNotFoundError) as error:
            return None, (_local_failure(error),)
        if opened is None:
            return None, ()
        entry, reader = opened
        reader.close()
        return entry, ()

    def _search(self, key: ModuleKey) -> Resolution:
        """Search for a module that was not in the store."""
        known = self._known(self.misses.find(key), key)
        probed = {each for each in known if self._is_probe(key, known[each][0])}
        if self.sources and not probed and len(known) == len(self.sources):
            self.misses.count(key)
            return Resolution(None, self._in_order(known), is_cached=True)
        if not self.sources:
            self.misses.remember(key, ())
            return Resolution(None)
        try:
            with self.store.lock(key, self._longest_wait):
                entry, _ = self._stored(key)  # perhaps added while waiting for the lock
                if entry is not None:
                    return resolved(key, entry, is_cached=True)
                return self._ask_all(key, probed)
        except (errors.GsymError, OSError) as error:
            return self._store_failure(error)

    def _store_failure(self, error: Exception) -> Resolution:
        attempt = _local_failure(error)
        if not isinstance(error, errors.AmbiguousModuleError):
            _LOG.error("the store %s: %s", self.store.path, attempt.detail)
        return Resolution(None, (attempt,))

    def _ask_all(self, key: ModuleKey, probed: set[str]) -> Resolution:
        miss = self.misses.find(key)
        known = self._known(miss, key)
        found: dict[str, tuple[Attempt, float]] = {}
        for source in self.sources:
            name = source.name
            if name in known and name not in probed:
                found[name] = known[name]
                continue
            attempt, entry = self._ask(source, key, is_probe=name in probed)
            found[name] = attempt, self.misses.now()
            if entry is not None:
                before = () if miss is None else miss.attempts
                if (name, "refused") in [each[:2] for each in before]:
                    self.breaker.repaired(name)
                self.misses.forget(key)
                return resolved(key, entry, self._in_order(found))
        attempts, times = zip(*found.values(), strict=True)
        self.misses.remember(key, attempts, times)
        return Resolution(None, attempts)

    def _known(
        self, miss: Miss | None, key: ModuleKey
    ) -> dict[str, tuple[Attempt, float]]:
        """The answers in the negative cache that have not expired, by source.

        Folders are asked again, as that is fast.
        """
        if miss is None:
            return {}
        changed = {
            attempt.source
            for attempt, when, _ in miss.answers
            if self._has_other(attempt, when, key)
        }
        names = {source.name for source in self.sources} - changed
        return {
            answer.attempt.source: answer[:2]
            for answer in miss.answers
            if answer.attempt.source in names and self._counts(answer)
        }

    def _has_other(self, attempt: Attempt, when: float, key: ModuleKey) -> bool:
        """Whether a folder has another file of a module than when it was asked."""
        for source in self._folders:
            if source.name == attempt.source:
                with suppress(errors.AmbiguousModuleError, errors.SourceError, OSError):
                    best = source.best(key)
                    if attempt.outcome == "refused" and best:
                        is_same = attempt.detail.startswith(best[:_MAX_COMPARED])
                        return not is_same or os.path.getmtime(best) > when
                    return attempt.outcome == "missing" and bool(best)
        return False

    def _counts(self, answer: Answer) -> bool:
        attempt, when, _ = answer
        if not self.misses.counts(answer):
            return False
        # When a source answers again, modules that it failed to deliver are requested
        # again; when it replaces a bad file, all modules with bad files.
        if attempt.outcome == "refused":
            return not self.breaker.state(attempt.source).repaired > when
        has_recovered = self.breaker.state(attempt.source).answered > when
        return attempt.outcome != "failed" or not has_recovered

    def _is_probe(self, key: ModuleKey, attempt: Attempt) -> bool:
        """Whether this request asks a source again that failed to deliver a module."""
        name = attempt.source
        if attempt.outcome != "failed" or not self.breaker.claims_probe(name):
            return False
        if self._probe is None:
            return True
        for source in self.sources:
            if source.name == name:
                self._probe(partial(self._ask_alone, source, key))
        return False

    def _ask_alone(self, source: Source, key: ModuleKey) -> None:
        """Ask a source while no request waits for it."""
        try:
            _, entry = self._ask(source, key, is_probe=True)
        except OSError as error:
            self._store_failure(error)
            return
        if entry is not None:
            self.misses.forget(key)

    def _in_order(self, found: dict[str, tuple[Attempt, float]]) -> tuple[Attempt, ...]:
        names = [source.name for source in self.sources]
        return tuple(found[name][0] for name in names if name in found)

    def _ask(
        self, source: Source, key: ModuleKey, *, is_probe: bool
    ) -> tuple[Attempt, Entry | None]:
        """The answer of a source, and the module if it has it.

        Raises:
            OSError: The store cannot be written.
        """
        name, started = source.name, time.monotonic()
        if not is_probe and self.breaker.state(name).is_out:
            skipped = Attempt(name, "failed", "skipped: the source is not answering")
            if not self._is_probe(key, skipped):
                return skipped, None

        def attempt(outcome: str, detail: str, size: int = 0) -> Attempt:
            return Attempt(name, outcome, detail, time.monotonic() - started, size)

        with self.store.temporary_folder() as folder:
            try:
                found = source.find(key, folder)
            except errors.NotFoundError as error:
                self._answered(name)
                return attempt("missing", str(error)), None
            except errors.AmbiguousModuleError as error:
                self._answered(name)
                return attempt("refused", error.reason), None
            except errors.SourceError as error:
                failed = attempt("failed", str(error))
                if source not in self._folders:  # which may still be being read
                    self._failed(failed)
                return failed, None
            except Exception as error:  # one source must not stop the others
                if _is_full(error):
                    raise
                failed = attempt("failed", f"{type(error).__name__}: {error}")
                self._failed(failed)
                return failed, None
            self._answered(name)
            stamp = stamp_at(found.path) if found.is_copy else None
            size = 0 if stamp is None else stamp.size  # that was fetched
            outcome, detail, entry = self._keep(key, found)
            return attempt(outcome, detail, size), entry

    def _answered(self, name: str) -> None:
        if self.breaker.answered(name):
            _LOG.warning("the source %s answers again", name)

    def _failed(self, attempt: Attempt) -> None:
        if self.breaker.failed(attempt.source, attempt.seconds):
            text = "the source %s does not answer, and is only probed: %s"
            _LOG.warning(text, attempt.source, attempt.detail)

    def _keep(self, key: ModuleKey, found: FoundFile) -> tuple[str, str, Entry | None]:
        """Convert and publish a file, if it contains the module."""
        try:
            entry = self._publish(key, found)
        except errors.GsymError as error:
            return "refused", f"{found.location}: {error.reason}", None
        except (OSError, MemoryError) as error:
            if _is_full(error):
                raise
            return "failed", f"{found.location}: {errors.reason_of(error)}", None
        return "found", found.location, entry


def negative_cache_of(
    store: Store, lifetimes: MissLifetimes | None = None
) -> NegativeCache:
    """The negative cache of a store; *lifetimes* apply to this process."""
    return NegativeCache(os.path.join(store.path, _MISSES), lifetimes=lifetimes)


def _identity(key: ModuleKey, found: FoundFile) -> ModuleKey:
    """The identity of a file that its contents lack.

    A file requested by build id may have a meaningless name; then the build id is used
    as its name.
    """
    stem = os.path.splitext(os.path.basename(found.path))[0].lower()
    build_id = key.code_id.lower()
    is_named = key.debug_file or key.code_file or found.identity.debug_file
    if is_named or not (stem in _NAMELESS or build_id.endswith(stem)):
        return found.identity
    return found.identity._replace(debug_file=build_id)


def _local_failure(error: Exception) -> Attempt:
    reason = (
        str(error) if isinstance(error, errors.GsymError) else errors.reason_of(error)
    )
    if isinstance(error, errors.AmbiguousModuleError):
        return Attempt("store", "refused", reason)
    if _is_full(error):
        reason = f"cannot be written: {reason}"
    return Attempt("store", "failed", reason)


def _is_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in FULL_DISK
