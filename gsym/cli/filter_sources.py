"""Where `gsym filter` has its modules from, as its command line says."""

from __future__ import annotations

import os

from gsym.cli.filter_modules import FolderModules, SeveralModules
from gsym.cli.options import Option, UsageError
from gsym.cli.server_options import HEADER, SERVER, read_headers
from gsym.sources.debug_directories import DEBUG_DIRECTORIES

__all__ = ["MODULE_OPTIONS", "PLACES", "open_modules", "open_store"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.cli.options import Values
    from gsym.markup_filter.remote_symbols import Asking
    from gsym.markup_filter.styles import Style
    from gsym.markup_filter.symbols import Opening

MODULE_OPTIONS = (
    Option(
        "--gsym-dir",
        "folder of GSYM files, debug files or binaries: by build id, or of any names",
        metavar="DIR",
        repeatable=True,
    ),
    Option(
        "--debug-file-directory",
        "folder of debug files by build id (default: /usr/lib/debug; in style llvm: "
        "none)",
        metavar="DIR",
        repeatable=True,
    ),
    Option(
        "--store",
        "store of modules (default: GSYM_STORE, else the user's own; in style llvm: "
        "none)",
        metavar="DIR",
    ),
    Option(
        "--source",
        "where missing modules come from, into the store: a folder, URL, ..., as for "
        "'gsym store prefetch'",
        metavar="SOURCE",
        repeatable=True,
    ),
    Option(
        "--debuginfod",
        "fetch missing modules from the servers in DEBUGINFOD_URLS into the store",
    ),
    Option("--no-debuginfod", "ask no such servers (default)"),
    Option(
        SERVER.name,
        "URL of a symbolication server that looks all addresses up, in place of files "
        "here",
        metavar=SERVER.metavar,
    ),
    HEADER,
)

_FILES = ("--gsym-dir", "--debug-file-directory", "--store", "--source")
# Options that say where modules are.
PLACES = (*_FILES, "--debuginfod", SERVER.name)


def open_modules(values: Values, style: Style) -> Opening | Asking:
    """What opens the modules of a log, or looks addresses up.

    Raises:
        ServerError: The server has no URL of http or https.
        UnsupportedError: It needs a package that is not installed.
        UsageError: Options exclude each other.
        ValueError: A source is not understood.
    """
    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources += _debuginfod(style)
    url = values.text(SERVER.name)
    if url is not None:
        return _server(url, values, is_alone=not sources)
    by_default = () if style.name == "llvm" else DEBUG_DIRECTORIES
    debug = tuple(values.texts("--debug-file-directory")) or by_default
    folders = FolderModules(values.texts("--gsym-dir"), debug)
    path = values.text("--store")
    if path is None and not sources and style.name == "llvm":
        return folders
    return SeveralModules(folders, open_store(path, sources))


def open_store(path: str | None, sources: Sequence[str]) -> Opening | None:
    """The store, with places behind it that have what it lacks.

    Args:
        path: Of the store; None: the user's own, if it is there or needed.
        sources: As `SourceOpener` reads them.

    Raises:
        UnsupportedError: It needs a package that is not installed.
        ValueError: A source is not understood.
    """
    from gsym.store.location import default_store

    if path is None:
        path = default_store()
        if not sources and not os.path.isdir(path):
            return None
    from gsym.store.directory import Store
    from gsym.symbolizer import Symbolizer

    if not sources:
        return Symbolizer(Store(path))
    from functools import partial

    from gsym.store.adding import add_file
    from gsym.store.resolver import Resolver
    from gsym.store.source_settings import SourceOpener

    opener = SourceOpener()
    opened = [source for text in sources for source in opener.open(text)]
    # Logs ask for variables, too.
    add = partial(add_file, data_symbols=True)
    return Symbolizer(Resolver(Store(path), opened, add=add))


def _debuginfod(style: Style) -> list[str]:
    """The servers of debuginfod as a source, if they are to be asked.

    Without any, llvm-symbolizer goes on as if it had not been told to ask.
    """
    if style.name == "llvm":
        from gsym.sources.debuginfod_settings import read_settings

        if not read_settings(os.environ).servers:
            return []
    return ["debuginfod"]


def _server(url: str, values: Values, *, is_alone: bool) -> Asking:
    if not is_alone or any(map(values.texts, _FILES)):
        names = "', '".join((*_FILES, "--debuginfod"))
        raise UsageError(f"option '{SERVER.name}' excludes '{names}'")
    from gsym.client.remote_symbolizer import RemoteSymbolizer
    from gsym.client.settings import ClientSettings
    from gsym.client.symbolication_client import SymbolicationClient

    # Who reads a log as it comes does not wait long for a server that is away.
    settings = ClientSettings(headers=read_headers(values), waits=(0.0, 1.0))
    return RemoteSymbolizer(SymbolicationClient(url, settings), url)
