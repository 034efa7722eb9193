"""Records of a Fuchsia trace: the columns that the engine returns, and tuples."""

from __future__ import annotations

from itertools import chain, compress, repeat

from gsym.engine.native import check, ffi, lib, new_error, to_str
from gsym.fxt.records import (
    ARGUMENT_TYPES,
    EVENT_KINDS,
    LAYOUTS,
    Argument,
    Event,
    Layout,
    process_field,
)
from gsym.model import UINT64_MAX

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Literal

    from gsym.fxt.records import Arguments, Record, Value

    CData = Any  # a cffi object

MOST_COPIED_SIZE = 256 << 20
"""Larger data is returned as a view of the input."""

# Named tuples from tuples, without the handling of their arguments.
_new = tuple.__new__
_LAYOUT_OF = dict(enumerate(LAYOUTS, len(EVENT_KINDS)))


def _row_fields(layout: Layout) -> list[tuple[str, str]]:
    """The fields in the engine's row, and how they are stored: data comes last."""
    how = {part.field: part.how for part in layout.parts}
    for part in layout.parts:
        if part.how == "thread":
            how[process_field(part.field)] = "thread"
    for name in ("ticks", "args", "provider"):
        how.pop(name, None)
    order = [(name, how[name]) for name in layout.record._fields if name in how]
    return sorted(order, key=lambda each: each[1] == "bytes")


_SECOND = 10**9
_NO_PROVIDER = lib.GSYM_FXT_NO_PROVIDER
_LAST_EVENT = lib.GSYM_FXT_FLOW_END
_ENDED = frozenset((lib.GSYM_FXT_DURATION_COMPLETE,))
_IDENTIFIED = frozenset(
    (lib.GSYM_FXT_COUNTER, *range(lib.GSYM_FXT_DURATION_COMPLETE + 1, _LAST_EVENT + 1))
)
_EVENT_NUMBERS = bytes(range(_LAST_EVENT + 1))
_OTHER_NUMBERS = bytes(range(_LAST_EVENT + 1, lib.GSYM_FXT_KIND_COUNT))
_NARROW = ("category", "name", "provider", "size", "argument_first", "argument_end")
_CODES = dict.fromkeys(_NARROW, "I")


class Texts:
    """Texts of strings and ids of providers, by the numbers that columns have."""

    def __init__(self) -> None:
        self.strings: list[str] = [""]  # of all columns up to the last
        # of all columns; None for records before any provider
        self.providers: list[int | None] = []

    def take(self, columns: CData) -> None:
        """Add the new strings and providers of columns."""
        known = len(self.providers)
        new = columns.provider_ids + known
        ids = ffi.unpack(new, columns.provider_count - known)
        self.providers += [None if id_ == _NO_PROVIDER else id_ for id_ in ids]
        first, end = columns.string_first, columns.string_end
        del self.strings[first:]
        if first == end:
            return
        ends = ffi.unpack(columns.string_ends + (first - 1), end - first)
        start = columns.string_ends[first - 2] if first > 1 else 0
        raw = ffi.buffer(columns.string_bytes + start, ends[-1] - start)[:]
        stops = [stop - start for stop in ends]
        pieces = map(raw.__getitem__, map(slice, chain((0,), stops), stops))
        self.strings += map(to_str, pieces)


class Columns:
    """Records as columns, good until the next ones are asked for."""

    def __init__(self, columns: CData, texts: Texts, data: memoryview) -> None:
        self._columns = columns
        self._data = data
        self.strings: Sequence[str] = texts.strings  # texts by the numbers in columns
        self.providers: Sequence[int | None] = texts.providers  # ids likewise
        # number of the kind of each record in file order; events have the lowest ones,
        # in the order of EVENT_KINDS
        self.kinds: memoryview[int] = self._view("kinds", "B", columns.count)
        # from which number on strings are new; 1: all that there were before are gone,
        # and their numbers mean others
        self.first_new_string: int = columns.string_first
        self.event_count: int = columns.event_count  # how many are events
        self.other_count: int = columns.other_count  # how many are none
        # how many arguments they all have
        self.argument_count: int = columns.argument_count

    def event_kinds(self) -> bytes:
        """The kinds of events only."""
        return self.kinds.tobytes().translate(None, _OTHER_NUMBERS)

    def event_column(self, name: str) -> memoryview:
        """A field of the events, in file order.

        Args:
            name: offset, size (in bytes), ticks, ns (2^64 - 1 is more than fits),
                process, thread, value (an id, or ticks of the end of a complete
                duration), end_ns, category and name (numbers of strings), provider (a
                number), argument_first or argument_end (of its arguments among all).
        """
        code: Any = _CODES.get(name, "Q")
        return self._view(f"event_{name}", code, self.event_count)

    def other_column(self, name: str) -> memoryview:
        """A field of the records other than events, in file order.

        Args:
            name: offset, ticks and ns (0 where the record has no time, 2^64 - 1 is more
                than fits), provider (a number), argument_first or argument_end (of its
                arguments among all).
        """
        code: Any = _CODES.get(name, "Q")
        return self._view(f"other_{name}", code, self.other_count)

    def count_into(self, tally: CData) -> None:
        """Count the events in a tally of the engine; see `gsym.fxt.summary`."""
        error = new_error()
        check(lib.gsym_fxt_tally_add(tally, self._columns, error), error)

    def argument_column(self, name: str) -> memoryview:
        """Names (numbers of strings) or types of the arguments of all records."""
        code: Literal["I", "B"] = "I" if name == "names" else "B"
        return self._view(f"argument_{name}", code, self.argument_count)

    def arguments(self) -> Arguments:
        """The arguments of all records."""
        if not self.argument_count:
            return ()
        types = self.argument_column("types").tobytes()
        fields = zip(
            map(self.strings.__getitem__, self.argument_column("names").tolist()),
            map(ARGUMENT_TYPES.__getitem__, types),
            self._argument_values(types),
            strict=False,  # null has no end of values
        )
        return tuple(map(_new, repeat(Argument), fields))

    def records(self) -> Iterator[Record]:
        """Records of these columns, in file order."""
        arguments = self.arguments()
        if not self.other_count:
            return self._events(arguments)
        kinds = self.kinds.tobytes()
        others = self._others(kinds.translate(None, _EVENT_NUMBERS), arguments)
        if not self.event_count:
            return others
        sources: list[Iterator[Any]] = [self._events(arguments)] * (_LAST_EVENT + 1)
        sources += [others] * len(_OTHER_NUMBERS)
        return map(next, map(sources.__getitem__, kinds))

    def _others(self, kinds: bytes, arguments: Arguments) -> Iterator[Record]:
        """The records other than events, in file order."""
        words = ffi.unpack(self._columns.words, self._columns.word_count)
        names = "word_end", "ticks", "provider", "ns", "argument_first", "argument_end"
        word_ends, ticks, providers, times, firsts, ends = (
            self.other_column(name).tolist() for name in names
        )
        parts: tuple[Iterable[Any], ...] = (
            map(words.__getitem__, map(slice, chain((0,), word_ends), word_ends)),
            ticks,
            map(arguments.__getitem__, map(slice, firsts, ends)),
            self._exact_ns(times, ticks, providers),
            map(self.providers.__getitem__, providers),
            self.other_column("offset").tolist(),
        )
        present = set(kinds)
        if len(present) == 1:
            return self._of_kind(kinds[0], *parts)
        whole = [list(part) for part in parts]
        sources: dict[int, Iterator[Any]] = {}
        for kind in present:
            chosen = [kind == each for each in kinds]
            sources[kind] = self._of_kind(kind, *(compress(p, chosen) for p in whole))
        return map(next, map(sources.__getitem__, kinds))

    def _of_kind(self, kind: int, *parts: Iterable[Any]) -> Iterator[Any]:
        """Records of one kind of rows, ticks, arguments, ns, providers and offsets."""
        rows, ticks, args, ns, providers, offsets = parts
        layout = _LAYOUT_OF[kind]
        fields = self._fields(layout, list(rows))
        fields.update(args=args, provider=providers, offset=offsets)
        if layout.is_timed:
            fields.update(ticks=ticks, ns=ns)
        nothing = repeat(None)
        in_order = [fields.get(name, nothing) for name in layout.record._fields]
        values = zip(*in_order, strict=False)  # nothing has no end
        return map(_new, repeat(layout.record), values)

    def _fields(
        self, layout: Layout, rows: list[list[int]]
    ) -> dict[str, Iterable[Any]]:
        """A column for each field of the rows of words."""
        order = _row_fields(layout)
        fields: dict[str, Iterable[Any]] = {}
        if order[-1:] == [("frames", "words")]:
            count = len(order) - 1
            fields["frames"] = [tuple(row[count:]) for row in rows]
            rows = [row[:count] for row in rows]
        words = zip(*rows, strict=True)
        for name, how in order:
            if how == "words":
                continue
            column = fields[name] = next(words)
            if how in {"name", "text"}:
                fields[name] = map(self.strings.__getitem__, column)
            elif how in {"utf8", "bytes"}:
                data = map(self._bytes_at, column, next(words))
                fields[name] = data if how == "bytes" else map(to_str, map(bytes, data))
            elif how == "optional":
                none = lib.GSYM_FXT_NO_SUBTYPE
                fields[name] = [None if word == none else word for word in column]
        return fields

    def _bytes_at(self, start: int, size: int) -> bytes | memoryview:
        data = self._data[start : start + size]
        return bytes(data) if size <= MOST_COPIED_SIZE else data

    def _argument_values(self, types: bytes) -> Iterable[Value]:
        columns, text = self._columns, self.strings.__getitem__
        signed = iter(ffi.unpack(columns.signed_values, columns.signed_count))
        unsigned = iter(ffi.unpack(columns.unsigned_values, columns.unsigned_count))
        doubles = ffi.unpack(columns.double_values, columns.double_count)
        strings = ffi.unpack(columns.string_values, columns.string_count)
        bools = ffi.unpack(columns.bool_values, columns.bool_count)
        blobs = ffi.unpack(columns.blob_values, columns.blob_count)
        sources: list[Iterator[Any]] = [
            repeat(None),
            signed,
            unsigned,
            signed,
            unsigned,
            iter(doubles),
            map(text, strings),
            unsigned,
            unsigned,
            map(bool, bools),
            (bytes(self._data[blob.start :][: blob.size]) for blob in blobs),
        ]
        if types.count(types[0]) == len(types):
            return sources[types[0]]
        return map(next, map(sources.__getitem__, types))

    def _events(self, arguments: Arguments) -> Iterator[Event]:
        kinds, text = self.event_kinds(), self.strings.__getitem__
        values = self.event_column("value").tolist()
        providers = self.event_column("provider").tolist()
        runs: Iterable[Arguments] = repeat(())
        if arguments:
            firsts = self.event_column("argument_first").tolist()
            ends = self.event_column("argument_end").tolist()
            runs = map(arguments.__getitem__, map(slice, firsts, ends))
        ends_ns = self.event_column("end_ns").tolist()
        ticks = self.event_column("ticks").tolist()
        fields = zip(
            map(EVENT_KINDS.__getitem__, kinds),
            ticks,
            self.event_column("process").tolist(),
            self.event_column("thread").tolist(),
            map(text, self.event_column("category").tolist()),
            map(text, self.event_column("name").tolist()),
            runs,
            _valued(kinds, _IDENTIFIED, values),
            _valued(kinds, _ENDED, values),
            self._exact_ns(self.event_column("ns").tolist(), ticks, providers),
            _valued(kinds, _ENDED, self._exact_ns(ends_ns, values, providers)),
            map(self.providers.__getitem__, providers),
            self.event_column("offset").tolist(),
            strict=False,  # `repeat` has no end
        )
        return map(_new, repeat(Event), fields)

    def _exact_ns(
        self, times: list[int], ticks: list[int], providers: list[int]
    ) -> list[int]:
        """Nanoseconds, also where they do not fit their column."""
        if self._columns.has_wide_times:
            rates = self._columns.provider_rates
            usual = rates[self._columns.provider_implicit] or _SECOND
            for at, ns in enumerate(times):
                if ns == UINT64_MAX:
                    rate = int(rates[providers[at]] or usual)
                    times[at] = ticks[at] * _SECOND // rate
        return times

    def _view(self, field: str, code: Literal["B", "I", "Q"], count: int) -> memoryview:
        if not count:
            return memoryview(b"").cast(code)
        width = {"B": 1, "I": 4}.get(code, 8)
        start = getattr(self._columns, field)
        return memoryview(ffi.buffer(start, width * count)).cast("B").cast(code)


def _valued(
    kinds: bytes, numbers: frozenset[int], values: list[int]
) -> Iterable[int | None]:
    """The values of events of some kinds, None for others."""
    if numbers.issuperset(kinds):
        return values
    if numbers.isdisjoint(kinds):
        return repeat(None)
    pairs = zip(kinds, values, strict=True)
    return [value if kind in numbers else None for kind, value in pairs]
