"""The output style of GNU addr2line.

Unknown parts are `??`, an unknown line is `?`; `??:0` means no answer.
"""

from __future__ import annotations

from gsym.engine.native import lib
from gsym.formatting.formatter import HEX_NUMBERS, Style, command_template

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


def addr2line_style(  # noqa: PLR0913 - a flag for each of addr2line's
    *,
    addresses: bool = False,
    functions: bool = False,
    inlines: bool = False,
    pretty: bool = False,
    basenames: bool = False,
    demangle: bool = False,
    is_64: bool = True,
    escape: Callable[[bytes], bytes] | None = None,
) -> Style:
    """The style for a set of options."""
    flags = (
        addresses * lib.GSYM_STYLE_ADDRESSES
        | (not is_64) * lib.GSYM_STYLE_NARROW
        | functions * lib.GSYM_STYLE_FUNCTIONS
        | inlines * lib.GSYM_STYLE_INLINES
        | pretty * lib.GSYM_STYLE_PRETTY
        | basenames * lib.GSYM_STYLE_BASENAMES
    )
    return Style(
        command_template(lib.GSYM_STYLE_ADDR2LINE, flags),
        numbers=HEX_NUMBERS,
        demangle=demangle and functions,
        escape=escape,
    )
