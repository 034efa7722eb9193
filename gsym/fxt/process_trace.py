"""The trace of one process: its threads, and events of any kind.

Events cost a running program time, so there is a fast path for common ones, with names
in the table, numbers and short texts. The others are written as any record is
(`gsym.fxt.writer`).
"""

from __future__ import annotations

import os
import struct
import threading
from time import monotonic_ns

from gsym.fxt import records as fxt
from gsym.fxt.objects import PROCESS, THREAD
from gsym.fxt.references import MOST_STRING_SIZE, Words
from gsym.fxt.tracer_output import MOST_RECORDS, ProcessTables, TraceOutput
from gsym.fxt.values import (
    ArgumentWords,
    UnusualValueError,
    cut_text,
    process_argument,
    safe_arguments,
)
from gsym.fxt.writer import record_bytes

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
        *,
        is_first: bool = True,
        is_idle: Callable[[], bool] | None = None,
    ) -> None:
        self.output = output
        self._is_idle = is_idle  # whether to write what is held now; None: never
        self.process: int = os.getpid()  # its koid
        self._append = output.append
        self._records = output.records
        self._words = Words("little")
        self._tables = ProcessTables(self._words, output.append, output.lock, lose)
        self._lose = lose
        self._add_arguments = ArgumentWords(self._tables).add
        if is_first:
            self.put(fxt.TraceInfo(0, 0x16547846))
        self.put(fxt.ProviderInfo(name, self.process))
        self.put(fxt.Initialization(_SECOND))
        self.name_process(name)
        # the thread that asks for it
        self.current: _CurrentThread = _CurrentThread(self, self._tables)

    def be_one_of_several(self) -> None:
        """Other processes write to the file as well from now on."""
        section = fxt.ProviderSection(self.process)
        self.output.section = record_bytes(section, self._words, self._tables)

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
        self.output.put(record_bytes(record, self._words, self._tables))

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
