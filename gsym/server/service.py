"""The state that all endpoints of a worker share: settings, modules, threads, metrics.

The event loop reads requests and sends answers. Computation runs in a few threads,
longer work in others, and requests to other servers in others again: a stalled source
delays only requests that need it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Thread
from typing import Any, Protocol, TypeVar

from prometheus_client import Gauge

from gsym.api.answer_texts import AnswerTexts, CacheBudget
from gsym.api.request import RequestLimits
from gsym.arguments import rule_of
from gsym.confined.process import FORKS
from gsym.modules.key import Attempt, ModuleKey
from gsym.modules.open_module import OpenModule
from gsym.modules.places import Folder
from gsym.modules.symbolizer import Symbolizer
from gsym.reports.path_map import PathMap
from gsym.server.admission import Origins
from gsym.server.bodies import ByteBudget
from gsym.server.mapped_files import MappedFiles
from gsym.server.monitoring import Metrics
from gsym.server.settings import Settings
from gsym.server.tokens import Tokens

Result = TypeVar("Result")

# Modules that are opened at a time for one request, so that others get their share.
_MAX_PER_REQUEST = 8
_LATE = Attempt("sources", "failed", "still searched or fetched: ask again later")
_PATIENCE = 5.0  # seconds that a request waits for the first scan of a folder


class WantedModule(Protocol):
    """A module of a request, such as a `ModuleWork`."""

    key: ModuleKey | None
    module: OpenModule | None
    seconds: float


class Wanted:
    """A module that a request needs; a `WantedModule`."""

    def __init__(self, key: ModuleKey) -> None:
        self.key: ModuleKey | None = key
        self.module: OpenModule | None = None
        self.seconds: float = 0.0


class OpenedModules(dict[Any, OpenModule]):
    """The modules of a request that were opened in time, by what names them."""

    def find(self, name: object) -> OpenModule:
        """A module, without a reader if it is not there."""
        return self.get(name) or OpenModule(None, None)

    open = find


class _Search:
    """A search, and the number of requests that wait for it."""

    __slots__ = ("future", "waiting")

    def __init__(self, future: Future[OpenModule]) -> None:
        self.future = future
        self.waiting = 0


class ModuleOpening:
    """Opens modules in threads of its own; used from one event loop."""

    def __init__(
        self, symbolizer: Symbolizer, threads: int, gauge: Gauge, wait: float
    ) -> None:
        self._gauge = gauge
        self._wait = wait
        self._symbolizer = symbolizer
        self._threads = ThreadPoolExecutor(threads, "gsym-fetch")
        self._local = ThreadPoolExecutor(threads, "gsym-work")
        self._searches: dict[ModuleKey, _Search] = {}

    async def open_all(self, works: Iterable[WantedModule]) -> bool:
        """Open the modules of a request; a missing module is not an error.

        Nor is one that takes too long, whose search continues.

        Returns:
            Whether no search continues.
        """
        slots = asyncio.Semaphore(_MAX_PER_REQUEST)

        async def open_one(work: WantedModule, key: ModuleKey) -> None:
            async with slots:
                started = asyncio.get_running_loop().time()
                work.module = await self.open(key)
                work.seconds = asyncio.get_running_loop().time() - started

        tasks = {
            asyncio.ensure_future(open_one(work, work.key)): work
            for work in works
            if work.key is not None
        }
        if not tasks:
            return True
        try:
            done, late = await asyncio.wait(tasks, timeout=self._wait)
            for task in done:
                task.result()
            for task in late:
                tasks[task].module = OpenModule(None, None, (_LATE,))
                tasks[task].seconds = self._wait
            return not late
        finally:
            for task in tasks:
                task.cancel()

    async def open(self, key: ModuleKey) -> OpenModule:
        """The module, as returned by `Symbolizer.open`."""
        # What is stored waits for no search.
        if (stored := await self.run(self._symbolizer.find, key)) is not None:
            return stored
        search = self._searches.get(key) or self._begin(key)
        search.waiting += 1
        try:
            return await asyncio.shield(asyncio.wrap_future(search.future))
        finally:
            search.waiting -= 1
            if not search.waiting:
                search.future.cancel()  # no effect if it has started
                self._forget(key, search)

    def _begin(self, key: ModuleKey) -> _Search:
        loop = asyncio.get_running_loop()
        search = _Search(self._threads.submit(self._symbolizer.open, key))
        self._searches[key] = search
        self._gauge.inc()

        def on_done(_future: object) -> None:
            self._gauge.dec()
            # A request that still waits forgets it itself.
            if not search.waiting and not loop.is_closed():
                loop.call_soon_threadsafe(self._forget, key, search)

        search.future.add_done_callback(on_done)
        return search

    def _forget(self, key: ModuleKey, search: _Search) -> None:
        """Forget a search that is done and that no request waits for."""
        is_over = search.future.done() and not search.waiting
        if is_over and self._searches.get(key) is search:
            del self._searches[key]

    async def run(
        self, work: Callable[..., Result], *arguments: object, fetches: bool = False
    ) -> Result:
        """Run *work* in a thread; if it *fetches*, in one of the searches."""
        pool = self._threads if fetches else self._local
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(pool, work, *arguments)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """Start no further searches.

        Args:
            then: Called in another thread when all running searches have ended.
        """
        pools = self._threads, self._local
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
        if then is None:
            return

        def end() -> None:
            for pool in pools:
                pool.shutdown(wait=True)
            then()

        Thread(target=end, daemon=True).start()


class Service:
    """Shared state of the endpoints.

    Attributes:
        notes: Lines of the greeting of a server, of its mounted applications.
        on_close: Functions of these applications, called at the end.
        facts: For `/__version__`.

    Raises:
        ValueError: A path rule is invalid.
    """

    def __init__(
        self,
        settings: Settings,
        symbolizer: Symbolizer,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.symbolizer = symbolizer
        self.request_limits: RequestLimits = RequestLimits(
            settings.limits.max_jobs,
            settings.limits.max_frames,
            settings.limits.max_modules,
            settings.wide_names,
        )
        path_map = PathMap(
            [rule_of("setting 'path_map'", each) for each in settings.path_map],
            [rule_of("setting 'source_map'", each) for each in settings.source_map],
        )
        self.path_map: PathMap | None = path_map or None
        self.tokens: Tokens = Tokens(settings.token_files)
        self.origins: Origins = Origins(settings.allowed_origins)
        self.files: MappedFiles = MappedFiles(symbolizer)
        self.binary_folders: list[Folder] = [
            Folder(each, patience=_PATIENCE) for each in settings.binary_dirs
        ]
        self.memory: CacheBudget = CacheBudget(settings.limits.cache_memory)
        self.texts: AnswerTexts = AnswerTexts(self.path_map, self.memory)
        self.body_budget: ByteBudget = ByteBudget(settings.limits.max_held_bodies)
        self.answer_budget: ByteBudget = ByteBudget(settings.limits.max_held_answers)
        self.metrics: Metrics = metrics or Metrics()
        self.metrics.symbolizer = symbolizer
        self.opening: ModuleOpening = ModuleOpening(
            symbolizer,
            settings.limits.fetch_threads,
            self.metrics["gsym_modules_opening"],
            settings.limits.source_wait,
        )
        FORKS.show = self.metrics["gsym_converters"].set
        self.is_store_over = False
        self.notes: list[str] = []
        self.on_close: list[Callable[[], object]] = []
        self.facts: dict[str, list[str]] = {}
        self._threads = ThreadPoolExecutor(settings.threads, "gsym-answer")

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        """Run *work* in a thread outside the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """End the threads when they have finished their current work.

        Args:
            then: Called in another thread when no module is being fetched any more.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.opening.close(then)
        for each in self.on_close:
            each()
