"""Verification of a GSYM file: by itself, and against the binary it was made from.

`check_structure` finds errors in the file. `compare` decodes the binary's DWARF with
pyelftools, independently of the engine, and reports differences.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import gsym.reading.reader
from gsym.arguments import pairs_of
from gsym.containers.mapped_file import map_file
from gsym.engine.native import check, ffi, lib, new_error
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.model import UINT64_END
from gsym.reading.function_table import FunctionTable
from gsym.verification.structure import (
    BrokenError,
    Extent,
    Finding,
    Layout,
    check_extents,
    check_tables,
)
from gsym.verification.structure_parts import check_index, check_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.conversion.debug_info import SearchOptions
    from gsym.verification.comparison import Difference
    from gsym.verification.decoder.elf import ReferenceElf

    Progress = Callable[[int, int], None]

_KEPT = 1000  # findings or differences


class Comparison(NamedTuple):
    """Result of `compare`.

    Attributes:
        differences: The first thousand; none if file and binary agree.
        functions: Functions of the DWARF or the pclntab that were compared.
        symbols: Functions of the file that are only in the symbol table.
        units: Compilation units that were examined, also if they could not be compared.
        units_in_all: Compilation units of the binary.
        undecided: Functions that units outside the sample also describe, perhaps
            better.
        unread: Why pyelftools cannot decode a unit, by its offset in .debug_info.
        pclntab_functions: Functions of the binary that only its pclntab describes.
        uncompared: The number of functions that were not compared, by reason.
    """

    differences: list[Difference]
    functions: int
    symbols: int
    units: int
    units_in_all: int
    undecided: int
    unread: dict[int, str]
    pclntab_functions: int
    uncompared: dict[str, int]


class Unanswered(NamedTuple):
    """Addresses start <= address < end of function *name* without an answer."""

    start: int
    end: int
    name: str


def check_structure(path: str) -> list[Finding]:
    """The first thousand errors in the GSYM file at *path*; none if it is valid.

    Offsets are relative to the start of the GSYM file, also for an embedded file.

    Raises:
        FormatError: It is a binary without a GSYM file.
    """
    try:
        data = map_file(path)
    except FormatError as problem:
        return [Finding(0, problem.reason)]
    return list(islice(_findings(_embedded(data, path), data), _KEPT))


def check_answers(path: str) -> list[Unanswered]:
    """The first thousand parts of functions for which a lookup has no answer.

    A lookup uses the last function that starts at or below an address, so a nested
    function hides the rest of the outer one. Files written by gsym have an entry for
    the rest; those of other writers may not.

    Args:
        path: A GSYM file without errors.
    """
    with gsym.reading.reader.open(path) as reader:
        return list(islice(_unanswered(FunctionTable(reader)), _KEPT))


def _unanswered(functions: FunctionTable) -> Iterator[Unanswered]:
    widest = reach = 0  # the function that ends last, and where it ends
    end = 0  # of the addresses that have an answer
    starts = [*functions.starts, UINT64_END]
    for index, (start, after) in enumerate(pairwise(starts)):
        size = functions.sizes[index]
        if index == 0 or start != starts[index - 1]:
            end = start
        # A function without a size answers up to the next one.
        end = max(end, start + size if size else UINT64_END)
        if size and start + size > reach:
            widest, reach = index, start + size
        if start != after and end < min(after, reach):
            yield Unanswered(end, min(after, reach), functions.name(widest))


def _embedded(data: memoryview, path: str) -> memoryview:
    """The GSYM file in *data*, or all of it if it is one itself."""
    offset, size, error = ffi.new("uint64_t *"), ffi.new("uint64_t *"), new_error()
    view = ffi.from_buffer("uint8_t[]", data)
    check(lib.gsym_embedded_find(view, len(view), offset, size, error), error, path)
    return data[offset[0] : offset[0] + size[0]]


def _findings(file: memoryview, binary: memoryview) -> Iterator[Finding]:
    records: list[Extent] = []
    try:
        layout = Layout(file, binary)
        yield from check_tables(layout)
        yield from check_records(layout, records)
        yield from check_extents(layout, records)
        yield from check_index(layout)
    except BrokenError as error:
        yield error.finding


def compare(  # noqa: PLR0913 - independent keywords
    path: str,
    binary: str,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: SearchOptions | None = None,
    pclntab: bool = True,
    progress: Progress | None = None,
) -> Comparison:
    """Compare the GSYM file at *path* with the DWARF and the symbols of *binary*.

    For a Go binary without DWARF of its functions, it is compared with the pclntab.

    Args:
        path: A GSYM file converted with the default options; it may also have merged
            functions and call sites.
        binary: The ELF file that it was made from.
        sample: Number of compilation units to compare, spread over the binary.
        path_map: The prefixes of paths that the conversion rewrote.
        search: Where the conversion looked for files that belong to *binary*.
        pclntab: Whether the conversion read a pclntab.
        progress: Called with the bytes of .debug_info done and their total.
    """
    from gsym.verification.comparison import Comparer

    rules = pairs_of("path_map", path_map)
    with open(binary, "rb") as stream:
        if stream.read(4) != b"\x7fELF":
            raise UnsupportedError("only ELF files are compared", path=binary)
    elf = _open_elf(binary, search)
    try:
        with gsym.reading.reader.open(path) as reader:
            comparer = Comparer(elf, sample, rules, progress, pclntab=pclntab)
            return Comparison(
                list(islice(comparer.differences(reader), _KEPT)),
                comparer.functions,
                comparer.symbols,
                len(comparer.units),
                comparer.all_units,
                comparer.undecided,
                comparer.unread,
                comparer.pclntab_functions,
                dict(comparer.uncompared),
            )
    except (GsymError, OSError, MemoryError):
        raise
    except Exception as error:
        # pyelftools raises many kinds of exceptions on damaged input.
        raise FormatError(f"pyelftools: {error!r}", path=binary) from error
    finally:
        elf.close()


def _open_elf(path: str, search: SearchOptions | None) -> ReferenceElf:
    """The binary, with its companion files as found by the conversion."""
    from gsym.containers.mapped_file import map_file
    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import SearchOptions, find_debug_info
    from gsym.verification.decoder.elf import ReferenceElf

    elf = ReferenceElf(path)
    try:
        with ObjectFile(map_file(path), path) as binary:
            found = find_debug_info(binary, search or SearchOptions())
            if found.dwarf is not binary:
                elf.debug = ReferenceElf(found.dwarf.path)
            if found.supplementary is not None:
                elf.supplementary = ReferenceElf(found.supplementary.path)
            if found.symbols != (binary,):
                elf.symbol_files = tuple(
                    ReferenceElf(file.path, file.data) for file in found.symbols
                )
    except BaseException:
        elf.close()
        raise
    return elf
