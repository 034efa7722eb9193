"""Ray Data: the blocks of a dataset, by a pool of actors."""

from __future__ import annotations

from typing import Any

from gsym.arrow.columns import plain_batch
from gsym.arrow.modules import Modules
from gsym.arrow.symbolizing import symbolize as answers_of


class _Answers:
    """The work of an actor on a block."""

    def __init__(self, modules: Modules, options: dict[str, Any]) -> None:
        self._modules = modules
        self._options = options

    def __call__(self, table: Any) -> Any:
        table = table.combine_chunks()
        return plain_batch(answers_of(table, self._modules, **self._options))


def symbolize(
    dataset: Any, modules: Modules, *, concurrency: int = 2, **options: Any
) -> Any:
    """The dataset with the columns that `gsym.arrow.symbolize` adds.

    Args:
        dataset: Of Ray Data.
        modules: Where modules are found: a folder that all workers have, or a URL.
        concurrency: Number of actors, each with its own open modules.
        options: As for `gsym.arrow.symbolize`, with the outputs "stack" and "frames".
    """
    from ray.data import ActorPoolStrategy

    if options.get("output", "stack") not in {"stack", "frames"}:
        raise ValueError(f"output: Ray cannot have '{options['output']}'")
    return dataset.map_batches(
        _Answers,
        fn_constructor_args=(modules, options),
        batch_format="pyarrow",
        batch_size=None,
        compute=ActorPoolStrategy(size=concurrency),
    )
