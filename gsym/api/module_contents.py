"""The contents of a module: its functions by name."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from gsym.reading.function_table import FunctionTable
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.api.cache_budget import CacheBudget
    from gsym.modules.open_module import OpenModule
    from gsym.reading.reader import Reader


class Function(NamedTuple):
    """A function found by name; *start* is a link-time address."""

    name: str
    start: int
    size: int


_FUNCTION_SIZE = 48  # bytes of memory, including the index of names


def contents_of(module: OpenModule, memory: CacheBudget) -> ModuleContents | None:
    """The contents of a module; None without a reader."""
    if module.reader is None:
        return None
    kept = _KEPT.get(module)
    if kept is None:
        kept = _KEPT[module] = _KeptContents()
    memory.use(kept)
    contents = kept.contents
    if contents is None:
        contents = kept.contents = ModuleContents(module.reader)
        memory.take(kept, len(module.reader) * _FUNCTION_SIZE)
    return contents


class _KeptContents:
    """A cache of contents."""

    def __init__(self) -> None:
        self.contents: ModuleContents | None = None
        self.kept_size = self.last_used = 0

    def drop(self) -> None:
        self.contents = None


_KEPT: WeakKeyDictionary[OpenModule, _KeptContents] = WeakKeyDictionary()


class ModuleContents:
    """The functions of an open GSYM file."""

    def __init__(self, reader: Reader) -> None:
        self._functions = FunctionTable(reader)

    def search(self, text: str, limit: int) -> list[Function]:
        """Functions with *text* in their names, sorted by name."""
        table = self._functions
        found = [
            Function(table.name(index), table.starts[index], table.sizes[index])
            for index in table.search(text, limit)
        ]
        return sorted(found)
