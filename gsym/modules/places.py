"""The places where files of a module may be on this machine, and the search in them."""

from __future__ import annotations

import os
from functools import partial

from gsym.errors import AmbiguousModuleError, SourceError, reason_of
from gsym.modules.key import Attempt, Comparison, ModuleKey, build_id_digits, has_id
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from gsym.modules.file_match import FileMatch
    from gsym.store.loose_files import LooseFiles
    from gsym.store.sources.local_trees import LocalStore, LocalTree

    class Place(Protocol):
        """A place that may have files of modules."""

        @property
        def name(self) -> str:
            """The place, for reports."""

        def paths(self, key: ModuleKey, name: str, /) -> Iterable[str]:
            """Files that may be of a module, the best first; they may be missing.

            Args:
                key: The module.
                name: Its name, without folder; "" if it has none.

            Raises:
                AmbiguousModuleError: Several modules fit that differ.
                SourceError: The place cannot be searched, for the reason in it.
            """


class MatchedFile(NamedTuple):
    """A file that may be of a module, and how it fits."""

    path: str
    match: FileMatch


class Folder:
    """A folder of files that are named by an id, by the module, or in any way.

    It may have the layouts of other tools, or be a store.

    Args:
        path: The folder.
        by_build_id: Whether files are found by the build id in their names alone.
        is_flat: Whether nested folders are left out of the search for other files.
        patience: Seconds that a search waits for the first scan; None: no limit.
    """

    def __init__(
        self,
        path: str,
        *,
        by_build_id: bool = False,
        is_flat: bool = False,
        patience: float | None = None,
    ) -> None:
        self.name: str = path
        self._by_build_id = by_build_id
        self._is_flat = is_flat
        self._patience = patience
        self._by_path: LocalStore | LocalTree | None = None
        self._scanned: LooseFiles | None = None

    def paths(self, key: ModuleKey, name: str) -> Iterator[str]:
        """Paths as of `Place.paths`; files that are named by an id come first.

        Raises:
            AmbiguousModuleError: Several modules fit that differ.
            SourceError: The folder does not exist.
        """
        if not os.path.isdir(self.name):
            raise SourceError("is not a folder")
        is_found, is_known = False, has_id(key)
        if is_known:
            if self._by_path is None:
                from gsym.store.sources.local_trees import open_by_path

                self._by_path = open_by_path(self.name, by_build_id=self._by_build_id)
            try:
                for path in self._by_path.find_all(key):
                    is_found = True
                    yield path
            except AmbiguousModuleError:
                if self._by_build_id:
                    raise  # elsewhere there may be other files, whose names choose one
        if not self._by_build_id:
            # The source of all files
            if self._scanned is None:
                from gsym.store.loose_files import LooseFiles

                scan = partial(LooseFiles, max_depth=0) if self._is_flat else LooseFiles
                self._scanned = scan(self.name, patience=self._patience)
            scanned = self._scanned
            found = scanned.find_all(key) if is_known else []
            # One of the name may be known by more of the id, or be another build.
            yield from found or (scanned.named(name) if name and not is_found else ())


class Files(NamedTuple):
    """A place of files whose paths are computed from the module."""

    name: str  # of the place
    paths: Callable[[ModuleKey, str], Iterable[str]]  # as of `Place.paths`


def path_of_key(beside: str = "") -> Files:
    """The path at which a log, a report or a profile says that a file is.

    Relative paths start in *beside*, and are not used without it.
    """

    def paths(key: ModuleKey, _name: str) -> Iterator[str]:
        if key.path and (beside or os.path.isabs(key.path)):
            yield _normalized(os.path.join(beside, key.path))

    return Files("path", paths)


def _normalized(path: str) -> str:
    """A path without "."; ".." stays, which may be above the target of a link."""
    return path if os.pardir in path.split(os.sep) else os.path.normpath(path)


def named_file(path: str) -> Files:
    """A file that the user named.

    It is tried for modules with an id, which its own has to fit, and those of its name.
    """

    def paths(key: ModuleKey, name: str) -> Iterator[str]:
        from gsym.store.loose_files import file_names

        if has_id(key) or os.path.basename(path) in file_names(name):
            yield path

    return Files(path, paths)


def known_files(paths: Iterable[str]) -> Files:
    """Files that are known, such as the originals in a store."""
    known = tuple(paths)
    return Files("store", lambda _key, _name: known)


def find_files(
    places: Iterable[Place],
    key: ModuleKey,
    attempts: list[Attempt] | None = None,
    *,
    name: str = "",
    compare_code: Callable[[str], Comparison] | None = None,
) -> Iterator[MatchedFile]:
    """The files that may be of a module, in the order of the places.

    *attempts* gets why each other file is not one, and which places have none.
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
                full_path = _normalized(os.path.join(os.getcwd(), each))
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
) -> MatchedFile | None:
    if "\0" in path:
        attempts.append(Attempt(path, "missing", "a zero byte in a file name"))
        return None
    try:
        os.stat(path)
    except OSError as error:
        attempts.append(Attempt(path, "missing", reason_of(error)))
        return None
    from gsym.modules.file_match import match_file  # many commands search for nothing

    digits = build_id_digits(key.code_id)
    stem = os.path.basename(path).partition(".")[0]
    is_named_by_id = bool(digits[2:]) and stem.startswith((digits, digits[2:]))
    match = match_file(path, key, compare_code, is_named_by_id=is_named_by_id)
    if not match.refusal:
        return MatchedFile(path, match)
    outcome = "missing" if match.key == ModuleKey() else "refused"
    attempts.append(Attempt(path, outcome, match.refusal))
    return None
