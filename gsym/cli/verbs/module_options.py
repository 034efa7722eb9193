"""Options that say where modules with symbols are, in files and stores."""

from __future__ import annotations

import os

from gsym.cli.options import Option
from gsym.cli.verbs.filter_modules import FolderModules, SeveralModules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.cli.options import Values
    from gsym.markup.symbols import Opening

# Options that name places.
FILES = ("--gsym-dir", "--debug-file-directory", "--store", "--source")


def module_options(remark: str = "") -> tuple[Option, ...]:
    """The options.

    Args:
        remark: What the help says behind their defaults.
    """
    return (
        Option(
            "--gsym-dir",
            "folder of GSYM files, debug files, binaries or Breakpad files, named by "
            "build id or otherwise",
            metavar="DIR",
            repeatable=True,
        ),
        Option(
            "--debug-file-directory",
            "folder of debug files by build id (default: /usr/lib/debug" + remark + ")",
            metavar="DIR",
            repeatable=True,
        ),
        Option(
            "--store",
            f"store of modules (default: GSYM_STORE, else the user's own{remark})",
            metavar="DIR",
        ),
        Option(
            "--source",
            "where missing modules come from, into the store: a folder, URL, ..., as "
            "for 'gsym store prefetch'",
            metavar="SOURCE",
            repeatable=True,
        ),
        Option(
            "--debuginfod",
            "fetch missing modules from the servers in DEBUGINFOD_URLS into the store",
        ),
        Option("--no-debuginfod", "ask no such servers (default)"),
    )


def open_folders(
    values: Values,
    sources: Sequence[str],
    *,
    debug_directories: Sequence[str],
    has_own_store: bool = True,
) -> Opening:
    """What opens modules in the folders and the store of a command line.

    Args:
        values: Of a command with `module_options`.
        sources: As `open_store` takes them.
        debug_directories: Folders of debug files, where the command line names none.
        has_own_store: The user's own store is asked, where it names none.

    Raises:
        UnsupportedError: A source needs a package that is not installed.
        ValueError: A source is not understood.
    """
    debug = tuple(values.texts("--debug-file-directory")) or tuple(debug_directories)
    folders = FolderModules(values.texts("--gsym-dir"), debug)
    path = values.text("--store")
    if path is None and not sources and not has_own_store:
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
    from gsym.store.layout import default_store

    if path is None:
        path = default_store()
        if not sources and not os.path.isdir(path):
            return None
    from gsym.store.directory import Store
    from gsym.store.symbolizer import Symbolizer

    if not sources:
        return Symbolizer(Store(path))
    from functools import partial

    from gsym.store.adding import add_file
    from gsym.store.resolver import Resolver
    from gsym.store.sources.settings import SourceOpener

    opener = SourceOpener()
    opened = [source for text in sources for source in opener.open(text)]
    # Logs ask for variables, too.
    add = partial(add_file, data_symbols=True)
    return Symbolizer(Resolver(Store(path), opened, add=add))
