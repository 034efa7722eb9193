"""DuckDB: a function of SQL for the stack of a row."""

from __future__ import annotations

from typing import Any

from gsym.arrow.columns import answer_column
from gsym.arrow.modules import Modules

_ANSWER = (
    "STRUCT(stack STRUCT(name VARCHAR, path VARCHAR, line UINTEGER, "
    'inlined BOOLEAN, "offset" UBIGINT)[], reason VARCHAR, unsure VARCHAR)'
)


def register(
    connection: Any,
    modules: Modules,
    name: str = "symbolize",
    *,
    module: str = "BLOB",
    address: str = "UBIGINT",
    **options: Any,
) -> None:
    """Add a function of a module and an address; it answers as `answer_type`.

    Args:
        connection: Of DuckDB.
        modules: Where modules are found.
        name: Of the function.
        module: The type of modules: BLOB for build ids, VARCHAR for texts.
        address: The type of addresses.
        options: `return_address=True` and a number as `base`, as for `symbolize`.
    """
    connection.create_function(
        name,
        # DuckDB evaluates the annotations of a function, so this has none.
        lambda build_id, address: answer_column(build_id, address, modules, **options),
        [module, address],
        _ANSWER,
        type="arrow",
        null_handling="special",
    )
