"""The report of a conversion: numbers of records read and written, and warnings."""

from __future__ import annotations

from gsym.engine.native import ffi, lib
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

# The categories of warnings, by gsym_warning_category.
CATEGORIES = [
    ffi.string(lib.gsym_warning_text(category)).decode()
    for category in range(lib.GSYM_WARN_COUNT)
]
# What limits against hostile input cut: docs/reliability.md lists them.
LIMIT_REACHED = CATEGORIES[lib.GSYM_WARN_LIMIT]


class ConversionWarning(NamedTuple):
    """One problem of the input.

    *offset* is that of the DIE or unit in .debug_info, of the sequence in .debug_line,
    or of the name in the symbol names; *value* the invalid address, index or offset.
    For a text file *offset* is that of the record and *line* its line number, from 1;
    else *line* is 0.
    """

    category: str
    offset: int
    value: int
    line: int = 0


class ConversionReport(NamedTuple):
    """The result of a conversion.

    Attributes:
        input: Path that was converted.
        member: The object file in an archive; "" for another file.
        outputs: Paths that were written: one, or one per segment.
        architecture: Architecture of the binary, as in LLVM's target triples.
        uuid: Identifier in the output.
        build_id: The binary's own identifier, b"" for none.
        placements: Where the code sections of a relocatable file were placed:
            name, first address, end. Empty for other files.
        functions_debug_info: Address ranges of functions in the debug information.
        functions_pclntab: Of these, functions in the pclntab of a Go binary.
        functions_symbol_table: Functions in the symbol table.
        symbol_sources: Of these, "symbol table", "dynamic symbol table",
            ".gnu_debugdata symbol table" and "stubs", as far as they were read ->
            number; empty for inputs that are no object files.
        functions_merged: Functions kept as part of one with the same range.
        functions_pruned: Functions omitted because another is more complete.
        functions_dropped: Functions omitted by name or address.
        functions_continued: Entries added for the rest of a function after a
            function nested in it.
        functions: Functions in the output.
        functions_with_lines: Of these, functions with a line table.
        functions_with_inlines: Of these, functions with inlined calls.
        line_rows_unused: Rows of line tables for addresses that neither a function
            nor a symbol covers.
        duplicates_different: Pairs of equal ranges with different contents.
        overlapping: Functions that overlap the one before them.
        strings: Strings in the output.
        files: Source files in the output.
        version: Version of the format of the output.
        file_size: Size of the output in bytes.
        index_size: Size of its index in bytes; 0: it has none.
        warnings: Category of warning -> number.
        details: Each warning, by offset; empty unless requested.
        companions: Paths of the files that were read besides the input.
        notes: Companion files that were not found: where they were searched, and why
            files there were not used.
        seconds: Wall time.
        peak_memory: Peak resident memory of the process, in bytes.
        is_written: Whether an output was written: with *if_changed*, all may be
            unchanged; a file with more detail is kept, as one of the notes says.
    """

    input: str
    member: str
    outputs: tuple[str, ...]
    architecture: str
    uuid: bytes
    build_id: bytes
    placements: tuple[tuple[str, int, int], ...]
    functions_debug_info: int
    functions_pclntab: int
    functions_symbol_table: int
    symbol_sources: dict[str, int]
    functions_merged: int
    functions_pruned: int
    functions_dropped: int
    functions_continued: int
    functions: int
    functions_with_lines: int
    functions_with_inlines: int
    line_rows_unused: int
    duplicates_different: int
    overlapping: int
    strings: int
    files: int
    version: int
    file_size: int
    index_size: int
    warnings: dict[str, int]
    details: tuple[ConversionWarning, ...]
    companions: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    peak_memory: int
    is_written: bool = True

    def __str__(self) -> str:
        """Format as `gsym convert` does."""
        from gsym.conversion.report_text import summary_lines

        return "\n".join(summary_lines(self))

    def _repr_html_(self) -> str:
        """Show the text in a notebook."""
        from gsym.reading.notebook import html_text

        return html_text(str(self))

    def to_dict(self) -> dict[str, Any]:
        """The values of `gsym convert --json-summary`, for `json.dumps`."""
        return {
            **self._asdict(),
            "uuid": self.uuid.hex(),
            "build_id": self.build_id.hex(),
            "details": [warning._asdict() for warning in self.details],
        }
