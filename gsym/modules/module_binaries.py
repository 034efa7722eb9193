"""Search for the binary of a module, which has its code."""

from __future__ import annotations

import os
from contextlib import contextmanager

from gsym.containers.fat import list_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.identity import key_of_binary, module_of
from gsym.errors import GsymError
from gsym.modules.build_id_tree import build_id_paths
from gsym.modules.key import OTHER, UNKNOWN, ModuleKey, compare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.store.modules import Entry


class ModuleBinaries:
    """Finds binaries in a store, then in folders.

    Args:
        folders: Of binaries by name, or by build id as for GDB.
    """

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self._folders = tuple(folders)

    @contextmanager
    def open(
        self, key: ModuleKey, entry: Entry | None
    ) -> Iterator[Iterator[ObjectFile]]:
        """The binaries of a module, each of them checked.

        They are closed at the end of the block.

        Args:
            key: The module as requested.
            entry: Its entry in a store.
        """
        opened: list[ObjectFile] = []
        try:
            yield self._each(key, entry, opened)
        finally:
            for binary in opened:
                binary.__exit__(None, None, None)

    def _each(
        self, key: ModuleKey, entry: Entry | None, opened: list[ObjectFile]
    ) -> Iterator[ObjectFile]:
        for path in self._paths(key, entry):
            try:
                binary = _open(path, key, entry)
            except (GsymError, OSError, ValueError):
                continue
            if binary is not None:
                opened.append(binary)
                yield binary

    def _paths(self, key: ModuleKey, entry: Entry | None) -> Iterator[str]:
        names, ids = [key.code_file, key.debug_file], [key.code_id]
        if entry is not None:
            for kind in ("executable", "debuginfo"):
                if kind in entry.originals:
                    yield entry.originals[kind]
            names += [entry.identity.code_file, entry.identity.debug_file]
            ids += [entry.identity.code_id, entry.uuid.hex()]
        for folder in self._folders:
            for build_id in dict.fromkeys(each.lower() for each in ids):
                yield from build_id_paths(folder, build_id)
            for name in dict.fromkeys(filter(None, names)):
                if not set(name) & {"/", "\\", "\0"} and name not in {".", ".."}:
                    yield os.path.join(folder, name)


def _open(path: str, key: ModuleKey, entry: Entry | None) -> ObjectFile | None:
    """The binary, or the slice of a fat file, at *path* if it is that of the module."""
    data = map_file(path)
    for each in list_slices(data, path):
        part = data[each.offset :][: each.size]
        binary = ObjectFile(part, path)
        if _is_module(binary, key, entry):
            return binary
        binary.__exit__(None, None, None)
    return None


def _is_module(binary: ObjectFile, key: ModuleKey, entry: Entry | None) -> bool:
    """Whether a binary is that of the module as requested, and as it was found."""
    known = [key]
    found = key_of_binary(binary)
    if entry is not None:
        known.append(entry.identity)
        if entry.identity.code_hash and binary.path not in entry.originals.values():
            found = module_of(binary)
    outcomes = {compare(each, found).outcome for each in known}
    return OTHER not in outcomes and outcomes != {UNKNOWN}
