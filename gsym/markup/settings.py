"""The options of a filter, and the rules of its three styles.

The document that defines the format and the programs differ; docs/markup.md lists the
styles rule by rule.
"""

from __future__ import annotations

from gsym.markup.parser import FUCHSIA_DIALECT, LLVM_DIALECT, SPEC_DIALECT
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.elements import DumpFile
    from gsym.markup.parser import Dialect
    from gsym.markup.symbols import Symbols


class Style(NamedTuple):
    """How a log is filtered.

    Attributes:
        name: What the command line calls it.
        dialect: What counts as an element.
        has_types: A `symbol` may be a type, not only the symbol of one.
        adjusts_plain_pc: A `pc` that does not say of what kind it is is a return
            address, as a `bt` always is.
        shows_adjusted: Frames show the address that was looked up, not the logged
            one.
        has_columns: Frames have a column, which is 0, and `<invalid>` for what is
            not known.
        pc_is_outermost: A `pc` has the name of the outermost function, though the
            line of the innermost one.
        keeps_malformed: A malformed element stays in the text; else it vanishes.
        keeps_context_text: What stands round a contextual element stays; else what
            is behind it on its line vanishes, and with an element that prints
            nothing also what is in front of it.
        elides_prefixes: A line vanishes whole where no element of it is seen.
        lists_segments: The line on a module lists its segments, and waits for
            them; else it has the load address, and comes with the first of them.
        keeps_mmaps: An mmap is used unchanged, and refused if it overlaps an
            earlier one; otherwise it replaces that, and its module-relative address
            is rounded like its start.
        interprets_sgr: Colours of the log are made anew, or removed; else they are
            text.
        ends_last_line: A last line without an end gets one.
        splits_frames: Each frame on a line of several ends a line of its own.
        indents_frames: Blanks in front of a frame stand in front of its others too.
        tells_each_failure: Each address that cannot be resolved is told.
        elements: Tags of elements that it presents or acts on.
    """

    name: str
    dialect: Dialect
    has_types: bool
    adjusts_plain_pc: bool
    shows_adjusted: bool
    has_columns: bool
    pc_is_outermost: bool
    keeps_malformed: bool
    keeps_context_text: bool
    elides_prefixes: bool
    lists_segments: bool
    keeps_mmaps: bool
    interprets_sgr: bool
    ends_last_line: bool
    splits_frames: bool
    indents_frames: bool
    tells_each_failure: bool
    elements: frozenset[bytes]


_BASIC = frozenset({b"symbol", b"pc", b"data", b"bt", b"reset", b"module", b"mmap"})
_ALL = _BASIC | {b"hexdict", b"dumpfile"}

LLVM = Style(
    name="llvm",
    dialect=LLVM_DIALECT,
    has_types=False,
    adjusts_plain_pc=False,
    shows_adjusted=True,
    has_columns=True,
    pc_is_outermost=True,
    keeps_malformed=False,
    keeps_context_text=False,
    elides_prefixes=False,
    lists_segments=True,
    keeps_mmaps=True,
    interprets_sgr=True,
    ends_last_line=True,
    splits_frames=False,
    indents_frames=False,
    tells_each_failure=True,
    elements=_BASIC,
)
SPEC = Style(
    name="spec",
    dialect=SPEC_DIALECT,
    has_types=True,
    adjusts_plain_pc=True,
    shows_adjusted=False,
    has_columns=False,
    pc_is_outermost=False,
    keeps_malformed=True,
    keeps_context_text=True,
    elides_prefixes=False,
    lists_segments=True,
    keeps_mmaps=False,
    interprets_sgr=False,
    ends_last_line=False,
    splits_frames=False,
    indents_frames=True,
    tells_each_failure=False,
    elements=_ALL,
)
FUCHSIA = SPEC._replace(
    name="fuchsia",
    dialect=FUCHSIA_DIALECT,
    elides_prefixes=True,
    lists_segments=False,
    splits_frames=True,
    indents_frames=False,
)
STYLES = {style.name: style for style in (LLVM, SPEC, FUCHSIA)}


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
