"""The places where files of a module may be on this machine, and the search in them."""

from __future__ import annotations

import os

from gsym.errors import AmbiguousModuleError, SourceError
from gsym.modules.build_id_tree import build_id_paths
from gsym.modules.key import ModuleKey, build_id_digits, has_id
from gsym.records import NamedTuple
from gsym.store.modules import Attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from gsym.modules.file_match import FileMatch
    from gsym.modules.key import Comparison
    from gsym.store.loose_files import LooseFiles

    class Place(Protocol):
        """A place that may have files of modules."""

        @property
        def name(self) -> str:
            """The place, for reports."""

        def paths(self, key: ModuleKey, name: str) -> Iterator[str]:
            """Files that may be of a module, the best first; they may be missing.

            Args:
                key: The module.
                name: Its name, without folder; "" if it has none.

            Raises:
                AmbiguousModuleError: Several modules fit that differ.
                SourceError: The place cannot be searched, for the reason in it.
            """


_LEAST_DIGITS = 4  # two for a folder, and a name
_SUFFIXES = (".gsym", ".debug", "")
_MAX_DEPTH = 2
_MAX_FILES = 10_000


class FoundFile(NamedTuple):
    """A file that may be of a module, and how it fits."""

    path: str
    match: FileMatch


class Folder:
    """A folder of files that are named by build id, by the module, or in any way.

    Args:
        path: The folder.
        has_names: Whether files may be named by the module, too.
        is_scanned: Whether all of its files are read for their ids, if none has the
            build id in its name.
        max_depth: Levels of nested folders that are scanned.
        max_files: Number of files that are scanned.
    """

    def __init__(
        self,
        path: str,
        *,
        has_names: bool = True,
        is_scanned: bool = True,
        max_depth: int = _MAX_DEPTH,
        max_files: int = _MAX_FILES,
    ) -> None:
        self._path = path
        self._has_names = has_names
        self._is_scanned = is_scanned
        self._limits = max_depth, max_files
        self._scanned: LooseFiles | None = None

    @property
    def name(self) -> str:
        """The folder."""
        return self._path

    def paths(self, key: ModuleKey, name: str) -> Iterator[str]:
        """Paths as of `Place.paths`; files that are named by build id come first.

        Raises:
            AmbiguousModuleError: Several modules fit that differ.
            SourceError: The folder does not exist.
        """
        if not os.path.isdir(self._path):
            raise SourceError("is not a folder")
        yield from filter(os.path.isfile, self._named_by_id(key.code_id))
        if not self._has_names:
            return
        if not self._is_scanned:
            if not set(name) & {"/", "\\", "\0"} and name not in {"", ".", ".."}:
                places = (os.path.join(self._path, name + each) for each in _SUFFIXES)
                yield from filter(os.path.isfile, places)
            return
        scanned = self._scan()
        found = scanned.find_all(key) if has_id(key) else []
        # One of the name may be known by more of the id, or be another build.
        yield from found or (scanned.named(name) if name else ())

    def _named_by_id(self, code_id: str) -> Iterator[str]:
        digits = build_id_digits(code_id)
        if len(digits) >= _LEAST_DIGITS:
            tree = os.path.join(self._path, digits[:2], digits[2:])
            for path in (*build_id_paths(self._path, digits), tree):
                yield from (path + each for each in _SUFFIXES)
        if digits:
            yield os.path.join(self._path, f"{digits}.gsym")

    def _scan(self) -> LooseFiles:
        if self._scanned is None:
            from gsym.store.loose_files import LooseFiles

            depth, files = self._limits
            self._scanned = LooseFiles(self._path, max_depth=depth, max_files=files)
        return self._scanned


class PathOfKey:
    """The path at which a log, a report or a profile says that a file is.

    Args:
        beside: The folder in which relative paths start; "" if they are not used.
    """

    name = "path"

    def __init__(self, beside: str = "") -> None:
        self._beside = beside

    def paths(self, key: ModuleKey, name: str) -> Iterator[str]:
        """Paths as of `Place.paths`."""
        del name
        if key.path and (self._beside or os.path.isabs(key.path)):
            yield os.path.normpath(os.path.join(self._beside, key.path))


class Files:
    """Files that are known, such as the originals in a store."""

    name = "store"

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = tuple(paths)

    def paths(self, key: ModuleKey, name: str) -> Iterator[str]:
        """Paths as of `Place.paths`."""
        del key, name
        yield from self._paths


def find_files(
    places: Iterable[Place],
    key: ModuleKey,
    attempts: list[Attempt] | None = None,
    *,
    name: str = "",
    compare_code: Callable[[str], Comparison] | None = None,
) -> Iterator[FoundFile]:
    """The files that may be of a module, in the order of the places.

    Args:
        places: Where to look.
        key: The module.
        attempts: Gets why each other file is not one, and which places have none.
        name: Of the module; by default that in its key.
        compare_code: See `match_file`.
    """
    known: list[Attempt] = [] if attempts is None else attempts
    path = key.path.replace("\\", "/")
    name = name or key.debug_file or key.code_file or os.path.basename(path)
    tried: set[str] = set()
    for place in places:
        is_empty = True
        try:
            for each in place.paths(key, name):
                is_empty = False
                full_path = os.path.abspath(each)
                if full_path in tried:
                    continue
                tried.add(full_path)
                found = _matched(each, key, compare_code, known)
                if found is not None:
                    yield found
        except (AmbiguousModuleError, SourceError) as error:
            is_several = isinstance(error, AmbiguousModuleError)
            outcome = "refused" if is_several else "missing"
            known.append(Attempt(place.name, outcome, error.reason))
            continue
        if is_empty and isinstance(place, Folder):
            reason = "has no file with this build id" if has_id(key) else "not found"
            known.append(Attempt(place.name, "missing", reason))


def _matched(
    path: str,
    key: ModuleKey,
    compare_code: Callable[[str], Comparison] | None,
    attempts: list[Attempt],
) -> FoundFile | None:
    from gsym.modules.file_match import match_file  # many commands search for nothing

    if "\0" in path:
        attempts.append(Attempt(path, "missing", "a zero byte in a file name"))
        return None
    digits = build_id_digits(key.code_id)
    stem = os.path.basename(path).partition(".")[0]
    is_named_by_id = bool(digits[2:]) and stem.startswith((digits, digits[2:]))
    match = match_file(path, key, compare_code, is_named_by_id=is_named_by_id)
    if not match.refusal:
        return FoundFile(path, match)
    outcome = "missing" if match.key == ModuleKey() else "refused"
    attempts.append(Attempt(path, outcome, match.refusal))
    return None
