"""Symbolizer markup: read logs, filter them."""

from __future__ import annotations

from gsym import lazy_names

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.markup.elements import (
        Backtrace as Backtrace,
        Pc as Pc,
    )
    from gsym.markup.logging_handler import (
        MarkupFormatter as MarkupFormatter,
        MarkupHandler as MarkupHandler,
    )
    from gsym.markup.outputs import (
        Output as Output,
    )
    from gsym.markup.own_modules import (
        own_modules_markup as own_modules_markup,
    )
    from gsym.markup.parser import (
        encode as encode,
    )
    from gsym.markup.settings import (
        FilterSettings as FilterSettings,
    )
    from gsym.markup.symbols import (
        SymbolOptions as SymbolOptions,
    )
else:
    _MODULE_OF = {
        "Backtrace": "elements",
        "FilterSettings": "settings",
        "MarkupFormatter": "logging_handler",
        "MarkupHandler": "logging_handler",
        "Output": "outputs",
        "Pc": "elements",
        "SymbolOptions": "symbols",
        "encode": "parser",
        "own_modules_markup": "own_modules",
    }
    __all__ = [*_MODULE_OF]  # noqa: PLE0604 - they are strings
    __getattr__, __dir__ = lazy_names(__name__, _MODULE_OF)
