"""symbfile, the format of Elastic's and OpenTelemetry's profilers <-> records.

The engine reads and writes messages; this module converts records to its arguments and
columns to records. Files are processed in pieces; input may be compressed by zstd.
docs/symbfile.md describes the format.
"""

from __future__ import annotations

import os
from itertools import chain

from gsym.containers.inflation import inflate_zstd
from gsym.containers.mapped_file import map_file
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object
from gsym.errors import FormatError
from gsym.records import NamedTuple
from gsym.symbfile.columns import (
    Columns,
    Range,
    Record,
    ReturnPad,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator
    from typing import Any

    from typing_extensions import Buffer

    CData = Any  # a cffi object


class Counts(NamedTuple):
    """Statistics of a file; bytes of messages include length and type."""

    ranges: int  # messages of this type, as of those below
    return_pads: int  # see above
    string_tables: int  # see above
    unknown_messages: int  # messages of unknown types, which are ignored
    range_bytes: int  # bytes of the ranges
    return_pad_bytes: int  # bytes of the return pads
    string_table_bytes: int  # bytes of the string tables
    unknown_bytes: int  # bytes of unknown messages
    table_strings: int  # strings in all string tables
    inline_strings: int  # strings in ranges
    references: int  # number of references to strings of tables
    line_rows: int  # rows of all line tables
    entries: int  # entries of all return pads


MAGIC = b"symbfile"
_FLUSH_SIZE = 4096  # records


class Decoder:
    """Reads a symbfile once, as records, as columns, or with the engine."""

    def __init__(self, pieces: Iterable[Buffer], path: str | None = None) -> None:
        self._pieces = iter(pieces)
        self.path = path  # for errors
        self._error: CData = new_error()
        life = lib.gsym_symbfile_reader_create, lib.gsym_symbfile_reader_destroy
        self._reader = new_object("symbfile_reader", *life, path=path)
        self._columns: CData = ffi.new("gsym_symbfile_columns *")
        self._strings: list[str | None] = [None]

    def records(self) -> Iterator[Record]:
        """The records in file order."""
        return chain.from_iterable(columns.records() for columns in self.columns())

    def columns(self) -> Iterator[Columns]:
        """The records as columns, up to some ten thousand at a time."""
        for _ in self.reads():
            self._take_strings()
            yield Columns(self._columns, self._strings)

    def reads(self) -> Iterator[CData]:
        """The engine's reader, each time it has records."""
        used, wanted = ffi.new("size_t *"), ffi.new("size_t *", 1)
        held = bytearray()  # the first bytes of a message
        is_last = False
        while not is_last:
            piece = next(self._pieces, None)
            is_last = piece is None
            if held or piece is None:
                held += piece or b""
                if len(held) < wanted[0] and not is_last:
                    continue
                # A copy: `held` cannot grow while the engine uses it.
                piece = bytes(held)
            rest = yield from self._read(piece, used, wanted, is_last=is_last)
            held = bytearray(rest)

    def counts(self) -> Counts:
        """The statistics of what has been read up to now."""
        counts = ffi.new("gsym_symbfile_counts *")
        lib.gsym_symbfile_reader_count(self._reader, counts)
        return Counts(*(getattr(counts, name) for name in Counts._fields))

    def _read(
        self, piece: Buffer, used: CData, wanted: CData, *, is_last: bool
    ) -> Generator[CData, None, bytes]:
        """Read up to the last complete message; returns the bytes after it."""
        view, start, size = bytes_of(piece), 0, memoryview(piece).nbytes
        while True:
            status = lib.gsym_symbfile_reader_read(
                self._reader,
                view + start,
                size - start,
                is_last,
                used,
                wanted,
                self._error,
            )
            lib.gsym_symbfile_reader_columns(self._reader, self._columns)
            if self._columns.count:
                yield self._reader
            check(status, self._error, self.path)
            start += used[0]
            if wanted[0]:
                return bytes(memoryview(piece).cast("B")[start:])

    def _take_strings(self) -> None:
        columns = self._columns
        del self._strings[columns.string_first :]
        count = columns.string_end - columns.string_first
        if not count:
            return
        ends = ffi.unpack(columns.string_ends, count)
        raw = ffi.buffer(columns.string_bytes, ends[-1])[:]
        text = raw.decode()
        starts = chain((0,), ends)
        if len(text) == len(raw):
            new = map(text.__getitem__, map(slice, starts, ends))
        else:
            new = map(bytes.decode, map(raw.__getitem__, map(slice, starts, ends)))
        self._strings.extend(new)


class Encoder:
    """Writes a symbfile, or several; same records, same bytes.

    Shared strings are in tables, sorted by frequency. With *part_size* it writes
    several files of about this size, each complete; a function and the calls inlined
    into it are in one file.
    """

    def __init__(self, part_size: int | None = None) -> None:
        self._error: CData = new_error()
        life = lib.gsym_symbfile_writer_create, lib.gsym_symbfile_writer_destroy
        self.handle: CData = new_object("symbfile_writer", *life, part_size or 0)
        self._numbers = _Numbers(self.handle)
        self._range: CData = ffi.new("gsym_symbfile_range *")

    def add(self, record: Record) -> None:
        """Append a record.

        Raises:
            LimitError: It exceeds 16 MiB, or a step of its line table 32 bits.
            OverflowError: A number does not fit its field.
            ValueError: A string has no UTF-8 form, or the line table is not sorted.
        """
        if isinstance(record, Range):
            self._add_range(record)
        else:
            self._add_return_pad(record)

    def finish(self) -> None:
        """End the output; the remaining bytes can be taken."""
        check(lib.gsym_symbfile_writer_finish(self.handle, self._error), self._error)

    def take(self) -> tuple[bytes, bool]:
        """Finished bytes, and whether a file ends after them.

        They belong to one file: repeat until there are none and no file ends.
        """
        start, size = ffi.new("uint8_t const **"), ffi.new("size_t *")
        ends_part = ffi.new("uint32_t *")
        lib.gsym_symbfile_writer_take(self.handle, start, size, ends_part)
        return ffi.buffer(start[0], size[0])[:], bool(ends_part[0])

    def _add_range(self, record: Range) -> None:
        numbers, target, table = self._numbers, self._range, record.line_table
        target.elf_va, target.length = record.elf_va, record.length
        target.func = numbers[record.func]
        target.file, target.call_file = numbers[record.file], numbers[record.call_file]
        target.call_line, target.depth = record.call_line, record.depth
        rows = ffi.new("gsym_symbfile_row[]", [(*row, 0) for row in table])
        target.rows, target.row_count = rows, len(table)
        status = lib.gsym_symbfile_writer_add_range(self.handle, target, self._error)
        check(status, self._error)

    def _add_return_pad(self, record: ReturnPad) -> None:
        numbers = self._numbers
        entries = [(numbers[e.func], numbers[e.file], e.line) for e in record.entries]
        status = lib.gsym_symbfile_writer_add_return_pad(
            self.handle,
            record.elf_va,
            ffi.new("gsym_symbfile_entry[]", entries),
            len(entries),
            self._error,
        )
        check(status, self._error)


class _Numbers(dict[str | None, int]):
    """The numbers of strings in a writer."""

    def __init__(self, handle: CData) -> None:
        super().__init__({None: 0})
        self._handle = handle

    def __missing__(self, text: str) -> int:
        raw, error, number = text.encode(), new_error(), ffi.new("uint32_t *")
        status = lib.gsym_symbfile_writer_add_string(
            self._handle, raw, len(raw), number, error
        )
        check(status, error)
        self[text] = number[0]
        return int(number[0])


def encode(records: Iterable[Record]) -> Iterator[bytes]:
    """The bytes of one symbfile with these records, in blocks."""
    encoder = Encoder()
    for number, record in enumerate(records, 1):
        encoder.add(record)
        if number % _FLUSH_SIZE == 0:
            yield encoder.take()[0]
    encoder.finish()
    yield encoder.take()[0]


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_READ_SIZE = 1 << 20


def open_symbfile(path: str | os.PathLike[str]) -> Decoder:
    """A decoder of the symbfile at *path*, which may be compressed."""
    name = os.fspath(path)
    return decode(map_file(name), name)


def decode(data: memoryview | bytes, path: str | None = None) -> Decoder:
    """A decoder of a symbfile in memory."""
    inflated = inflated_pieces(data, path)
    pieces: Iterable[Buffer] = (data,) if inflated is None else inflated
    return Decoder(pieces, path)


def is_symbfile(path: str) -> bool:
    """Whether a file begins as a symbfile that is not compressed."""
    with open(path, "rb", buffering=0) as file:
        return file.read(len(MAGIC)) == MAGIC


def inflated_pieces(
    data: memoryview | bytes, path: str | None = None
) -> Iterator[bytes] | None:
    """The inflated bytes of a symbfile compressed by zstd; None for a plain one."""
    if bytes(data[: len(_ZSTD_MAGIC)]) != _ZSTD_MAGIC:
        return None
    return _inflated(memoryview(data), path)


def _inflated(data: memoryview, path: str | None) -> Iterator[bytes]:
    starts = range(0, len(data), _READ_SIZE)
    try:
        yield from inflate_zstd(data[start : start + _READ_SIZE] for start in starts)
    except ValueError as error:
        reason = f"damaged zstd stream: {error}"
        raise FormatError(reason, path=path) from error
