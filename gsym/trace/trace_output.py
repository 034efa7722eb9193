"""The file that a tracer writes: records of one process, in blocks.

Each block holds whole records and is appended by one call: a trace that is cut off can
be read up to there, and several processes can write one file. Records are held until
there are many, or for a second: what a program that is killed has not told is little.
"""

from __future__ import annotations

import os
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_RECORDS = 4096
_MOST_LARGE_SIZE = 1 << 20  # bytes of large records that are held
_LARGE = 512  # bytes
_HELD_FOR = 1_000_000_000  # nanoseconds


class TraceOutput:
    """Records on their way to a file that is open for appending.

    Args:
        descriptor: Of the file.
        fail: Is told of records that could not be written: how many, and why.

    Attributes:
        records: What is held; `append` may be called by many threads at once.
        due: When it has to be written, by the clock of the events.
        lock: Guards what has to be in the order of the file.
        section: What each block begins with.
    """

    def __init__(self, descriptor: int, fail: Callable[[int, str], None]) -> None:
        self.records: list[bytes] = []
        self.append = self.records.append
        self.due = 0
        self.lock = RLock()
        self.section = b""
        self._descriptor = descriptor
        self._fail = fail
        self._is_writing = False
        self._end = ""  # why nothing is written any more
        self._large_size = 0

    def put(self, record: bytes) -> None:
        """Append a record of any size."""
        self.append(record)
        if len(record) > _LARGE:
            self._large_size += len(record)
            if self._large_size > _MOST_LARGE_SIZE:
                self.flush()

    def flush(self, now: int = 0) -> None:
        """Write what is held.

        Args:
            now: The time of the clock of the events, if a second begins.
        """
        with self.lock:
            # A signal handler, or what the collector of garbage runs, gets here while
            # this very thread writes: what it appended has to stay behind that.
            if self._is_writing:
                return
            self._is_writing = True
            try:
                self._write_held()
            finally:
                self._is_writing = False
            if now and not self._end:
                self.due = now + _HELD_FOR

    def close(self) -> None:
        """Write what is held; what comes later is lost, and told."""
        self.flush()
        with self.lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
            self._end = self._end or "the trace is closed"
            self.due = -1  # whatever the time is

    def _write_held(self) -> None:
        records = self.records
        count = len(records)
        if not count:
            return
        data = self.section + b"".join(records[:count])
        del records[:count]  # what others have appended since stays
        self._large_size = 0
        try:
            if not self._end:
                _write(self._descriptor, data)
        except OSError as error:
            # A record may have been cut: what follows could not be read.
            self._end = error.strerror or str(error)
        if self._end:
            self._fail(count, self._end)


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]
