"""Dask: the partitions of a data frame."""

from __future__ import annotations

from typing import Any

from gsym.arrow.columns import plain_batch
from gsym.arrow.modules import Modules
from gsym.arrow.rows import pa
from gsym.arrow.symbolizing import symbolize as answers_of


def symbolize(frame: Any, modules: Modules, **options: Any) -> Any:
    """The data frame with the columns that `gsym.arrow.symbolize` adds.

    Args:
        frame: A data frame of Dask.
        modules: Where modules are found: a folder that all workers have, or a URL.
        options: As for `gsym.arrow.symbolize`, with the outputs "stack" and "frames".

    Returns:
        A frame whose columns have types of Arrow; its index is that of the rows, and
            all frames of a row have the same.
    """
    if options.get("output", "stack") not in {"stack", "frames"}:
        raise ValueError(f"output: Dask cannot have '{options['output']}'")
    from dask.dataframe.dispatch import make_meta

    meta = _answers(make_meta(frame), modules, options)
    return frame.map_partitions(_answers, modules, options, meta=meta)


def _answers(partition: Any, modules: Modules, options: dict[str, Any]) -> Any:
    import pandas as pd

    index = partition.index.name or "__index_level_0__"
    table = pa.Table.from_pandas(partition, preserve_index=True)
    found = plain_batch(answers_of(table.combine_chunks(), modules, **options))
    made = found.replace_schema_metadata().to_pandas(types_mapper=pd.ArrowDtype)
    made = made.set_index(index).rename_axis(partition.index.name)
    made.index = made.index.astype(partition.index.dtype)
    return made
