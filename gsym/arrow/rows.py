"""The columns of a batch as the engine reads them: a row for each address."""

from __future__ import annotations

from typing import Any

from gsym.engine.native import ffi
from gsym.errors import UnsupportedError
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

CData = Any  # a cffi object
Column = Any  # an array of pyarrow


def import_pyarrow() -> Any:
    """The package pyarrow and its functions on columns."""
    try:
        import pyarrow as pa
        import pyarrow.compute
    except ImportError as error:
        reason = "Arrow batches need the package pyarrow: pip install 'gsym[arrow]'"
        raise UnsupportedError(reason) from error
    return pa


class _Pyarrow:
    """The package pyarrow, which is imported when one of its names is first used."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_pyarrow(), name)
        setattr(self, name, found)
        return found


pa: Any = _Pyarrow()


class Part(NamedTuple):
    """The addresses of some rows of a batch; without lists, each row has one."""

    first: int  # number of the first address
    size: int  # number of addresses
    lists: Column | None  # offsets of the lists of addresses
    null_lists: Column | None  # whether each list is null
    parents: Column | None  # the row of each item of the lists


class AddressRows:
    """The rows of a batch, or the items of its lists, as `gsym_rows`.

    Attributes:
        rows: For the engine; lives as long as this object.
        modules: The distinct values of the column of modules.
        codes: The number of the module of each address; that of null is the next one.

    Raises:
        KeyError: There is no such column.
        TypeError: A column has another type.
        ValueError: Lists of one row have different lengths.
    """

    def __init__(
        self,
        batch: Any,
        *,
        module: str,
        address: str,
        return_address: bool | str | None = None,
        base: int | str | None = None,
    ) -> None:
        addresses = _column(batch, address)
        self._lists: Column | None = None
        self._null_lists: Column | None = None
        self._lengths: Column | None = None
        self._parents: Column | None = None
        if has_lists(addresses.type):
            self._split(addresses)
            addresses = addresses.flatten()
        self._kept: list[object] = []
        self.rows: Any = ffi.new("gsym_rows *")
        self.rows.count = len(addresses)
        self.rows.addresses = self._numbers(addresses, "uint64", address)
        if addresses.null_count:
            self.rows.has_address = self._flags(addresses.is_valid())
        self.codes: Column = self._encoded(_column(batch, module), module)
        self.rows.modules = self._numbers(self.codes, "uint32", module)
        self.rows.module_count = len(self.modules)
        if base is not None:
            if isinstance(base, int) and not 0 <= base <= UINT64_MAX:
                raise ValueError(f"base: {base:#x} is not an address")
            if isinstance(base, str):
                bases = _column(batch, base)
                if _is_text(bases.type):  # before lists repeat them
                    bases = bases.cast(pa.uint64())
                bases = self._of_rows(bases, base)
            else:
                bases = pa.repeat(pa.scalar(base, pa.uint64()), len(addresses))
            if bases.type != pa.int64():
                self._check_numbers(bases, str(base))
                bases = bases.cast(pa.uint64())
            # No address is as high as the base of a row without one.
            bases = bases.fill_null(-1 if bases.type == pa.int64() else UINT64_MAX)
            self.rows.bases = self._numbers(bases, "uint64", str(base))
        if return_address:
            returns = (
                self._of_rows(_column(batch, return_address), return_address)
                if isinstance(return_address, str)
                else pa.repeat(pa.scalar(value=True), len(addresses))
            )
            if not pa.types.is_boolean(returns.type):
                raise TypeError(f"column '{return_address}': expected booleans")
            self.rows.returns = self._flags(returns.fill_null(fill_value=False))

    def part(self, first: int, count: int) -> Part:
        """Some rows of the batch."""
        if self._lists is None or self._null_lists is None or self._parents is None:
            return Part(first, count, None, None, None)
        subtract = pa.compute.subtract
        lists = self._lists.slice(first, count + 1)
        start, end = lists[0].as_py(), lists[-1].as_py()
        return Part(
            start,
            end - start,
            subtract(lists, lists[0]),
            self._null_lists.slice(first, count),
            subtract(self._parents.slice(start, end - start), first),
        )

    def _split(self, lists: Column) -> None:
        self._null_lists = lists.is_null()
        self._lengths = lists.value_lengths().fill_null(0).cast(pa.int32())
        ends = pa.compute.cumulative_sum_checked(self._lengths)
        self._lists = pa.concat_arrays([pa.array([0], pa.int32()), ends])
        # Not of *lists*, of which a null may have items.
        valid = pa.ListArray.from_arrays(self._lists, lists.flatten())
        self._parents = pa.compute.list_parent_indices(valid)

    def _of_rows(self, column: Column, name: str) -> Column:
        """A column of values for rows or for addresses, by address."""
        if not has_lists(column.type):
            return column if self._parents is None else column.take(self._parents)
        lengths = column.value_lengths().fill_null(0).cast(pa.int32())
        if self._lengths is None or not lengths.equals(self._lengths):
            raise ValueError(
                f"column '{name}': its lists are not as long as the stacks"
            )
        return column.flatten()

    def _encoded(self, column: Column, name: str) -> Column:
        """Numbers of the distinct values; their own number counts as none for null."""
        is_list = has_lists(column.type)
        if is_list:
            column = self._of_rows(column, name)
        kind = column.type.value_type if _is_encoded(column.type) else column.type
        if not (_is_text(kind) or _is_binary(kind)):
            raise TypeError(f"column '{name}': modules are text or binary, not {kind}")
        if not _is_encoded(column.type):
            if kind in {pa.string_view(), pa.binary_view()}:
                plain = pa.large_string() if _is_text(kind) else pa.large_binary()
                column = column.cast(plain)
            column = column.dictionary_encode()
        self.modules: Column = column.dictionary
        codes = column.indices
        if codes.null_count:
            none = pa.scalar(len(column.dictionary), pa.int64())
            codes = codes.cast(pa.int64()).fill_null(none)
        codes = codes.cast(pa.uint32())
        return codes if is_list else self._of_rows(codes, name)

    def _numbers(self, column: Column, kind: str, name: str) -> CData:
        """The values as unsigned integers; negative ones count modulo 2**64."""
        wanted = getattr(pa, kind)()
        if column.type == pa.int64() and kind == "uint64":
            column = column.view(wanted)
        else:
            self._check_numbers(column, name)
            column = column.cast(wanted)
        if not len(column):
            return ffi.NULL
        size = wanted.bit_width // 8
        data = column.buffers()[1]
        self._kept.append(data)
        start = column.offset * size
        view = ffi.from_buffer(data) + start
        return ffi.cast(f"{kind}_t *", view)

    def _check_numbers(self, column: Column, name: str) -> None:
        kind = column.type
        if not (pa.types.is_integer(kind) or _is_text(kind)):
            raise TypeError(f"column '{name}': expected integers, not {kind}")

    def _flags(self, column: Column) -> CData:
        return self._numbers(column.cast(pa.uint8()), "uint8", "")


def _column(batch: Any, name: str) -> Column:
    index = batch.schema.get_field_index(name)
    if index < 0:
        names = ", ".join(batch.schema.names)
        raise KeyError(f"the batch has no column '{name}', or two: it has {names}")
    return batch.column(index)


def module_count(batch: Any, name: str) -> int:
    """The number of distinct modules in a column; of a dictionary, all that it has."""
    column = _column(batch, name)
    while has_lists(column.type):
        column = column.flatten()
    if _is_encoded(column.type):
        return len(column.dictionary)
    return int(pa.compute.count_distinct(column).as_py())


def has_lists(kind: Any) -> bool:
    """Whether a type is one of the lists that a column of stacks may have."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
    )


def _is_encoded(kind: Any) -> bool:
    return bool(pa.types.is_dictionary(kind))


def _is_text(kind: Any) -> bool:
    return kind in {pa.string(), pa.large_string(), pa.string_view()}


def _is_binary(kind: Any) -> bool:
    is_plain = kind in {pa.binary(), pa.large_binary(), pa.binary_view()}
    return is_plain or bool(pa.types.is_fixed_size_binary(kind))
