"""Columns of the engine's reader of symbfiles -> records."""

from __future__ import annotations

from functools import partial
from itertools import chain, repeat

from gsym._native import ffi, lib
from gsym.formats.symbfile_records import (
    LineTableRow,
    Range,
    Record,
    ReturnPad,
    ReturnPadEntry,
)

__all__ = ["Columns"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal

    CData = Any  # a cffi object

# Named tuples from tuples, without the handling of their arguments.
_new_row = partial(tuple.__new__, LineTableRow)
_new_range = partial(tuple.__new__, Range)
_new_entry = partial(tuple.__new__, ReturnPadEntry)
_new_return_pad = partial(tuple.__new__, ReturnPad)


class Columns:
    """Records as columns, good until the next ones are asked for.

    Strings are numbers: *strings* has their texts, None for number 0.

    Attributes:
        kinds: Of each record in file order: 2 a range, 3 a return pad.
        offsets: Of the message of each record, from the start of the file.
        strings: Texts by number, those of earlier columns among them.
    """

    def __init__(self, columns: CData, strings: list[str | None]) -> None:
        self._columns = columns
        self.strings = strings
        self.kinds = self._view("kinds", "B", columns.count)
        self.offsets = self._view("offsets", "Q", columns.count)

    def range_column(self, name: str) -> memoryview:
        """A field of the ranges, in file order.

        Args:
            name: elf_va, length, func, file, call_file, call_line, depth or row_ends.
                The rows of range i end at row_ends[i] and begin where those of the
                range before end. Strings are numbers.
        """
        wide = name in {"elf_va", "length", "row_ends"}
        field = "range_elf_va" if name == "elf_va" else name
        return self._view(field, "Q" if wide else "I", self._columns.range_count)

    def rows(self) -> tuple[memoryview, memoryview]:
        """Offsets and lines of the rows of all line tables."""
        raw = self._view("rows", "B", 16 * self._columns.row_count)
        return raw.cast("Q")[::2], raw.cast("I")[2::4]

    def pad_column(self, name: str) -> memoryview:
        """A field of the return pads: elf_va or entry_ends, which are like row_ends."""
        field = "pad_elf_va" if name == "elf_va" else name
        return self._view(field, "Q", self._columns.pad_count)

    def entries(self) -> tuple[memoryview, memoryview, memoryview]:
        """The func, file and line of the entries of all return pads."""
        raw = self._view("entries", "B", 12 * self._columns.entry_count).cast("I")
        return raw[::3], raw[1::3], raw[2::3]

    def records(self) -> Iterator[Record]:
        """The same as records, in file order."""
        if not self._columns.pad_count:
            return self._ranges()
        if not self._columns.range_count:
            return self._return_pads()
        sources: dict[int, Iterator[Any]] = {
            lib.GSYM_SYMBFILE_RANGE_V1: self._ranges(),
            lib.GSYM_SYMBFILE_RETURN_PAD_V1: self._return_pads(),
        }
        in_order: Iterator[Iterator[Any]] = map(
            sources.__getitem__, self.kinds.tolist()
        )
        return map(next, in_order)

    def _ranges(self) -> Iterator[Range]:
        text = self.strings.__getitem__
        tables: Iterable[Any] = repeat(())
        if self._columns.row_count:
            offsets, lines = self.rows()
            rows = map(_new_row, zip(offsets.tolist(), lines.tolist(), strict=True))
            tables = _runs(tuple(rows), self.range_column("row_ends"))
        numbers = {
            name: self.range_column(name).tolist()
            for name in ("func", "file", "call_file")
        }
        fields = zip(
            self.range_column("elf_va").tolist(),
            self.range_column("length").tolist(),
            map(text, numbers["func"]),
            map(text, numbers["file"]),
            map(text, numbers["call_file"]),
            self.range_column("call_line").tolist(),
            self.range_column("depth").tolist(),
            tables,
            strict=False,  # `repeat` has no end
        )
        return map(_new_range, fields)

    def _return_pads(self) -> Iterator[ReturnPad]:
        text = self.strings.__getitem__
        funcs, files, lines = (column.tolist() for column in self.entries())
        entries = map(
            _new_entry, zip(map(text, funcs), map(text, files), lines, strict=True)
        )
        runs = _runs(tuple(entries), self.pad_column("entry_ends"))
        elf_va = self.pad_column("elf_va").tolist()
        return map(_new_return_pad, zip(elf_va, runs, strict=True))

    def _view(self, field: str, code: Literal["B", "I", "Q"], count: int) -> memoryview:
        if not count:
            return memoryview(b"").cast(code)
        width = {"B": 1, "I": 4, "Q": 8}[code]
        start = getattr(self._columns, field)
        return memoryview(ffi.buffer(start, width * count)).cast("B").cast(code)


def _runs(items: tuple[Any, ...], ends: memoryview) -> Iterator[tuple[Any, ...]]:
    """The items up to each end, from the end before on."""
    listed = ends.tolist()
    return map(items.__getitem__, map(slice, chain((0,), listed), listed))
