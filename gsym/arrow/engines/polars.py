"""Polars: expressions of addresses have the namespace `gsym`.

import gsym.arrow.engines.polars
frame.with_columns(answer=polars.col("address").gsym.stack("build_id", modules))
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from gsym.arrow.columns import answer_column, answer_type
from gsym.arrow.modules import Modules


@pl.api.register_expr_namespace("gsym")
class Addresses:
    """The methods of an expression of addresses."""

    def __init__(self, addresses: pl.Expr) -> None:
        self._addresses = addresses

    def stack(self, module: str | pl.Expr, modules: Modules, **options: Any) -> pl.Expr:
        """A struct of `stack`, `reason` and `unsure` for each address.

        Args:
            module: The column of modules: build ids as binary, or texts.
            modules: Where modules are found.
            options: `return_address=True` and a number as `base`, as for `symbolize`.
        """
        named = pl.col(module) if isinstance(module, str) else module
        rows = pl.struct(module=named, address=self._addresses)
        empty: Any = pl.from_arrow(pa.array([], answer_type()))

        def symbolize(series: pl.Series) -> pl.Series:
            named, addresses = (each.to_arrow() for each in series.struct.unnest())
            answer = answer_column(named, addresses, modules, **options)
            return pl.Series(answer)

        return rows.map_batches(symbolize, return_dtype=empty.dtype)
