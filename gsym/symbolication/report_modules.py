"""Where the modules of a report come from, on the machine of the user.

In this order, for a module with an id in the report: folders that the user named and
that of the report, by the ids in their files; the path that the report has, and
installed debug files, if they have the id; the user's store; servers. Of one without an
id, a file of its name in these folders, or at its path, is used, and marked as a guess.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack

from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.conversion.identity import identify
from gsym.errors import GsymError, SourceError
from gsym.records import NamedTuple
from gsym.store.directory import Store
from gsym.store.layout import default_store
from gsym.store.loose_files import LooseFiles
from gsym.store.modules import Attempt, ModuleKey
from gsym.store.symbolizer import OpenModule, Symbolizer
from gsym.symbolication.binary_lookup import open_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from typing_extensions import Self

    from gsym.symbolication.report import ModuleOfReport, ReportWork
    from gsym.symbolication.stacks.parts import StackModule

_MAX_DEPTH = 12  # of nested folders in a build folder
_MAX_FILES = 200_000


class _Found(NamedTuple):
    path: str
    is_guess: bool


class ReportModules:
    """Opens the modules of reports; to be closed.

    Args:
        sources: Folders, and servers as `open_source` takes them.
        beside: The folder of the report; relative paths in it start there.
        store: Folder of the store; None for the user's own.

    Raises:
        GsymError: A source needs a package that is not installed.
        ValueError: A source is invalid.
    """

    def __init__(
        self, sources: Sequence[str] = (), beside: str = "", store: str | None = None
    ) -> None:
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
        self._closing.close()

    def open_all(self, work: ReportWork) -> None:
        """Open the modules that have frames."""
        keys = work.same_names()
        for module in work.modules:
            if module.frames and not module.reason:
                started = time.perf_counter()
                named = module.named
                if not module.has_id and named.name in keys:
                    named = named._replace(key=keys[named.name])
                self._open(module, named)
                module.seconds = time.perf_counter() - started

    def _open(self, module: ModuleOfReport, named: StackModule) -> None:
        attempts: list[Attempt] = []
        for found in self._files(named):
            started = time.perf_counter()
            try:
                reader = open_module(found.path).reader
                reason = "no debug information and no symbols"
            except (GsymError, OSError) as error:
                reader, reason = None, str(error)
            seconds = time.perf_counter() - started
            if reader is None:
                attempts.append(Attempt(found.path, "refused", reason, seconds))
                continue
            attempts.append(Attempt(found.path, "found", found.path, seconds))
            module.module = OpenModule(None, reader, tuple(attempts))
            module.binary, module.is_guess = found
            return
        attempts += [
            Attempt(each.name, "missing", "not found") for each in self._folders
        ]
        if self._symbolizer is not None and _has_id(named.key):
            stored = self._symbolizer.open(named.key)
            tried = (*attempts, *stored.attempts)
            module.module = OpenModule(stored.entry, stored.reader, tried)
        else:
            module.module = OpenModule(None, None, tuple(attempts))

    def _files(self, named: StackModule) -> Iterator[_Found]:
        has_id = _has_id(named.key)
        for folder in self._folders:
            try:
                found = (
                    folder.find_all(named.key) if has_id else folder.named(named.name)
                )
            except SourceError:
                continue
            yield from (_Found(path, not has_id) for path in found)
        for path in self._installed(named):
            if not os.path.isfile(path):
                continue
            if not has_id:
                yield _Found(path, is_guess=True)
            elif _has_key(path, named.key):
                yield _Found(path, is_guess=False)

    def _installed(self, named: StackModule) -> Iterator[str]:
        if named.path:
            yield os.path.join(self._beside, named.path)
        build_id = named.key.code_id.lower()
        if build_id.isalnum():
            for folder in DEBUG_DIRECTORIES:
                place = os.path.join(folder, ".build-id", build_id[:2], build_id[2:])
                yield f"{place}.debug"


def _has_id(key: ModuleKey) -> bool:
    return bool(key.debug_id or key.code_id)


def _has_key(path: str, key: ModuleKey) -> bool:
    try:
        found = identify(path)
    except (GsymError, OSError, ValueError):
        return False
    if key.code_id:
        return found.code_id.upper() == key.code_id.upper()
    return found.debug_id.upper() == key.debug_id.upper()
