"""Records -> Fuchsia traces (FXT): words, references, records.

Fields are checked against the limits of the format; unused bits are 0.
"""

from __future__ import annotations

import struct
from itertools import groupby
from operator import itemgetter

from gsym.engine.native import lib
from gsym.errors import LimitError
from gsym.fxt import records as fxt
from gsym.fxt.records import LAYOUTS, Layout, Part, process_field
from gsym.model import UINT64_END

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from typing import Any, Literal

    from gsym.fxt.records import Arguments, Record, Value

    # Bits of the header, and bytes of the body.
    _Made = tuple[int, bytes]
    # Makes them of the value of an argument, or of a part of a record.
    _Maker = Callable[[Any, "References"], _Made]
    # A function that finds a value in a record, the first bit of its number in the
    # header, and the function that makes both of the value.
    _Part = tuple[Callable[[Any], Any], int, _Maker]
    # Type and constant bits; numbers, each with its place in the record, first bit,
    # bits, and name for errors; parts.
    _Kind = tuple[int, int, list[tuple[int, int, int, str]], list[_Part]]

MOST_STRING_SIZE = 32000
"""In bytes; the limit of the specification, although references allow more."""

_MOST_QUOTED = 40  # characters
_MOST_RECORD_SIZE = lib.GSYM_FXT_MAX_RECORD_SIZE


class Words:
    """Makes words in a byte order, and records and arguments."""

    def __init__(self, byteorder: str) -> None:
        self._order = "<" if byteorder == "little" else ">"
        self._pack = [struct.Struct(f"{self._order}{n}Q").pack for n in range(8)]

    def __call__(self, *values: int) -> bytes:
        """Words of these numbers."""
        try:
            if len(values) < len(self._pack):
                return self._pack[len(values)](*values)
            return struct.pack(f"{self._order}{len(values)}Q", *values)
        except struct.error as error:
            wrong = [value for value in values if value >> 64]
            reason = f"{wrong} does not fit in an unsigned 64-bit integer"
            raise OverflowError(reason) from error

    def double(self, value: float) -> bytes:
        """A word that is a floating-point number."""
        return struct.pack(f"{self._order}d", value)

    def with_header(self, kind: int, header: int, body: bytes) -> bytes:
        """A record or an argument of a type."""
        size = 8 + len(body)
        if size > _MOST_RECORD_SIZE:
            raise LimitError(
                f"a record of {size} bytes exceeds the limit of {_MOST_RECORD_SIZE}"
            )
        return self(kind | size // 8 << 4 | header) + body


def field(value: int, first: int, count: int, what: str) -> int:
    """A number in *count* bits of a word, from bit *first* on."""
    if value >> count:
        raise OverflowError(f"{what}: {value} does not fit in {count} bits")
    return value << first


def stream(data: bytes) -> bytes:
    """Bytes, filled up with zeros to whole words."""
    return data + bytes(-len(data) % 8)


def text_bytes(text: str, most: int = MOST_STRING_SIZE) -> bytes:
    """The bytes of a text."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        wrong = ord(text[error.start])
        raise ValueError(
            f"the text {text[:_MOST_QUOTED]!a} has the surrogate U+{wrong:04X} at "
            f"{error.start}, which cannot be encoded as UTF-8"
        ) from None
    if len(data) > most:
        raise LimitError(f"a text of {len(data)} bytes exceeds the limit of {most}")
    return data


MOST_STRINGS, MOST_THREADS = 0x7FFF, 0xFF
"""Entries of the tables."""
INLINE = 0x8000
"""A bit of a reference to a string that follows."""


class References:
    """Makes references for the records of one provider after the other."""

    def __init__(
        self, words: Words, put: Callable[[bytes], object], *, interning: bool = True
    ) -> None:
        self.words: Words = words
        self._put = put  # takes the records that define entries
        self._interning = interning
        self._tables: dict[int | None, tuple[_Table, _Table]] = {}
        self.enter(None)

    def enter(self, provider: int | None) -> None:
        """References are for the records of this provider from now on."""
        new = (_Table(MOST_STRINGS), _Table(MOST_THREADS))
        self._strings, self._threads = self._tables.setdefault(provider, new)

    def clear(self) -> None:
        """Another trace begins: its tables are empty."""
        self._tables.clear()
        self.enter(None)

    def name(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of a string that is likely to come again."""
        if not self._interning or not text:
            return self.text(text)
        index = self._strings.find(text)
        if index is None:
            data = text_bytes(text)
            index = self._strings.add(text)
            self._put_string(index, data)
        return index, b""

    def text(self, text: str) -> tuple[int, bytes]:
        """Reference and stream of another string."""
        if not text:
            return 0, b""
        index = self._strings.find(text) if self._interning else None
        if index is not None:
            return index, b""
        data = text_bytes(text)
        return INLINE | len(data), stream(data)

    def thread(self, process: int, thread: int) -> tuple[int, bytes]:
        """Reference and words of a thread."""
        if not self._interning:
            return 0, self.words(process, thread)
        index = self._threads.find((process, thread))
        if index is None:
            koids = self.words(process, thread)
            index = self._threads.add((process, thread))
            self._put_thread(index, koids)
        return index, b""

    def define_string(self, index: int, text: str) -> None:
        """Write an entry of the string table."""
        data = text_bytes(text)
        field(index, 0, 15, "the index")
        self._put_string(index, data)
        if index:
            self._strings.put(index, text)

    def define_thread(self, index: int, process: int, thread: int) -> None:
        """Write an entry of the thread table."""
        field(index, 0, 8, "the index")
        self._put_thread(index, self.words(process, thread))
        if index:
            self._threads.put(index, (process, thread))

    def _put_string(self, index: int, data: bytes) -> None:
        header, body = index << 16 | len(data) << 32, stream(data)
        self._put(self.words.with_header(lib.GSYM_FXT_TYPE_STRING, header, body))

    def _put_thread(self, index: int, koids: bytes) -> None:
        header = index << 16
        self._put(self.words.with_header(lib.GSYM_FXT_TYPE_THREAD, header, koids))


class _Table:
    """The entries at each index from 1 on.

    If all are taken, entries are replaced in turn: one that a record has just got stays
    until all others were replaced.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._indexes: dict[Hashable, int] = {}
        self._entries: dict[int, Hashable] = {}
        self._last = 0
        self.find = self._indexes.get

    def put(self, index: int, entry: Hashable) -> None:
        """Put an entry at an index; it replaces the one there."""
        old = self._entries.get(index)
        if self._indexes.get(old) == index:
            del self._indexes[old]
        self._entries[index] = entry
        self._indexes[entry] = index

    def add(self, entry: Hashable) -> int:
        """The index that an entry gets, a free one as long as there are some."""
        while len(self._entries) < self._most:
            self._last += 1
            if self._last not in self._entries:
                break
        else:
            self._last = self._last % self._most + 1
        self.put(self._last, entry)
        return self._last


_MOST_ARGUMENTS = 15
_RANGES = {
    "int32": range(-(1 << 31), 1 << 31),
    "uint32": range(1 << 32),
    "int64": range(-(1 << 63), 1 << 63),
    "uint64": range(UINT64_END),
}
_SHORTER = {"int64": "int32", "uint64": "uint32"}
_TYPES = {
    bool: "bool",
    float: "double",
    str: "string",
    bytes: "blob",
    type(None): "null",
}


def argument_of(name: str, value: Value) -> fxt.Argument:
    """An argument of the type that fits a value; of integers the smallest one."""
    kind = _TYPES.get(type(value))
    if kind is None:
        if not isinstance(value, int):
            raise TypeError(f"an argument cannot be a {type(value).__name__}")
        value = int(value)  # to look for an object of a subclass goes through the range
        kind = next((each for each, fit in _RANGES.items() if value in fit), None)
        if kind is None:
            raise OverflowError(f"{value} does not fit in 64 bits")
    return fxt.Argument(name, kind, value)


def arguments_bytes(args: Arguments, references: References) -> tuple[int, bytes]:
    """The number of arguments and their bytes."""
    if len(args) > _MOST_ARGUMENTS:
        raise LimitError(f"{len(args)} arguments exceed the limit of {_MOST_ARGUMENTS}")
    parts = [_argument_bytes(argument, references) for argument in args]
    return len(parts), b"".join(parts)


def _argument_bytes(argument: fxt.Argument, references: References) -> bytes:
    """One argument; a number of 64 bits takes 32 where that is enough."""
    name, kind, value = argument
    shorter = _SHORTER.get(kind)
    if shorter is not None and int(value) in _RANGES[shorter]:  # type: ignore[arg-type]
        kind = shorter
    if kind not in _MAKERS:
        raise ValueError(f"unknown argument type {kind!r}")
    upper, body = _MAKERS[kind](value, references)
    reference, name_stream = references.name(name)
    header, number = reference << 16 | upper << 32, fxt.ARGUMENT_TYPES.index(kind)
    return references.words.with_header(number, header, name_stream + body)


def _in_range(kind: str, value: int) -> int:
    if int(value) not in _RANGES[kind]:
        raise OverflowError(f"argument {value} does not fit in the bits of {kind}")
    return value & _RANGES[f"u{kind.removeprefix('u')}"][-1]


# What the upper half of the header of an argument holds, and what follows it.
_MAKERS: dict[str, _Maker] = {
    "null": lambda _value, _to: (0, b""),
    "int32": lambda value, _to: (_in_range("int32", value), b""),
    "uint32": lambda value, _to: (_in_range("uint32", value), b""),
    "int64": lambda value, to: (0, to.words(_in_range("int64", value))),
    **dict.fromkeys(
        ("uint64", "pointer", "koid"), lambda value, to: (0, to.words(value))
    ),
    "double": lambda value, to: (0, to.words.double(value)),
    "string": lambda value, to: to.text(value),
    "bool": lambda value, _to: (bool(value), b""),
    "blob": lambda value, _to: (len(value), stream(value)),
}

_EVENT_NUMBERS = {kind: number for number, kind in enumerate(fxt.EVENT_KINDS)}
_COUNTER = lib.GSYM_FXT_COUNTER
_COMPLETE = lib.GSYM_FXT_DURATION_COMPLETE  # those after it have a word more, too


def record_bytes(record: Record, references: References) -> bytes:
    """A record that is stored as one: not of the tables, and no large blob."""
    if isinstance(record, fxt.Event):
        return _event_bytes(record, references)
    number, header, numbers, parts = _KINDS[type(record)]
    fields: tuple[Any, ...] = record
    for at, first, bits, what in numbers:
        value = fields[at]
        if value >> bits:
            field(value, first, bits, what)
        header |= value << first
    body = b""
    for values, first, make in parts:
        value, data = make(values(fields), references)
        header |= value << first
        body += data
    return references.words.with_header(number, header, body)


def _event_bytes(record: fxt.Event, references: References) -> bytes:
    words, number = references.words, _EVENT_NUMBERS.get(record.kind)
    if number is None:
        raise ValueError(f"unknown kind of event {record.kind!r}")
    thread, koids = references.thread(record.process, record.thread)
    category, category_stream = references.name(record.category)
    name, name_stream = references.name(record.name)
    count, args = arguments_bytes(record.args, references)
    header = number << 16 | count << 20 | thread << 24 | category << 32 | name << 48
    body = words(record.ticks) + koids + category_stream + name_stream + args
    if number == _COUNTER or number >= _COMPLETE:
        last = record.end_ticks if number == _COMPLETE else record.id
        if last is None:
            raise ValueError(f"an event of kind {record.kind} lacks its id or end")
        body += words(last)
    return words.with_header(lib.GSYM_FXT_TYPE_EVENT, header, body)


def _kind(layout: Layout) -> _Kind:
    """The parts of records of a layout; consecutive words are one."""
    place = layout.record._fields.index
    numbers = [
        (place(each.field), each.first, each.bits, f"{each.field} of {layout.kind}")
        for each in layout.parts
        if each.how == "bits"
    ]
    body = [part for part in layout.parts if part.how != "bits"]
    parts: list[_Part] = []
    for is_word, group in groupby(body, key=lambda part: part.how == "word"):
        if is_word:
            words = [place(part.field) for part in group]
            parts.append((itemgetter(*words), 0, _word if len(words) == 1 else _words))
            continue
        for part in group:
            get = itemgetter(place(part.field))
            if part.how == "thread":
                get = itemgetter(place(process_field(part.field)), place(part.field))
            make = _MAKERS_OF_PARTS.get(part.how) or _counted(part, layout.kind)
            parts.append((get, part.first, make))
    return layout.type, layout.subtype, numbers, parts


# The number in the header for a field, and what the body has of it.
_MAKERS_OF_PARTS: dict[str, _Maker] = {
    "name": lambda text, to: to.name(text),
    "text": lambda text, to: to.text(text),
    "thread": lambda koids, to: to.thread(*koids),
    "args": arguments_bytes,
}


def _word(value: int, to: References) -> _Made:
    return 0, to.words(value)


def _words(values: tuple[int, ...], to: References) -> _Made:
    return 0, to.words(*values)


def _counted(part: Part, kind: str) -> _Maker:
    """A function for a field of a kind of record whose size is in the header."""
    most, what = (1 << part.bits) - 1, f"{part.field} of {kind}"

    def counted(items: Any, to: References) -> _Made:
        if part.how == "utf8":
            items = text_bytes(items, min(most, MOST_STRING_SIZE))
        elif len(items) > most:
            raise LimitError(f"{what}: {len(items)} exceed the limit of {most}")
        is_words = part.how == "words"
        return len(items), to.words(*items) if is_words else stream(items)

    return counted


# They change a table, or are not stored as one record with a layout.
_SPECIAL = {fxt.String, fxt.Thread, fxt.Blob, fxt.LargeBlob, fxt.Unknown}
_KINDS = {
    layout.record: _kind(layout)
    for layout in LAYOUTS
    if layout.record not in _SPECIAL or layout.record is fxt.Blob
}
MOST_FRAMES = 255
"""Of a backtrace."""

_MAGIC = fxt.TraceInfo(0, lib.GSYM_FXT_MAGIC)
_MOST_BLOB_SIZE = 32000  # of one record; larger ones are split
_MOST_LARGE_SIZE = (1 << 32) - 1  # in words
_MOST_WORDS = (1 << 12) - 1  # of other records
FLUSH_SIZE = 1 << 18
"""Bytes that are worth writing to a file."""

# They name the provider themselves, or are of the complete trace.
_OF_NO_PROVIDER = {
    fxt.ProviderInfo,
    fxt.ProviderSection,
    fxt.ProviderEvent,
    fxt.TraceInfo,
}


class Encoder:
    """Writes a trace; same records, same bytes.

    It begins with the magic number. A record of another provider than the one before
    gets a section before it; one without a provider (None) goes with those before.

    Args:
        byteorder: Of words.
        interning: Strings that are likely to come again, and threads, go into tables of
            their provider; without, they are stored where they are used.
    """

    def __init__(
        self, byteorder: Literal["little", "big"] = "little", *, interning: bool = True
    ) -> None:
        self._byteorder: Literal["little", "big"] = byteorder
        self._out = bytearray()
        self._references = References(
            Words(byteorder), self._out.extend, interning=interning
        )
        self._provider: int | None = None
        self._has_records = False
        self._put(_MAGIC)

    def add(self, record: Record) -> None:
        """Append a record; a blob that is too large for one becomes several.

        Raises:
            LimitError: A text has more than 32000 bytes, or a name of a provider or a
                module or a build id more than 255; there are more than 15 arguments or
                255 frames; or all of it takes more than 32760 bytes.
            OverflowError: A number does not fit its field.
            ValueError: A kind or type is not known, or an event lacks its id or end, or
                a large blob without a time has other metadata, or a record of type
                `Unknown` is not one record in this byte order, or a text has a
                surrogate that does not represent a byte.
        """
        kind = type(record)
        if self._has_records and fxt.begins_trace(record):  # its tables are empty
            self._references.clear()
            self._provider = None
        if kind not in _OF_NO_PROVIDER:
            provider = record.provider
            if provider is not None and provider != self._provider:
                self._put(fxt.ProviderSection(provider))
                self._enter(provider)
        if self._has_records or kind is not fxt.TraceInfo or record[:2] != _MAGIC[:2]:
            self._put_any(record)
        if isinstance(record, (fxt.ProviderInfo, fxt.ProviderSection)):
            self._enter(record.provider)
        self._has_records = True

    def take(self) -> bytes:
        """The bytes written since the last call."""
        taken = bytes(self._out)
        self._out.clear()
        return taken

    @property
    def size(self) -> int:
        """Bytes that `take` would give."""
        return len(self._out)

    def _enter(self, provider: int) -> None:
        self._provider = provider
        self._references.enter(provider)

    def _put(self, record: Record) -> None:
        self._out += record_bytes(record, self._references)

    def _put_any(self, record: Record) -> None:
        """Write a record, also one that changes a table or takes several records."""
        if type(record) not in _SPECIAL:
            self._put(record)
        elif isinstance(record, fxt.String):
            self._references.define_string(record.string_index, record.value)
        elif isinstance(record, fxt.Thread):
            koids = (record.process, record.thread)
            self._references.define_thread(record.thread_index, *koids)
        elif isinstance(record, fxt.Blob):
            for start in range(0, len(record.data) or 1, _MOST_BLOB_SIZE):
                data = record.data[start : start + _MOST_BLOB_SIZE]
                self._put(record._replace(data=data))
        elif isinstance(record, fxt.LargeBlob):
            self._put_large_blob(record)
        elif isinstance(record, fxt.Unknown):
            self._put_unknown(record)

    def _put_large_blob(self, record: fxt.LargeBlob) -> None:
        words, references = self._references.words, self._references
        category, category_stream = references.name(record.category)
        name, name_stream = references.name(record.name)
        names, body = category | name << 16, category_stream + name_stream
        if record.ticks is not None:
            process, thread = record.process or 0, record.thread or 0
            reference, koids = references.thread(process, thread)
            count, args = arguments_bytes(record.args, references)
            names |= count << 32 | reference << 36
            body += words(record.ticks) + koids + args
        elif record.args or (record.process, record.thread) != (None, None):
            raise ValueError(
                f"large blob '{record.name}' has arguments or a thread but no time, "
                "which the format requires"
            )
        data = record.data
        size = 3 + (len(body) + len(data) + 7) // 8  # in words
        if size > _MOST_LARGE_SIZE:
            raise LimitError(f"a record of {size} words exceeds the limit of 2^32 - 1")
        blob_format = 1 if record.ticks is None else 0
        self._out += (
            words(lib.GSYM_FXT_TYPE_LARGE | size << 4 | blob_format << 40, names) + body
        )
        self._out += words(len(data))
        self._out += data
        self._out += bytes(-len(data) % 8)

    def _put_unknown(self, record: fxt.Unknown) -> None:
        size = len(record.data)
        if not size or size % 8:
            raise ValueError(f"a record of {size} bytes is not made of whole words")
        header = int.from_bytes(record.data[:8], self._byteorder)
        is_large = record.type == lib.GSYM_FXT_TYPE_LARGE
        words = header >> 4 & (_MOST_LARGE_SIZE if is_large else _MOST_WORDS)
        if header & 0xF != record.type or words != size // 8:
            raise ValueError("an unknown record is of the other byte order")
        self._out += record.data


def encode(
    records: Iterable[Record],
    byteorder: Literal["little", "big"] = "little",
    *,
    interning: bool = True,
) -> Iterator[bytes]:
    """The bytes of a trace of these records, in blocks."""
    encoder = Encoder(byteorder, interning=interning)
    for record in records:
        encoder.add(record)
        if encoder.size > FLUSH_SIZE:
            yield encoder.take()
    yield encoder.take()
