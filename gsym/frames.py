"""Answers to many addresses as columns instead of objects."""

from __future__ import annotations

from gsym._native import ffi, lib
from gsym.mapped_image import Paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Protocol

    import pyarrow as pa
    from typing_extensions import Buffer

    CData = Any  # a cffi object

    class Tables(Protocol):
        """What tells names and files by their numbers, such as a `MappedImage`."""

        @property
        def strings(self) -> Mapping[int, str]:
            """Names by the numbers of the column `name`."""

        @property
        def files(self) -> Mapping[int, tuple[str, str]]:
            """Directory and base name by the numbers of the column `file`."""


_ADDRESS_SIZE = 8
_COLUMNS = ("address_index", "function", "name", "file", "line", "offset", "inlined")


class _Holder:
    """Keeps a batch as long as a column of it is in use."""

    __slots__ = ("_batch",)

    def __init__(self, batch: CData) -> None:
        self._batch = batch

    def __call__(self, _column: CData) -> None:
        """Let go of it."""
        self._batch = None


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
    """

    __slots__ = (
        "_tables",
        "address_index",
        "damaged",
        "file",
        "found",
        "function",
        "inlined",
        "line",
        "name",
        "offset",
    )

    def __init__(self, tables: Tables, batch: CData) -> None:
        columns = ffi.new("gsym_columns *")
        lib.gsym_batch_columns(batch, columns)

        def column(values: CData, size: int, code: str) -> memoryview:
            if not columns.count:
                return memoryview(b"").cast(code)  # type: ignore[call-overload, no-any-return]
            kept = ffi.gc(values, _Holder(batch))
            view = memoryview(ffi.buffer(kept, columns.count * size))
            return view.toreadonly().cast(code)  # type: ignore[call-overload, no-any-return]

        self._tables = tables
        self.address_index = column(columns.address_index, 4, "I")
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
        strings = self._tables.strings
        names = {strp: strings[strp] for strp in set(self.name)}
        return [names[strp] for strp in self.name]

    @property
    def files(self) -> list[str]:
        """The path of each row; "" where no file is known."""
        paths = Paths(self._tables.files)
        return [paths[file] for file in self.file]

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

    def to_arrow(self) -> pa.Table:
        """An Arrow table of the rows of `to_pylist`.

        Names and files are dictionary-encoded; bytes in them that are not UTF-8
        are replaced.

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

        def text(ids: pa.Array, text_of: Mapping[int, str]) -> pa.Array:
            encoded = ids.dictionary_encode()
            words = [
                text_of[number].encode("utf-8", "replace").decode("utf-8")
                for number in encoded.dictionary.to_pylist()
            ]
            return pa.DictionaryArray.from_arrays(
                encoded.indices, pa.array(words, pa.string())
            )

        columns = (
            column(self.address_index, pa.uint32()),
            column(self.function, pa.uint32()),
            text(column(self.name, pa.uint64()), self._tables.strings),
            text(column(self.file, pa.uint32()), Paths(self._tables.files)),
            column(self.line, pa.uint32()),
            column(self.offset, pa.uint64()),
            column(self.inlined, pa.uint8()).cast(pa.bool_()),
        )
        return pa.table(dict(zip(_COLUMNS, columns, strict=True)))


def address_column(addresses: Iterable[int] | Buffer) -> Buffer:
    """The addresses as unsigned 64-bit integers side by side."""
    try:
        view = memoryview(addresses)  # type: ignore[arg-type]
    except TypeError:
        pass
    else:
        is_wide = view.itemsize == _ADDRESS_SIZE and view.format in {"Q", "L", "N"}
        if is_wide and view.c_contiguous:
            return view
    from array import array

    column = array("Q")
    column.extend(iter(addresses))  # type: ignore[arg-type]
    return column
