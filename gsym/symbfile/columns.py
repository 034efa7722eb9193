"""Records of a symbfile, as tuples and as columns."""

from __future__ import annotations

from itertools import chain, repeat

from gsym.engine.native import ffi, lib
from gsym.garbage_collection import no_garbage_collection
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal, TypeAlias, TypeVar

    CData = Any  # a cffi object
    T = TypeVar("T")


class LineTableRow(NamedTuple):
    """The line of the code from *offset* on, in bytes from the start of the range."""

    offset: int
    line: int


class Range(NamedTuple):
    """A function or an inlined call at a range of addresses.

    Attributes:
        elf_va: First address.
        length: Bytes covered.
        func: Name of the function.
        file: Source file of the code outside of inlined calls, and of the rows; None if
            unknown.
        call_file: File of an inlined call; None if unknown.
        call_line: Line of the call.
        depth: Inlining depth, 0 for the function itself. A range is followed by the
            calls inlined into it.
        line_table: Ascending; bytes before the first row have no line.
    """

    elf_va: int
    length: int
    func: str
    file: str | None = None
    call_file: str | None = None
    call_line: int = 0
    depth: int = 0
    line_table: tuple[LineTableRow, ...] = ()


class ReturnPadEntry(NamedTuple):
    """A function of the chain at a return address; "" for no file."""

    func: str
    file: str
    line: int


class ReturnPad(NamedTuple):
    """The chain of functions at a return address."""

    elf_va: int  # the return address minus 1, which profilers look up
    # outermost function first, each with the line of its call, the last with that of
    # the call instruction
    entries: tuple[ReturnPadEntry, ...]


Record: TypeAlias = Range | ReturnPad


class Columns:
    """Records as columns, valid until the next ones are read.

    Strings are numbers, indexes into *strings*; number 0 is None.
    """

    def __init__(self, columns: CData, strings: list[str | None]) -> None:
        self._columns = columns
        self.strings = strings  # texts by number, including those of earlier columns
        # of each record in file order: 2 a range, 3 a return pad
        self.kinds: memoryview[int] = self._view("kinds", "B", columns.count)
        # of the message of each record, from the start of the file
        self.offsets: memoryview[int] = self._view("offsets", "Q", columns.count)

    def range_column(self, name: str) -> memoryview:
        """A field of the ranges, in file order.

        Args:
            name: elf_va, length, func, file, call_file, call_line, depth or row_ends.
                The rows of range i end at row_ends[i] and begin at the end of the
                previous range. Strings are numbers.
        """
        wide = name in {"elf_va", "length", "row_ends"}
        field = "range_elf_va" if name == "elf_va" else name
        return self._view(field, "Q" if wide else "I", self._columns.range_count)

    def rows(self) -> tuple[memoryview, memoryview]:
        """Offsets and lines of the rows of all line tables."""
        raw = self._view("rows", "B", 16 * self._columns.row_count)
        return raw.cast("Q")[::2], raw.cast("I")[2::4]

    def pad_column(self, name: str) -> memoryview:
        """A field of the return pads: elf_va or entry_ends (like row_ends)."""
        field = "pad_elf_va" if name == "elf_va" else name
        return self._view(field, "Q", self._columns.pad_count)

    def entries(self) -> tuple[memoryview, memoryview, memoryview]:
        """The func, file and line of the entries of all return pads."""
        raw = self._view("entries", "B", 12 * self._columns.entry_count).cast("I")
        return raw[::3], raw[1::3], raw[2::3]

    def records(self) -> Iterator[Record]:
        """Records of these columns, in file order."""
        with no_garbage_collection():
            ranges, return_pads = self._ranges(), self._return_pads()
        if not return_pads:
            return iter(ranges)
        if not ranges:
            return iter(return_pads)
        sources: dict[int, Iterator[Any]] = {
            lib.GSYM_SYMBFILE_RANGE_V1: iter(ranges),
            lib.GSYM_SYMBFILE_RETURN_PAD_V1: iter(return_pads),
        }
        in_order: Iterator[Iterator[Any]] = map(
            sources.__getitem__, self.kinds.tolist()
        )
        return map(next, in_order)

    def _ranges(self) -> list[Range]:
        tables: Iterable[Any] = repeat(())
        if self._columns.row_count:
            offsets, lines = self.rows()
            rows = _new(LineTableRow, offsets.tolist(), lines.tolist())
            tables = _runs(rows, self.range_column("row_ends"))
        return _new(
            Range,
            self.range_column("elf_va").tolist(),
            self.range_column("length").tolist(),
            self._texts(self.range_column("func")),
            self._texts(self.range_column("file")),
            self._texts(self.range_column("call_file")),
            self.range_column("call_line").tolist(),
            self.range_column("depth").tolist(),
            tables,
        )

    def _return_pads(self) -> list[ReturnPad]:
        funcs, files, lines = self.entries()
        entries = _new(
            ReturnPadEntry, self._texts(funcs), self._texts(files), lines.tolist()
        )
        runs = _runs(entries, self.pad_column("entry_ends"))
        return _new(ReturnPad, self.pad_column("elf_va").tolist(), runs)

    def _texts(self, numbers: memoryview) -> list[str | None]:
        strings = self.strings
        return [strings[number] for number in numbers.tolist()]

    def _view(self, field: str, code: Literal["B", "I", "Q"], count: int) -> memoryview:
        if not count:
            return memoryview(b"").cast(code)
        width = {"B": 1, "I": 4, "Q": 8}[code]
        start = getattr(self._columns, field)
        return memoryview(ffi.buffer(start, width * count)).cast("B").cast(code)


def _new(kind: type[T], *columns: Iterable[Any]) -> list[T]:
    """Named tuples of columns, without the handling of their arguments."""
    values = zip(*columns, strict=False)  # `repeat` has no end
    return list(map(tuple.__new__, repeat(kind), values))  # type: ignore[arg-type]


def _runs(items: list[Any], ends: memoryview) -> list[tuple[Any, ...]]:
    """Slices of the items between consecutive ends."""
    whole, listed = tuple(items), ends.tolist()
    return [
        whole[start:end]
        for start, end in zip(chain((0,), listed), listed, strict=False)
    ]
