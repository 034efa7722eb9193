"""What somebody chooses who filters a log."""

from __future__ import annotations

from gsym.markup.styles import SPEC
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.elements import DumpFile
    from gsym.markup.styles import Style
    from gsym.markup.symbols import Symbols


class FilterSettings(NamedTuple):
    """How a log is filtered.

    Attributes:
        style: The rules.
        colour: Whether what stands in place of elements is coloured.
        keeps_colours: Whether colours of the log stay, in styles in which they are
            text.
        context: What is seen of contextual elements: "summary": a line for each
            module, "elide": nothing, "keep": the elements themselves.
        hexdict: Where it is told what is at the values of a dictionary: one of
            `HEXDICT_FORMS`.
        on_dump: Takes a dump that was published, what is loaded where, and the
            symbols. Gives the text to show, or None.
        line_limit: Bytes of a line; what is longer is text.
        hexdict_limit: Bytes of an element that goes over several lines; what is
            longer is text.
        hexdict_lines: How many lines such an element may have.
    """

    style: Style = SPEC
    colour: bool = False
    keeps_colours: bool = True
    context: str = "summary"
    hexdict: str = "notes"
    on_dump: Callable[[DumpFile, AddressSpace, Symbols], bytes | None] = (
        lambda _dump, _space, _symbols: None
    )
    line_limit: int = 1 << 20
    hexdict_limit: int = 1 << 16
    hexdict_lines: int = 256


# Where it is told what is at values: in lines behind the dictionary, behind each value,
# or not in the text.
HEXDICT_FORMS = ("notes", "inline", "plain")
