"""The search for a module on this machine, in a store and on servers, and its opening.

All files that `find_files` finds in the places are candidates. The first one with
lines is opened, else one with symbols alone; one that is surely of the module comes
before one that may be of another build. Without a file with lines, the store and its
sources are asked. Of a module without an id, the file that is found may have one: if it
has no lines, the module is searched for again, by this id.
"""

from __future__ import annotations

import os
import time
from functools import partial

from gsym.errors import GsymError, reason_of
from gsym.modules.key import Attempt, Comparison, ModuleKey, completed, has_id
from gsym.modules.open_module import OpenModule
from gsym.modules.places import Files, Folder, find_files, path_of_key
from gsym.store.layout import default_store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from gsym.modules.places import MatchedFile, Place
    from gsym.modules.symbolizer import Symbolizer

    CompareCode = Callable[[str], Comparison]

SEARCH: dict[str, Any] = {
    "store": False,
    "index_limit": 1 << 24,  # as in a `Symbolizer`
    "partial": False,
}
"""Fields of a `BinarySearch` for files that stay open."""


class Finder:
    """Finds and opens modules.

    Args:
        places: Searched first, in order.
        store: Asked for modules with an id that have no lines there, if there is one.
        last: Places that are searched after the store.
        search: How the GSYM file of a binary is searched for and made: fields of
            `BinarySearch`, if they are not as for `gsym.open`.
    """

    def __init__(
        self,
        places: Sequence[Place],
        store: Symbolizer | None = None,
        *,
        last: Sequence[Place] = (),
        search: Mapping[str, Any] | None = None,
    ) -> None:
        self._places = places
        self._store = store
        self._last = last
        self._search = search or {}

    def open(
        self, key: ModuleKey, name: str = "", compare_code: CompareCode | None = None
    ) -> OpenModule:
        """The module, or the reasons why it was not found."""
        found = self._open(key, name, compare_code, ())
        are_missing = all(each.outcome == "missing" for each in found.attempts)
        if has_id(key) or found.has_lines or are_missing:
            return found
        file = next(self.files(key, name, compare_code), None)
        if file is None or not has_id(file.match.key):
            return found
        own = file.match.key
        known = completed(own, ModuleKey(code_file=own.debug_file))._replace(
            path=file.path
        )
        again = self._open(known, name, compare_code, found.attempts)
        again.unsure = file.match.unsure or again.unsure
        return again

    def files(
        self,
        key: ModuleKey,
        name: str = "",
        compare_code: CompareCode | None = None,
        *,
        elsewhere: bool = False,
    ) -> Iterator[MatchedFile]:
        """The files of a module on this machine, see `open`.

        Files *elsewhere*, which may have its code, follow: the store and its sources
        are asked when nothing before is enough.
        """
        places = [*self._places, *self._last]
        if elsewhere and self._store is not None:
            asked = self._store.binaries

            def paths(key: ModuleKey, _name: str) -> Iterator[str]:
                """The binaries in the store and its sources."""
                return (each.path for each in asked(key._replace(path="")))

            places.append(Files("store", paths))
        return find_files(places, key, name=name, compare_code=compare_code)

    def close(self) -> None:
        """Close the connections to servers; readers stay open."""
        if self._store is not None:
            self._store.close()

    def _open(
        self,
        key: ModuleKey,
        name: str,
        compare_code: CompareCode | None,
        before: tuple[Attempt, ...],
    ) -> OpenModule:
        attempts = [*before]
        is_comparable = has_id(key) or compare_code is not None

        def best(places: Sequence[Place]) -> OpenModule:
            files = find_files(
                places, key, attempts, name=name, compare_code=compare_code
            )
            return self._best(files, attempts, may_be_surer=is_comparable)

        found = best(self._places)
        if not found.has_lines:
            if self._store is not None and has_id(key):
                stored = self._store.open(key)
                attempts += stored.attempts
                is_more = stored.has_lines or found.reader is None
                if stored.reader is not None and is_more:
                    found = stored.copied(found.path, stored.unsure)
            if found.reader is None and found.find_files is None:
                found = best(self._last)
        found.attempts = tuple(attempts)
        if found.reader is not None or found.find_files is not None:
            files = partial(self.files, key, name, compare_code)
            found.find_files = lambda: [each.path for each in files()]
        return found

    def _best(
        self,
        files: Iterator[MatchedFile],
        attempts: list[Attempt],
        *,
        may_be_surer: bool,
    ) -> OpenModule:
        """The best of the files of a module; without a reader if none has functions."""
        best = OpenModule(None, None)
        for path, match in files:
            if best.has_lines and match.unsure:
                continue  # no better than what is open
            # Most modules of a report have no file.
            from gsym.modules.binary_lookup import OPENING, find_gsym

            started = time.perf_counter()
            search = OPENING._replace(architecture=match.architecture, **self._search)
            reason = "no debug information and no symbols"
            reader = None
            try:
                found = find_gsym(path, search)
            except (GsymError, OSError) as error:
                reason = str(error).removeprefix(f"{path}: ")
                if isinstance(error, OSError):
                    reason = reason_of(error)
            else:
                reader = found.reader
                # A file without functions may have variables.
                best.find_files = best.find_files or tuple
            seconds = time.perf_counter() - started
            if reader is None:
                attempts.append(Attempt(path, "refused", reason, seconds))
                continue
            attempts.append(Attempt(path, "found", path, seconds))
            unsure = match.unsure or found.unsure
            module = OpenModule(None, reader, unsure=unsure)
            module.path, module.find_files = path, tuple
            if best.reader is None or _rank(module) > _rank(best):
                best = module
            if best.has_lines and not (best.unsure and may_be_surer):
                break
        return best


def find_in(
    folders: Iterable[str],
    debug_folders: Iterable[str] = (),
    store: Symbolizer | None = None,
    *,
    at_paths: bool = False,
) -> Finder:
    """The modules of logs and profiles."""
    debug = tuple(debug_folders)
    by_id = (Folder(each, by_build_id=True) for each in debug)
    return Finder(
        [*map(Folder, folders), *by_id],
        store,
        last=[path_of_key(os.curdir)] if at_paths else (),
        search={"debug_file_directories": debug, **SEARCH},
    )


def _rank(module: OpenModule) -> tuple[bool, bool]:
    """Rank of an open file: a surer one is better, then one with lines."""
    return not module.unsure, module.has_lines


def open_store(
    path: str | None, sources: Sequence[str] = (), *, data_symbols: bool = False
) -> Symbolizer | None:
    """Modules of the store, and of sources if the store lacks them.

    Closing it closes the connections to servers.

    Args:
        path: Of the store, if it exists or is needed; None: the user's own. A URL is a
            source of modules that go there.
        sources: See `SourceOpener`.
        data_symbols: Whether fetched modules are converted with their variables.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: A source is invalid.
    """
    if path is not None and "://" in path:
        from gsym.store.sources.settings import source_of_store

        sources, path = [source_of_store(path), *sources], None
    place = path or default_store()
    if not sources and not os.path.isdir(place):
        return None
    from gsym.modules.symbolizer import Symbolizer

    if not sources:
        return Symbolizer(place)
    from gsym.modules.resolver import Resolver
    from gsym.store.adding import add_file
    from gsym.store.directory import Store
    from gsym.store.sources.settings import SourceOpener

    opener = SourceOpener()
    try:
        opened = [source for text in sources for source in opener.open(text)]
    except BaseException:
        opener.close()
        raise
    add = partial(add_file, data_symbols=True) if data_symbols else add_file
    return Symbolizer(Resolver(Store(place), opened, add=add), on_close=opener.close)
