"""`gsym-symbolizer --filter-markup`: what `gsym filter --style=llvm` does."""

from __future__ import annotations

import sys

from gsym.cli.filter import filter_log, tell_fault
from gsym.cli.filter_modules import FolderModules
from gsym.markup_filter.filter import MarkupFilter
from gsym.markup_filter.settings import FilterSettings
from gsym.markup_filter.symbols import SymbolOptions

__all__ = ["filter_markup"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.symbolizer_options import Options


def filter_markup(options: Options) -> None:
    """Filter a log as llvm-symbolizer does."""
    folders = (*options.gsym_directories, *options.debug_directories)
    is_coloured = options.color == "always" or (
        options.color == "auto" and sys.stdout.isatty()
    )
    log_filter = MarkupFilter(
        FolderModules(folders, options.debug_directories),
        style="llvm",
        symbols=SymbolOptions(
            functions=options.functions != "none",
            demangle=options.demangle,
            basenames=options.basenames,
        ),
        settings=FilterSettings(colour=is_coloured),
        tell=tell_fault,
    )
    filter_log(log_filter, ())
