"""Fuchsia traces (FXT) -> records or columns, piece by piece.

The engine reads the records. A damaged trace is read as far as possible: errors are
listed as problems, each with its offset.
"""

from __future__ import annotations

from itertools import chain

from gsym.arguments import strings_of
from gsym.engine.native import check, ffi, lib, new_error, to_bytes
from gsym.errors import FormatError
from gsym.fxt.columns import MOST_COPIED_SIZE, Columns, Texts
from gsym.fxt.records import KINDS, Record
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import (
        Collection,
        Generator,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import Any, Literal

    from typing_extensions import Buffer

    CData = Any  # a cffi object


class Filter(NamedTuple):
    """Conditions on a record; a field without one may have any value.

    Records needed to read others, and those of objects, modules and mappings, always
    pass. Others without such a field are left out: a context switch has no process,
    only events and large blobs have a category, and only these and blobs a name.
    """

    # it ends at this time or later; an event has its own end or is over at once
    from_ns: int = 0
    to_ns: int = UINT64_MAX  # it begins at this time or earlier
    processes: Sequence[int] = ()  # its process has one of these koids
    # its thread has one of these koids; of a context switch, either thread
    threads: Sequence[int] = ()
    # it matches one of these patterns, in which `*` stands for any text and `?` for a
    # character
    categories: Sequence[str] = ()
    names: Sequence[str] = ()  # its name matches one of these patterns


def set_filter(reader: Any, chosen: Filter, error: Any) -> None:
    """Set the filter of the engine's reader."""
    processes = ffi.new("uint64_t[]", list(chosen.processes))
    threads = ffi.new("uint64_t[]", list(chosen.threads))
    categories = ffi.from_buffer("char[]", _joined("categories", chosen.categories))
    names = ffi.from_buffer("char[]", _joined("names", chosen.names))
    koids = processes, len(processes), threads, len(threads)
    texts = categories, len(categories), names, len(names)
    span = chosen.from_ns, chosen.to_ns
    wanted = ffi.new("gsym_fxt_filter *", (*span, *koids, *texts))
    check(lib.gsym_fxt_reader_set_filter(reader, wanted, error), error)


def _joined(name: str, patterns: Sequence[str]) -> bytes:
    patterns = strings_of(name, patterns)
    if any("\0" in pattern for pattern in patterns):
        raise ValueError("a pattern cannot hold a NUL")
    return b"".join(to_bytes(pattern) + b"\0" for pattern in patterns)


__all__ = ["KINDS", "Columns", "Counts", "Decoder", "Filter", "Problem"]


class Problem(NamedTuple):
    """An error in the record at *offset*, from the start of the trace."""

    offset: int
    reason: str


class Counts(NamedTuple):
    """Counts of a trace."""

    # how many of each of KINDS, those that cannot be read among them
    records: Mapping[str, int]
    bytes: Mapping[str, int]  # what they take
    arguments: int  # arguments of all records that were handed out
    unknown_arguments: int  # those of an unknown type, which are left out
    # those after the fields of records and arguments, which newer writers may append;
    # they are left out
    appended_words: int
    providers: int  # how many have been named
    traces: int  # those begun by a magic number in the middle of the file
    left_out: int  # records that do not pass the filter
    problems: int  # how many there are; `Decoder.problems` lists up to 65536


_LARGE_SIZE = 1 << 20  # of records that are not copied if possible


class Decoder:
    """Reads a trace that comes in pieces of any size.

    Args:
        path: What the trace is called, for errors.
        strict: The first problem is an error.
        kinds: Those of KINDS to hand out; None: all. Others cost next to nothing.
        chosen: Which of them to hand out; None: all.
        byteorder: "little" or "big", up to the first magic number, which shows it.
        most_record_size: In bytes; a larger record that is to be handed out is skipped,
            and is a problem. By default 256 MiB, and no limit with *whole*.
        whole: The complete input, if available, such as a mapped file: large records
            are read from it instead of being assembled from pieces.

    Raises:
        MemoryError: There is not enough memory.
    """

    def __init__(  # noqa: PLR0913 - each is named
        self,
        path: str | None = None,
        *,
        strict: bool = False,
        kinds: Collection[str] | None = None,
        chosen: Filter | None = None,
        byteorder: Literal["little", "big"] = "little",
        most_record_size: int | None = None,
        whole: memoryview | None = None,
    ) -> None:
        # errors in what has been read, by offset; up to 65536
        self.problems: list[Problem] = []
        self._path = path
        self._error: CData = new_error()
        place = ffi.new("gsym_fxt_reader **")
        numbers = map(KINDS.index, KINDS if kinds is None else kinds)
        mask = sum(1 << number for number in set(numbers))
        if most_record_size is None:
            most_record_size = MOST_COPIED_SIZE if whole is None else UINT64_MAX
        status = lib.gsym_fxt_reader_create(
            mask, most_record_size, strict, place, self._error
        )
        check(status, self._error, path)
        self._reader = ffi.gc(place[0], lib.gsym_fxt_reader_destroy)
        self.byteorder = byteorder
        if chosen is not None:
            set_filter(self._reader, chosen, self._error)
        self._columns: CData = ffi.new("gsym_fxt_columns *")
        self._used: CData = ffi.new("size_t *")
        self._wanted: CData = ffi.new("size_t *", 1)
        self._held: bytearray | memoryview = bytearray()  # first bytes of a record
        self._whole = whole
        self._fed = 0  # bytes of all pieces
        self._ahead = 0  # bytes that were taken, including some of later pieces
        self._texts = Texts()
        self._failure: FormatError | None = None

    @property
    def byteorder(self) -> Literal["little", "big"]:
        """The byte order of the last words."""
        is_big = lib.gsym_fxt_reader_is_big_endian(self._reader)
        return "big" if is_big else "little"

    @byteorder.setter
    def byteorder(self, order: Literal["little", "big"]) -> None:
        lib.gsym_fxt_reader_set_big_endian(self._reader, order == "big")

    def feed(self, piece: Buffer) -> list[Record]:
        """The records that end in the next bytes of the trace.

        If a strict reader finds a problem after some, the next call raises it.
        """
        self._raise_failure()
        records: list[Record] = []
        try:
            for part in self._take(piece):
                records += part.records()
        except FormatError as failure:
            if not records:
                raise
            self._failure = failure
        return records

    def finish(self) -> None:
        """End the trace; an incomplete record is a problem."""
        self._raise_failure()
        for _ in self._read(self._held, is_last=True):
            raise AssertionError  # a whole record would have been read before

    def records(self, pieces: Iterable[Buffer]) -> Iterator[Record]:
        """The records of a complete trace, in order."""
        return chain.from_iterable(part.records() for part in self.columns(pieces))

    def columns(self, pieces: Iterable[Buffer]) -> Iterator[Columns]:
        """The records of a complete trace as columns, some thousands at a time."""
        for piece in pieces:
            yield from self._take(piece)
        self.finish()

    def counts(self) -> Counts:
        """The statistics of what has been read up to now."""
        counts = ffi.new("gsym_fxt_counts *")
        lib.gsym_fxt_reader_count(self._reader, counts)
        by_kind = counts.records, counts.bytes
        maps = [dict(zip(KINDS, each, strict=True)) for each in by_kind]
        numbers = [getattr(counts, name) for name in Counts._fields[len(maps) : -1]]
        return Counts._make((*maps, *numbers, sum(counts.faults)))

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _take(self, piece: Buffer) -> Iterator[Columns]:
        piece = memoryview(piece).cast("B")
        taken = max(self._ahead - self._fed, 0)  # of this piece
        self._fed += len(piece)
        if taken >= len(piece) and taken:
            return
        piece = piece[taken:]
        if self._held:
            if isinstance(self._held, memoryview):
                self._held = bytearray(self._held)
            self._held += piece
            if len(self._held) < self._wanted[0]:
                return
            # A copy, for `held` cannot grow while the engine looks at it.
            piece = memoryview(bytes(self._held))
        rest = yield from self._read(piece, is_last=False)
        if self._whole is not None and self._wanted[0] > _LARGE_SIZE:
            start = self._fed - len(rest)
            self._ahead = min(start + self._wanted[0], len(self._whole))
            rest = yield from self._read(
                self._whole[start : self._ahead], is_last=False
            )
        self._held = rest if rest.readonly else bytearray(rest)

    def _read(
        self, piece: Buffer, *, is_last: bool
    ) -> Generator[Columns, None, memoryview]:
        """Columns up to the last complete record; returns the bytes after it."""
        data = memoryview(piece).cast("B")
        start = 0
        # Always released: the garbage collector of Python 3.11.7 crashes if an error
        # holds a memoryview that is still in use.
        with ffi.from_buffer("uint8_t[]", piece) as view:
            while True:
                status = lib.gsym_fxt_reader_read(
                    self._reader,
                    view + start,
                    len(view) - start,
                    is_last,
                    self._used,
                    self._wanted,
                    self._error,
                )
                lib.gsym_fxt_reader_columns(self._reader, self._columns)
                self._take_problems()
                self._texts.take(self._columns)
                if self._columns.count:
                    yield Columns(self._columns, self._texts, data[start:])
                check(status, self._error, self._path)
                start += self._used[0]
                if self._wanted[0]:
                    return data[start:]

    def _take_problems(self) -> None:
        columns = self._columns
        if not columns.problem_count:
            return
        text = ffi.new("char[]", lib.GSYM_ERROR_TEXT_SIZE)
        for at in range(columns.problem_count):
            problem = columns.problems + at
            lib.gsym_fxt_problem_text(problem, text, len(text))
            self.problems.append(Problem(problem.offset, ffi.string(text).decode()))
