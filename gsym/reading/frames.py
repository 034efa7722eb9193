"""Answers to many addresses as columns instead of objects."""

from __future__ import annotations

from gsym.engine.mapped_image import Paths
from gsym.engine.native import check, ffi, kept_view, lib, new_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    import numpy as np
    import pyarrow as pa
    from typing_extensions import Buffer

    from gsym.engine.mapped_image import MappedImage

    CData = Any  # a cffi object


_ADDRESS_SIZE = 8
_COLUMNS = ("address_index", "function", "name", "file", "line", "offset", "inlined")


class Frames:
    """Answers to many addresses, one row a frame, innermost first.

    Each column is a read-only `memoryview`, which NumPy takes as it is. An address
    without an answer has no row.

    Attributes:
        address_index: Which of the addresses asked, counted from 0.
        function: Index of the function in the file's address table.
        name: String offset of the frame's name; `names` decodes it.
        file: File index, 0 for none; `files` decodes it.
        line: Line number, 0 where none is known.
        offset: Address minus the start of the function, or of the first range
            of an inlined call.
        inlined: False on the outermost frame of each address.
        found: How many addresses have an answer.
        damaged: How many addresses fell on a damaged record.
        tables: The file, which has names and files by their numbers.
        batch: The engine's representation; its indexes count only addresses that fit
            in 64 bits.

    Args:
        left_out: Indexes of the addresses that were not given to the engine.
    """

    __slots__ = (
        "address_index",
        "batch",
        "damaged",
        "file",
        "found",
        "function",
        "inlined",
        "line",
        "name",
        "offset",
        "tables",
    )

    def __init__(
        self, tables: MappedImage, batch: CData, left_out: Sequence[int] = ()
    ) -> None:
        columns = ffi.new("gsym_columns *")
        lib.gsym_batch_columns(batch, columns)

        def column(values: CData, size: int, code: str) -> memoryview:
            return _kept_column(values, columns.count, size, code, batch)

        self.tables = tables
        self.batch = batch
        self.address_index = column(columns.address_index, 4, "I")
        if left_out:
            self.address_index = _counted_on(self.address_index, left_out)
        self.function = column(columns.function, 4, "I")
        self.name = column(columns.name, 8, "Q")
        self.file = column(columns.file, 4, "I")
        self.line = column(columns.line, 4, "I")
        self.offset = column(columns.offset, 8, "Q")
        self.inlined = column(columns.inlined, 1, "?")
        self.found: int = columns.found
        self.damaged: int = columns.damaged

    def __len__(self) -> int:
        return len(self.name)

    @property
    def names(self) -> list[str]:
        """The name of each row."""
        codes, texts = self._encoded("name")
        return [texts[code] for code in codes]

    @property
    def files(self) -> list[str]:
        """The path of each row; "" where no file is known."""
        codes, texts = self._encoded("file")
        return [texts[code] for code in codes]

    def to_pylist(self) -> list[dict[str, int | str | bool]]:
        """One dictionary a row, by the names of the columns; name and file as text."""
        columns = (
            self.address_index,
            self.function,
            self.names,
            self.files,
            self.line,
            self.offset,
            self.inlined,
        )
        return [dict(zip(_COLUMNS, row, strict=True)) for row in zip(*columns)]  # noqa: B905

    def to_numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays by the names of the columns, without a copy of the numbers.

        `name` and `file` are dictionary-encoded: codes, 32 bits each, which index the
        arrays of text `names` and `files`.

        Raises:
            ImportError: The package numpy is missing.
        """
        try:
            import numpy as np
        except ImportError as problem:
            raise ImportError("Frames.to_numpy needs the package numpy") from problem
        arrays = {column: np.asarray(getattr(self, column)) for column in _COLUMNS}
        for column in ("name", "file"):
            codes, texts = self._encoded(column)
            arrays[column] = np.asarray(codes)
            arrays[column + "s"] = np.array(texts, dtype=object)
        return arrays

    def to_arrow(self) -> pa.Table:
        """An Arrow table of the rows of `to_pylist`, without a copy of the numbers.

        Names and files are dictionary-encoded; bytes in them that are not UTF-8
        are replaced. Polars and DuckDB take the table as it is.

        Raises:
            ImportError: The package pyarrow is missing.
        """
        try:
            import pyarrow as pa
        except ImportError as problem:
            raise ImportError("Frames.to_arrow needs the package pyarrow") from problem

        def column(values: memoryview, kind: pa.DataType) -> pa.Array:
            buffers = [None, pa.py_buffer(values)]
            return pa.Array.from_buffers(kind, len(values), buffers)

        def text(name: str) -> pa.Array:
            codes, texts = self._encoded(name)
            words = [word.encode("utf-8", "replace").decode("utf-8") for word in texts]
            return pa.DictionaryArray.from_arrays(
                column(codes, pa.uint32()), pa.array(words, pa.string())
            )

        columns = (
            column(self.address_index, pa.uint32()),
            column(self.function, pa.uint32()),
            text("name"),
            text("file"),
            column(self.line, pa.uint32()),
            column(self.offset, pa.uint64()),
            column(self.inlined, pa.uint8()).cast(pa.bool_()),
        )
        return pa.table(dict(zip(_COLUMNS, columns, strict=True)))

    def _encoded(self, name: str) -> tuple[memoryview, list[str]]:
        """The text of `name` or `file`: codes of all rows, the distinct texts."""
        text_of: Mapping[int, str] = (
            self.tables.strings if name == "name" else Paths(self.tables.files)
        )
        codes, values = self.distinct(name)
        return codes, [text_of[value] for value in values]

    def distinct(self, name: str) -> tuple[memoryview, list[int]]:
        """The column *name*: for each row the index of its value, and the values.

        Those stand in the order in which they come; indexes are 32 bits wide.
        """
        column: memoryview = getattr(self, name)
        error, made = new_error(), ffi.new("gsym_distinct **")
        rows, size = ffi.from_buffer(column), ffi.new("size_t *")
        check(
            lib.gsym_distinct_create(rows, len(column), column.itemsize, made, error),
            error,
        )
        distinct = ffi.gc(made[0], lib.gsym_distinct_destroy)
        values = lib.gsym_distinct_values(distinct, size)
        codes = lib.gsym_distinct_codes(distinct)
        kept = _kept_column(codes, len(column), 4, "I", distinct)
        return kept, ffi.unpack(values, size[0]) if size[0] else []


def _counted_on(indexes: memoryview, left_out: Sequence[int]) -> memoryview:
    """Convert indexes that do not count the addresses left out to ones that do."""
    from array import array
    from bisect import bisect_right

    # The number of addresses before each one left out, without others left out.
    before = [index - number for number, index in enumerate(left_out)]
    counted = array("I", [each + bisect_right(before, each) for each in indexes])
    return memoryview(counted).toreadonly()


def _kept_column(
    values: CData, count: int, size: int, code: str, owner: CData
) -> memoryview:
    """Numbers of the engine; whoever holds them keeps their owner."""
    view = kept_view(values, count * size, owner)
    return view.cast(code)  # type: ignore[call-overload, no-any-return]


def address_column(addresses: Iterable[int] | Buffer) -> tuple[Buffer, list[int]]:
    """The addresses as an array of unsigned 64-bit integers.

    Those that do not fit are left out; the list has their indexes, in ascending order.

    Raises:
        TypeError: They are not integers.
    """
    try:
        view = memoryview(addresses)  # type: ignore[arg-type]
    except TypeError:
        pass
    else:
        is_wide = view.itemsize == _ADDRESS_SIZE and view.format in {"Q", "L", "N"}
        if is_wide and view.c_contiguous:
            return view, []
    from array import array

    try:
        items = iter(addresses)  # type: ignore[arg-type]
    except TypeError:
        reason = f"addresses: expected a sequence of integers, not {addresses!r}"
        raise TypeError(reason) from None
    column = array("Q")
    left_out: list[int] = []
    while not _take_addresses(column, items):
        left_out.append(len(column) + len(left_out))
    return column, left_out


def _take_addresses(column: array[int], items: Iterator[int]) -> bool:
    """Append items; False if one, which is consumed, does not fit."""
    try:
        column.extend(items)
    except OverflowError:  # those before it are in the column
        return False
    except TypeError as error:
        raise TypeError(f"addresses: expected integers: {error}") from None
    return True
