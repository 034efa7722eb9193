"""Where the modules of a log come from: folders by build id, then a store."""

from __future__ import annotations

import os

from gsym.binary_lookup import BinarySearch, find_gsym
from gsym.cli.terminal import describe
from gsym.errors import GsymError
from gsym.markup_filter.symbols import BINARY
from gsym.store.resolution import Attempt
from gsym.symbolizer import OpenModule

__all__ = ["FolderModules", "SeveralModules"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.markup_filter.symbols import Opening
    from gsym.store.module_key import ModuleKey

_GSYM = ".gsym"
_LEAST_DIGITS = 4  # two for a folder, and a name


class FolderModules:
    """Modules in folders of debug files and of GSYM files.

    A debug file is converted at its first use, and what it becomes is kept.

    Args:
        folders: In order.
        debug_directories: Where what belongs to a debug file is.
    """

    def __init__(
        self, folders: Sequence[str], debug_directories: Sequence[str]
    ) -> None:
        self._folders = tuple(folders)
        self._search = BinarySearch(debug_directories=tuple(debug_directories))

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or what each folder said."""
        attempts: list[Attempt] = []
        for folder in self._folders:
            module = self._open_in(folder, key, attempts)
            if module is not None:
                return module
        return OpenModule(None, None, tuple(attempts))

    def binary(self, key: ModuleKey) -> str:
        """A file with the symbol table of a module; "" where there is none."""
        for folder in self._folders:
            for path in _paths(folder, key.code_id.lower()):
                if not path.endswith(_GSYM) and os.path.isfile(path):
                    return path
        return ""

    def _open_in(
        self, folder: str, key: ModuleKey, attempts: list[Attempt]
    ) -> OpenModule | None:
        digits = key.code_id.lower()
        fault = Attempt(folder, "missing", "has no file of this build id")
        for path in _paths(folder, digits):
            if not os.path.isfile(path):
                continue
            try:
                reader = find_gsym(path, self._search).reader
            except (GsymError, OSError) as error:
                fault = Attempt(folder, "refused", describe(error))
                continue
            uuid = b"" if reader is None else reader.uuid
            # A file holds the first bytes of an identifier that is too long for it.
            if uuid and not bytes.fromhex(digits).startswith(uuid):
                fault = Attempt(folder, "refused", f"{path} is of {uuid.hex()}")
                continue
            module = OpenModule(None, reader, (Attempt(folder, "found", path),))
            module.texts[BINARY] = self.binary(key)
            return module
        attempts.append(fault)
        return None


class SeveralModules:
    """Modules in folders, and where these do not have them, of a store.

    Args:
        folders: Asked first; they also have the variables of what the store has.
        store: Asked then; None: there is none.
    """

    def __init__(self, folders: FolderModules, store: Opening | None) -> None:
        self._folders = folders
        self._store = store

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or what all places said."""
        module = self._folders.open(key)
        if module.reader is not None or BINARY in module.texts or self._store is None:
            return module
        kept = self._store.open(key)
        kept.attempts = module.attempts + kept.attempts
        if kept.reader is not None:
            kept.texts.setdefault(BINARY, self._folders.binary(key))
        return kept


def _paths(folder: str, digits: str) -> Iterator[str]:
    """Where a module may stand in a folder, the best first."""
    if len(digits) >= _LEAST_DIGITS:
        name = os.path.join(digits[:2], digits[2:])
        for base in (os.path.join(folder, ".build-id"), folder):
            yield os.path.join(base, f"{name}{_GSYM}")
            yield os.path.join(base, f"{name}.debug")
    yield os.path.join(folder, f"{digits}{_GSYM}")
