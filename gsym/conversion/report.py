"""What a conversion answers: how much was read and written, and what was wrong."""

from __future__ import annotations

from gsym.records import NamedTuple


class ConversionWarning(NamedTuple):
    """One thing that was wrong with the input.

    *offset* is that of the DIE or unit in .debug_info, of the sequence in
    .debug_line, or of the name in the symbol names; *value* the address,
    index or offset at fault. In a text *offset* is that of the record and
    *line* its number, from 1; elsewhere *line* is 0.
    """

    category: str
    offset: int
    value: int
    line: int = 0


class ConversionReport(NamedTuple):
    """What a conversion read and wrote.

    Attributes:
        input: Path that was converted.
        member: Of an archive, the object file in it; "" for another file.
        outputs: Paths that were written: one, or one per segment.
        architecture: Of the binary, as LLVM's target triples name it.
        uuid: Identifier in the output.
        build_id: The binary's own identifier, b"" for none.
        placements: Where the code sections of a relocatable file were placed:
            name, first address, end. Empty for other files.
        functions_debug_info: Address ranges of functions in the debug information.
        functions_pclntab: Of these, functions in the pclntab of a Go binary.
        functions_symbol_table: Functions in the symbol table.
        functions_merged: Functions kept as part of one with the same range.
        functions_pruned: Functions left out since another says more.
        functions_dropped: Functions left out by name or address.
        functions_continued: Entries added for the rest of a function after a
            function nested in it.
        functions: Functions in the output.
        functions_with_lines: Of these, functions with a line table.
        functions_with_inlines: Of these, functions with inlined calls.
        duplicates_different: Pairs of equal ranges with different contents.
        overlapping: Functions that overlap the one before them.
        strings: Strings in the output.
        files: Source files in the output.
        file_size: Of the output, in bytes.
        index_size: Of the index in it; 0: it has none.
        warnings: Category of warning -> how often.
        details: Each warning, by offset; empty unless asked for.
        companions: Paths of the files that were read besides the input.
        notes: What belongs to the input and was not found: where it was looked
            for, and why each file there is not it.
        seconds: Wall time.
        peak_memory: Peak resident memory of the process, in bytes.
        is_written: Whether an output was written: with *if_changed*, all may be
            unchanged.
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
    functions_merged: int
    functions_pruned: int
    functions_dropped: int
    functions_continued: int
    functions: int
    functions_with_lines: int
    functions_with_inlines: int
    duplicates_different: int
    overlapping: int
    strings: int
    files: int
    file_size: int
    index_size: int
    warnings: dict[str, int]
    details: tuple[ConversionWarning, ...]
    companions: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: float
    peak_memory: int
    is_written: bool = True
