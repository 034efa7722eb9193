"""Rows of words of the engine's reader of Fuchsia traces -> records, not of events."""

from __future__ import annotations

from itertools import chain, compress, repeat

from gsym.engine.native import ffi, lib, to_str
from gsym.trace.fxt.records import (
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from gsym.trace.fxt.records import Arguments, Record

    CData = Any  # a cffi object

MOST_COPIED_SIZE = 256 << 20
"""Larger data is returned as a view of the input."""

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
        words = ffi.unpack(columns.words, columns.word_count)
        word_ends = ffi.unpack(columns.other_word_end, count)
        ticks = ffi.unpack(columns.other_ticks, count)
        providers = ffi.unpack(columns.other_provider, count)
        times = ffi.unpack(columns.other_ns, count)
        firsts = ffi.unpack(columns.other_argument_first, count)
        ends = ffi.unpack(columns.other_argument_end, count)
        parts: tuple[Iterable[Any], ...] = (
            map(words.__getitem__, map(slice, chain((0,), word_ends), word_ends)),
            ticks,
            map(self._arguments.__getitem__, map(slice, firsts, ends)),
            self._exact_ns(times, ticks, providers),
            map(self._providers.__getitem__, providers),
            ffi.unpack(columns.other_offset, count),
        )
        present = set(self._kinds)
        if len(present) == 1:
            return self._of_kind(self._kinds[0], *parts)
        whole = [list(part) for part in parts]
        sources: dict[int, Iterator[Any]] = {}
        for kind in present:
            chosen = [kind == each for each in self._kinds]
            sources[kind] = self._of_kind(kind, *(compress(p, chosen) for p in whole))
        return map(next, map(sources.__getitem__, self._kinds))

    def _of_kind(self, kind: int, *parts: Iterable[Any]) -> Iterator[Any]:
        """Records of one kind of rows, ticks, arguments, ns, providers and offsets."""
        rows, ticks, args, ns, providers, offsets = parts
        made, codes, is_timed, has_arguments = _LAYOUTS[kind]
        fields = self._fields(codes, list(rows))
        if made is LargeBlob:
            nothing = repeat(None)
            category, name, *thread, data = fields
            fields = [category, name, data, ticks, *thread, args, ns]
            if not is_timed:
                fields[3:] = [nothing, nothing, nothing, args, nothing]
        else:
            fields = [*([ticks] * is_timed), *fields, *([args] * has_arguments)]
            fields += [ns] * is_timed
        in_order = zip(*fields, providers, offsets, strict=False)  # nothing has no end
        return map(tuple.__new__, repeat(made), in_order)

    def _fields(self, codes: str, rows: list[list[int]]) -> list[Iterable[Any]]:
        """A column for each field."""
        if codes.endswith("f"):
            count = len(codes) - 1
            frames = [tuple(row[count:]) for row in rows]
            return [*zip(*(row[:count] for row in rows), strict=True), frames]
        fields: list[Iterable[Any]] = []
        words = zip(*rows, strict=True)
        for code in codes:
            column = next(words)
            if code == "s":
                fields.append(map(self._strings.__getitem__, column))
            elif code in "bt":
                data = map(self._bytes_at, column, next(words))
                fields.append(data if code == "b" else map(to_str, map(bytes, data)))
            elif code == "u":
                none = lib.GSYM_FXT_NO_SUBTYPE
                fields.append([None if word == none else word for word in column])
            else:
                fields.append(column)
        return fields

    def _bytes_at(self, start: int, size: int) -> bytes | memoryview:
        data = self._data[start : start + size]
        return bytes(data) if size <= MOST_COPIED_SIZE else data
