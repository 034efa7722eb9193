"""A folder of debug files in no particular layout, found by the ids in the files."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from gsym.cache import stamp_at
from gsym.errors import GsymError, NotFoundError, SourceError
from gsym.lazy import logging, threading
from gsym.modules.key import SAME, compare, is_absent, is_windows, search_terms
from gsym.records import NamedTuple
from gsym.store.choosing import difference, fitting_files, is_named
from gsym.store.entries import entry_of_file
from gsym.store.indexed_file import WITH_DWARF, IndexedFile, read_file, with_code

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cache import FileStamp
    from gsym.modules.key import ModuleKey
    from gsym.store.choosing import FittingFile
    from gsym.store.entries import Entry
    from gsym.store.packages import Packages
    from gsym.store.sources.source import FoundFile


class _Index(NamedTuple):
    """The result of a scan, which does not change."""

    files: dict[str, IndexedFile]  # by path
    # files by the terms of their modules: kind, place, path, module. Files of a lower
    # kind are better, and of these those at a lower place
    found: dict[str, list[tuple[int, int, str, ModuleKey]]]
    named: dict[str, list[str]]  # paths of debug files by name
    of_name: dict[str, list[str]]  # paths of debug files by the names of their modules

    def candidates(self, key: ModuleKey) -> list[tuple[str, ModuleKey]]:
        """Files that may be of a module, the best first.

        Of one kind, files of the name in *key* are better.
        """
        found = {
            file for term in search_terms(key) for file in self.found.get(term, ())
        }

        def order(file: tuple[int, int, str, ModuleKey]) -> tuple[int, bool, int]:
            kind, place, _, module = file
            return kind, not is_named(module, key), place

        return [(path, module) for _, _, path, module in sorted(found, key=order)]


_RESCAN_SECONDS = 2.0
_FAST_SECONDS = 0.1
_PAUSE_PER_WORK = 20.0
_SUFFIXES = (
    *(".gsym", ".debug", "", ".dbg", ".sym", ".exe", ".dll", ".sys", ".pdb"),
    *(".ko.debug", ".ko"),
)
_BUILD_FOLDERS = frozenset({".libs", ".build", ".build-id"})  # hidden, but searched
_WINDOWS_SUFFIXES = frozenset({".exe", ".dll", ".sys", ".pdb"})


def file_names(name: str) -> list[str]:
    """Names of files with the symbols of a module, the best one first.

    Debuggers of Windows and the kernel's logs leave out the suffix.
    """
    stem, suffix = os.path.splitext(name)
    names = [name + each for each in _SUFFIXES]
    if suffix.lower() in _WINDOWS_SUFFIXES:
        names += [stem + each for each in (".gsym", ".debug", ".sym", ".pdb")]
    return [*names, *(name.replace("_", "-") + each for each in _SUFFIXES[-2:])]


class LooseFiles:
    """A folder of debug files, Breakpad files and GSYM files with any names.

    It is scanned at the first search, and again at later ones: at once if that is fast,
    else by a thread, while the search has the previous result. Hidden folders are
    skipped, but those that build tools make.

    Args:
        path: The folder.
        rescan_seconds: Minimum time between scans; those that take long are rarer.
        max_depth: Levels of nested folders that are searched.
        max_files: Number of files that are read.
        patience: Seconds that a search waits for the first scan; None: no limit.
        packages: Searches the packages in the folder, if they are to be.
    """

    def __init__(  # noqa: PLR0913 - independent keywords
        self,
        path: str,
        *,
        rescan_seconds: float = _RESCAN_SECONDS,
        max_depth: int = 32,
        max_files: int = 1_000_000,
        patience: float | None = None,
        packages: Packages | None = None,
    ) -> None:
        self._path = os.path.abspath(path)
        self.name: str = os.path.join(self._path, "*")
        self._max_depth = max_depth
        self._max_files = max_files
        self._rescan_seconds = rescan_seconds
        self._patience = patience
        self.packages = packages
        self._lock = threading.Lock()  # of the state of scans
        self._thread: threading.Thread | None = None
        self._due = float("-inf")
        self._is_slow = patience is not None  # until a scan was fast
        self._is_read = threading.Event()
        self._is_cut = False
        self._index = _Index({}, {}, {}, {})
        self._with_code: dict[str, tuple[IndexedFile, ModuleKey]] = {}

    def find(self, key: ModuleKey, folder: str) -> FoundFile:
        """The file of a module, perhaps unpacked from a package; see `Source.find`.

        A debug file in a package is preferred to a binary without debug information.
        """
        path, is_packed = self._best(key, self._patience)
        if not path:
            raise NotFoundError(f"not found (searched {len(self._index.files)} files)")
        if is_packed and self.packages is not None:
            return self.packages.find(key, folder)
        from gsym.store.sources.source import FoundFile

        return FoundFile(path, path)

    def best(self, key: ModuleKey) -> str:
        """The file of a module, or the package with it; "" if there is none.

        It does not wait for the first scan.

        Raises:
            SourceError: As for `find`.
        """
        return self._best(key, 0.0)[0]

    def _best(self, key: ModuleKey, patience: float | None) -> tuple[str, bool]:
        """Best file, as of `best`, and whether it is a package."""
        path = next((each.path for each in self.fitting(key, patience)), "")
        file = self._index.files.get(path)
        if self.packages is None or (file is not None and file.rank >= WITH_DWARF):
            return path, False
        try:
            packed = self.packages.find_all(key)
        except GsymError:
            if not path:
                raise
            return path, False
        if packed and (not path or "debuginfo" in packed[0].kinds):
            return packed[0].package, True
        return path, False

    def find_all(self, key: ModuleKey) -> list[str]:
        """All files of a module, the best one first.

        Raises:
            AmbiguousModuleError: Several modules fit that differ.
            SourceError: The folder does not exist, or is still being read.
        """
        return [each.path for each in self.fitting(key, self._patience)]

    def fitting(self, key: ModuleKey, patience: float | None) -> list[FittingFile]:
        """Files as of `find_all`; those with a complete id come first.

        Args:
            key: The module.
            patience: Seconds to wait for the first scan; None: no limit.
        """
        self._refresh(patience)
        files = [
            each for each in self._index.candidates(key) if os.path.exists(each[0])
        ]
        found = fitting_files(key, files, self._code_of)
        if not found and not self._is_read.is_set():
            raise SourceError("the folder is still being read", path=self._path)
        return found

    def named(self, name: str) -> list[str]:
        """The debug files of a name, also with a usual suffix, the best one first.

        Of files with the same suffix, the largest contains most. Without such a file,
        those that say that they are of a module of this name.

        Raises:
            SourceError: The folder does not exist.
        """
        self._refresh(self._patience)
        index = self._index
        found = [
            path
            for each in dict.fromkeys(file_names(name))
            for path in sorted(
                index.named.get(each, ()),
                key=lambda path: (-index.files[path].stamp.size, path),
            )
        ]
        return found or index.of_name.get(name, [])

    def build_ids(self) -> Iterator[tuple[str, str]]:
        """Paths and build ids of all binaries, in hexadecimal lower-case digits."""
        with suppress(SourceError):
            self._refresh(self._patience)
        for path, file in sorted(self._index.files.items()):
            for module in file.modules if file.kind != "gsym" else ():
                if module.code_id and not is_windows(module.os):
                    yield path, module.code_id.lower()

    def name_of(self, path: str) -> str:
        """The path of a file in the folder, beginning with a slash."""
        return "/" + os.path.relpath(path, self._path)

    def entries(self) -> list[Entry]:
        """The modules of all files and packages, as entries without function counts.

        Of several files of one module, it is the best one.
        """
        with suppress(SourceError):
            self._refresh(self._patience)
        found = [
            entry_of_file(path, module, path, file.stamp)
            for path, file in self._index.files.items()
            for module in file.modules
            if not is_absent(module.debug_id) and self._is_first(path, module)
        ]
        return found + list(self.packages.entries() if self.packages else ())

    def start(self) -> None:
        """Start the first scan, which searches then wait for less."""
        with self._lock:
            self._start()

    def _code_of(self, path: str, module: ModuleKey) -> ModuleKey:
        """A module with the hash of its code, which is computed once for each file."""
        file = self._index.files.get(path)
        if file is None:
            return module
        known = self._with_code.get(path)
        if known is None or known[0] is not file or known[1][:2] != module[:2]:
            known = file, with_code(path, file.kind, module)
            self._with_code[path] = known
        return known[1]

    def _is_first(self, path: str, module: ModuleKey) -> bool:
        """Whether no better file is of the same module.

        Code is read only of files whose names differ.
        """
        nameless = module._replace(debug_file="", code_file="")
        for other, its_module in self._index.candidates(nameless):
            if other == path:
                return True
            comparison = compare(module, its_module)
            if its_module.debug_file == module.debug_file:
                is_same = not comparison.is_refused
            else:
                files = (other, its_module), (path, module)
                is_same = comparison.outcome == SAME and (
                    difference(files, self._code_of) is None
                )
            if is_same:
                return False
        return True

    def _refresh(self, patience: float | None) -> None:
        """Scan the folder if that is due, or let a thread do it.

        *patience* are the seconds to wait for the first scan; None: no limit.
        """
        with self._lock:
            if time.monotonic() > self._due:
                if not os.path.isdir(self._path):
                    raise SourceError("the folder does not exist", path=self._path)
                if self._is_slow:
                    self._start()
                elif self._patience is None:
                    self._scan()
                else:  # not longer than usual: much may be new in the folder
                    thread = self._start()
                    thread.join(_FAST_SECONDS)
                    self._is_slow = self._is_slow or thread.is_alive()
        self._is_read.wait(patience)

    def _start(self) -> threading.Thread:
        """Start a thread that scans, unless there is one; return it."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            name = "gsym-scan"
            thread = threading.Thread(target=self._scan, name=name, daemon=True)
            self._thread = thread
            thread.start()
        return thread

    def _scan(self) -> None:
        started = time.monotonic()
        try:
            before = self._index.files
            files: dict[str, IndexedFile] = {}
            for path, stamp in self._walk():
                known = before.get(path)
                if known is None or known.stamp != stamp:
                    known = read_file(path, stamp)
                files[path] = known
            self._index = _index_of(files)
            self._with_code = {
                path: known
                for path, known in self._with_code.items()
                if files.get(path) is known[0]
            }
            if self.packages is not None:
                found = {
                    path: file.stamp for path, file in files.items() if file.is_package
                }
                self.packages.update(found)
        finally:
            took = time.monotonic() - started
            self._is_slow = took > _FAST_SECONDS
            pause = _PAUSE_PER_WORK * took if self._is_slow else self._rescan_seconds
            self._due = time.monotonic() + pause
            self._is_read.set()

    def _walk(self) -> Iterator[tuple[str, FileStamp]]:
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
                    continue
                stamp = stamp_at(entry.path)
                if stamp is None:
                    continue
                if not left:
                    if not self._is_cut:
                        self._is_cut = True
                        text = "%s has more than %d files; only these are searched"
                        log = logging.getLogger("gsym.store")
                        log.warning(text, self._path, self._max_files)
                    return
                left -= 1
                yield entry.path, stamp


def _index_of(files: dict[str, IndexedFile]) -> _Index:
    named: dict[str, list[str]] = {}
    of_name: dict[str, list[str]] = {}
    for path, file in files.items():
        if file.is_debug_file:
            named.setdefault(os.path.basename(path), []).append(path)
        names = {each.debug_file for each in file.modules}
        for name in names | {each.code_file for each in file.modules}:
            of_name.setdefault(name, []).append(path)
    # A GSYM file needs no conversion; of others, the largest contains most.
    order = sorted(
        (path for path, file in files.items() if file.keys),
        key=lambda path: (
            files[path].kind == "gsym",
            files[path].rank,
            files[path].stamp.size,
        ),
    )
    found: dict[str, list[tuple[int, int, str, ModuleKey]]] = {}
    for place, path in enumerate(reversed(order)):
        file = files[path]
        kind = -1 if file.kind == "gsym" else WITH_DWARF - file.rank
        for key in file.keys:
            for term in search_terms(key):
                found.setdefault(term, []).append((kind, place, path, key))
    return _Index(files, found, named, of_name)
