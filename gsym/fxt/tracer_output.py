"""The file that a tracer writes: records of one process, in blocks.

Each block has complete records and is appended by one call: a truncated trace can be
read up to its end, and several processes can write one file. Records are held until
there are many, or for a second: a program that is killed loses little.
"""

from __future__ import annotations

import os
from threading import RLock

from gsym.fxt.references import MOST_STRING_SIZE, Words, field, stream, text_bytes
from gsym.fxt.values import cut_text

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

_STRING, _THREAD = 2, 3  # types of records
_MOST_STRINGS, _MOST_THREADS = 0x7FFF, 0xFF
# Texts are values of any kind: they must not take all entries of names, and longer ones
# seldom repeat.
_MOST_TEXTS = _MOST_STRINGS // 2
_LONGEST_TEXT, _LONGEST_NAME = 64, 256  # characters
_INLINE = 0x8000


class ProcessTables:
    """Tables of strings and threads that many threads use as they write.

    An entry never changes while a thread may use it. If a table is full, strings and
    threads are stored in their records; the entry of a thread that has ended is free.
    """

    def __init__(
        self,
        words: Words,
        put: Callable[[bytes], object],
        lock: RLock,
        lose: Callable[[str], None],
    ) -> None:
        self._lose = lose
        self._words = words
        self._put = put
        self._lock = lock
        self._strings: dict[str, int] = {}
        self._free_threads = list(range(_MOST_THREADS, 0, -1))
        self._threads: dict[tuple[int, int], int] = {}

    def name(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a string that is likely to come again."""
        return self._reference(text, _MOST_STRINGS, _LONGEST_NAME)

    def text(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a value."""
        return self._reference(text, _MOST_TEXTS, _LONGEST_TEXT)

    def thread(self, process: int, thread: int) -> tuple[int, bytes]:
        """Reference and words of a thread."""
        index = self._threads.get((process, thread), 0)
        return index, b"" if index else self._words(process, thread)

    def enter_thread(self, process: int, thread: int) -> int:
        """The index of a thread from now on; 0 if the table is full."""
        with self._lock:
            if not self._free_threads:
                return 0
            index = self._free_threads.pop()
            body = self._words(process, thread)
            self._put(self._words.with_header(_THREAD, index << 16, body))
            self._threads[process, thread] = index
        return index

    def leave_thread(self, process: int, thread: int) -> None:
        """A thread has ended.

        This may run at any time, also where the lock is held: it takes none.
        """
        index = self._threads.pop((process, thread), 0)
        if index:
            self._free_threads.append(index)

    def _reference(self, text: str, most: int, longest: int) -> tuple[int, bytes]:
        index = self._strings.get(text)
        if index is not None:
            return index, b""
        data = text_bytes(cut_text(text, MOST_STRING_SIZE, self._lose, "texts"))
        if not data:
            return 0, b""
        if len(text) > longest or len(self._strings) >= most:
            return _INLINE | len(data), stream(data)
        with self._lock:
            index = self._strings.get(text)
            if index is None:
                index = len(self._strings) + 1
                header = field(index, 16, 15, "the index") | len(data) << 32
                self._put(self._words.with_header(_STRING, header, stream(data)))
                # Not before the record: a thread that finds it here writes after that.
                self._strings[text] = index
        return index, b""


MOST_RECORDS = 4096
_MOST_LARGE_SIZE = 1 << 20  # bytes of large records that are held
_LARGE = 512  # bytes
_HELD_FOR = 1_000_000_000  # nanoseconds


class TraceOutput:
    """Records on their way to a file that is open for appending."""

    def __init__(self, descriptor: int, fail: Callable[[int, str], None]) -> None:
        self.records: list[bytes] = []  # not written yet; `append` is thread-safe
        self.append: Callable[[bytes], None] = self.records.append
        self.due: int = 0  # when they have to be written, by the clock of the events
        self.lock: RLock = RLock()  # guards records whose order in the file matters
        self.section = b""  # the first record of each block
        self._descriptor = descriptor
        self._fail = fail
        self._is_writing = False
        self._end = ""  # why writing stopped
        self._large_size = 0

    def put(self, record: bytes) -> None:
        """Append a record of any size."""
        self.append(record)
        if len(record) > _LARGE:
            self._large_size += len(record)
            if self._large_size > _MOST_LARGE_SIZE:
                self.flush()

    def flush(self, now: int = 0) -> None:
        """Write the records that are held."""
        with self.lock:
            # A signal handler or finalizer may get here while this thread writes: its
            # records have to stay after those being written.
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
        """Write the records that are held; later ones are lost, and reported."""
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
        del records[:count]  # keep records appended meanwhile
        self._large_size = 0
        try:
            if not self._end:
                left = memoryview(data)
                while left:
                    left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            # A record may be truncated: later ones could not be read.
            self._end = error.strerror or str(error)
        if self._end:
            self._fail(len(data), self._end)
