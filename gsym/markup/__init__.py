"""Symbolizer markup: read logs, filter them."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.markup.logging_handler import (
        MarkupFormatter as MarkupFormatter,
        MarkupHandler as MarkupHandler,
    )
    from gsym.markup.outputs import Output as Output
    from gsym.markup.own_modules import own_modules_markup as own_modules_markup
    from gsym.markup.parser import Backtrace as Backtrace, Pc as Pc, encode as encode
    from gsym.markup.settings import FilterSettings as FilterSettings
    from gsym.markup.symbols import SymbolOptions as SymbolOptions
else:
    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "logging_handler": "MarkupFormatter MarkupHandler",
            "outputs": "Output",
            "own_modules": "own_modules_markup",
            "parser": "Backtrace Pc encode",
            "settings": "FilterSettings",
            "symbols": "SymbolOptions",
        },
    )
