"""Modules that are not in the store: fetched beside the event loop, each once.

Requests that want the same module wait for one search. A search that nobody waits for
any more goes on, for the next request will ask again, unless it has not begun.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future
    from typing import Protocol, TypeVar

    from gsym.store.modules import ModuleKey
    from gsym.store.symbolizer import OpenModule, Symbolizer

    Result = TypeVar("Result")

    class WantedModule(Protocol):
        """A module of a request, such as a `ModuleWork`."""

        key: ModuleKey | None
        module: OpenModule | None
        seconds: float


# Modules of one request that are searched for at a time: others want theirs as well.
_MOST_OF_ONE_REQUEST = 8


class _Search:
    """A search, and how many requests wait for it."""

    __slots__ = ("future", "waiting")

    def __init__(self, future: Future[OpenModule]) -> None:
        self.future = future
        self.waiting = 0


class ModuleOpening:
    """Opens modules by threads of its own; used from one event loop."""

    def __init__(self, symbolizer: Symbolizer, threads: int) -> None:
        self._symbolizer = symbolizer
        self._threads = ThreadPoolExecutor(threads, "gsym-fetch")
        self._searches: dict[ModuleKey, _Search] = {}

    async def open_all(self, works: Iterable[WantedModule]) -> None:
        """Open the modules of a request; none fails, some are not found."""
        places = asyncio.Semaphore(_MOST_OF_ONE_REQUEST)

        async def open_one(work: WantedModule, key: ModuleKey) -> None:
            async with places:
                started = asyncio.get_running_loop().time()
                work.module = await self.open(key)
                work.seconds = asyncio.get_running_loop().time() - started

        tasks = [
            asyncio.ensure_future(open_one(work, work.key))
            for work in works
            if work.key is not None
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()

    async def open(self, key: ModuleKey) -> OpenModule:
        """The module, as `Symbolizer.open` gives it."""
        search = self._searches.get(key)
        if search is None:
            future = self._threads.submit(self._symbolizer.open, key)
            search = self._searches[key] = _Search(future)
        search.waiting += 1
        try:
            return await asyncio.shield(asyncio.wrap_future(search.future))
        finally:
            search.waiting -= 1
            if not search.waiting:
                search.future.cancel()  # in vain where it has begun
                if search.future.done():
                    self._searches.pop(key, None)
                else:
                    self._forget_later(key, search)

    def _forget_later(self, key: ModuleKey, search: _Search) -> None:
        loop = asyncio.get_running_loop()

        def forget() -> None:
            if self._searches.get(key) is search and not search.waiting:
                del self._searches[key]

        def on_done(_future: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(forget)

        search.future.add_done_callback(on_done)

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        """What *work* gives, which may open modules itself."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """Begin no search any more.

        Args:
            then: Called by another thread once those that have begun are over.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)
        if then is not None:
            Thread(target=self._end, args=(then,), daemon=True).start()

    def _end(self, then: Callable[[], object]) -> None:
        self._threads.shutdown(wait=True)
        then()
