"""DataFusion: a function of SQL for the stack of a row."""

from __future__ import annotations

from functools import partial
from typing import Any

from gsym.arrow.columns import answer_column, answer_type
from gsym.arrow.modules import Modules
from gsym.arrow.rows import pa


def register(
    context: Any,
    modules: Modules,
    name: str = "symbolize",
    *,
    module: Any = None,
    address: Any = None,
    **options: Any,
) -> None:
    """Add a function of a module and an address; it answers as `answer_type`.

    Args:
        context: A `SessionContext`.
        modules: Where modules are found.
        name: Of the function.
        module: The Arrow type of modules; by default `binary_view`, for build ids in
            Parquet files.
        address: The Arrow type of addresses; by default `uint64`.
        options: `return_address=True` and a number as `base`, as for `symbolize`.
    """
    from datafusion import udf

    symbolize = partial(answer_column, modules=modules, **options)
    inputs = [module or pa.binary_view(), address or pa.uint64()]
    context.register_udf(udf(symbolize, inputs, answer_type(), "stable", name))
