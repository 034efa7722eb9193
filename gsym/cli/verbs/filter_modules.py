"""Modules of a log: in folders, by build id or of any names; then in a store."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial

from gsym.cli.terminal import describe
from gsym.conversion.identity import elf_debug_id
from gsym.errors import GsymError, SourceError
from gsym.markup.symbols import BINARIES, has_uuid
from gsym.store.modules import Attempt
from gsym.store.symbolizer import OpenModule
from gsym.symbolication.binary_lookup import BinarySearch, find_gsym

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.markup.symbols import Opening
    from gsym.store.loose_files import LooseFiles
    from gsym.store.modules import ModuleKey

_GSYM = ".gsym"
_INDEX_LIMIT = 1 << 24  # bytes of each open file, as in a `Symbolizer`
_LEAST_DIGITS = 4  # two for a folder, and a name
_MOST_DIGITS = 40  # of an identifier in a GSYM file of version 1


class FolderModules:
    """Modules in folders of debug files and of GSYM files.

    A debug file is converted at its first use, and what it becomes is kept.

    Args:
        gsym_directories: Asked first, in order. Where they do not have a module by its
            build id, files of any names are looked through.
        debug_directories: Asked then, by build id; also where what belongs to a debug
            file is.
    """

    def __init__(
        self, gsym_directories: Sequence[str], debug_directories: Sequence[str]
    ) -> None:
        self._folders = (*gsym_directories, *debug_directories)
        self._loose: dict[str, LooseFiles | None] = dict.fromkeys(gsym_directories)
        self._search = BinarySearch(
            debug_directories=tuple(debug_directories), index_limit=_INDEX_LIMIT
        )

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or what each folder said."""
        attempts: list[Attempt] = []
        for folder in self._folders:
            module = self._open_in(folder, key, attempts)
            if module is not None:
                return module
        return OpenModule(None, None, tuple(attempts))

    def binaries(self, key: ModuleKey) -> list[str]:
        """The files of a module that may have a symbol table."""
        paths = [path for folder in self._folders for path in self._files(folder, key)]
        return [path for path in paths if not path.endswith(_GSYM)]

    def _open_in(
        self, folder: str, key: ModuleKey, attempts: list[Attempt]
    ) -> OpenModule | None:
        if not os.path.isdir(folder):
            attempts.append(Attempt(folder, "missing", "is no folder"))
            return None
        fault = Attempt(folder, "missing", "has no file of this build id")
        without_functions = None
        for path in self._files(folder, key):
            try:
                reader = find_gsym(path, self._search).reader
            except (GsymError, OSError) as error:
                fault = Attempt(folder, "refused", describe(error))
                continue
            uuid = b"" if reader is None else reader.uuid
            if not has_uuid(bytes.fromhex(key.code_id), uuid):
                fault = Attempt(folder, "refused", f"{path} is of {uuid.hex()}")
                continue
            module = OpenModule(None, reader, (Attempt(folder, "found", path),))
            module.texts[BINARIES] = partial(self.binaries, key)
            if reader is not None:
                return module
            # A stripped binary may be larger than its debug file.
            without_functions = without_functions or module
        if without_functions is None:
            attempts.append(fault)
        return without_functions

    def _files(self, folder: str, key: ModuleKey) -> Iterator[str]:
        """The files of a module in a folder, the best first."""
        yield from filter(os.path.isfile, _paths(folder, key.code_id.lower()))
        if folder not in self._loose:
            return
        loose = self._loose_files(folder)
        with suppress(SourceError):
            found = [path for each in _loose_keys(key) for path in loose.find_all(each)]
            yield from dict.fromkeys(found)

    def _loose_files(self, folder: str) -> LooseFiles:
        """Those in a folder, which is looked through at the first miss."""
        from gsym.store.loose_files import LooseFiles

        loose = self._loose[folder]
        if loose is None:
            loose = self._loose[folder] = LooseFiles(folder)
        return loose


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
        is_found = module.reader is not None or BINARIES in module.texts
        if is_found or self._store is None:
            return module
        kept = self._store.open(key)
        kept.attempts = module.attempts + kept.attempts
        if kept.reader is not None:
            kept.texts.setdefault(BINARIES, partial(self._folders.binaries, key))
        return kept


def _paths(folder: str, digits: str) -> Iterator[str]:
    """Where a module may stand in a folder, the best first."""
    if len(digits) >= _LEAST_DIGITS:
        name = os.path.join(digits[:2], digits[2:])
        for base in (os.path.join(folder, ".build-id"), folder):
            yield os.path.join(base, f"{name}{_GSYM}")
            yield os.path.join(base, f"{name}.debug")
    yield os.path.join(folder, f"{digits}{_GSYM}")


def _loose_keys(key: ModuleKey) -> Iterator[ModuleKey]:
    """Keys of a module in files of any names; Breakpad files have only the debug id."""
    yield key
    if len(key.code_id) > _MOST_DIGITS:
        yield key._replace(code_id=key.code_id[:_MOST_DIGITS])
    build_id = bytes.fromhex(key.code_id)
    for byteorder in ("little", "big"):
        yield key._replace(code_id="", debug_id=elf_debug_id(build_id, byteorder))
