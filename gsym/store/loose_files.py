"""Debug files that just lie in a folder, found by what they say of themselves."""

from __future__ import annotations

import os
import threading
import time
from itertools import chain

from gsym.containers.recognition import recognise_file
from gsym.conversion.identity import (
    ModuleIdentity,
    codeview_debug_id,
    uuid_code_id,
    uuid_debug_id,
)
from gsym.errors import GsymError, NotFoundError, SourceError
from gsym.reading.reader import open as open_reader
from gsym.records import NamedTuple
from gsym.store.archives import bare_name
from gsym.store.module_file import modules_in
from gsym.store.modules import Entry
from gsym.store.sources.source import FoundFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.store.modules import ModuleKey


class _File(NamedTuple):
    """The modules in a file, and all their ids."""

    modules: Sequence[ModuleIdentity] = ()
    ids: Sequence[str] = ()


_DEEPEST = 2  # folders in folders that are looked into
_MOST_FILES = 10_000
_LOOK_AGAIN_AFTER = 2.0  # seconds
_GUID_SIZE = 16
_GUID_DIGITS = 2 * _GUID_SIZE
_KINDS = frozenset({"breakpad", "gsym", "object", "fat"})


class LooseFiles:
    """A folder of debug files, Breakpad files and GSYM files of any names.

    Which modules they are of is read when the first one is asked for, and again for a
    module that is not there, now and then. Hidden folders are passed over.

    Args:
        path: The folder. It is looked through two folders deep.
        look_again_after: Seconds.
    """

    def __init__(
        self, path: str, *, look_again_after: float = _LOOK_AGAIN_AFTER
    ) -> None:
        self._path = os.path.abspath(path)
        self._look_again_after = look_again_after
        self._lock = threading.Lock()
        self._looked = float("-inf")
        self._stamps: dict[str, tuple[int, int]] = {}
        self._files: dict[str, _File] = {}  # by path
        self._paths: dict[str, list[str]] = {}  # of each id, the best file first

    @property
    def name(self) -> str:
        """The folder, and that any name will do."""
        return os.path.join(self._path, "*")

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The file of a module, where it lies.

        Raises:
            NotFoundError: There is none.
            SourceError: The folder is not there.
        """
        del folder
        paths = self.find_all(key)
        if not paths:
            raise NotFoundError(f"not found (searched {len(self._files)} files)")
        return FoundFile(paths[0], paths[0])

    def find_all(self, key: ModuleKey) -> list[str]:
        """All files of a module, the best one first.

        Raises:
            SourceError: The folder is not there.
        """
        if not os.path.isdir(self._path):
            raise SourceError("the folder is not there", path=self._path)
        with self._lock:
            paths = self._known(key)
            if not paths and time.monotonic() - self._looked > self._look_again_after:
                self._look()
                paths = self._known(key)
        return paths

    def entries(self) -> list[Entry]:
        """The modules of all files, like entries of a store.

        Each has the path and the size of its file, and no functions.
        """
        with self._lock:
            if time.monotonic() - self._looked > self._look_again_after:
                self._look()
            return [
                Entry(
                    path=path,
                    identity=identity,
                    source=path,
                    size=self._stamps[path][1],
                    added=self._stamps[path][0] / 1e9,
                )
                for path, file in self._files.items()
                for identity in file.modules
                if self._paths.get(identity.debug_id.upper(), [""])[0] == path
            ]

    def _known(self, key: ModuleKey) -> list[str]:
        # A GSYM file of a PE image does not know the age in its debug id.
        ids = (key.debug_id, key.debug_id[:_GUID_DIGITS], key.code_id)
        for each in ids:
            paths = self._paths.get(each.upper(), []) if each else []
            if paths := list(filter(os.path.exists, paths)):
                return paths
        return []

    def _look(self) -> None:
        files: dict[str, _File] = {}
        stamps: dict[str, tuple[int, int]] = {}
        for path in self._walk():
            stamp = _stamp(path)
            if stamp is not None:
                is_same = self._stamps.get(path) == stamp
                files[path] = self._files[path] if is_same else _read(path)
                stamps[path] = stamp
        self._files, self._stamps = files, stamps
        # The largest says most; a GSYM file needs no conversion.
        order = sorted(
            stamps, key=lambda path: (path.endswith(".gsym"), stamps[path][1])
        )
        self._paths = {}
        for path in reversed(order):
            for each in {each.upper() for each in files[path].ids if each}:
                self._paths.setdefault(each, []).append(path)
        self._looked = time.monotonic()

    def _walk(self) -> Iterator[str]:
        left = _MOST_FILES
        folders = [(self._path, 0)]
        while folders:
            folder, depth = folders.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if depth < _DEEPEST and not entry.name.startswith("."):
                        folders.append((entry.path, depth + 1))
                elif left and os.path.isfile(entry.path):
                    left -= 1
                    yield entry.path


def _stamp(path: str) -> tuple[int, int] | None:
    """What changes with the file; None where it is gone."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _read(path: str) -> _File:
    """Which modules are in a file."""
    try:
        kind = recognise_file(path)
        if kind == "gsym":
            return _read_gsym(path)
        if kind not in _KINDS:
            return _File()
        modules = [each.identity for each in modules_in(path, ModuleIdentity())]
    except (GsymError, OSError, ValueError):
        return _File()  # not a debug file, or a damaged one
    ids = chain.from_iterable((each.debug_id, each.code_id) for each in modules)
    return _File([_named(each, path) for each in modules], [*ids])


def _named(identity: ModuleIdentity, path: str) -> ModuleIdentity:
    """An identity with the name that the module gets in a store."""
    if identity.debug_file in {"", os.path.basename(path)}:
        return identity._replace(debug_file=bare_name(path))
    return identity


def _read_gsym(path: str) -> _File:
    """It tells its UUID, but not by which rule that makes a debug id."""
    with open_reader(path) as reader:
        uuid, byteorder = reader.uuid, reader.header.byteorder
    if not uuid:
        return _File()
    guid = codeview_debug_id(uuid[:_GUID_SIZE], 0)[:-1]
    ids = [uuid_debug_id(uuid, os, byteorder) for os in ("Linux", "mac")]
    name = bare_name(path).removesuffix(".gsym")
    module = ModuleIdentity(debug_id=ids[0], debug_file=name)
    return _File([module], [*ids, guid, uuid_code_id(uuid, "Linux"), uuid.hex()])
