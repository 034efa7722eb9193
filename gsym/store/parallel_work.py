"""Work on many things, some at a time, none of them waited for in order."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from gsym.workers import core_count

__all__ = ["in_parallel"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from typing import TypeVar

    Thing = TypeVar("Thing")
    Result = TypeVar("Result")

_WAITING_PER_JOB = 2


def in_parallel(
    work: Callable[[Thing], Result], things: Iterable[Thing], jobs: int | None = None
) -> Generator[tuple[Thing, Result]]:
    """(thing, what *work* gives for it) of each, as they are done.

    Things are taken from *things* only as work goes on. What *work* raises ends all.

    Args:
        work: Called by threads.
        things: What to work on.
        jobs: How many at a time; by default one per core.
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
