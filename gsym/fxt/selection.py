"""The records of a trace that meet conditions."""

from __future__ import annotations

from gsym.cache import BoundedCache
from gsym.conditions import Patterns, Selection, Span, absolute_ns
from gsym.fxt import records as fxt
from gsym.fxt.decoder import Filter
from gsym.fxt.objects import PROCESS, THREAD, Objects
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    _Thread = tuple[int | None, int | None]  # koids of a process and of its thread

# Records that define the meaning of others.
CONTEXT = (
    *fxt.TABLES,
    *(fxt.KernelObject, fxt.Mmap, fxt.Module, fxt.ProviderEvent, fxt.UserspaceObject),
)
_ODD = frozenset("?[\0")
_MOST_KEPT = 1 << 16  # answers; an event's depends on its thread and its texts


def coarse_filter(selection: Selection, origin_ns: int) -> Filter:
    """The filter for the engine: it passes at least the selected records."""
    begin = absolute_ns(selection.begin, origin_ns) or 0
    end = absolute_ns(selection.end, origin_ns)
    last = UINT64_MAX if end is None else max(end - 1, 0)
    return Filter(
        min(begin, UINT64_MAX),
        min(last, UINT64_MAX),
        categories=_plain(selection.categories),
        names=_plain(selection.names),
    )


def _plain(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns, if the engine reads all of them in the same way, else none."""
    is_plain = _ODD.isdisjoint("".join(patterns))
    return patterns if is_plain else ()


class RecordSelection:
    """Chooses records.

    A record is chosen if it meets all conditions. One without a time is in no span of
    time, one without a category matches none, and so on. A context switch belongs to
    both its threads. A complete duration is in each span that it touches.
    """

    def __init__(
        self,
        selection: Selection,
        origin_ns: int,
        objects: Objects,
        *,
        keep_context: bool = False,
    ) -> None:
        self._span = Span(selection, origin_ns)
        self._processes = Patterns(selection.processes)
        self._threads = Patterns(selection.threads)
        self._categories = Patterns(selection.categories)
        self._names = Patterns(selection.names)
        self._objects = objects
        self._keep_context = keep_context
        self._known: BoundedCache[tuple[Any, ...], bool] = BoundedCache(_MOST_KEPT)

    def takes(self, record: fxt.Record) -> bool:
        """Whether a record is selected."""
        if isinstance(record, fxt.Event):
            key = record[2:6], record.provider
            known = self._known.get(key)
            if known is None:
                known = self._known.keep(key, self._fits(record))
            return known and self._is_in_time(record)
        if self._keep_context and isinstance(record, CONTEXT):
            return True
        return self._fits(record) and self._is_in_time(record)

    def _is_in_time(self, record: Any) -> bool:
        ns, end_ns = (getattr(record, each, None) for each in ("ns", "end_ns"))
        return self._span.includes(ns, end_ns)

    def _fits(self, record: Any) -> bool:
        category, name = (getattr(record, each, None) for each in ("category", "name"))
        if not self._categories.match(category) or not self._names.match(name):
            return False
        if not self._processes and not self._threads:
            return True
        provider = record.provider
        return any(self._has(thread, provider) for thread in self._threads_of(record))

    def _has(self, thread: _Thread, provider: int | None) -> bool:
        name = self._objects.name_of
        wanted = (self._processes, self._threads)
        return all(
            not patterns
            or (koid is not None and patterns.match(name(koid, provider, kind), koid))
            for patterns, koid, kind in zip(
                wanted, thread, (PROCESS, THREAD), strict=True
            )
        )

    def _threads_of(self, record: Any) -> Iterable[_Thread]:
        """Processes and threads that a record is of."""
        process = getattr(record, "process", None)
        if process is not None:
            return ((process, getattr(record, "thread", None)),)
        if isinstance(record, fxt.LegacyContextSwitch):
            return (
                (record.outgoing_process, record.outgoing_thread),
                (record.incoming_process, record.incoming_thread),
            )
        threads: tuple[int, ...] = ()
        if isinstance(record, fxt.ContextSwitch):
            threads = record.outgoing_thread, record.incoming_thread
        elif isinstance(record, fxt.ThreadWakeup):
            threads = (record.thread,)
        elif isinstance(record, fxt.KernelObject) and record.type == PROCESS:
            return ((record.koid, None),)
        elif isinstance(record, fxt.KernelObject) and record.type == THREAD:
            threads = (record.koid,)
        return [(self._objects.process_of(thread), thread) for thread in threads]
