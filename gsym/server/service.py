"""What all endpoints of a worker share: settings, modules, threads, figures.

The event loop reads requests and sends answers. What computes runs in a few threads of
its own, and what waits for other servers in others, so that a source that stalls delays
nothing but what it is asked for.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from gsym.server.metrics import Metrics
from gsym.server.opening import ModuleOpening
from gsym.server.room import Room
from gsym.symbolication.answer_texts import AnswerTexts
from gsym.symbolication.module_memory import ModuleMemory
from gsym.symbolication.path_map import PathMap, read_rule
from gsym.symbolication.request import RequestLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from gsym.server.settings import Settings
    from gsym.store.symbolizer import Symbolizer

    Result = TypeVar("Result")


class Service:
    """What endpoints need.

    Args:
        settings: Checked.
        symbolizer: Has the modules.
        metrics: Figures that go on; by default new ones.

    Raises:
        ValueError: A rule for paths has another form.
    """

    def __init__(
        self,
        settings: Settings,
        symbolizer: Symbolizer,
        metrics: Metrics | None = None,
    ) -> None:
        self.settings = settings
        self.symbolizer = symbolizer
        self.request_limits = RequestLimits(
            settings.limits.max_jobs,
            settings.limits.max_frames,
            settings.limits.max_modules,
            settings.wide_names,
        )
        path_map = PathMap(
            [read_rule(rule) for rule in settings.path_map],
            [read_rule(rule, has_place=True) for rule in settings.source_map],
        )
        self.path_map = path_map or None
        self.memory = ModuleMemory(settings.limits.cache_memory)
        self.texts = AnswerTexts(self.path_map, self.memory)
        self.body_room = Room(settings.limits.max_held_bodies)
        self.answer_room = Room(settings.limits.max_held_answers)
        self.metrics = metrics or Metrics()
        self.metrics.watch(symbolizer)
        self.opening = ModuleOpening(symbolizer, settings.limits.fetch_threads)
        self.facts: dict[str, object] = {}  # for `/__version__`
        self._threads = ThreadPoolExecutor(settings.threads, "gsym-answer")

    async def run(self, work: Callable[..., Result], *arguments: object) -> Result:
        """What *work* gives, done by a thread beside the event loop."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, work, *arguments)

    def close(self, then: Callable[[], object] | None = None) -> None:
        """Let the threads end once they have done what they are at.

        Args:
            then: Called by another thread once nothing is fetched any more.
        """
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.opening.close(then)
