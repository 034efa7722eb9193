"""Sources in local folders: layouts of other tools, and other stores."""

from __future__ import annotations

import os
from contextlib import suppress

from gsym.errors import AmbiguousModuleError, GsymError, NotFoundError, SourceError
from gsym.modules.key import ModuleKey, is_hex
from gsym.store.layout import MARKER
from gsym.store.loose_files import LooseFiles
from gsym.store.sources import foreign_layouts
from gsym.store.sources.source import FoundFile, not_found

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.store.sources.foreign_layouts import Layout

# All are tried; as each path contains an id, they cannot be confused.
_LAYOUTS = (
    foreign_layouts.BREAKPAD_TREE,
    foreign_layouts.BUILD_ID,
    foreign_layouts.DEBUGINFOD_CACHE,
    foreign_layouts.SYMSTORE,
    foreign_layouts.UNIFIED,
    foreign_layouts.LLDB,
)


def open_folder(
    path: str, scan: Callable[[str], LooseFiles] | None = None
) -> Iterator[LocalStore | LocalTree | LooseFiles]:
    """The sources for a folder: by the paths of files, then by the ids in files."""
    by_path = open_by_path(path)
    yield by_path
    if scan is not None or isinstance(by_path, LocalTree):
        yield LooseFiles(path) if scan is None else scan(path)


def open_by_path(path: str, *, by_build_id: bool = False) -> LocalStore | LocalTree:
    """The source for a folder whose files have an id, or a build id, in their paths."""
    if by_build_id:
        return LocalTree(path, (foreign_layouts.BUILD_ID,))
    if os.path.isfile(os.path.join(path, MARKER)):
        return LocalStore(path)
    return LocalTree(path)


class LocalTree:
    """A folder with the layouts of other tools, which may be mixed."""

    def __init__(self, path: str, layouts: Sequence[Layout] = _LAYOUTS) -> None:
        self.name: str = os.path.abspath(path)
        self._layouts = tuple(layouts)

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The file of a module, which is not copied; see `Source.find`."""
        del folder
        for path in self.find_all(key):
            return FoundFile(path, path)
        if not os.path.isdir(self.name):
            raise SourceError("the folder does not exist", path=self.name)
        raise not_found(sum(1 for _ in self._candidates(key)))

    def find_all(self, key: ModuleKey) -> Iterator[str]:
        """All files of a module, the best one first.

        Raises:
            AmbiguousModuleError: Several ids begin with the part that is known.
        """
        for path in self._candidates(key):
            if found := self._existing(path):
                yield found

    def best(self, key: ModuleKey) -> str:
        """The file of a module; "" if there is none."""
        return next(self.find_all(key), "")

    def _candidates(self, key: ModuleKey) -> Iterator[str]:
        """Relative paths that a module may have."""
        for layout in self._layouts:
            yield from layout.paths(key)

    def _existing(self, path: str) -> str:
        """The path of the file at a relative path, or ""; several are an error."""
        full_path = f"{self.name}/{path}"
        start, any_name, end = full_path.partition(foreign_layouts.ANY)
        if not any_name:
            return full_path if _is_file(full_path) else ""
        folder, prefix = os.path.split(start)
        suffix, slash, rest = end.partition("/")
        places = (
            f"{folder}/{name}{slash}{rest}" for name in _names(folder, prefix, suffix)
        )
        found = [*filter(_is_file, places)]
        if len(found) > 1:
            reason = (
                f"several modules have this part of an id: {' and '.join(found[:2])}"
            )
            raise AmbiguousModuleError(reason)
        return found[0] if found else ""


def _names(folder: str, prefix: str, suffix: str) -> list[str]:
    """The names of an id that begins so, and of a suffix."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        name
        for name in names
        if name.startswith(prefix)
        and name.endswith(suffix)
        and is_hex(name.removesuffix(suffix))
    )


def _is_file(path: str) -> bool:
    """Whether a file exists and is not empty, which means "not found" in a cache."""
    try:
        return os.path.isfile(path) and os.path.getsize(path) > 0
    except OSError:
        return False


class LocalStore:
    """Another store, which is only read."""

    def __init__(self, path: str) -> None:
        from gsym.store.directory import Store  # most folders are not stores

        self._store = Store(path)
        self.name: str = self._store.path

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The GSYM file of a module, with its identity; see `Source.find`."""
        del folder
        try:
            entry = self._store.get(key)
        except (GsymError, OSError) as error:
            raise SourceError(str(error)) from error
        if entry is None:
            raise NotFoundError("does not have the module")
        return FoundFile(entry.path, entry.path, entry.identity)

    def find_all(self, key: ModuleKey) -> Iterator[str]:
        """The GSYM file of a module, if there is one.

        Raises:
            SourceError: The store cannot be read.
        """
        with suppress(NotFoundError):
            yield self.find(key, "").path
