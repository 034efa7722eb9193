"""Search for the modules of a report, on the machine of the user.

In this order, for a module with an id in the report: folders that the user named and
that of the report, by the ids in their files; the path that the report has, and
installed debug files, if they have the id; the user's store; servers. Of one without an
id, a file of its name in these folders, or at its path, is used, and marked as unsure.
"""

from __future__ import annotations

import os
import sys
from functools import partial

from gsym.arguments import items_of, path_of
from gsym.containers import DEBUG_DIRECTORIES
from gsym.errors import GsymError
from gsym.modules.finder import Finder, open_store
from gsym.modules.key import Attempt, ModuleKey
from gsym.modules.places import Folder, named_file, path_of_key

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any, TypeAlias

    from typing_extensions import Self

    from gsym.memory.stack_parts import CompareCode, StackModule
    from gsym.modules.open_module import OpenModule
    from gsym.modules.places import Place
    from gsym.store.directory import Store

    PathOrUrl: TypeAlias = str | os.PathLike[str]
    Sources: TypeAlias = PathOrUrl | Store | Sequence[PathOrUrl | Store]

_SOURCES = "folders, files, stores or URLs"


class ReportModules:
    """Opens the modules of reports; to be closed.

    Args:
        source: Folders, files of modules, stores, and servers as `open_source` takes
            them; one or several.
        beside: The folder of the report; relative paths in it start there.
        store: The store, its folder or URL; None for the user's own, in which modules
            of a URL are kept.

    Attributes:
        folders: The folders of *source*.

    Raises:
        GsymError: A source needs a package that is not installed.
        ValueError: A source is invalid.
    """

    def __init__(
        self,
        source: Sources = (),
        beside: str = "",
        store: PathOrUrl | Store | None = None,
    ) -> None:
        is_one = isinstance(source, (str, bytes, os.PathLike)) or _is_store(source)
        given: Any = (source,) if is_one else source
        items = items_of("source", given, _SOURCES)
        sources = [_path_of("source", each) for each in items]
        local = [each for each in sources if os.path.exists(each)]
        places: list[Place] = [
            Folder(each) if os.path.isdir(each) else named_file(each) for each in local
        ]
        if path_of("beside", beside):
            places.append(Folder(beside, is_flat=True))
        places.append(path_of_key(os.path.abspath(beside or os.curdir)))
        places += [Folder(each, by_build_id=True) for each in DEBUG_DIRECTORIES]
        servers = [each for each in sources if each not in local]
        self.folders: list[str] = [each for each in local if os.path.isdir(each)]
        place = None if store is None else _path_of("store", store)
        self._store = open_store(place, servers)
        self._finder = Finder(places, self._store)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to servers; readers stay open."""
        self._finder.close()

    def open(self, named: StackModule) -> OpenModule:
        """Open a module, from the first place that has lines of it, or else symbols."""
        module = self._finder.open(*_asked(named))
        if module.reader is None and named.read is not None:
            try:
                module.reader = named.read()
            except (GsymError, OSError) as error:
                failed = Attempt(named.name, "refused", str(error))
                module.attempts = (*module.attempts, failed)
        if module.reader is not None:
            module.names = module.function_names()
        module.find_files = partial(self.paths, named)
        return module

    def paths(self, named: StackModule, *, elsewhere: bool = False) -> Iterator[str]:
        """The places of files of a module, in the order in which they are tried.

        Those *elsewhere* may have its code.
        """
        found = self._finder.files(*_asked(named), elsewhere=elsewhere)
        return (each.path for each in found)

    def fetch_source(self, key: ModuleKey, path: str) -> bytes | None:
        """A source file of a module, from a server; None if no server has it."""
        return None if self._store is None else self._store.source_file(key, path)


def _asked(named: StackModule) -> tuple[ModuleKey, str, CompareCode | None]:
    return named.key._replace(path=named.path), named.name, named.compare_code


def _path_of(name: str, value: PathOrUrl | Store) -> str:
    """The path or URL of a source or a store."""
    place: Any = getattr(value, "path", value) if _is_store(value) else value
    return path_of(name, place, ", a URL or a gsym.Store")


def _is_store(value: object) -> bool:
    stores = sys.modules.get("gsym.store.directory")
    return stores is not None and isinstance(value, stores.Store)
