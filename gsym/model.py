"""Plain records: what a function is and what a lookup answers.

All are immutable tuples. Addresses are link-time virtual addresses in bytes;
lines count from 1, 0 means that the compiler named no line. `typing` costs more
than a lookup, so at run time the records come from `gsym.records`; type checkers
see the `NamedTuple` classes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class LineEntry(NamedTuple):
        """From *address* on, code comes from *line* of *path* ("" = no file)."""

        address: int
        path: str
        line: int

    class Range(NamedTuple):
        """Addresses start <= address < end."""

        start: int
        end: int

    class InlineInfo(NamedTuple):
        """A function inlined at *ranges*, called from *call_path*:*call_line*.

        The root of a tree is the concrete function itself, with no call site.
        """

        name: str
        call_path: str
        call_line: int
        ranges: tuple[Range, ...]
        children: tuple[InlineInfo, ...] = ()

    class CallSite(NamedTuple):
        """A call that returns to function start + *return_offset*.

        *flags* is a bit set: 1 internal call, 2 external call. *match_regex*
        are the patterns that the name of the callee matches.
        """

        return_offset: int
        flags: int
        match_regex: tuple[str, ...]

    class FunctionRange(NamedTuple):
        """A function's name and extent; *size* 0 for a symbol without a size."""

        name: str
        start: int
        size: int

    class FunctionInfo(NamedTuple):
        """All that a GSYM file says of one function.

        *line_table* and *inline* are None where the record has none. *merged*
        are identical functions folded into this one. *extra* maps an InfoType
        that this version gives no meaning to, to its payload.
        """

        address: int
        size: int
        name: str
        line_table: tuple[LineEntry, ...] | None = None
        inline: InlineInfo | None = None
        merged: tuple[FunctionInfo, ...] = ()
        call_sites: tuple[CallSite, ...] = ()
        extra: dict[int, bytes] = {}  # noqa: RUF012 - a default of a NamedTuple

    class Frame(NamedTuple):
        """One frame of an answer.

        *offset* counts from the start of the function, or of the first range of
        an inlined call. *inlined* is False only for the outermost frame.
        """

        name: str
        directory: str
        filename: str
        line: int
        offset: int
        inlined: bool

        @property
        def path(self) -> str:
            """Directory and file name joined as they were in the debug information."""

    class Lookup(NamedTuple):
        """The answer to one address; *frames* innermost first, never empty."""

        address: int
        function: FunctionRange
        frames: tuple[Frame, ...]
        call_site_patterns: tuple[str, ...] = ()
        merged: tuple[Lookup, ...] = ()

    class Header(NamedTuple):
        """The header of a GSYM file, as docs/format.md describes it."""

        version: int
        byteorder: str
        addr_off_size: int
        uuid: bytes
        base_address: int
        num_addresses: int
        num_files: int
        strtab_offset: int
        strtab_size: int

else:
    from gsym.records import record_type

    LineEntry = record_type("LineEntry", "address path line")
    Range = record_type("Range", "start end")
    InlineInfo = record_type(
        "InlineInfo", "name call_path call_line ranges children", defaults=((),)
    )
    CallSite = record_type("CallSite", "return_offset flags match_regex")
    FunctionRange = record_type("FunctionRange", "name start size")

    class FunctionInfo(
        record_type(
            "FunctionInfo",
            "address size name line_table inline merged call_sites extra",
            defaults=(None, None, (), (), None),
        )
    ):
        """All that a GSYM file says of one function.

        *line_table* and *inline* are None where the record has none. *merged*
        are identical functions folded into this one. *extra* maps an InfoType
        that this version gives no meaning to, to its payload.
        """

        __slots__ = ()

        def __new__(cls, *parts: object, **named: object) -> FunctionInfo:  # noqa: PYI034
            """Each record has an *extra* of its own."""
            made = super().__new__(cls, *parts, **named)
            return made if made.extra is not None else made._replace(extra={})

    Lookup = record_type(
        "Lookup",
        "address function frames call_site_patterns merged",
        defaults=((), ()),
    )
    Header = record_type(
        "Header",
        "version byteorder addr_off_size uuid base_address num_addresses "
        "num_files strtab_offset strtab_size",
    )

    class Frame(record_type("Frame", "name directory filename line offset inlined")):
        """One frame of an answer.

        *offset* counts from the start of the function, or of the first range of
        an inlined call. *inlined* is False only for the outermost frame.
        """

        __slots__ = ()

        @property
        def path(self) -> str:
            """Directory and file name joined as they were in the debug information."""
            return join_path(self.directory, self.filename)

    # As above: what help() and documentation tools show.
    LineEntry.__doc__ = (
        'From *address* on, code comes from *line* of *path* ("" = no file).'
    )
    Range.__doc__ = "Addresses start <= address < end."
    InlineInfo.__doc__ = """A call of a function that was inlined at *ranges*.

    The call stands at *call_path*:*call_line*. The root of a tree is the concrete
    function itself, with no call site.
    """
    CallSite.__doc__ = """A call that returns to function start + *return_offset*.

    *flags* is a bit set: 1 internal call, 2 external call. *match_regex*
    are the patterns that the name of the callee matches.
    """
    FunctionRange.__doc__ = (
        "A function's name and extent; *size* 0 for a symbol without a size."
    )
    Lookup.__doc__ = "The answer to one address; *frames* innermost first, never empty."
    Header.__doc__ = "The header of a GSYM file, as docs/format.md describes it."


def join_path(directory: str, filename: str) -> str:
    """The path of a file entry, joined as LLVM's GsymReader joins it."""
    if not directory:
        return filename
    separator = "\\" if "\\" in directory and "/" not in directory else "/"
    return directory + separator + filename
