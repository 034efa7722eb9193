"""Streams of record batches: read and checked, and answered a part at a time."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import Any

from gsym.arrow.rows import has_lists, pa
from gsym.arrow.symbolizing import symbolize
from gsym.errors import FormatError, GsymError, LimitError, UnsupportedError

_ROWS = 1 << 14  # and addresses, of a part of an answer; a row is not divided
_DICTIONARY = "dictionary"
_WITH_BUFFERS = ("record batch", _DICTIONARY)
_UNSUITABLE = (GsymError, KeyError, TypeError, ValueError)
_MAX_REASON = 1000
# Fields of tables: of Message, of DictionaryBatch and of RecordBatch.
_HEADER, _DATA, _COMPRESSION = 2, 1, 3
_BEFORE_1_0 = b"ARROW:experimental_compression"  # a key of its metadata


def too_much(most: int, what: str) -> LimitError:
    """The error for a request with more than *most* of something."""
    return LimitError(f"please ask for <= {most} {what} in a request")


def read_batches(body: bytes, most: int) -> list[Any]:
    """The record batches of a stream, which view *body*.

    Raises:
        LimitError: The batches have more than *most* bytes.
        UnsupportedError: A buffer is compressed.
    """
    data = pa.py_buffer(body)
    try:
        for message in pa.ipc.MessageReader.open_stream(data):
            if message.type in _WITH_BUFFERS and _is_compressed(message):
                # Their inflated size is not known before.
                title = "send plain buffers; the body may have a Content-Encoding"
                raise UnsupportedError(title)
        reader = pa.ipc.open_stream(data)
        batches = [*reader] or [pa.RecordBatch.from_pylist([], schema=reader.schema)]
        for batch in batches:
            batch.validate(full=True)
    except (pa.ArrowException, OSError, struct.error, ValueError) as error:
        reason = f"not an Arrow stream: {error}"
        raise FormatError(reason[:_MAX_REASON]) from None
    if sum(batch.nbytes for batch in batches) > most:  # several views of a buffer
        raise too_much(most, "bytes")
    return batches


def _is_compressed(message: Any) -> bool:
    """Whether the buffers of a batch or of a dictionary are compressed."""
    data = bytes(message.metadata)
    batch = _table(data, _table(data, 0), _HEADER)
    if message.type == _DICTIONARY:
        batch = _table(data, batch, _DATA)
    return bool(_field(data, batch, _COMPRESSION)) or _BEFORE_1_0 in data


def _table(data: bytes, table: int, index: int | None = None) -> int:
    """The position of the table that a field, or without *index* *table*, leads to."""
    place = table if index is None else table + _field(data, table, index)
    return place + int(struct.unpack_from("<I", data, place)[0])


def _field(data: bytes, table: int, index: int) -> int:
    """The position of a field in a table of FlatBuffers; 0 if it is absent."""
    layout = table - struct.unpack_from("<i", data, table)[0]
    size = struct.unpack_from("<H", data, layout)[0]
    place = 4 + 2 * index
    return int(struct.unpack_from("<H", data, layout + place)[0]) if place < size else 0


def contents_of(
    batches: list[Any], module: str, address: str
) -> tuple[list[bytes | str], int]:
    """The distinct modules, and the number of addresses, or of rows if that is more."""
    values: set[bytes | str] = set()
    count = 0
    for batch in batches:
        column = _column(batch, module)
        while hasattr(column, "flatten") and has_lists(column.type):
            column = column.flatten()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary
        try:
            distinct = pa.compute.unique(column).to_pylist()
        except pa.ArrowException as error:
            reason = f"column '{module}': {error}"
            raise FormatError(reason[:_MAX_REASON]) from None
        values.update(filter(None, distinct))
        # Rows without items may take no bytes.
        count += max(batch.num_rows, _count(batch, address))
    return [each for each in values if isinstance(each, (bytes, str))], count


def _count(batch: Any, address: str) -> int:
    addresses = _column(batch, address)
    return len(addresses.flatten() if has_lists(addresses.type) else addresses)


def parts_of(batches: list[Any], address: str, most: int | None) -> list[Any]:
    """The batches in parts of few addresses, at least one.

    *most* is the maximum size of the other columns when each address has a row of its
    own.

    Raises:
        LimitError: They would be larger.
    """
    rows = [
        batch.slice(first, _ROWS)
        for batch in batches
        for first in range(0, max(batch.num_rows, 1), _ROWS)
    ]
    parts = [part for each in rows for part in _halved(each, address)]
    if most is not None and any(_unfolded(each, address) > most for each in parts):
        raise too_much(most, "bytes in the columns of stacks; output=stack is smaller")
    return parts


def _halved(rows: Any, address: str) -> list[Any]:
    half = rows.num_rows // 2
    if not half or _count(rows, address) <= _ROWS:
        return [rows]
    parts = rows.slice(0, half), rows.slice(half)
    return [part for each in parts for part in _halved(each, address)]


def _unfolded(rows: Any, address: str) -> int:
    """The most bytes of the columns that are repeated for each address of a stack."""
    addresses = _column(rows, address)
    if not has_lists(addresses.type):
        return 0
    longest = pa.compute.max(addresses.value_lengths()).as_py() or 0
    kept = [
        column.nbytes
        for column in rows.columns
        if not (column is addresses or pa.types.is_dictionary(column.type))
    ]
    return int(longest * sum(kept))


def _column(batch: Any, name: str) -> Any:
    index = batch.schema.get_field_index(name)
    if index < 0:
        raise FormatError(f"the batch has no column '{name[:80]}'")
    return batch.column(index)


def answer_pieces(
    parts: list[Any], modules: Any, options: Mapping[str, Any]
) -> Iterator[bytes]:
    """The bytes of the answer, of a part at a time."""
    sink, writer = BytesIO(), None
    for part in parts:
        try:
            found = symbolize(part, modules, **options)
        except (*_UNSUITABLE, pa.ArrowException) as error:
            title = str(error.args[0] if error.args else error)
            raise FormatError(title[:_MAX_REASON]) from None
        if writer is None:
            writer = pa.ipc.new_stream(sink, found.schema)
        writer.write_batch(found)
        yield _taken(sink)
    assert writer is not None  # noqa: S101 - there is a batch
    writer.close()
    yield _taken(sink)


def _taken(sink: BytesIO) -> bytes:
    """Take the bytes that were written to *sink*."""
    data = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return data
