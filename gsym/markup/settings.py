"""The options of a filter, and the rules of its three styles.

The specification and the programs differ; docs/markup.md lists all rules.
"""

from __future__ import annotations

from gsym.markup.parser import FUCHSIA_DIALECT, LLVM_DIALECT, SPEC_DIALECT, Dialect
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.markup.address_space import AddressSpace
    from gsym.markup.parser import DumpFile
    from gsym.markup.symbols import Symbols


_BASIC = frozenset({b"symbol", b"pc", b"data", b"bt", b"reset", b"module", b"mmap"})


class Style(NamedTuple):
    """The rules of a style; the defaults are those of the specification."""

    name: str = "spec"  # its name on the command line
    dialect: Dialect = SPEC_DIALECT  # the rules for elements
    has_types: bool = True  # a `symbol` may be the encoded name of a type
    # a `pc` without a kind is a return address, as a `bt` is
    adjusts_plain_pc: bool = True
    # an address without a kind is exact if the heading of its report or the code before
    # it says so
    weighs_evidence: bool = True
    # frames show the address that was looked up, not the logged one
    shows_adjusted: bool = False
    # frames have a column, which is 0, and `<invalid>` for unknown values
    has_columns: bool = False
    # a `pc` shows the name of the outermost function, but the line of the innermost one
    pc_is_outermost: bool = False
    # text around a contextual element stays; otherwise text after it on its line is
    # dropped, and if the element prints nothing, also text before it
    keeps_context_text: bool = True
    elides_prefixes: bool = False  # a line is dropped if none of its elements is shown
    # the line about a module lists its segments, and waits for them; otherwise it has
    # the load address, and is printed at the first segment
    lists_segments: bool = True
    keeps_mmaps: bool = False  # see `AddressSpace`
    # colours of the log are converted or removed; otherwise they are text
    interprets_sgr: bool = False
    ends_last_line: bool = False  # a last line without a newline gets one
    # each of several frames on a line is printed on a line of its own
    splits_frames: bool = False
    # blanks before a frame are repeated before its inlined frames
    indents_frames: bool = True
    reports_each_failure: bool = False  # each unresolved address is reported
    # tags of the elements that it handles
    elements: frozenset[bytes] = _BASIC | {b"hexdict", b"dumpfile"}


SPEC = Style()
LLVM = Style(
    name="llvm",
    dialect=LLVM_DIALECT,
    has_types=False,
    adjusts_plain_pc=False,
    weighs_evidence=False,
    shows_adjusted=True,
    has_columns=True,
    pc_is_outermost=True,
    keeps_context_text=False,
    keeps_mmaps=True,
    interprets_sgr=True,
    ends_last_line=True,
    indents_frames=False,
    reports_each_failure=True,
    elements=_BASIC,
)
FUCHSIA = Style(
    name="fuchsia",
    dialect=FUCHSIA_DIALECT,
    elides_prefixes=True,
    lists_segments=False,
    splits_frames=True,
    indents_frames=False,
)
STYLES = {style.name: style for style in (LLVM, SPEC, FUCHSIA)}


class FilterSettings(NamedTuple):
    """The options of a filter."""

    style: Style = SPEC  # the rules of the style
    colour: bool = False  # whether the text of elements is coloured
    # whether colours of the log stay, in styles that treat them as text
    keeps_colours: bool = True
    # how contextual elements are shown: "summary": a line for each module, "elide": not
    # at all, "keep": unchanged
    context: str = "summary"
    # where the symbols of dictionary values are printed: one of `HEXDICT_FORMS`
    hexdict: str = "notes"
    # called with a published dump, the address space, and the symbols. Returns the text
    # to show, or None
    on_dump: Callable[[DumpFile, AddressSpace, Symbols], bytes | None] = (
        lambda _dump, _space, _symbols: None
    )
    line_limit: int = 1 << 20  # maximum bytes of a line; a longer line is text
    # maximum bytes of an element that spans several lines; a longer one is text
    hexdict_limit: int = 1 << 16
    hexdict_lines: int = 256  # maximum number of lines of such an element


# In lines after the dictionary, after each value, or not at all.
HEXDICT_FORMS = ("notes", "inline", "plain")
