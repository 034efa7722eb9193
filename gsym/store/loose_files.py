"""A folder of debug files in no particular layout, found by the ids in the files."""

from __future__ import annotations

import os
import threading
import time
from itertools import chain

from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
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
    """The modules in a file, all their ids, and how much it tells of them."""

    modules: Sequence[ModuleIdentity] = ()
    ids: Sequence[str] = ()
    is_debug_file: bool = True
    rank: int = 1


_RESCAN_SECONDS = 2.0
_GUID_SIZE = 16
_GUID_DIGITS = 2 * _GUID_SIZE
_MODULE = b"MODULE "
_DWARF = (b".debug_info", b".zdebug_info", b"__debug_info")
_KINDS = frozenset({"breakpad", "gsym", "object", "fat", "pdb"})


_SUFFIXES = (
    *(".gsym", ".debug", "", ".dbg", ".sym", ".exe", ".dll", ".sys", ".pdb", ".ko"),
)
_BUILD_FOLDERS = frozenset({".libs", ".build", ".build-id"})  # hidden, but searched
_WINDOWS_SUFFIXES = frozenset({".exe", ".dll", ".sys", ".pdb"})


def _file_names(name: str) -> list[str]:
    """Names of files with the symbols of a module, the best one first.

    Debuggers of Windows and the kernel's logs leave out the suffix.
    """
    stem, suffix = os.path.splitext(name)
    names = [name + each for each in _SUFFIXES]
    if suffix.lower() in _WINDOWS_SUFFIXES:
        names += [stem + each for each in (".gsym", ".debug", ".sym", ".pdb")]
    return [*names, f"{name.replace('_', '-')}.ko"]


class LooseFiles:
    """A folder of debug files, Breakpad files and GSYM files with any names.

    It is scanned at the first search, and again when a module is not found. Hidden
    folders are skipped, but those that build tools make.

    Args:
        path: The folder.
        rescan_seconds: Minimum time between scans.
        max_depth: Levels of nested folders that are searched.
        max_files: Number of files that are read.
    """

    def __init__(
        self,
        path: str,
        *,
        rescan_seconds: float = _RESCAN_SECONDS,
        max_depth: int = 2,
        max_files: int = 10_000,
    ) -> None:
        self._path = os.path.abspath(path)
        self._max_depth = max_depth
        self._max_files = max_files
        self._rescan_seconds = rescan_seconds
        self._lock = threading.Lock()
        self._scanned = float("-inf")
        self._stamps: dict[str, tuple[int, int]] = {}
        self._files: dict[str, _File] = {}  # by path
        self._paths: dict[str, list[str]] = {}  # by id, the best file first
        self._named: dict[str, list[str]] = {}  # debug files by name

    @property
    def name(self) -> str:
        """The folder, with a pattern."""
        return os.path.join(self._path, "*")

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The file of a module, which is not copied.

        Raises:
            NotFoundError: There is none.
            SourceError: The folder does not exist.
        """
        del folder
        paths = self.find_all(key)
        if not paths:
            raise NotFoundError(f"not found (searched {len(self._files)} files)")
        return FoundFile(paths[0], paths[0])

    def find_all(self, key: ModuleKey) -> list[str]:
        """All files of a module, the best one first.

        Raises:
            SourceError: The folder does not exist.
        """
        if not os.path.isdir(self._path):
            raise SourceError("the folder does not exist", path=self._path)
        with self._lock:
            paths = self._known(key)
            if not paths and self._is_due():
                self._scan()
                paths = self._known(key)
        return paths

    def named(self, name: str) -> list[str]:
        """The debug files of a name, also with a usual suffix, the best one first.

        Of files with the same suffix, the largest contains most.

        Raises:
            SourceError: The folder does not exist.
        """
        if not os.path.isdir(self._path):
            raise SourceError("the folder does not exist", path=self._path)
        with self._lock:
            if self._is_due():
                self._scan()
            return [
                path
                for each in dict.fromkeys(_file_names(name))
                for path in sorted(
                    self._named.get(each, ()),
                    key=lambda path: (-self._stamps[path][1], path),
                )
            ]

    def build_ids(self) -> list[tuple[str, str]]:
        """Paths and build ids of all binaries, in hexadecimal lower-case digits."""
        with self._lock:
            if self._is_due():
                self._scan()
            return [
                (path, identity.code_id.lower())
                for path, file in sorted(self._files.items())
                for identity in file.modules
                if identity.code_id and identity.os != "windows"
            ]

    def entries(self) -> list[Entry]:
        """The modules of all files, as entries without function counts."""
        with self._lock:
            if self._is_due():
                self._scan()
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
        # A GSYM file of a PE image does not contain the age of its debug id.
        ids = (key.debug_id, key.debug_id[:_GUID_DIGITS], key.code_id)
        for each in ids:
            paths = self._paths.get(each.upper(), []) if each else []
            if paths := list(filter(os.path.exists, paths)):
                return paths
        return []

    def _is_due(self) -> bool:
        return time.monotonic() - self._scanned > self._rescan_seconds

    def _scan(self) -> None:
        files: dict[str, _File] = {}
        stamps: dict[str, tuple[int, int]] = {}
        for path in self._walk():
            stamp = _stamp(path)
            if stamp is not None:
                is_same = self._stamps.get(path) == stamp
                files[path] = self._files[path] if is_same else _read(path)
                stamps[path] = stamp
        self._files, self._stamps = files, stamps
        self._named = {}
        for path, file in files.items():
            if file.is_debug_file:
                self._named.setdefault(os.path.basename(path), []).append(path)
        # A GSYM file needs no conversion; of others, the largest contains most.
        order = sorted(
            stamps,
            key=lambda path: (
                path.endswith(".gsym"),
                files[path].rank,
                stamps[path][1],
            ),
        )
        self._paths = {}
        for path in reversed(order):
            for each in {each.upper() for each in files[path].ids if each}:
                self._paths.setdefault(each, []).append(path)
        self._scanned = time.monotonic()

    def _walk(self) -> Iterator[str]:
        left = self._max_files
        folders = [(self._path, 0)]
        while folders:
            folder, depth = folders.pop()
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    is_seen = entry.name[:1] != "." or entry.name in _BUILD_FOLDERS
                    if depth < self._max_depth and is_seen:
                        folders.append((entry.path, depth + 1))
                elif left and os.path.isfile(entry.path):
                    left -= 1
                    yield entry.path


def _stamp(path: str) -> tuple[int, int] | None:
    """Time and size, which change with the file; None if it was removed."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _is_sym_file(path: str) -> bool:
    """Whether a file is one of Breakpad, and not a text with a line of one."""
    with open(path, "rb") as file:
        return path.endswith(".sym") or file.read(len(_MODULE)) == _MODULE


def _read(path: str) -> _File:
    """The modules in a file."""
    try:
        kind = recognise_file(path)
        if kind == "gsym":
            return _read_gsym(path)
        if kind not in _KINDS or (kind == "breakpad" and not _is_sym_file(path)):
            return _File(is_debug_file=False)
        modules = [each.identity for each in modules_in(path, ModuleIdentity())]
        rank = _rank(path) if kind == "object" else 1
    except (GsymError, OSError, ValueError):
        return _File(is_debug_file=False)  # or damaged
    ids = chain.from_iterable((each.debug_id, each.code_id) for each in modules)
    return _File([_named(each, path) for each in modules], [*ids], rank=rank)


def _rank(path: str) -> int:
    """2 for an object file with DWARF, 1 with a symbol table, 0 for a stripped one."""
    with ObjectFile(map_file(path), path) as binary:
        if any(map(binary.has_section, _DWARF)):
            return 2
        return int(binary.has_section(b".symtab") or not binary.is_elf)


def _named(identity: ModuleIdentity, path: str) -> ModuleIdentity:
    """An identity with the name that the module would get in a store."""
    if identity.debug_file in {"", os.path.basename(path)}:
        return identity._replace(debug_file=bare_name(path))
    return identity


def _read_gsym(path: str) -> _File:
    """The module of a GSYM file, under the debug ids of its UUID on all systems."""
    with open_reader(path) as reader:
        uuid, byteorder = reader.uuid, reader.header.byteorder
    if not uuid:
        return _File()
    guid = codeview_debug_id(uuid[:_GUID_SIZE], 0)[:-1]
    ids = [uuid_debug_id(uuid, os, byteorder) for os in ("Linux", "mac")]
    name = bare_name(path).removesuffix(".gsym")
    module = ModuleIdentity(debug_id=ids[0], debug_file=name)
    return _File([module], [*ids, guid, uuid_code_id(uuid, "Linux"), uuid.hex()])
