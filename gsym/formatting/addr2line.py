"""The output style of GNU addr2line.

Unknown parts are `??`, an unknown line is `?`; `??:0` means no answer.
"""

from __future__ import annotations

from gsym.formatting.formatter import HEX_NUMBERS, Style

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
    after_address, after_name = (": ", " at ") if pretty else ("\n", "\n")
    address = f"<address{16 if is_64 else 8}>{after_address}" if addresses else ""
    name = f"<?name><name><:>??</>{after_name}" if functions else ""
    unknown_name = ("?? " if pretty else "??\n") if functions else ""
    path = "filename" if basenames else "path"
    inlined = "<?later> (inlined by) </>" if pretty else ""
    return Style(
        f"{address}<?found><{'*frames' if inlines else '*innermost'}>{inlined}{name}"
        f"<?{path}><{path}><:>??</>:<?line><line><:>?</>\n</>"
        f"<:>{unknown_name}??:0\n</>",
        numbers=HEX_NUMBERS,
        demangle=demangle and functions,
        escape=escape,
    )
