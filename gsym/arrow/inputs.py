"""Files of rows, in units that can be read on their own: row groups, byte ranges."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from io import BytesIO
from typing import Any

from gsym.arrow.rows import pa
from gsym.cache import FileStamp, stamp_at
from gsym.errors import FormatError, UnsupportedError, first_line
from gsym.lazy import json
from gsym.records import NamedTuple

_ReadText = Callable[[bytes], Any]
_ROWS_AT_ONCE = 1 << 20
_RANGE_SIZE = 64 << 20  # bytes of a unit of text
_READ_SIZE = 1 << 20
_MOST_LINE = 64 << 20
_MOST_DEPTH = 200  # of values in values; pyarrow ends the process at some thousands
_NO_BRACKETS = bytes(set(range(256)) - {*b"[]{}"})
_FORMATS = {
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arrows": "stream",
    ".csv": "csv",
    ".ndjson": "ndjson",
    ".jsonl": "ndjson",
}


class Unit(NamedTuple):
    """A part of an input."""

    path: str  # the input
    number: int  # of the part in the input: its row group, batch or range
    size: int  # bytes, or rows where only these are known
    start: int = 0  # offset of a range


def format_of(path: str) -> str:
    """The format of a file, by its suffix."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in _FORMATS:
        reason = f"unknown suffix; inputs are {', '.join(_FORMATS)}"
        raise UnsupportedError(reason, path=path)
    return _FORMATS[suffix]


def units_of(path: str) -> list[Unit]:
    """The units of a file, in order."""
    kind = format_of(path)
    if kind in {"csv", "ndjson"}:
        size = os.path.getsize(path)
        starts = range(0, size, _RANGE_SIZE)
        return [
            Unit(path, number, min(_RANGE_SIZE, size - start), start)
            for number, start in enumerate(starts)
        ]
    sizes = _read(path, lambda: _packed_sizes(path, kind))
    return [Unit(path, number, size) for number, size in enumerate(sizes)]


def batches_of(
    unit: Unit, *, address: str, modules: str, returns: str | bool | None = None
) -> Iterator[Any]:
    """The record batches of a unit.

    Addresses are integers, in texts also hexadecimal with `0x`; booleans, of the column
    *returns*, are true, false, 1 or 0 in CSV.
    """
    kind = format_of(unit.path)
    if kind == "csv":
        yield from _read(unit.path, lambda: _csv_batches(unit, address, returns))
    elif kind == "ndjson":
        yield from _read(unit.path, lambda: _json_batches(unit, address, modules))
    else:
        batches = _packed_batches(unit, kind)
        # One without rows counts as false.
        while (batch := _read(unit.path, lambda: next(batches, None))) is not None:
            yield batch


def _read(path: str, work: Callable[[], Any]) -> Any:
    """Call *work* with errors of pyarrow as those of the package."""
    try:
        return work()
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(first_line(error), path=path) from None
    except (pa.ArrowInvalid, pa.ArrowKeyError, ValueError) as error:
        raise FormatError(first_line(error), path=path) from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise FormatError(first_line(error), path=path) from None


# ---- Parquet and Arrow's own files


@contextmanager
def _opened(path: str, kind: str) -> Iterator[Any]:
    """The reader of a file."""
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path, memory_map=True) as file:
            yield file
    else:
        read = pa.ipc.open_stream if kind == "stream" else pa.ipc.open_file
        with pa.memory_map(path) as source, read(source) as file:
            yield file


def _packed_sizes(path: str, kind: str) -> list[int]:
    """The rows of each unit, or the bytes of a stream."""
    if kind == "stream":
        return [os.path.getsize(path)]
    with _opened(path, kind) as file:
        if kind == "parquet":
            part_of, count = file.metadata.row_group, file.metadata.num_row_groups
        else:
            part_of, count = file.get_batch, file.num_record_batches
        return [part_of(number).num_rows for number in range(count)]


def _packed_batches(unit: Unit, kind: str) -> Iterator[Any]:
    with _opened(unit.path, kind) as file:
        if kind == "parquet":
            yield from file.iter_batches(
                _ROWS_AT_ONCE, row_groups=[unit.number], use_threads=False
            )
            return
        for batch in file if kind == "stream" else [file.get_batch(unit.number)]:
            batch.validate(full=True)  # offsets of a damaged file point anywhere
            for first in range(0, max(batch.num_rows, kind == "stream"), _ROWS_AT_ONCE):
                yield batch.slice(first, _ROWS_AT_ONCE)


# ---- text: a unit has the lines that start in its range


def _lines(unit: Unit) -> tuple[int, bytes]:
    """The offset of the first line, and the text of all."""
    with open(unit.path, "rb") as file:
        start = unit.start
        if start:
            file.seek(start - 1)
            start += len(_rest_of_line(file, unit)) - 1
        end = unit.start + unit.size
        if start >= end:
            return end, b""
        file.seek(start)
        text = file.read(end - start)
        return start, text if text.endswith(b"\n") else text + _rest_of_line(file, unit)


def _rest_of_line(file: Any, unit: Unit) -> bytes:
    rest: bytes = file.readline(_MOST_LINE)
    if len(rest) == _MOST_LINE:
        reason = f"a line has more than {_MOST_LINE} bytes"
        raise FormatError(reason, path=unit.path, offset=unit.start)
    return rest


def _text_batches(unit: Unit, start: int, text: bytes, read: _ReadText) -> list[Any]:
    """The result of *read* for the text at an offset; an error names its line."""

    def failure(first: int, end: int) -> str:
        try:
            read(text[first:end])
        except ValueError as error:
            return first_line(error)
        return ""

    try:
        return list(read(text).combine_chunks().to_batches(_ROWS_AT_ONCE))
    except ValueError as error:
        reason = first_line(error)
    low, high = 0, len(text)
    while (middle := _line_between(text, low, high)) > low:
        if failure(low, middle):
            high = middle
        else:
            low = middle
    reason = failure(low, high) or reason
    raise FormatError(reason, path=unit.path, offset=start + low)


def _line_between(text: bytes, low: int, high: int) -> int:
    """The start of a line about the middle of lines; *low* if there is but one."""
    middle = text.find(b"\n", (low + high) // 2, high - 1) + 1
    return middle or text.rfind(b"\n", low, (low + high) // 2) + 1 or low


def _csv_batches(unit: Unit, address: str, returns: str | bool | None) -> list[Any]:
    from pyarrow import csv

    start, text = _lines(unit)
    with open(unit.path, "rb") as file:
        first = _rest_of_line(file, unit)
    if not unit.start:
        start, text = len(first), text[len(first) :]
    if not text:
        return []
    names = csv.read_csv(pa.BufferReader(first)).column_names
    # The other columns stay as they are written.
    types = dict.fromkeys(names, pa.string()) | {address: pa.uint64()}
    if isinstance(returns, str):
        types[returns] = pa.bool_()

    def read(text: bytes) -> Any:
        return csv.read_csv(
            pa.BufferReader(text),
            csv.ReadOptions(use_threads=False, column_names=names),
            convert_options=csv.ConvertOptions(
                column_types=types, strings_can_be_null=True, null_values=[""]
            ),
        )

    return _text_batches(unit, start, text, read)


def _json_batches(unit: Unit, address: str, modules: str) -> list[Any]:
    start, text = _lines(unit)
    if not text.strip():
        return []
    schema = _json_schema(unit.path, stamp_at(unit.path), address, modules)

    def read(text: bytes) -> Any:
        table = _read_json(text, schema)
        for field in table.schema:
            if field not in schema:
                reason = f"the start of the file has no '{field.name}' of {field.type}"
                raise ValueError(reason)
        return table

    return _text_batches(unit, start, text, read)


def _read_json(text: bytes, schema: Any) -> Any:
    from pyarrow.json import ParseOptions, ReadOptions, read_json

    for line in BytesIO(text):
        if len(line) <= 2 * _MOST_DEPTH:
            continue
        depth = 0
        for each in line.translate(None, _NO_BRACKETS):
            depth += 1 if each in b"[{" else -1
            if depth > _MOST_DEPTH:
                raise ValueError(f"values are nested more than {_MOST_DEPTH} deep")
    return read_json(
        pa.BufferReader(text),
        ReadOptions(use_threads=False, block_size=len(text) + 1),
        ParseOptions(explicit_schema=schema),
    )


@lru_cache(maxsize=64)
def _json_schema(
    path: str, _stamp: FileStamp | None, address: str, modules: str
) -> Any:
    """The types of a file, which are those of its first range.

    As in the first row that has them, addresses are numbers, texts, or lists. Texts
    that are times elsewhere stay texts, and so does what is always null.
    """
    start, text = _lines(Unit(path, 0, min(_RANGE_SIZE, os.path.getsize(path))))

    def kind_of(value: Any, number: Any) -> Any:
        items = value if isinstance(value, list) else [value]
        kind = pa.string() if any(isinstance(each, str) for each in items) else number
        return pa.list_(kind) if isinstance(value, list) else kind

    numbers = {address: pa.uint64(), modules: pa.string()}
    known = [
        pa.field(name, kind_of(value, numbers[name]))
        for name, value in _first_values(text, {*numbers}).items()
    ]
    read = partial(_read_json, schema=pa.schema(known))
    unit = Unit(path, 0, len(text))
    batches = _text_batches(unit, start, text, read)
    others = [_kept(each) for each in batches[0].schema][len(known) :]
    return pa.schema([*known, *others])


def _first_values(text: bytes, names: set[str]) -> dict[str, Any]:
    """The first value of each column that has one, except lists without any.

    In the order of the file, as that of a set differs between runs.
    """
    found: dict[str, Any] = {}
    for line in BytesIO(text):
        if found.keys() == names:
            break
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # its reader says where
            continue
        for name, value in row.items() if isinstance(row, dict) else ():
            items = value if isinstance(value, list) else [value]
            is_new = name in names and name not in found
            if is_new and any(each is not None for each in items):
                found[name] = value
    return found


def _kept(field: Any) -> Any:
    kind = field.type
    if pa.types.is_timestamp(kind) or pa.types.is_null(kind):
        return field.with_type(pa.string())
    if pa.types.is_list(kind):
        return field.with_type(pa.list_(_kept(kind.value_field)))
    if pa.types.is_struct(kind):
        return field.with_type(pa.struct([_kept(each) for each in kind]))
    return field
