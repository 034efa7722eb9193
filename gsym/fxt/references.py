"""Words and references of records that are written."""

from __future__ import annotations

import struct

from gsym.engine.native import lib
from gsym.errors import LimitError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Hashable
    from typing import Protocol

    class ReferenceMaker(Protocol):
        """Makes references for the records of a provider."""

        def name(self, text: str) -> tuple[int, bytes]:
            """Reference and stream of a string that is likely to come again."""

        def text(self, text: str) -> tuple[int, bytes]:
            """Reference and stream of another string."""

        def thread(self, process: int, thread: int) -> tuple[int, bytes]:
            """Reference and words of a thread."""


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


_MOST_STRINGS, _MOST_THREADS = 0x7FFF, 0xFF
_INLINE = 0x8000


class References:
    """Makes references for the records of one provider after the other."""

    def __init__(self, words: Words, out: bytearray, *, interning: bool) -> None:
        self._words = words
        self._out = out
        self._interning = interning
        self._tables: dict[int | None, tuple[_Table, _Table]] = {}
        self.enter(None)

    def enter(self, provider: int | None) -> None:
        """References are for the records of this provider from now on."""
        new = (_Table(_MOST_STRINGS), _Table(_MOST_THREADS))
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
        return _INLINE | len(data), stream(data)

    def thread(self, process: int, thread: int) -> tuple[int, bytes]:
        """Reference and words of a thread."""
        if not self._interning:
            return 0, self._words(process, thread)
        index = self._threads.find((process, thread))
        if index is None:
            koids = self._words(process, thread)
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
        self._put_thread(index, self._words(process, thread))
        if index:
            self._threads.put(index, (process, thread))

    def _put_string(self, index: int, data: bytes) -> None:
        header = index << 16 | len(data) << 32
        self._out += self._words.with_header(
            lib.GSYM_FXT_TYPE_STRING, header, stream(data)
        )

    def _put_thread(self, index: int, koids: bytes) -> None:
        self._out += self._words.with_header(
            lib.GSYM_FXT_TYPE_THREAD, index << 16, koids
        )


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
