"""Answers in the types of engines: no dictionaries, one column of a function."""

from __future__ import annotations

from typing import Any

from gsym.arrow.modules import Modules
from gsym.arrow.rows import pa
from gsym.arrow.symbolizing import symbolize


def plain_type(kind: Any, *, signed: bool) -> Any:
    """A type of Arrow without dictionaries; *signed*: and without unsigned integers."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type, signed=signed)
    if pa.types.is_list(kind):
        return pa.list_(plain_type(kind.value_type, signed=signed))
    if pa.types.is_struct(kind):
        return pa.struct([_plain_field(each, signed=signed) for each in kind])
    is_unsigned = signed and kind in {pa.uint32(), pa.uint64()}
    return pa.int64() if is_unsigned else kind


def _plain_field(field: Any, *, signed: bool) -> Any:
    return field.with_type(plain_type(field.type, signed=signed))


def plain_batch(batch: Any, *, signed: bool = False) -> Any:
    """A batch or table of such types; numbers above the signed ones wrap around."""
    schema = pa.schema([_plain_field(each, signed=signed) for each in batch.schema])
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return type(batch).from_arrays(columns, schema=schema)


def answer_column(
    build_ids: Any, addresses: Any, modules: Modules, **options: Any
) -> Any:
    """The answers to two columns, as an array of structs."""
    batch = pa.RecordBatch.from_arrays(
        [_one(build_ids), _one(addresses)], ["build_id", "address"]
    )
    answer = plain_batch(symbolize(batch, modules, **options))
    names = ["stack", "reason", "unsure"]
    return pa.StructArray.from_arrays([answer[each] for each in names], names)


def _one(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column


def answer_type() -> Any:
    """The type of `answer_column` for columns of addresses that are no lists.

    It has `stack`, `reason` and `unsure`, as the answers of `symbolize`.
    """
    texts = [("name", pa.string()), ("path", pa.string())]
    numbers = [("line", pa.uint32()), ("inlined", pa.bool_()), ("offset", pa.uint64())]
    stack = pa.list_(pa.struct([*texts, *numbers]))
    remarks = [("reason", pa.string()), ("unsure", pa.string())]
    return pa.struct([("stack", stack), *remarks])
