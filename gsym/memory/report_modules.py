"""Search for the modules of a report, on the machine of the user.

In this order, for a module with an id in the report: folders that the user named and
that of the report, by the ids in their files; the path that the report has, and
installed debug files, if they have the id; the user's store; servers. Of one without an
id, a file of its name in these folders, or at its path, is used, and marked as unsure;
if it has no lines, they are searched for by its id. `match_file` decides whether a file
is of a module.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import partial

from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.errors import GsymError
from gsym.memory.function_names import FunctionNames
from gsym.modules.file_match import FileMatch
from gsym.modules.key import (
    ModuleKey,
    completed,
    has_id,
)
from gsym.modules.open_module import OpenModule
from gsym.modules.places import Folder, FoundFile, PathOfKey, find_files
from gsym.modules.symbolizer import Symbolizer
from gsym.records import NamedTuple
from gsym.store.layout import default_store
from gsym.store.modules import Attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from typing_extensions import Self

    from gsym.memory.stack_parts import StackModule
    from gsym.modules.binary_lookup import FoundGsym
    from gsym.modules.places import Place
    from gsym.reading.reader import Reader

    _Opened = TypeVar("_Opened", Reader, FoundGsym)

_MAX_DEPTH = 12  # of nested folders in a build folder
_MAX_FILES = 200_000


class FoundModule(NamedTuple):
    """The result of a search.

    Attributes:
        module: The module.
        names: Its functions by name; None without a reader.
        binary: Path of a file with its segments and symbols; "" if unknown.
        unsure: Why it may be of another build; "" if it is not.
        files: The paths of its files, of which some may have its code.
    """

    module: OpenModule
    names: FunctionNames | None
    binary: str = ""
    unsure: str = ""
    files: Callable[[], Iterable[str]] = tuple


class ReportModules:
    """Opens the modules of reports; to be closed.

    Args:
        source: Folders, and servers as `open_source` takes them; one or several.
        beside: The folder of the report; relative paths in it start there.
        store: Folder or URL of the store; None for the user's own, in which modules of
            a URL are kept.

    Raises:
        GsymError: A source needs a package that is not installed.
        ValueError: A source is invalid.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
        beside: str = "",
        store: str | None = None,
    ) -> None:
        several = [source] if isinstance(source, (str, os.PathLike)) else source
        sources = [os.fspath(each) for each in several]
        if store is not None and "://" in store:
            from gsym.store.sources.settings import source_of_store

            sources, store = [source_of_store(store), *sources], None
        folders = [each for each in sources if os.path.isdir(each)]
        self._places: list[Place] = [
            Folder(each, max_depth=_MAX_DEPTH, max_files=_MAX_FILES) for each in folders
        ]
        if beside:
            self._places.append(Folder(beside, max_depth=0))
        self._places.append(PathOfKey(os.path.abspath(beside or os.curdir)))
        self._places += [Folder(each, has_names=False) for each in DEBUG_DIRECTORIES]
        self._closing = ExitStack()
        self._symbolizer = self._open_store(
            [each for each in sources if each not in folders], store
        )

    def _open_store(
        self, servers: Sequence[str], store: str | None
    ) -> Symbolizer | None:
        path = store or default_store()
        if not servers:
            return Symbolizer(path) if os.path.isdir(path) else None
        from gsym.modules.resolver import Resolver
        from gsym.store.directory import Store
        from gsym.store.sources.settings import SourceOpener

        opener = self._closing.enter_context(SourceOpener())
        opened = [each for server in servers for each in opener.open(server)]
        return Symbolizer(Resolver(Store(path), opened))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections to servers; readers stay open."""
        self._closing.close()

    def open(self, named: StackModule) -> FoundModule:
        """Open a module, from the first place that has lines of it, or else symbols."""
        found = self._open_best(named)
        return found._replace(files=partial(self.paths, named))

    def _open_best(self, named: StackModule) -> FoundModule:
        found = self._open(named, [])
        reader = found.module.reader
        if named.has_id or (reader is not None and _has_lines(reader)):
            return found
        path, match = next(self._files(named, []), FoundFile("", FileMatch()))
        if not has_id(match.key):
            return found
        key = completed(match.key, ModuleKey(code_file=match.key.debug_file))
        with_id = named._replace(path=path, key=key)
        again = self._open(with_id, [*found.module.attempts])
        return again._replace(unsure=match.unsure or again.unsure)

    def _open(self, named: StackModule, attempts: list[Attempt]) -> FoundModule:
        best = FoundFile("", FileMatch())
        reader: Reader | None = None
        unsure = ""
        for found in self._files(named, attempts):
            if reader is not None and _has_lines(reader) and found.match.unsure:
                continue  # no better than what is open
            opened = _tried(found.path, partial(_open_file, *found), attempts)
            tried = None if opened is None else opened.reader
            if opened is None or tried is None:
                continue
            is_first = reader is None
            if is_first or _rank(tried, found.match.unsure) > _rank(reader, unsure):
                best, reader = found, tried
                unsure = found.match.unsure or getattr(opened, "unsure", "")
            may_be_surer = unsure and (named.has_id or named.compare_code is not None)
            if reader is not None and _has_lines(reader) and not may_be_surer:
                break
        else:
            stored = self._open_stored(named, attempts, reader)
            if stored is not None:
                names = FunctionNames(stored.open_reader(), best.path)
                module = OpenModule(stored.entry, stored.reader, tuple(attempts))
                unsure = stored.unsure
                return FoundModule(module, names, best.path, unsure)
        if reader is None and named.read is not None:
            reader = _tried(named.name, named.read, attempts)
        module = OpenModule(None, reader, tuple(attempts))
        if reader is None:
            return FoundModule(module, None)
        return FoundModule(module, FunctionNames(reader, best.path), best.path, unsure)

    def _open_stored(
        self, named: StackModule, attempts: list[Attempt], known: Reader | None
    ) -> OpenModule | None:
        """The module of the store or of a server, if it is more than what is known."""
        if self._symbolizer is None or not named.has_id:
            return None
        if known is not None and _has_lines(known):
            return None  # not worth asking servers, although it may be unsure
        stored = self._symbolizer.open(named.key)
        attempts += stored.attempts
        if stored.reader is None or (
            known is not None and not _has_lines(stored.reader)
        ):
            return None
        return stored

    def paths(self, named: StackModule) -> Iterator[str]:
        """The places of files of a module, in the order in which they are tried."""
        return (each.path for each in self._files(named, []))

    def _files(
        self, named: StackModule, attempts: list[Attempt]
    ) -> Iterator[FoundFile]:
        key = named.key._replace(path=named.path)
        return find_files(
            self._places,
            key,
            attempts,
            name=named.name,
            compare_code=named.compare_code,
        )


def _open_file(path: str, match: FileMatch) -> FoundGsym:
    """Open a file, the slice of a fat one that fits.

    Raises:
        GsymError: It is damaged, or no slice of it is chosen.
        OSError: It cannot be read.
    """
    from gsym.modules.binary_lookup import OPENING, open_module

    return open_module(path, None, OPENING._replace(architecture=match.architecture))


def _has_lines(reader: Reader) -> bool:
    """Whether it is made of more than symbols, as that of a stripped binary is."""
    return reader.header.num_files > 1


def _rank(reader: Reader | None, unsure: str) -> tuple[bool, bool]:
    """Rank of a file of a module: a surer one is better, then one with lines."""
    return not unsure, reader is not None and _has_lines(reader)


def _tried(
    place: str, read: Callable[[], _Opened], attempts: list[Attempt]
) -> _Opened | None:
    started = time.perf_counter()
    opened: _Opened | None
    try:
        opened = read()
        reason = "no debug information and no symbols"
    except (GsymError, OSError) as error:
        opened, reason = None, str(error)
    seconds = time.perf_counter() - started
    if opened is None or getattr(opened, "reader", opened) is None:
        attempts.append(Attempt(place, "refused", reason, seconds))
        return None
    attempts.append(Attempt(place, "found", place, seconds))
    return opened
