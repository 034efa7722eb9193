"""Run one engine call in several threads while this one stays responsive.

`_thread` instead of `threading`, whose import costs a fifth of a small conversion.
"""

from __future__ import annotations

import _thread
import os

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    Item = TypeVar("Item")

_POLL_SECONDS = 0.1


def core_count() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def taken_from(waiting: list[Item]) -> Iterator[Item]:
    """The items of *waiting*, the last one first, which are removed from it.

    Workers may share the list: each item goes to one of them, also in a Python without
    the GIL, in which a shared iterator may give an item to two.
    """
    try:
        while True:
            yield waiting.pop()
    except IndexError:  # it is empty, or another worker was faster
        return


def run_workers(
    work: Callable[[], None],
    count: int,
    poll: Callable[[], None] | None,
    cancel: Callable[[], None],
) -> None:
    """Call *work* in *count* threads and wait for all of them.

    Args:
        work: Long call that releases the GIL.
        count: Number of threads; with one and nothing to poll, this thread.
        poll: Called now and then by this thread meanwhile.
        cancel: Makes each *work* return soon; called when this thread is
            interrupted or *poll* raises, before that exception is re-raised.

    Raises:
        BaseException: The exception of the first worker that failed.
    """
    if count == 1 and poll is None:
        work()
        return
    failures: list[BaseException] = []
    ended: list[_thread.LockType] = []
    locks: list[_thread.LockType] = []
    try:
        locks.extend(_start(work, failures, ended) for _ in range(count))
        for lock in locks:
            while not lock.acquire(timeout=_POLL_SECONDS):
                if poll is not None:
                    poll()
            lock.release()
    except BaseException:
        cancel()
        for lock in locks:
            # A signal may have come when this thread had just acquired it.
            while lock not in ended:
                lock.acquire(timeout=_POLL_SECONDS)
        raise
    if failures:
        raise failures[0]


def _start(
    work: Callable[[], None],
    failures: list[BaseException],
    ended: list[_thread.LockType],
) -> _thread.LockType:
    """Start a thread; the lock is free, and in *ended*, when it has ended."""
    lock = _thread.allocate_lock()

    def run() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - raised by the waiting thread
            failures.append(error)
        finally:
            ended.append(lock)
            lock.release()

    lock.acquire()
    _thread.start_new_thread(run, ())
    return lock
