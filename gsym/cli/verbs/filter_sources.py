"""Where `gsym filter` has its modules from, as its command line says."""

from __future__ import annotations

import os

from gsym.cli.options import Option, UsageError
from gsym.cli.verbs.module_options import FILES, module_options, open_folders
from gsym.cli.verbs.server_options import HEADER, SERVER, read_headers
from gsym.conversion.companions.elf import DEBUG_DIRECTORIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values
    from gsym.markup.remote_symbols import Asking
    from gsym.markup.styles import Style
    from gsym.markup.symbols import Opening

MODULE_OPTIONS = (
    *module_options("; in style llvm: none"),
    Option(
        SERVER.name,
        "URL of a symbolication server that looks all addresses up, in place of files "
        "here",
        metavar=SERVER.metavar,
    ),
    HEADER,
)

# Options that say where modules are.
PLACES = (*FILES, "--debuginfod", SERVER.name)


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
    return open_folders(
        values,
        sources,
        debug_directories=by_default,
        has_own_store=style.name != "llvm",
    )


def _debuginfod(style: Style) -> list[str]:
    """The servers of debuginfod as a source, if they are to be asked.

    Without any, llvm-symbolizer goes on as if it had not been told to ask.
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
    from gsym.symbolication.client.remote_symbolizer import RemoteSymbolizer
    from gsym.symbolication.client.symbolication_client import (
        ClientSettings,
        SymbolicationClient,
    )

    # Who reads a log as it comes does not wait long for a server that is away.
    settings = ClientSettings(headers=read_headers(values), waits=(0.0, 1.0))
    return RemoteSymbolizer(SymbolicationClient(url, settings), url)
