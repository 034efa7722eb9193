"""Modules of logs and profiles: options and search."""

from __future__ import annotations

import os
from functools import partial

from gsym.cli.grammar import Option, UsageError
from gsym.cli.options import HEADER, SERVER, read_headers
from gsym.cli.terminal import describe
from gsym.cli.verbs.module_options import FILES, module_options
from gsym.conversion.companions import DEBUG_DIRECTORIES
from gsym.errors import GsymError
from gsym.modules.binary_lookup import BinarySearch, find_gsym
from gsym.modules.key import has_id
from gsym.modules.open_module import OpenModule
from gsym.modules.places import Folder, PathOfKey, find_files
from gsym.modules.symbolizer import Symbolizer
from gsym.profiles.binaries import Binaries
from gsym.reports.log_stacks import LogStacks
from gsym.store.modules import Attempt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gsym.cli.grammar import Values
    from gsym.markup.remote_symbols import Asking
    from gsym.markup.settings import Style
    from gsym.markup.symbols import Opening, SymbolOptions
    from gsym.memory.report_modules import ReportModules
    from gsym.modules.key import ModuleKey
    from gsym.modules.places import Place

_GSYM = ".gsym"
_INDEX_LIMIT = 1 << 24  # bytes of each open file, as in a `Symbolizer`


class FolderModules:
    """Modules in folders of debug files and of GSYM files.

    A debug file is converted at its first use, and the result is cached.

    Args:
        gsym_directories: Searched first, in order: by build id, then files of any
            names.
        debug_file_directories: Searched then, by build id; also for companion files.
        at_paths: Whether files at the paths that a log or profile has are used, too.
    """

    def __init__(
        self,
        gsym_directories: Sequence[str],
        debug_file_directories: Sequence[str],
        *,
        at_paths: bool = False,
    ) -> None:
        self._at_path = [PathOfKey(os.curdir)] if at_paths else []
        self._folders = [
            *map(Folder, gsym_directories),
            *(Folder(each, has_names=False) for each in debug_file_directories),
        ]
        self._search = BinarySearch(
            debug_file_directories=tuple(debug_file_directories),
            index_limit=_INDEX_LIMIT,
        )

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or the result of each folder."""
        return self._open_first(self._folders if has_id(key) else (), key)

    def open_at_path(self, key: ModuleKey) -> OpenModule:
        """The module at the path that the log or profile has, or why it is not used."""
        return self._open_first(self._at_path, key)

    def binaries(self, key: ModuleKey) -> list[str]:
        """The files of a module that may have a symbol table."""
        places = [*(self._folders if has_id(key) else ()), *self._at_path]
        paths = (each.path for each in find_files(places, key))
        return [path for path in paths if not path.endswith(_GSYM)]

    def _open_first(self, places: Iterable[Place], key: ModuleKey) -> OpenModule:
        """The first of the files with functions, else one with other symbols."""
        attempts: list[Attempt] = []
        without_functions = None
        for path, match in find_files(places, key, attempts):
            search = self._search._replace(architecture=match.architecture)
            try:
                found = find_gsym(path, search)
            except (GsymError, OSError) as error:
                attempts.append(Attempt(path, "refused", describe(error)))
                continue
            unsure = match.unsure or found.unsure
            module = OpenModule(
                None, found.reader, (Attempt(path, "found", path),), unsure=unsure
            )
            module.find_binaries = partial(self.binaries, key)
            if found.reader is not None:
                return module
            # A stripped binary may be larger than its debug file.
            without_functions = without_functions or module
        return without_functions or OpenModule(None, None, tuple(attempts))


class SeveralModules:
    """Modules in folders, then in a store, then at the paths that a log has.

    Args:
        folders: Searched first; also for variables of modules in the store.
        store: Searched then, or None.
    """

    def __init__(self, folders: FolderModules, store: Opening | None) -> None:
        self._folders = folders
        self._store = store

    def open(self, key: ModuleKey) -> OpenModule:
        """The module, or the results of the search."""
        module = self._folders.open(key)
        if module.reader is not None or module.find_binaries is not None:
            return module
        attempts = module.attempts
        if self._store is not None:
            kept = self._store.open(key)
            if kept.reader is not None:
                find = partial(self._folders.binaries, key)
                kept.find_binaries = kept.find_binaries or find
                return kept
            attempts += kept.attempts
        module = self._folders.open_at_path(key)
        module.attempts = attempts + module.attempts
        return module


def open_folders(
    values: Values,
    sources: Sequence[str],
    *,
    debug_file_directories: Sequence[str],
    has_own_store: bool = True,
) -> Opening:
    """Open modules in the folders and the store of a command line.

    Args:
        values: Of a command with `module_options`.
        sources: See `open_store`.
        debug_file_directories: The default folders of debug files.
        has_own_store: Whether the user's store is the default, and files are used at
            the paths that the log or profile has.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        ValueError: A source is invalid.
    """
    debug = tuple(values.texts("--debug-file-directory")) or tuple(
        debug_file_directories
    )
    folders = FolderModules(values.texts("--gsym-dir"), debug, at_paths=has_own_store)
    path = values.text("--store")
    if path is None and not sources and not has_own_store:
        return folders
    return SeveralModules(folders, open_store(path, sources))


def open_store(path: str | None, sources: Sequence[str]) -> Opening | None:
    """The store, with sources of missing modules.

    Args:
        path: Of the store; None: the user's own, if it exists or is needed. A URL is
            a source of modules that go there.
        sources: See `SourceOpener`.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: A source is invalid.
    """
    from gsym.store.layout import default_store

    if path is not None and "://" in path:
        from gsym.store.sources.settings import source_of_store

        sources, path = [source_of_store(path), *sources], None
    if path is None:
        path = default_store()
        if not sources and not os.path.isdir(path):
            return None
    from gsym.store.directory import Store

    if not sources:
        return Symbolizer(Store(path))
    from functools import partial

    from gsym.modules.resolver import Resolver
    from gsym.store.adding import add_file
    from gsym.store.sources.settings import SourceOpener

    opener = SourceOpener()
    opened = [source for text in sources for source in opener.open(text)]
    # Logs need variables, too.
    add = partial(add_file, data_symbols=True)
    return Symbolizer(Resolver(Store(path), opened, add=add))


MODULE_OPTIONS = (
    *module_options("; in style llvm: none"),
    Option(
        SERVER.name,
        "URL of a symbolication server that looks up all addresses, instead of local "
        "files",
        metavar=SERVER.metavar,
    ),
    HEADER,
)
# Options that name locations of modules.
PLACES = (*FILES, "--debuginfod", SERVER.name)


def open_modules(values: Values, style: Style) -> Opening | Asking:
    """Open the modules of a log, or a server that looks addresses up.

    Raises:
        ServerError: The URL of the server is not of http or https.
        UnsupportedError: It needs a package that is not installed.
        UsageError: Options exclude each other.
        ValueError: A source is invalid.
    """
    sources = _sources(values, style)
    url = values.text(SERVER.name)
    if url is not None:
        return _server(url, values, is_alone=not sources)
    by_default = () if style.name == "llvm" else DEBUG_DIRECTORIES
    return open_folders(
        values,
        sources,
        debug_file_directories=by_default,
        has_own_store=style.name != "llvm",
    )


def open_stacks(
    values: Values, style: Style, options: SymbolOptions
) -> LogStacks | None:
    """The answers to stacks of a log that are not markup; None with a server."""
    if values.text(SERVER.name) is not None or style.name != "spec":
        return None
    folders = values.texts("--gsym-dir") + values.texts("--debug-file-directory")
    existing = filter(os.path.isdir, folders)
    sources = [*existing, *_sources(values, style)]

    def open_modules() -> ReportModules:  # most logs need none
        from gsym.memory.report_modules import ReportModules

        return ReportModules(sources, store=values.text("--store"))

    return LogStacks(open_modules, options)


def _sources(values: Values, style: Style) -> list[str]:
    """The sources of missing modules."""
    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources += _debuginfod(style)
    return sources


def _debuginfod(style: Style) -> list[str]:
    """The debuginfod servers as a source.

    Without any, llvm-symbolizer ignores the option.
    """
    if style.name == "llvm":
        from gsym.conversion.companions.debuginfod_settings import read_settings

        if not read_settings(os.environ).servers:
            return []
    return ["debuginfod"]


def _server(url: str, values: Values, *, is_alone: bool) -> Asking:
    if not is_alone or any(map(values.texts, FILES)):
        names = "', '".join((*FILES, "--debuginfod"))
        raise UsageError(f"option '{SERVER.name}' excludes '{names}'")
    from gsym.api.client.remote_symbolizer import RemoteSymbolizer
    from gsym.api.client.symbolication_client import (
        ClientSettings,
        SymbolicationClient,
    )

    # Do not delay a log for long if the server is unavailable.
    settings = ClientSettings(headers=read_headers(values), waits=(0.0, 1.0))
    return RemoteSymbolizer(SymbolicationClient(url, settings), url)


def open_profile_modules(values: Values) -> tuple[Opening, Binaries]:
    """The modules and the binaries of a command line.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        UsageError: A source is invalid.
    """
    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources.append("debuginfod")
    try:
        modules = open_folders(
            values, sources, debug_file_directories=DEBUG_DIRECTORIES
        )
    except ValueError as error:
        raise UsageError(f"option '--source': {error}") from None
    folders = values.texts("--gsym-dir")
    debug = values.texts("--debug-file-directory") or DEBUG_DIRECTORIES
    return modules, Binaries(folders, tuple(debug))
