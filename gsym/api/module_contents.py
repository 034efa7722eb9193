"""The functions of open modules by name, cached."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gsym.reading.function_table import FunctionTable

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.api.cache_budget import CacheBudget
    from gsym.modules.open_module import OpenModule


_FUNCTION_SIZE = 48  # bytes of memory, including the index of names


def functions_of(module: OpenModule, memory: CacheBudget) -> FunctionTable | None:
    """The functions of a module by name; None without a reader."""
    if module.reader is None:
        return None
    kept = _KEPT.get(module)
    if kept is None:
        kept = _KEPT[module] = _Kept()
    memory.use(kept)
    functions = kept.functions
    if functions is None:
        functions = kept.functions = FunctionTable(module.reader)
        memory.take(kept, len(module.reader) * _FUNCTION_SIZE)
    return functions


class _Kept:
    """The functions of a module, as long as there is memory for them."""

    def __init__(self) -> None:
        self.functions: FunctionTable | None = None
        self.kept_size = self.last_used = 0

    def drop(self) -> None:
        self.functions = None


_KEPT: WeakKeyDictionary[OpenModule, _Kept] = WeakKeyDictionary()
