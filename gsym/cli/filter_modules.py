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
        digits = key.code_id.lower()
        attempts: list[Attempt] = []
        for folder in self._folders:
            module = self._open_in(folder, digits, attempts)
            if module is not None:
                return module
        return OpenModule(None, None, tuple(attempts))

    def _open_in(
        self, folder: str, digits: str, attempts: list[Attempt]
    ) -> OpenModule | None:
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
            module.texts[BINARY] = "" if path.endswith(".gsym") else path
            return module
        attempts.append(fault)
        return None


class SeveralModules:
    """Modules of several places, asked in order."""

    def __init__(self, places: Sequence[Opening]) -> None:
        self._places = tuple(places)

    def open(self, key: ModuleKey) -> OpenModule:
        """The first that is there, or what all places said."""
        attempts: tuple[Attempt, ...] = ()
        for place in self._places:
            module = place.open(key)
            if module.reader is not None or BINARY in module.texts:
                return module
            attempts += module.attempts
        return OpenModule(None, None, attempts)


def _paths(folder: str, digits: str) -> Iterator[str]:
    """Where a module may stand in a folder, the best first."""
    if len(digits) >= _LEAST_DIGITS:
        name = os.path.join(digits[:2], digits[2:])
        for base in (os.path.join(folder, ".build-id"), folder):
            yield os.path.join(base, f"{name}.gsym")
            yield os.path.join(base, f"{name}.debug")
    yield os.path.join(folder, f"{digits}.gsym")
