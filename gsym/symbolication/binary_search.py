"""The binary of a module, where it has code and not debug information only."""

from __future__ import annotations

import os
from contextlib import contextmanager

from gsym.containers.fat import list_slices
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.identity import identify
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.store.modules import Entry, ModuleKey


class BinarySearch:
    """Finds binaries: those that a store keeps, then those of some folders.

    Args:
        folders: Of binaries by their names, or by build id as GDB has them.
    """

    def __init__(self, folders: Iterable[str] = ()) -> None:
        self._folders = tuple(folders)

    @contextmanager
    def open(
        self, key: ModuleKey, entry: Entry | None
    ) -> Iterator[Iterator[ObjectFile]]:
        """The binaries that may be of a module, each of which is checked to be.

        They are closed at the end of the block.

        Args:
            key: What the asker knows of the module.
            entry: What a store knows of it.
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
            if "debuginfo" in entry.originals:
                yield entry.originals["debuginfo"]
            names += [entry.identity.code_file, entry.identity.debug_file]
            ids += [entry.identity.code_id, entry.uuid.hex()]
        for folder in self._folders:
            for build_id in dict.fromkeys(each.lower() for each in ids if each):
                if build_id.isalnum():
                    place = os.path.join(folder, ".build-id", build_id[:2])
                    yield os.path.join(place, build_id[2:])
            for name in dict.fromkeys(filter(None, names)):
                if not set(name) & {"/", "\\", "\0"} and name not in {".", ".."}:
                    yield os.path.join(folder, name)


def _open(path: str, key: ModuleKey, entry: Entry | None) -> ObjectFile | None:
    """The binary at *path* if it is of the module; of a fat file the slice that is."""
    data = map_file(path)
    for each in list_slices(data, path):
        part = data[each.offset :][: each.size]
        binary = ObjectFile(part, path)
        if _is_module(binary, path, key, entry):
            return binary
        binary.__exit__(None, None, None)
    return None


def _is_module(
    binary: ObjectFile, path: str, key: ModuleKey, entry: Entry | None
) -> bool:
    found = identify(path, uuid=binary.uuid or None)
    debug_id = key.debug_id or (entry.identity.debug_id if entry else "")
    if debug_id:
        return found.debug_id.upper() == debug_id.upper()
    return bool(key.code_id) and found.code_id.upper() == key.code_id.upper()
