"""Write a GSYM file in Grafana Pyroscope's format lidia: sorted ranges with a depth.

The ranges are those of a symbfile, of which lidia is a variant with an index. A reader
finds the last range that starts at or before an address and goes back, innermost call
first, up to a range of depth 0.

Source: github.com/grafana/pyroscope, lidia/README.md, lidia/format.go, lidia/lidia.go.
"""

from __future__ import annotations

import os
import struct
import sys
import time
from array import array

import gsym.reading.reader
from gsym.engine.native import ffi, lib
from gsym.errors import LimitError
from gsym.records import NamedTuple
from gsym.symbfile.extraction import FunctionPass, check_output, range_counts
from gsym.symbfile.format import Decoder
from gsym.symbfile.names import NameTexts
from gsym.symbfile.parts import finished_blocks
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.reading.reader import Reader
    from gsym.symbfile.columns import Columns

_MAGIC = b".dia"
_VERSION = 1
_HEADER_SIZE = 0x80
# Length, depth, function, file, rows, their number, file and line of the call.
_FIELDS = ("length", "depth", "func", "file", "", "", "call_file", "call_line")
_UINT16_END, _UINT32_END = 1 << 16, 1 << 32
_BLOCK_SIZE = 1 << 20
_DEPTH_BITS = 32


class LidiaReport(NamedTuple):
    """The result of an export, and what the output lacks.

    Attributes:
        output: Path that was written.
        counts: `functions`, `ranges`, those of `inlined_calls`, and `line_rows`.
        losses: Kind of lost data -> count.
        file_size: Size of the output in bytes.
        seconds: Wall time.
    """

    output: str
    counts: dict[str, int]
    losses: dict[str, int]
    file_size: int
    seconds: float


def export_lidia(
    source: str | os.PathLike[str] | Reader,
    output: str | os.PathLike[str],
    *,
    names: str = "mangled",
    progress: Callable[[int, int], None] | None = None,
) -> LidiaReport:
    """Write a lidia file that names the same functions as the GSYM file.

    Its addresses are link-time addresses. The output is complete or absent.

    Args:
        source: The GSYM file, or a reader that has it open.
        output: File to write.
        names: "mangled", as Pyroscope has them of symbol tables, "full" (demangled) or
            "symblib" (demangled, without template arguments).
        progress: Called now and then with (work done, work in all).

    Raises:
        FormatError: *source* is not a GSYM file, or its tables are damaged. A damaged
            record costs its function, and is counted.
        LimitError: There are too many lines, or a function is too large.
        OSError: A file cannot be opened or written.
        ValueError: *output* is *source*, or the style of names is unknown.
    """
    started = time.perf_counter()
    target = os.fspath(output)
    check_output(source, target)
    if not isinstance(source, gsym.reading.reader.Reader):
        with gsym.reading.reader.open(source) as reader:
            return export_lidia(reader, target, names=names, progress=progress)
    functions = FunctionPass(source, NameTexts(names), progress=progress)
    tables = _Tables()
    for columns in Decoder(_blocks(functions)).columns():
        tables.add(columns)
    size = 0
    with AtomicFile(target) as file:
        for piece in tables.pieces():
            file.write(piece)
            size += len(piece)
    counts, losses = range_counts(functions)
    return LidiaReport(
        target,
        counts,
        {text: count for text, count in losses.items() if count},
        size,
        time.perf_counter() - started,
    )


def _blocks(functions: FunctionPass) -> Iterator[bytes]:
    encoder = functions.output()
    for _ in functions.steps():
        for block, _ in finished_blocks(encoder):
            yield block


class _Tables:
    """The tables of a file in memory."""

    def __init__(self) -> None:
        self._addresses = array("Q")
        # By field; a text is the offset of its entry.
        self._fields = [array("Q") for _ in _FIELDS]
        self._row_offsets, self._row_lines = array("Q"), array("I")
        self._texts = bytearray()
        self._known: dict[str, int] = {}
        self._place("")

    def add(self, columns: Columns) -> None:
        """Add ranges.

        Raises:
            LimitError: There are too many lines.
        """
        addresses = columns.range_column("elf_va")
        if not len(addresses):
            return
        self._addresses.extend(addresses)
        for name, field in zip(_FIELDS, self._fields, strict=True):
            if name in {"func", "file", "call_file"}:
                numbers = columns.range_column(name).tolist()
                # Later columns may have other texts for these numbers.
                places = {
                    number: self._place(columns.strings[number] or "")
                    for number in set(numbers)
                }
                field.extend(map(places.__getitem__, numbers))
            elif name:
                field.extend(columns.range_column(name))
        first = len(self._row_offsets)
        ends = [first + end for end in columns.range_column("row_ends").tolist()]
        starts = [first, *ends[:-1]]
        self._fields[4].extend(starts)
        self._fields[5].extend(map(int.__sub__, ends, starts))
        if ends[-1] > first:
            offsets, lines = columns.rows()
            self._row_offsets.extend(offsets)
            self._row_lines.extend(lines)

    def _place(self, text: str) -> int:
        """The offset of a text, which has its length before it."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = len(self._texts)
            data = text.encode("utf-8", "replace")
            self._texts += struct.pack("<I", len(data)) + data
        return found

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the file.

        Raises:
            LimitError: A function is too large.
        """
        self._sort()
        count = len(self._addresses)
        wide = _is_wide(self._addresses, _UINT32_END)
        addresses = _bytes_of([self._addresses], 8 if wide else 4)
        width = 8 if any(_is_wide(each, _UINT32_END) for each in self._fields) else 4
        ranges = _bytes_of(self._fields, width)
        if _is_wide(self._row_offsets, _UINT32_END):
            raise LimitError("lidia has no lines in functions above 4 GiB")
        rows = [self._row_offsets, self._row_lines]
        row_width = 4 if any(_is_wide(each, _UINT16_END) for each in rows) else 2
        lines = _bytes_of(rows, row_width)
        header = _MAGIC + struct.pack("<I", _VERSION)
        place = _HEADER_SIZE
        for table, fields in (
            (addresses, (8 if wide else 4, count)),
            (ranges, (width, count)),
            (self._texts, (len(self._texts),)),
            (lines, (row_width, len(self._row_offsets))),
        ):
            numbers = (*fields, place, _crc(table))
            header += struct.pack(f"<{len(fields) + 1}QI4x", *numbers)
            place += len(table)
        yield header
        for table in (addresses, ranges, self._texts, lines):
            view = memoryview(table)
            for first in range(0, len(view), _BLOCK_SIZE):
                yield bytes(view[first : first + _BLOCK_SIZE])

    def _sort(self) -> None:
        """Sort the ranges by address, and those of one address by depth."""
        depths = self._fields[1]
        keys = [
            address << _DEPTH_BITS | depth
            for address, depth in zip(self._addresses, depths, strict=True)
        ]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        if all(map(int.__eq__, order, range(len(keys)))):
            return
        self._addresses = array("Q", map(self._addresses.__getitem__, order))
        self._fields = [
            array("Q", map(field.__getitem__, order)) for field in self._fields
        ]


def _is_wide(numbers: array[int], end: int) -> bool:
    return bool(numbers) and max(numbers) >= end


def _bytes_of(columns: list[array[int]], width: int) -> bytes:
    """Rows of numbers of *width* bytes, in little-endian order."""
    code = {2: "H", 4: "I", 8: "Q"}[width]
    count = len(columns)
    table = array(code, bytes(width * count * len(columns[0])))
    for index, column in enumerate(columns):
        table[index::count] = column if column.typecode == code else array(code, column)
    if sys.byteorder == "big":
        table.byteswap()
    return table.tobytes()


def _crc(data: bytes | bytearray) -> int:
    return int(lib.gsym_crc32c(0, ffi.from_buffer("uint8_t[]", data), len(data)))
