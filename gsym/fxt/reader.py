"""Open Fuchsia traces."""

from __future__ import annotations

import os
from itertools import chain

from gsym.containers.mapped_file import blocks, map_file
from gsym.containers.recognition import inflater_of
from gsym.errors import FormatError
from gsym.fxt.decoder import Decoder, Problem
from gsym.fxt.recognition import HEAD_SIZE, trace_byteorder

TYPE_CHECKING = bool()
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


_PIECE_SIZE = 1 << 20
_WORD_SIZE = 8  # of a record, the smallest; more than a magic number


class Trace:
    """A trace that is read once, as records or as columns.

    Iterating over it gives its records. `open_trace` makes it.
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
        self.path = path  # its name, or None
        self.size = size  # bytes of the file; None if unknown
        self.bytes_read: int = 0  # bytes read so far
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
            if head or len(piece) < _WORD_SIZE:
                head += bytes(piece)
                piece = memoryview(head)  # noqa: PLW2901 - all that was read
            if len(piece) >= _WORD_SIZE:
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
        pieces = blocks(whole)
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
