"""Functions of a Breakpad file on their way from the reader to the creator.

The engine hands them out in batches. To encode one is as much work as to read its text
and needs nothing of the reader, so with a second thread both go on at once. Batches
reach the creator in the order of the text in any case.
"""

from __future__ import annotations

import _thread

from gsym._native import lib, new_error

__all__ = ["EncodingAhead", "EncodingAtOnce"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from queue import SimpleQueue
    from typing import Any

    CData = Any  # a cffi object

_MOST_AHEAD = 4  # batches: more of them only take memory


class EncodingAtOnce:
    """Encodes a batch when it comes.

    Args:
        check: Raises what a status and an error of the engine say.
        keep: Gives an encoded batch to the creator.
    """

    def __init__(
        self, check: Callable[[int, CData], None], keep: Callable[[CData], None]
    ) -> None:
        self._check = check
        self._keep = keep

    def put(self, batch: CData) -> None:
        """Take a batch over."""
        error = new_error()
        self._check(lib.gsym_breakpad_batch_encode(batch, error), error)
        self._keep(batch)

    def finish(self) -> None:
        """Keep what is left."""

    def stop(self) -> None:
        """End, also in the middle of it."""


class EncodingAhead:
    """The same with a thread that encodes while the next text is read.

    All methods are called by one thread, and `stop` at last.
    """

    def __init__(
        self, check: Callable[[int, CData], None], keep: Callable[[CData], None]
    ) -> None:
        from queue import SimpleQueue

        self._check = check
        self._keep = keep
        self._count = 0  # batches that are not kept yet
        self._read: SimpleQueue[CData | None] = SimpleQueue()
        self._encoded: SimpleQueue[tuple[CData, int, CData]] = SimpleQueue()
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        _thread.start_new_thread(self._work, ())

    def put(self, batch: CData) -> None:
        """Take a batch over."""
        self._read.put(batch)
        self._count += 1
        while self._count > _MOST_AHEAD or not self._encoded.empty():
            self._keep_next()

    def finish(self) -> None:
        """Keep what is left."""
        while self._count:
            self._keep_next()

    def stop(self) -> None:
        """End, also in the middle of it; the batches belong to nobody then."""
        self._read.put(None)
        self._ended.acquire()

    def _keep_next(self) -> None:
        batch, status, error = self._encoded.get()
        self._count -= 1
        self._check(status, error)
        self._keep(batch)

    def _work(self) -> None:
        while (batch := self._read.get()) is not None:
            error = new_error()
            status = lib.gsym_breakpad_batch_encode(batch, error)
            self._encoded.put((batch, status, error))
        self._ended.release()
