"""Look up many addresses with one or more threads; the answers are columns."""

from __future__ import annotations

from struct import calcsize

from gsym import import_module
from gsym.arguments import choice_of, flag_of, integer_of, items_of, refusal
from gsym.engine.demangling import demangle as demangled
from gsym.engine.mapped_image import MappedImage, Paths
from gsym.engine.native import bytes_of, ffi, kept_view, lib, new_object
from gsym.errors import FormatError
from gsym.model import DAMAGED, NO_FUNCTION, UINT64_MAX, join_path, valid_text
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )
    from typing import Any, overload

    import numpy as np
    import pyarrow as pa
    from typing_extensions import Buffer

    CData = Any  # a cffi object

_ADDRESS_SIZE = 8
_MOST_SHOWN = 50  # rows in a notebook
_TEXTS = ("name", "path", "reason")
# Where the engine has a column, and its format.
_COLUMNS = {
    "address_index": ("address_index", "I"),
    "function_index": ("function", "i"),
    "name": ("name", "Q"),
    "path": ("file", "I"),
    "line": ("line", "I"),
    "offset": ("offset", "Q"),
    "inlined": ("inlined", "?"),
    "reason": ("miss", "B"),
}
# The row of an address that no function covers.
_MISS = dict.fromkeys(("name", "path", "line", "offset", "inlined"), 0)
_MISS |= {"function_index": -1, "reason": 1}
_IS_ZERO = bytes([1]) + bytes(255)
_ARROW_TYPES = {"I": "uint32", "i": "int32", "Q": "uint64", "B": "uint8", "?": "uint8"}
_REASONS = ("", NO_FUNCTION, DAMAGED)


class FrameRow(NamedTuple):
    """One row of `Frames`, with text instead of numbers."""

    address_index: int
    address: int
    function_index: int
    name: str
    path: str
    line: int
    offset: int
    inlined: bool
    found: bool
    reason: str


class Frames:
    """Answers to many addresses, one row a frame, innermost first.

    Each column is a read-only `memoryview`, which NumPy can use directly. `frames[i]`
    is a row as a record, with names and files as text, and iteration yields all rows.

    Attributes:
        address_index: Index of the address.
        function_index: Index of the function in the file's address table, or -1.
        name: String offset of the frame's name; `names` decodes it.
        path: Index of the source file, or 0; `paths` decodes it.
        line: Line number; 0 if unknown.
        offset: Address minus the start of the function, or of the first range
            of an inlined call.
        inlined: False on the outermost frame of each address.
        reason: Why the address has no answer, as a number; 0 if it has one. `reasons`
            decodes it.
        answered: Number of addresses with an answer.
        damaged: Number of addresses with a damaged record.
        tables: The names and files of the GSYM file.
        batch: The engine's representation.

    Args:
        addresses: The addresses that the engine looked up.
        left_out: The indexes of addresses that do not fit in 64 bits.
        misses: Whether addresses without an answer have rows.
    """

    __slots__ = (
        *_COLUMNS,
        *("_addresses", "_columns_of_batch", "answered", "batch", "damaged", "tables"),
    )

    address_index: memoryview
    function_index: memoryview
    name: memoryview
    path: memoryview
    line: memoryview
    offset: memoryview
    inlined: memoryview
    reason: memoryview

    def __init__(
        self,
        tables: MappedImage,
        batch: CData,
        addresses: Buffer,
        left_out: Sequence[int] = (),
        *,
        misses: bool = False,
    ) -> None:
        self.tables: MappedImage = tables
        self.batch: CData = batch
        self._columns_of_batch = columns = ffi.new("gsym_columns *")
        lib.gsym_batch_columns(batch, columns)
        # A copy: the caller may write to its buffer.
        self._addresses = memoryview(bytes(addresses)).cast("Q")
        self.answered: int = columns.found
        self.damaged: int = columns.damaged
        if left_out:
            self._insert(left_out, misses=misses)

    def _insert(self, left_out: Sequence[int], *, misses: bool) -> None:
        """Add the addresses that the engine did not look up, with rows."""
        from array import array
        from bisect import bisect_right

        # The number of addresses before each one left out, without others left out.
        before = [index - number for number, index in enumerate(left_out)]
        # UINT64_MAX for a number that does not fit in the column.
        asked = array("Q", [UINT64_MAX]) * (len(self._addresses) + len(left_out))
        for index, address in enumerate(self._addresses):
            asked[index + bisect_right(before, index)] = address
        self._addresses = memoryview(asked)
        indexes = [each + bisect_right(before, each) for each in self.address_index]
        more = len(left_out) if misses else 0
        indexes += left_out[:more]
        order = sorted(range(len(indexes)), key=indexes.__getitem__)
        self._set("address_index", map(indexes.__getitem__, order))
        for name, miss in _MISS.items():
            values = [*getattr(self, name), *[miss] * more]
            self._set(name, map(values.__getitem__, order))

    def _set(self, name: str, values: Iterable[int]) -> None:
        """Replace a column."""
        from array import array

        code = getattr(self, name).format
        column = memoryview(array(code.replace("?", "B"), values))
        setattr(self, name, column.cast("B").cast(code).toreadonly())

    if not TYPE_CHECKING:  # it would give any name a type

        def __getattr__(self, name: str) -> memoryview:
            # Views take time: only columns that are used have one.
            if name not in _COLUMNS:
                raise AttributeError(f"gsym.Frames has no attribute '{name}'")
            field, code = _COLUMNS[name]
            columns = self._columns_of_batch
            values = getattr(columns, field)
            column = _kept_column(values, columns.count, code, self.batch)
            setattr(self, name, column)
            return column

    def __repr__(self) -> str:
        asked, answered = len(self._addresses), self.answered
        return f"<gsym.Frames: {len(self)} rows, {answered} of {asked} addresses found>"

    def __len__(self) -> int:
        return len(self.name)

    def __iter__(self) -> Iterator[FrameRow]:
        names = [name + "s" * (name in _TEXTS) for name in FrameRow._fields]
        columns = [getattr(self, name) for name in names]
        return map(FrameRow._make, zip(*columns, strict=True))

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> FrameRow: ...
        @overload
        def __getitem__(self, index: slice) -> list[FrameRow]: ...

    def __getitem__(self, index: int | slice) -> FrameRow | list[FrameRow]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        at = self.address_index[index]
        reason = self.reason[index]
        return FrameRow(
            at,
            self._addresses[at],
            self.function_index[index],
            self.tables.strings[self.name[index]],
            join_path(*self.tables.files[self.path[index]]),
            self.line[index],
            self.offset[index],
            bool(self.inlined[index]),
            not reason,
            _REASONS[reason],
        )

    @property
    def address(self) -> memoryview:
        """The address of each row; 2**64 - 1 for a number that is not an address."""
        from array import array

        asked = self._addresses
        column = array("Q", [asked[at] for at in self.address_index])
        return memoryview(column).toreadonly()

    @property
    def found(self) -> memoryview[bool]:
        """Whether the address of each row has an answer."""
        reasons = self.reason.tobytes()
        return memoryview(reasons.translate(_IS_ZERO)).cast("?")

    @property
    def damage(self) -> FormatError | None:
        """The damage of the first address with a damaged record; None without one."""
        try:
            for address in self._addresses if self.damaged else ():
                self.tables.look_up(address)
        except FormatError as error:
            return error
        return None

    @property
    def reasons(self) -> list[str]:
        """Reason why the address of each row has no answer, or ""."""
        return [_REASONS[code] for code in self.reason]

    @property
    def names(self) -> list[str]:
        """The name of each row."""
        return self._decoded("name")

    @property
    def paths(self) -> list[str]:
        """The path of each row; "" if unknown."""
        return self._decoded("path")

    @property
    def demangled(self) -> list[str]:
        """The name of each row in source notation."""
        return self._decoded("name", demangle=True)

    def _decoded(self, name: str, *, demangle: bool = False) -> list[str]:
        codes, texts = self._encoded(name, demangle=demangle)
        return [texts[code] for code in codes]

    def one_for_each(self, frames: str) -> Frames:
        """Keep only the "innermost" or the "outermost" row of each address."""
        if choice_of("frames", frames, ("all", "innermost", "outermost")) == "all":
            return self
        row_of: dict[int, int] = {}
        for row, index in enumerate(self.address_index):
            if frames == "outermost":
                row_of[index] = row
            else:
                row_of.setdefault(index, row)
        for name in _COLUMNS:
            column: memoryview = getattr(self, name)
            self._set(name, [column[row] for row in row_of.values()])
        return self

    def to_pylist(self, *, demangle: bool = False) -> list[dict[str, int | str | bool]]:
        """A dictionary for each row, by names of the columns, with text for numbers.

        Args:
            demangle: Whether names are demangled, here and in the next methods.
        """
        rows = [row._asdict() for row in self]
        for row, name in zip(rows, self.demangled, strict=True) if demangle else ():
            row["name"] = name
        return rows

    def to_numpy(self, *, demangle: bool = False) -> dict[str, np.ndarray[Any, Any]]:
        """NumPy arrays by names of the columns, without a copy of the numbers.

        `name`, `path` and `reason` are dictionary-encoded: codes, which index the
        arrays of text `names`, `paths` and `reasons`.

        Raises:
            ImportError: The package numpy is missing.
        """
        np = _imported("numpy", "to_numpy")
        texts = {name + "s": self._encoded(name, demangle=demangle) for name in _TEXTS}
        codes = {name: texts[name + "s"][0] for name in _TEXTS}
        arrays = {
            column: np.asarray(codes.get(column, getattr(self, column)))
            for column in FrameRow._fields
        }
        for name, (_, values) in texts.items():
            arrays[name] = np.array(values, dtype=object)
        return arrays

    def to_pandas(self, *, demangle: bool = False) -> Any:
        """A pandas DataFrame; `name`, `path` and `reason` are categories.

        Raises:
            ImportError: The package pandas is missing.
        """
        pd = _imported("pandas", "to_pandas")
        arrays = self.to_numpy(demangle=demangle)
        for name in _TEXTS:
            texts = arrays.pop(name + "s")
            arrays[name] = pd.Categorical.from_codes(arrays[name], texts)
        return pd.DataFrame(arrays)

    def to_arrow(self, *, demangle: bool = False) -> pa.Table:
        """An Arrow table of the rows of `to_pylist`, without a copy of the numbers.

        `name`, `path` and `reason` are dictionary-encoded; bytes in them that are not
        UTF-8 are replaced. Polars and DuckDB accept the table; libraries with the Arrow
        C stream interface (`__arrow_c_stream__`) accept this object.

        Raises:
            ImportError: The package pyarrow is missing.
        """
        pa = _imported("pyarrow", "to_arrow")

        def numbers(values: memoryview) -> Any:
            kind = _ARROW_TYPES[values.format]
            buffers = [None, pa.py_buffer(values)]
            made = pa.Array.from_buffers(getattr(pa, kind)(), len(values), buffers)
            return made.cast(pa.bool_()) if values.format == "?" else made

        def text(name: str) -> Any:
            codes, texts = self._encoded(name, demangle=demangle)
            words = [valid_text(word) for word in texts]
            return pa.DictionaryArray.from_arrays(
                numbers(codes), pa.array(words, pa.string())
            )

        return pa.table(
            {
                name: text(name) if name in _TEXTS else numbers(getattr(self, name))
                for name in FrameRow._fields
            }
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of the Arrow C data interface.

        Raises:
            ImportError: The package pyarrow is missing.
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """Show the first rows as a table in a notebook."""
        from gsym.reading.notebook import html_table

        shown = self[:_MOST_SHOWN]
        rows = [
            (f"{each.address:#x}", demangled(each.name), each.path, each.line or "")
            if each.found
            else (f"{each.address:#x}", each.reason, "", "")
            for each in shown
        ]
        more = len(self) - len(shown)
        caption = f"{self!r}" + f"; {more} more rows" * bool(more)
        return html_table(("address", "name", "path", "line"), rows, caption)

    def _encoded(
        self, name: str, *, demangle: bool = False
    ) -> tuple[memoryview, list[str]]:
        """The text of a column: codes of all rows, the distinct texts."""
        if name == "reason":
            return self.reason, [*_REASONS]
        text_of: Mapping[int, str] = (
            self.tables.strings if name == "name" else Paths(self.tables.files)
        )
        codes, values = self.distinct(name)
        # Two values may have the same text, but categories of pandas must be unique.
        code_of: dict[str, int] = {}
        given = [text_of[each] for each in values]
        if demangle and name == "name":
            given = [demangled(each) for each in given]
        recoded = [code_of.setdefault(each, len(code_of)) for each in given]
        if len(code_of) < len(values):
            from array import array

            codes = memoryview(array("I", [recoded[code] for code in codes]))
        return codes.toreadonly(), list(code_of)

    def distinct(self, name: str) -> tuple[memoryview, list[int]]:
        """The column *name*: for each row the index of its value, and the values.

        Values are in the order of their first use; indexes have 32 bits.

        Raises:
            ValueError: There is no such column.
        """
        choice_of("name", name, _COLUMNS)
        column: memoryview = getattr(self, name)
        owner, codes, values = distinct(bytes_of(column), len(column), column.itemsize)
        return _kept_column(codes, len(column), "I", owner), values


def distinct(column: CData, rows: int, size: int) -> tuple[CData, CData, list[int]]:
    """Distinct integers of *size* bytes in the memory of the engine.

    Returns:
        The owner of the codes, the codes, the values.
    """
    count = ffi.new("size_t *")
    owner = new_object(
        *("distinct", lib.gsym_distinct_create, lib.gsym_distinct_destroy),
        *(column, rows, size),
    )
    values = lib.gsym_distinct_values(owner, count)
    codes = lib.gsym_distinct_codes(owner)
    return owner, codes, ffi.unpack(values, count[0]) if count[0] else []


def _imported(package: str, method: str) -> Any:
    try:
        return import_module(package)
    except ImportError as problem:
        reason = f"Frames.{method} needs the package {package}"
        raise ImportError(reason) from problem


def _kept_column(values: CData, count: int, code: str, owner: CData) -> memoryview:
    """A view of numbers of the engine, which keeps their owner alive."""
    view = kept_view(values, count * calcsize(code), owner)
    return view.cast(code)  # type: ignore[call-overload, no-any-return]


def address_column(addresses: Iterable[int] | Buffer) -> tuple[Buffer, list[int]]:
    """The addresses as an array of unsigned 64-bit integers.

    Numbers that do not fit and nulls are left out; the list has their indexes, in
    ascending order.

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

    listed: Any = getattr(addresses, "to_pylist", None)  # of Arrow
    given: Any = addresses if listed is None else listed()
    values = items_of("addresses", given, "integers")
    try:
        return array("Q", values), []
    except (OverflowError, TypeError):
        column = array("Q")
    left_out: list[int] = []
    for index, value in enumerate(values):
        try:
            column.append(value)
        except OverflowError:  # noqa: PERF203
            left_out.append(index)
        except TypeError:
            if not _is_null(value):
                name = f"addresses[{index}]"
                raise refusal(name, "an integer", value) from None
            left_out.append(index)
    return column, left_out


def _is_null(value: object) -> bool:
    """Whether a value of a table stands for none: NaN is not equal to itself."""
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124


# Below this number of addresses a second thread does not pay off.
_LEAST_PER_THREAD = 4096
_MOST_THREADS = 256


def look_up_batch(
    image: CData, addresses: Buffer, threads: int, misses: bool, path: str | None
) -> CData:
    """The engine's answers, freed with the last reference.

    *misses* says whether an address without an answer has a row.

    Raises:
        GsymError: Out of memory, or a limit is exceeded.
        ValueError: *threads* is not a positive number.
    """
    if not isinstance(threads, int) or threads < 1:
        threads = integer_of("threads", threads, 1)
    misses = flag_of("misses", misses)
    asked = ffi.from_buffer("uint64_t[]", addresses)
    count = len(asked)
    parts = max(1, min(threads, _MOST_THREADS, count // _LEAST_PER_THREAD))

    def look_up(first: int, size: int) -> CData:
        life = lib.gsym_image_lookup_many, lib.gsym_batch_destroy
        return new_object("batch", *life, image, asked + first, size, misses, path=path)

    return look_up(0, count) if parts == 1 else _joined(look_up, count, parts, path)


def _joined(
    look_up: Callable[[int, int], CData], count: int, parts: int, path: str | None
) -> CData:
    """The batches of several threads as one."""
    from gsym.engine.workers import run_workers, taken_from

    firsts = [count * part // parts for part in range(parts + 1)]
    batches: list[CData] = [None] * parts
    waiting = list(range(parts))

    def work() -> None:
        for part in taken_from(waiting):
            first, size = firsts[part], firsts[part + 1] - firsts[part]
            batches[part] = look_up(first, size)

    run_workers(work, parts, None, waiting.clear)
    handles = ffi.new("gsym_batch *[]", batches)
    life = lib.gsym_batch_create_joined, lib.gsym_batch_destroy
    whole = new_object("batch", *life, handles, parts, path=path)
    copying = list(range(parts))

    def copy() -> None:
        for part in taken_from(copying):
            lib.gsym_batch_join(whole, handles, part, firsts[part])

    run_workers(copy, parts, None, copying.clear)
    return whole
