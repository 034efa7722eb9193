"""Spark: the rows of a data frame by `mapInArrow`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from gsym.arrow.columns import plain_batch
from gsym.arrow.modules import Modules
from gsym.arrow.symbolizing import symbolize_batches

_FRAME = (
    *(("name", "string"), ("path", "string"), ("line", "bigint")),
    *(("inlined", "boolean"), ("offset", "bigint")),
)


def symbolize(frame: Any, modules: Modules, **options: Any) -> Any:
    """The data frame with the columns that `gsym.arrow.symbolize` adds.

    Spark has no unsigned numbers: offsets and lines are `bigint`.

    Args:
        frame: A data frame of Spark.
        modules: Where modules are found: a folder that all workers have, or a URL.
        options: As for `gsym.arrow.symbolize`, with the outputs "stack" and "frames".
    """
    return frame.mapInArrow(
        partial(_answers, modules, options), _schema(frame.schema, options)
    )


def _answers(
    modules: Modules, options: dict[str, Any], batches: Iterator[Any]
) -> Iterator[Any]:
    for answer in symbolize_batches(batches, modules, **options):
        yield plain_batch(answer, signed=True)


def _schema(schema: Any, options: dict[str, Any]) -> Any:
    """The type of what `_answers` yields for rows of *schema*."""
    from pyspark.sql.types import ArrayType, StructField, StructType

    output = options.get("output", "stack")
    if output not in {"stack", "frames"}:
        raise ValueError(f"output: Spark cannot have '{output}'")
    address = options.get("address", "address")
    is_list = isinstance(schema[address].dataType, ArrayType)
    if output == "stack":
        fields = ", ".join(f"{name}: {kind}" for name, kind in _FRAME)
        remark = "array<string>" if is_list else "string"
        added = [("stack", f"array<struct<{fields}>>")]
        added += [("reason", remark), ("unsure", remark)]
        kept = schema.fields
    else:
        added = [*_FRAME, ("reason", "string"), ("unsure", "string")]
        kept = [
            StructField(each.name, each.dataType.elementType)
            if each.name == address and is_list
            else each
            for each in schema.fields
        ]
    more: Any = StructType.fromDDL(", ".join(f"{name} {kind}" for name, kind in added))
    return StructType([*kept, *more.fields])
