"""The trace of one process: its file, its tables, and events of any kind.

The file has blocks of complete records, each appended by one call: a truncated trace
can be read up to its end, and several processes can write one file. Records are held
until there are many, or for a second: a program that is killed loses little.

Events cost a running program time, so there is a fast path for common ones, with names
in the table, numbers and short texts. The others are written as any record is
(`gsym.fxt.writer`).
"""

from __future__ import annotations

import os
import struct
import threading
from threading import RLock
from time import monotonic_ns

from gsym.fxt import records as fxt
from gsym.fxt.objects import PROCESS, THREAD
from gsym.fxt.values import (
    ArgumentWords,
    UnusualValueError,
    cut_text,
    process_argument,
    safe_arguments,
)
from gsym.fxt.writer import (
    INLINE,
    MOST_STRING_SIZE,
    MOST_STRINGS,
    MOST_THREADS,
    References,
    Words,
    record_bytes,
    stream,
    text_bytes,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Texts are values of any kind: they must not take all entries of names, and longer ones
# seldom repeat.
_MOST_TEXTS = MOST_STRINGS // 2
_LONGEST_TEXT, _LONGEST_NAME = 64, 256  # characters


class ProcessTables(References):
    """Tables of strings and threads that many threads use as they write.

    An entry never changes while a thread may use it. If a table is full, strings and
    threads are stored in their records; the entry of a thread that has ended is free.
    """

    def __init__(
        self, put: Callable[[bytes], object], lock: RLock, lose: Callable[[str], None]
    ) -> None:
        super().__init__(Words("little"), put)
        self._lose = lose
        self._lock = lock
        self._string_numbers: dict[str, int] = {}
        self._free_threads = list(range(MOST_THREADS, 0, -1))
        self._thread_numbers: dict[tuple[int, int], int] = {}

    def name(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a string that is likely to come again."""
        return self._reference(text, MOST_STRINGS, _LONGEST_NAME)

    def text(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a value."""
        return self._reference(text, _MOST_TEXTS, _LONGEST_TEXT)

    def thread(self, process: int, thread: int) -> tuple[int, bytes]:
        """Reference and words of a thread."""
        index = self._thread_numbers.get((process, thread), 0)
        return index, b"" if index else self.words(process, thread)

    def enter_thread(self, process: int, thread: int) -> int:
        """The index of a thread from now on; 0 if the table is full."""
        with self._lock:
            if not self._free_threads:
                return 0
            index = self._free_threads.pop()
            self._put_thread(index, self.words(process, thread))
            self._thread_numbers[process, thread] = index
        return index

    def leave_thread(self, process: int, thread: int) -> None:
        """A thread has ended.

        This may run at any time, also where the lock is held: it takes none.
        """
        index = self._thread_numbers.pop((process, thread), 0)
        if index:
            self._free_threads.append(index)

    def _reference(self, text: str, most: int, longest: int) -> tuple[int, bytes]:
        index = self._string_numbers.get(text)
        if index is not None:
            return index, b""
        data = text_bytes(cut_text(text, MOST_STRING_SIZE, self._lose, "texts"))
        if not data:
            return 0, b""
        if len(text) > longest or len(self._string_numbers) >= most:
            return INLINE | len(data), stream(data)
        with self._lock:
            index = self._string_numbers.get(text)
            if index is None:
                index = len(self._string_numbers) + 1
                self._put_string(index, data)
                # Not before the record: a thread that finds it here writes after that.
                self._string_numbers[text] = index
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


_SECOND = 1_000_000_000
_EVENT = 4  # type of record
COMPLETE = 4  # index into EVENT_KINDS
_MOST_HEADERS = 1 << 16
# By number of words: two before the arguments, two for each, one after them.
_PACKERS = [struct.Struct(f"<{count}Q").pack for count in range(2 + 2 * 15 + 2)]
_PACK_2, _PACK_3 = _PACKERS[2:4]


class ProcessTrace:
    """Writes events of this process."""

    def __init__(
        self,
        output: TraceOutput,
        name: str,
        lose: Callable[[str], None],
        is_idle: Callable[[], bool] | None = None,
    ) -> None:
        self.output = output
        # Whether to write what is held now; None: never, as the first process does.
        self._is_idle = is_idle
        self.process: int = os.getpid()  # its koid
        self._append = output.append
        self._records = output.records
        self._tables = ProcessTables(output.append, output.lock, lose)
        self._lose = lose
        self._add_arguments = ArgumentWords(self._tables).add
        if is_idle is None:
            self.put(fxt.TraceInfo(0, 0x16547846))
        self.put(fxt.ProviderInfo(name, self.process))
        self.put(fxt.Initialization(_SECOND))
        self.name_process(name)
        # the thread that asks for it
        self.current: _CurrentThread = _CurrentThread(self, self._tables)

    def be_one_of_several(self) -> None:
        """Other processes write to the file as well from now on."""
        section = fxt.ProviderSection(self.process)
        self.output.section = record_bytes(section, self._tables)

    def name_process(self, name: str) -> None:
        """Name the process."""
        self.put(fxt.KernelObject(self.process, PROCESS, name))

    def name_thread(self, name: str, thread: int | None = None) -> None:
        """Name a thread, by default the current one."""
        koid = self.current.thread if thread is None else thread
        process = process_argument(self.process)
        self.put(fxt.KernelObject(koid, THREAD, name, (process,)))

    def put(self, record: fxt.Record) -> None:
        """Write a record that `record_bytes` takes."""
        self.output.put(record_bytes(record, self._tables))

    def event(  # noqa: PLR0913, PLR0917 - called for each event, as positions cost least
        self,
        kind: int,
        category: str,
        name: str,
        ticks: int,
        args: dict[str, Any],
        last: int | None = None,
    ) -> None:
        """Write an event of the current thread; an error is a loss.

        *last* is an id, or the end of a complete duration, if the kind has one.
        """
        try:
            header = self.current.headers.get((kind, category, name))
            if header is None:
                self._put_other(kind, category, name, ticks, args, last)
            elif args:
                words = [header, ticks]
                try:
                    self._add_arguments(words, args)
                except UnusualValueError:
                    self._put_other(kind, category, name, ticks, args, last)
                else:
                    if last is not None:
                        words.append(last)
                    size = len(words)
                    words[0] = header + (size << 4) + (len(args) << 20)
                    self._append(_PACKERS[size](*words))
            elif last is None:
                self._append(_PACK_2(header + (2 << 4), ticks))
            else:
                self._append(_PACK_3(header + (3 << 4), ticks, last))
            is_due = ticks >= self.output.due or len(self._records) > MOST_RECORDS
            if is_due or (self._is_idle is not None and self._is_idle()):
                self.output.flush(monotonic_ns())
        except Exception as error:  # noqa: BLE001 - whatever the program gave
            self._lose(f"events that could not be written: {type(error).__name__}")

    def _put_other(  # noqa: PLR0913, PLR0917 - as `event`
        self,
        kind: int,
        category: str,
        name: str,
        ticks: int,
        args: dict[str, Any],
        last: int | None,
    ) -> None:
        """Write an event as a general record, and cache its header."""
        category, name = (
            cut_text(str(text), MOST_STRING_SIZE, self._lose, "names of events")
            for text in (category, name)
        )
        event = fxt.Event(
            fxt.EVENT_KINDS[kind],
            ticks,
            self.process,
            self.current.thread,
            category,
            name,
            safe_arguments(args, self._lose),
            last,
            last,
        )
        self.put(event)
        self._keep_header(kind, category, name)

    def _keep_header(self, kind: int, category: str, name: str) -> None:
        current = self.current
        category_index, category_stream = self._tables.name(category)
        name_index, name_stream = self._tables.name(name)
        if not current.index or category_stream or name_stream:
            return
        if len(current.headers) > _MOST_HEADERS:
            current.headers.clear()
        header = _EVENT | kind << 16 | current.index << 24
        header |= category_index << 32 | name_index << 48
        current.headers[kind, category, name] = header


class _CurrentThread(threading.local):
    """The current thread in the trace."""

    def __init__(self, trace: ProcessTrace, tables: ProcessTables) -> None:
        self.thread: int = threading.get_native_id()  # its koid
        # of events, without size and number of arguments
        self.headers: dict[tuple[int, str, str], int] = {}
        # in the table; 0 if that is full
        self.index: int = tables.enter_thread(trace.process, self.thread)
        self._place = _Place(tables, trace.process, self.thread)
        trace.name_thread(threading.current_thread().name, self.thread)


class _Place:
    """The entry of a thread in the table, which is freed when the thread ends."""

    def __init__(self, tables: ProcessTables, process: int, thread: int) -> None:
        self._leave = (tables, process, thread)

    def __del__(self) -> None:
        tables, process, thread = self._leave
        tables.leave_thread(process, thread)
