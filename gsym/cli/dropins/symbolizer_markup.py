"""`gsym-symbolizer --filter-markup`, which is `gsym filter --style=llvm`."""

from __future__ import annotations

import os
import sys

from gsym.cli.terminal import escape_for_output
from gsym.cli.verbs.filter import filter_log, print_message
from gsym.conversion.companions.debuginfod_settings import read_settings
from gsym.errors import UnsupportedError
from gsym.markup.filter import MarkupFilter
from gsym.markup.outputs import Output
from gsym.markup.settings import FilterSettings
from gsym.markup.symbols import SymbolOptions
from gsym.modules.finder import find_in, open_store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.cli.dropins.symbolizer_options import Options
    from gsym.markup.symbols import Opening


def filter_markup(options: Options) -> None:
    """Filter a log as llvm-symbolizer does.

    Raises:
        KeyboardInterrupt: It was interrupted; the input so far was filtered.
    """
    is_coloured = options.color == "always" or (
        options.color == "auto" and sys.stdout.isatty()
    )
    log_filter = MarkupFilter(
        _modules(options),
        style="llvm",
        symbols=SymbolOptions(
            functions=options.functions,
            demangle=options.demangle,
            basenames=options.basenames,
            escape=escape_for_output(),
        ),
        settings=FilterSettings(colour=is_coloured),
        tell=print_message,
        output=Output(sys.stdout.buffer.write),
    )
    if filter_log(log_filter, ()):
        raise KeyboardInterrupt


def _modules(options: Options) -> Opening:
    """Modules in folders, and those of debuginfod.

    debuginfod is used if an option enables it, or, without such an option, if
    DEBUGINFOD_URLS is set.
    """
    store = None
    asks = options.debuginfod
    if asks is None:
        asks = bool(os.environ.get("DEBUGINFOD_URLS"))
    if asks and read_settings(os.environ).servers:
        try:
            store = open_store(None, ["debuginfod"], data_symbols=True)
        except UnsupportedError:
            if options.debuginfod:
                raise  # without the option, like an llvm-symbolizer built without HTTP
    gsym, debug = "--gsym-file-directory", "--debug-file-directory"
    return find_in(options.texts(gsym), options.texts(debug), store)
