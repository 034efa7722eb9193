"""Workers end, and are waited for, whenever the waiting thread is interrupted."""

from __future__ import annotations

import _thread
from typing import Any

import pytest

from gsym.engine import workers


class InterruptedLock:
    """A lock; a signal comes when the waiting thread has just acquired it."""

    def __init__(self) -> None:
        self._lock = _allocate()
        self._is_told = False

    def acquire(self, *, timeout: float = -1) -> bool:
        has_it: bool = self._lock.acquire(timeout=timeout)
        if has_it and timeout > 0 and not self._is_told:
            self._is_told = True
            raise KeyboardInterrupt
        return has_it

    def release(self) -> None:
        self._lock.release()


_allocate: Any = _thread.allocate_lock


def test_an_interrupt_behind_the_last_worker_does_not_wait_forever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_thread, "allocate_lock", InterruptedLock)
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        workers.run_workers(
            lambda: done.append("work"), 2, None, lambda: done.append("cancel")
        )
    assert sorted(done) == ["cancel", "work", "work"]


def test_workers_that_share_a_list_take_each_item_once() -> None:
    waiting = [*range(20_000)]
    taken: list[int] = []

    def work() -> None:
        for item in workers.taken_from(waiting):
            taken.append(item)  # noqa: PERF402 - as they are taken

    workers.run_workers(work, 8, None, waiting.clear)
    assert sorted(taken) == [*range(20_000)]
    assert not waiting


def test_an_emptied_list_ends_its_workers() -> None:
    waiting = [1, 2, 3]
    taken = workers.taken_from(waiting)
    assert next(taken) == 3
    waiting.clear()
    assert list(taken) == []
