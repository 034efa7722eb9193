"""Where the modules of a report come from, on the machine of the user.

In this order, for a module with an id in the report: folders that the user named and
that of the report, by the ids in their files; the path that the report has, and
installed debug files, if they have the id; the user's store; servers. Of one without an
id, a file of its name in these folders, or at its path, is used, and marked as a guess;
if it has no lines, they are searched for by its id.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import partial
from stat import S_ISREG

from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.conversion.identity import identify
from gsym.errors import GsymError, SourceError
from gsym.modules.key import ModuleKey
from gsym.records import NamedTuple
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.loose_files import LooseFiles
from gsym.store.modules import Attempt, Entry
from gsym.store.symbolizer import OpenModule, Symbolizer
from gsym.symbolication.binary_lookup import open_module
from gsym.symbolication.function_names import FunctionNames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from typing_extensions import Self

    from gsym.reading.reader import Reader
    from gsym.symbolication.stacks.parts import StackModule

_MAX_DEPTH = 12  # of nested folders in a build folder
_MAX_FILES = 200_000


class _File(NamedTuple):
    path: str
    is_guess: bool


class FoundModule(NamedTuple):
    """The result of a search.

    Attributes:
        module: The module.
        names: Its functions by name; None without a reader.
        binary: Path of a file with its segments and symbols; "" if unknown.
        is_guess: Whether it was found by its name alone.
    """

    module: OpenModule
    names: FunctionNames | None
    binary: str = ""
    is_guess: bool = False


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
        self._beside = os.path.abspath(beside or os.curdir)
        folders = [each for each in sources if os.path.isdir(each)]
        self._folders = [
            LooseFiles(each, max_depth=_MAX_DEPTH, max_files=_MAX_FILES)
            for each in folders
        ]
        if beside:
            self._folders.append(LooseFiles(beside, max_depth=0))
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
        from gsym.store.resolver import Resolver
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
        found = self._open(named, [])
        reader = found.module.reader
        if named.has_id or (reader is not None and _has_lines(reader)):
            return found
        guess = next(self.paths(named), "")
        key = _key_in(guess)
        if not (key.code_id or key.debug_id):
            return found
        with_id = named._replace(path=guess, key=key)
        return self._open(with_id, [*found.module.attempts])._replace(is_guess=True)

    def _open(self, named: StackModule, attempts: list[Attempt]) -> FoundModule:
        best: _File | None = None
        reader: Reader | None = None
        for found in self._files(named, attempts):
            tried = _tried(found.path, partial(_read, found.path), attempts)
            if tried is not None and (reader is None or _has_lines(tried)):
                best, reader = found, tried
            if reader is not None and _has_lines(reader):
                break
        else:
            stored = self._open_stored(named, attempts)
            if stored is not None and (best is None or _has_lines(stored[1])):
                module = OpenModule(*stored, tuple(attempts))
                binary = best.path if best else ""
                return FoundModule(module, FunctionNames(stored[1], binary), binary)
        if reader is None and named.read is not None:
            reader = _tried(named.name, named.read, attempts)
        module = OpenModule(None, reader, tuple(attempts))
        if reader is None:
            return FoundModule(module, None)
        path, is_guess = best or _File("", is_guess=False)
        return FoundModule(module, FunctionNames(reader, path), path, is_guess)

    def _open_stored(
        self, named: StackModule, attempts: list[Attempt]
    ) -> tuple[Entry | None, Reader] | None:
        """The module of the store or of a server, if it is there."""
        if self._symbolizer is None or not named.has_id:
            return None
        stored = self._symbolizer.open(named.key)
        attempts += stored.attempts
        return None if stored.reader is None else (stored.entry, stored.reader)

    def paths(self, named: StackModule) -> Iterator[str]:
        """The places of files of a module, in the order in which they are tried."""
        return (each.path for each in self._files(named, []))

    def _files(self, named: StackModule, attempts: list[Attempt]) -> Iterator[_File]:
        has_id = named.has_id
        for folder in self._folders:
            try:
                found = (
                    folder.find_all(named.key) if has_id else folder.named(named.name)
                )
            except SourceError:
                continue
            if not found:
                attempts.append(Attempt(folder.name, "missing", "not found"))
            yield from (_File(path, not has_id) for path in found)
        for path in self._installed(named):
            reason = why_not(path, named.key)
            if reason:
                attempts.append(Attempt(path, "missing", reason))
            else:
                yield _File(path, not has_id)

    def _installed(self, named: StackModule) -> Iterator[str]:
        if named.path:
            yield os.path.normpath(os.path.join(self._beside, named.path))
        build_id = named.key.code_id.lower()
        if build_id.isalnum():
            for folder in DEBUG_DIRECTORIES:
                place = os.path.join(folder, ".build-id", build_id[:2], build_id[2:])
                yield f"{place}.debug"


def _read(path: str) -> Reader | None:
    return open_module(path).reader


def _key_in(path: str) -> ModuleKey:
    """The ids in a file, as a key; empty if it has none."""
    try:
        found = identify(path)
    except (GsymError, OSError, ValueError):
        return ModuleKey()
    names = found.debug_file, found.code_file or found.debug_file
    return ModuleKey(names[0], found.debug_id, names[1], found.code_id)


def _has_lines(reader: Reader) -> bool:
    """Whether it is made of more than symbols, as that of a stripped binary is."""
    return reader.header.num_files > 1


def _tried(
    place: str, read: Callable[[], Reader | None], attempts: list[Attempt]
) -> Reader | None:
    started = time.perf_counter()
    try:
        reader = read()
        reason = "no debug information and no symbols"
    except (GsymError, OSError) as error:
        reader, reason = None, str(error)
    seconds = time.perf_counter() - started
    if reader is None:
        attempts.append(Attempt(place, "refused", reason, seconds))
    else:
        attempts.append(Attempt(place, "found", place, seconds))
    return reader


def why_not(path: str, key: ModuleKey) -> str:
    """Why the file at a path that a report has is not used for a module; "" if it is.

    It must be a regular one, since those of /proc may block, and have the module's id.
    """
    try:
        status = os.stat(path)
        if not S_ISREG(status.st_mode) or not status.st_size:
            return "not a regular file with contents"
        if not (key.code_id or key.debug_id):
            return ""
        found = identify(path)
    except OSError as error:
        return error.strerror or str(error)
    except (GsymError, ValueError) as error:
        return str(error)
    wanted = key.code_id or key.debug_id
    own = found.code_id if key.code_id else found.debug_id
    if own.upper() == wanted.upper():
        return ""
    return f"another build, with the id {own.lower()}" if own else "it has no id"
