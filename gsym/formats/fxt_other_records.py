"""Rows of words of the engine's reader of Fuchsia traces -> records, not of events."""

from __future__ import annotations

from itertools import chain

from gsym._native import ffi, lib, to_str
from gsym.formats.fxt_records import (
    Backtrace,
    Blob,
    ContextSwitch,
    Initialization,
    KernelObject,
    LargeBlob,
    LegacyContextSwitch,
    Log,
    Mmap,
    Module,
    ProviderEvent,
    ProviderInfo,
    ProviderSection,
    String,
    Thread,
    ThreadWakeup,
    TraceInfo,
    Unknown,
    UserspaceObject,
)

__all__ = ["OtherRecords"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gsym.formats.fxt_records import Arguments, Record

    CData = Any  # a cffi object

# What each field is made from: n, the next word; u, one
# that may stand for None; s, the number of a string; b and t,
# start and size of bytes and of a text; f, all words that are left. Whether the record
# begins with a time, and whether it has arguments.
_LAYOUTS: dict[int, tuple[Any, str, bool, bool]] = {
    lib.GSYM_FXT_PROVIDER_INFO: (ProviderInfo, "t", False, False),
    lib.GSYM_FXT_PROVIDER_SECTION: (ProviderSection, "", False, False),
    lib.GSYM_FXT_PROVIDER_EVENT: (ProviderEvent, "n", False, False),
    lib.GSYM_FXT_TRACE_INFO: (TraceInfo, "nn", False, False),
    lib.GSYM_FXT_INITIALIZATION: (Initialization, "n", False, False),
    lib.GSYM_FXT_STRING: (String, "nt", False, False),
    lib.GSYM_FXT_THREAD: (Thread, "nnn", False, False),
    lib.GSYM_FXT_BLOB: (Blob, "snb", False, False),
    lib.GSYM_FXT_USERSPACE_OBJECT: (UserspaceObject, "nns", False, True),
    lib.GSYM_FXT_KERNEL_OBJECT: (KernelObject, "nns", False, True),
    lib.GSYM_FXT_LEGACY_CONTEXT_SWITCH: (LegacyContextSwitch, "n" * 8, True, False),
    lib.GSYM_FXT_CONTEXT_SWITCH: (ContextSwitch, "nnnn", True, True),
    lib.GSYM_FXT_THREAD_WAKEUP: (ThreadWakeup, "nn", True, True),
    lib.GSYM_FXT_LOG: (Log, "nnt", True, False),
    lib.GSYM_FXT_MODULE: (Module, "nnntb", True, False),
    lib.GSYM_FXT_MMAP: (Mmap, "nnnnnnn", True, False),
    lib.GSYM_FXT_BACKTRACE: (Backtrace, "nnf", True, False),
    lib.GSYM_FXT_LARGE_BLOB_WITH_METADATA: (LargeBlob, "ssnnb", True, True),
    lib.GSYM_FXT_LARGE_BLOB: (LargeBlob, "ssb", False, True),
    lib.GSYM_FXT_UNKNOWN: (Unknown, "nub", False, False),
}


class OtherRecords:
    """The records of columns that are no events, in file order.

    Args:
        columns: What the engine gives.
        kinds: Of these records.
        arguments: Those of all records of the columns.
        sources: Texts of strings and ids of providers by number, and the bytes that
            were read.
        exact_ns: Makes times exact, given them, the ticks and the providers.
    """

    def __init__(
        self,
        columns: CData,
        kinds: bytes,
        arguments: Arguments,
        sources: tuple[Sequence[str], Sequence[int | None], memoryview],
        exact_ns: Callable[[list[int], list[int], list[int]], list[int]],
    ) -> None:
        self._columns = columns
        self._kinds = kinds
        self._arguments = arguments
        self._strings, self._providers, self._data = sources
        self._exact_ns = exact_ns

    def __iter__(self) -> Iterator[Record]:
        columns, count = self._columns, len(self._kinds)
        words = ffi.unpack(columns.words, columns.word_count) if count else []
        word_ends = ffi.unpack(columns.other_word_end, count)
        rows = map(words.__getitem__, map(slice, chain((0,), word_ends), word_ends))
        ticks = ffi.unpack(columns.other_ticks, count)
        providers = ffi.unpack(columns.other_provider, count)
        times = ffi.unpack(columns.other_ns, count)
        firsts = ffi.unpack(columns.other_argument_first, count)
        ends = ffi.unpack(columns.other_argument_end, count)
        parts = zip(
            map(_LAYOUTS.__getitem__, self._kinds),
            rows,
            ticks,
            map(self._arguments.__getitem__, map(slice, firsts, ends)),
            self._exact_ns(times, ticks, providers),
            map(self._providers.__getitem__, providers),
            ffi.unpack(columns.other_offset, count),
            strict=True,
        )
        return map(self._record, parts)

    def _record(self, parts: tuple[Any, ...]) -> Record:
        layout, words, ticks, args, ns, provider, offset = parts
        kind, codes, is_timed, has_arguments = layout
        fields = words if codes.strip("n") == "" else self._fields(codes, words)
        if not is_timed:
            ticks = ns = None
        if kind is LargeBlob:
            category, name, *thread, data = fields
            process, thread_id = thread or (None, None)
            fields = [category, name, data, ticks, process, thread_id, args, ns]
        else:
            if is_timed:
                fields.insert(0, ticks)
            if has_arguments:
                fields.append(args)
            if is_timed:
                fields.append(ns)
        made: Record = tuple.__new__(kind, (*fields, provider, offset))
        return made

    def _fields(self, codes: str, words: list[int]) -> list[Any]:
        fields: list[Any] = []
        rest = iter(words)
        for code in codes:
            if code == "f":
                fields.append(tuple(rest))
                break
            word = next(rest)
            if code == "s":
                fields.append(self._strings[word])
            elif code in "bt":
                data = bytes(self._data[word : word + next(rest)])
                fields.append(data if code == "b" else to_str(data))
            else:
                is_none = code == "u" and word == lib.GSYM_FXT_NO_SUBTYPE
                fields.append(None if is_none else word)
        return fields
