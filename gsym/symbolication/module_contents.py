"""The contents of a module: its functions, and their size by folder."""

from __future__ import annotations

from gsym.model import join_path
from gsym.reading.function_table import FunctionTable
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.reading.reader import Reader
    from gsym.store.symbolizer import OpenModule
    from gsym.symbolication.cache_budget import CacheBudget


class Function(NamedTuple):
    """A function found by name; *start* is a link-time address."""

    name: str
    start: int
    size: int


_KEPT_AS = "contents"
_FUNCTION_SIZE = 48  # bytes of memory, including the index of names
_MOST_FOLDERS = 600
_MOST_DEPTH = 64
_UNKNOWN = "(no source file)"
_OTHERS = "(others)"


def contents_of(module: OpenModule, memory: CacheBudget) -> ModuleContents | None:
    """The contents of a module; None without a reader.

    Args:
        module: The module.
        memory: The budget of the cache that keeps them.

    Raises:
        FormatError: The file is damaged.
    """
    if module.reader is None:
        return None
    kept: _KeptContents | None = module.texts.get(_KEPT_AS)
    if kept is None:
        kept = module.texts[_KEPT_AS] = _KeptContents()
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


class ModuleContents:
    """The functions of an open GSYM file.

    Raises:
        FormatError: A record is damaged.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._functions = FunctionTable(reader)
        self._tree: dict[str, Any] | None = None

    def search(self, text: str, limit: int) -> list[Function]:
        """Functions with *text* in their names, sorted by name."""
        table = self._functions
        found = [
            Function(table.name(index), table.starts[index], table.sizes[index])
            for index in table.search(text, limit)
        ]
        return sorted(found)

    def tree(self) -> dict[str, Any]:
        """Folders of sources as a tree of objects.

        Each has `name`, `bytes` of the functions in and below it, `functions` (their
        number), and `children`. A folder with one child and nothing else is joined with
        it. The smallest folders of a large tree are combined.
        """
        if self._tree is None:
            sizes = self._folder_sizes()
            self._tree = _tree_of(sizes)
        return self._tree

    def _folder_sizes(self) -> dict[tuple[str, ...], tuple[int, int]]:
        table = self._functions
        frames = self._reader.lookup_many(table.starts, misses=False)
        per_file: dict[int, list[int]] = {}
        known = 0
        for at, file, inlined in zip(  # noqa: B905 - columns of one table
            frames.address_index, frames.file, frames.inlined
        ):
            if not inlined:
                sums = per_file.setdefault(file, [0, 0])
                sums[0] += table.sizes[at]
                sums[1] += 1
                known += 1
        if known < len(table):
            per_file.setdefault(0, [0, 0])[1] += len(table) - known
        files = frames.tables.files
        sizes: dict[tuple[str, ...], tuple[int, int]] = {}
        for file, (size, count) in per_file.items():
            path = join_path(*files[file]).replace("\\", "/")
            *folders, _name = path.split("/") if path else [_UNKNOWN, ""]
            kept = tuple(each for each in folders[:_MOST_DEPTH] if each) or ("(root)",)
            before = sizes.get(kept, (0, 0))
            sizes[kept] = (before[0] + size, before[1] + count)
        return sizes


def _tree_of(sizes: dict[tuple[str, ...], tuple[int, int]]) -> dict[str, Any]:
    largest = sorted(sizes.items(), key=lambda item: item[1], reverse=True)
    root = _folder("")
    for folders, (size, count) in largest[:_MOST_FOLDERS]:
        _add(root, folders, size, count)
    rest = largest[_MOST_FOLDERS:]
    if rest:
        size, count = (sum(each[1][at] for each in rest) for at in (0, 1))
        _add(root, (_OTHERS,), size, count)
    return _listed(root)


def _folder(name: str) -> dict[str, Any]:
    return {"name": name, "bytes": 0, "functions": 0, "children": {}}


def _add(root: dict[str, Any], folders: tuple[str, ...], size: int, count: int) -> None:
    node = root
    for name in ("", *folders):
        if name:
            node = node["children"].setdefault(name, _folder(name))
        node["bytes"] += size
        node["functions"] += count


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    """The tree with sorted lists of children, and with chains as one folder."""
    children = [_listed(each) for each in node["children"].values()]
    if len(children) == 1 and children[0]["functions"] == node["functions"]:
        (only,) = children
        name = "/".join(filter(None, (node["name"], only["name"])))
        return {**only, "name": name}
    children.sort(key=lambda child: (-child["bytes"], child["name"]))
    return {**node, "children": children}
