"""Recognize and open Fuchsia traces."""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import chain

from gsym.containers.inflation import LONGEST_MAGIC, inflater_of
from gsym.containers.mapped_file import give_back, map_file
from gsym.errors import FormatError
from gsym.fxt.decoder import MAGICS, Decoder, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any, Literal, Protocol

    from typing_extensions import Buffer

    from gsym.fxt.decoder import Columns, Counts, Filter
    from gsym.fxt.records import Record

    class Readable(Protocol):
        """A file that is open for reading in binary mode."""

        def read(self, size: int, /) -> Any:
            """Up to so many bytes."""


HEAD_SIZE = 1 << 16
"""Bytes of a file that are enough to recognize it; twice the largest record."""

_WORD = 8
_SCHEDULING, _LARGE = 8, 15
_MOST_METADATA = 33  # words: the name of a provider has at most 255 bytes
_INITIALIZATION_WORDS = range(2, 5)
_THREAD_WORDS = 3
# In front of damage.
_ENOUGH_RECORDS = 8


def is_trace(head: bytes) -> bool:
    """Whether a file that begins with these bytes, not compressed, is one.

    Without the magic number it must begin with valid consecutive records, which
    programs do not, and contain a zero byte, which text does not.
    """
    return trace_byteorder(head) is not None


def trace_byteorder(head: bytes) -> Literal["little", "big"] | None:
    """The byte order of a trace that begins with these bytes; None of other files."""
    orders: tuple[Literal["little", "big"], ...] = ("little", "big")
    for order, magic in zip(orders, MAGICS, strict=True):
        if head and magic.startswith(head[:_WORD]):
            return order
    if 0 not in head:
        return None
    return next((order for order in orders if _has_records(head, order)), None)


def _has_records(head: bytes, order: Literal["little", "big"]) -> bool:
    """Whether the bytes are consecutive records in a byte order."""
    at = records = 0
    while len(head) - at >= _WORD:
        words = _words(int.from_bytes(head[at : at + _WORD], order))
        if words is None:
            return records >= _ENOUGH_RECORDS
        at += words * _WORD
        records += 1
    return records > 1 or at == len(head) > 0


def _words(header: int) -> int | None:
    """The number of words of a record; None if the header is invalid."""
    kind, words = header & 15, header >> 4 & 0xFFF
    if kind == _LARGE:
        words = header >> 4 & 0xFFFFFFFF
    subtype = header >> 60 if kind == _SCHEDULING else header >> 16 & 15
    fits = {
        0: words <= _MOST_METADATA,
        1: words in _INITIALIZATION_WORDS,
        2: words == 1 + ((header >> 32 & 0x7FFF) + 7) // 8,
        3: words == _THREAD_WORDS,
    }
    is_header = (
        words
        and kind in _RESERVED
        and not header & _RESERVED[kind]
        and subtype in _SUBTYPES.get(kind, range(16))
        and fits.get(kind, True)
    )
    return words if is_header else None


def _bits(*ranges: tuple[int, int]) -> int:
    """A word with these bits set, the first and the last one of each range."""
    return sum((1 << last + 1) - (1 << first) for first, last in ranges)


# By type of record: bits that must be 0, and valid subtypes.
_RESERVED = {
    0: 0,
    1: _bits((16, 63)),
    2: _bits((31, 31), (47, 63)),
    3: _bits((24, 63)),
    4: 0,
    5: _bits((47, 47), (56, 63)),
    6: _bits((44, 63)),
    7: _bits((44, 63)),
    _SCHEDULING: 0,
    9: _bits((31, 31), (40, 63)),
    10: 0,
    _LARGE: _bits((36, 39), (44, 63)),
}
_SUBTYPES = {0: range(1, 5), 4: range(11), _SCHEDULING: range(3), 10: range(3)}


_PIECE_SIZE = 1 << 20


def inflated_head(head: bytes) -> bytes:
    """The first bytes of a file, inflated; b"" if it is damaged."""
    inflate = inflater_of(head)
    if inflate is None:
        return head
    found = b""
    with suppress(ValueError):  # most heads end within the compressed stream
        for piece in inflate((head,)):
            found += piece
            if len(found) >= HEAD_SIZE:
                break
    return found[:HEAD_SIZE]


def is_trace_file(path: str) -> bool:
    """Whether a file begins as a trace does, compressed or not."""
    with open(path, "rb") as file:
        head = file.read(HEAD_SIZE)
    return bool(head) and is_trace(inflated_head(head))


class Trace:
    """A trace that is read once, as records or as columns.

    Iterating over it gives its records. `open_trace` makes it.

    Attributes:
        path: Its name, or None.
        size: Bytes of the file; None if unknown.
        bytes_read: Bytes read so far.
    """

    def __init__(  # noqa: PLR0913 - each is named
        self,
        pieces: Iterable[Buffer],
        decoder: Decoder,
        path: str | None = None,
        size: int | None = None,
        *,
        strict: bool = False,
        is_order_known: bool = True,
    ) -> None:
        self.path = path
        self.size = size
        self.bytes_read = 0
        self._strict = strict
        self._decoder = decoder
        self._pieces: Iterable[Buffer] = self._inflated(self._counted(pieces))
        if not is_order_known:
            self._pieces = self._ordered(self._pieces)

    def __iter__(self) -> Iterator[Record]:
        return self._decoder.records(self._pieces)

    def columns(self) -> Iterator[Columns]:
        """The records as columns, up to some thousands at a time."""
        return self._decoder.columns(self._pieces)

    @property
    def problems(self) -> list[Problem]:
        """Errors in what has been read."""
        return self._decoder.problems

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """The byte order of what has been read."""
        return self._decoder.byteorder

    def counts(self) -> Counts:
        """The statistics of what has been read up to now."""
        return self._decoder.counts()

    def _counted(self, pieces: Iterable[Buffer]) -> Iterator[memoryview]:
        for piece in pieces:
            view = memoryview(piece).cast("B")
            yield view
            self.bytes_read += len(view)

    def _ordered(self, pieces: Iterable[Buffer]) -> Iterator[Buffer]:
        for number, piece in enumerate(pieces):
            if number == 0:
                head = bytes(memoryview(piece)[:HEAD_SIZE])
                self._decoder.byteorder = trace_byteorder(head) or "little"
            yield piece

    def _inflated(self, pieces: Iterator[memoryview]) -> Iterator[Buffer]:
        head = b""
        for piece in pieces:
            if head or len(piece) < LONGEST_MAGIC:
                head += bytes(piece)
                piece = memoryview(head)  # noqa: PLW2901 - all that was read
            if len(piece) >= LONGEST_MAGIC:
                whole = chain((piece,), pieces)
                inflate = inflater_of(piece)
                yield from whole if inflate is None else self._noted(inflate(whole))
                return
        yield head

    def _noted(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Inflated pieces; damage is a problem of the trace."""
        size = 0
        try:
            for piece in pieces:
                size += len(piece)
                yield piece
        except ValueError as error:
            reason = f"damaged compressed stream: {error}"
            if self._strict:
                raise FormatError(reason, path=self.path, offset=size) from error
            self.problems.append(Problem(size, reason))


def open_trace(
    source: str | os.PathLike[str] | Buffer | Readable,
    *,
    strict: bool = False,
    kinds: Collection[str] | None = None,
    chosen: Filter | None = None,
    byteorder: Literal["little", "big"] | None = None,
) -> Trace:
    """A trace to be read once.

    Args:
        source: A path, bytes, or a file that is open for reading in binary mode, such
            as a pipe: its records come out as they come in.
        strict: The first problem is an error.
        kinds: Those of `gsym.fxt.decoder.KINDS` to hand out; None: all.
        chosen: Which of them to hand out; None: all.
        byteorder: As for `Decoder`; None: detected from the first records.

    Raises:
        FormatError: The file is empty or not a regular file, or, while it is read, it
            is damaged and *strict* is set.
        OSError: It cannot be opened or read.
    """
    path, size = None, None
    whole: memoryview | None = None
    pieces: Iterable[Buffer]
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        whole = map_file(path)
        size = len(whole)
        pieces = _mapped_pieces(whole)
    elif hasattr(source, "read"):
        name = getattr(source, "name", None)
        path = name if isinstance(name, str) else None
        read = getattr(source, "read1", source.read)
        pieces = iter(lambda: read(_PIECE_SIZE), b"")
    else:
        whole = memoryview(source).cast("B")
        size = len(whole)
        pieces = (whole,)
    if whole is not None and inflater_of(whole) is not None:
        whole = None
    decoder = Decoder(
        path,
        strict=strict,
        kinds=kinds,
        chosen=chosen,
        byteorder=byteorder or "little",
        whole=whole,
    )
    is_known = byteorder is not None
    return Trace(pieces, decoder, path, size, strict=strict, is_order_known=is_known)


def _mapped_pieces(data: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(data), _PIECE_SIZE):
        yield data[start : start + _PIECE_SIZE]
        give_back(data, start, _PIECE_SIZE)
