"""Verification of a GSYM file: by itself, and against the binary it was made from.

`check_structure` finds errors in the file. `compare` reports differences from what a
second decoder, independent of the engine, reads in the DWARF of the binary, and from a
new conversion.
"""

from __future__ import annotations

from itertools import islice, pairwise

import gsym.reading.reader
from gsym.arguments import pairs_of
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.identity import compare_binary
from gsym.engine.native import bytes_of, check, ffi, lib, new_error
from gsym.errors import FormatError, GsymError
from gsym.model import UINT64_END
from gsym.reading.function_table import FunctionTable
from gsym.records import NamedTuple
from gsym.verification import structure
from gsym.verification.structure_parts import check_index, check_records

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gsym.conversion.options import ConvertOptions
    from gsym.verification.comparison import Difference
    from gsym.verification.reference import Place, Progress

_KEPT = 1000  # findings or differences


class Comparison(NamedTuple):
    """Result of `compare`."""

    differences: list[Difference]  # the first thousand; none if file and binary agree
    functions: int  # functions that were compared with the DWARF, decoded once more
    others: int  # functions that were compared with a new conversion only
    # compilation units that were examined, also if they could not be compared
    units: int
    units_in_all: int  # compilation units of the binary
    # functions that units outside the sample also describe, perhaps better
    undecided: int
    unread: dict[Place, str]  # why a unit cannot be decoded
    # the number of functions that were not compared, by reason
    uncompared: dict[str, int]
    notes: tuple[str, ...]  # sentences on files of the binary that were not found

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compared that says anything of the file."""
        return not self.functions and (bool(self.unread) or not self.others)


class Unanswered(NamedTuple):
    """Addresses start <= address < end of function *name* without an answer."""

    start: int
    end: int
    name: str


def check_structure(path: str) -> list[structure.Finding]:
    """The first thousand errors in the GSYM file at *path*; none if it is valid.

    Offsets are relative to the start of the GSYM file, also for an embedded file.
    """
    try:
        data = map_file(path)
    except FormatError as problem:
        return [structure.Finding(0, problem.reason)]
    # The GSYM file in it, or all of it if it is one itself.
    offset, size, error = ffi.new("uint64_t *"), ffi.new("uint64_t *"), new_error()
    found = lib.gsym_embedded_find(bytes_of(data), len(data), offset, size, error)
    check(found, error, path)
    file = data[offset[0] : offset[0] + size[0]]
    findings = list(islice(_findings(file, data), _KEPT))
    if not findings and len(file) < len(data):
        findings += _owner_findings(data, path)
    return findings


def _owner_findings(data: memoryview, path: str) -> Iterator[structure.Finding]:
    """Whether an embedded file is of the binary around it."""
    with ObjectFile(data, path) as binary, gsym.reading.reader.Reader(data) as reader:
        fit = compare_binary(binary, reader.module_like)
    if fit.is_refused:
        reason = f"it is of another build than the binary around it: {fit.reason}"
        yield structure.Finding(0, reason)


def check_answers(path: str) -> list[Unanswered]:
    """The first thousand parts of functions for which a lookup has no answer.

    A lookup uses the last function that starts at or below an address, so a nested
    function hides the rest of the outer one. Files written by gsym have an entry for
    the rest; those of other writers may not.
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


def _findings(file: memoryview, binary: memoryview) -> Iterator[structure.Finding]:
    records: list[structure.Extent] = []
    try:
        layout = structure.Layout(file, binary)
        yield from structure.check_tables(layout)
        yield from check_records(layout, records)
        yield from structure.check_extents(layout, records)
        yield from check_index(layout)
    except structure.BrokenError as error:
        yield error.finding


def compare(  # noqa: PLR0913 - independent keywords
    path: str,
    binary: str,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: ConvertOptions | None = None,
    like_llvm: bool = False,
    progress: Progress | None = None,
) -> Comparison:
    """Compare the GSYM file at *path* with what *binary* says.

    Functions that its DWARF describes, also in a debug file, split units, a
    supplementary file or a dSYM bundle, are compared with what a decoder reads that the
    conversion does not use; all others with a new conversion: symbols, PDBs, Breakpad
    files, pclntab, and the object files of a debug map.

    Args:
        path: A GSYM file converted with the default options; it may also have merged
            functions and call sites.
        binary: The file that it was made from.
        sample: Number of compilation units to compare, spread over the binary.
        path_map: The prefixes of paths that the conversion rewrote.
        search: Where the conversion looked for files that belong to *binary*.
        like_llvm: The conversion read no pclntab, and a symbol without a size extends
            to the next one.
        progress: Called with the bytes of .debug_info done and their total.

    Raises:
        UnsupportedError: *binary* is of a kind that is not compared.
        GsymError: A file cannot be read.
    """
    from gsym.verification.comparison import Comparer
    from gsym.verification.reference import open_reference

    rules = pairs_of("path_map", path_map)
    try:
        with gsym.reading.reader.open(path) as reader:
            reference = open_reference(
                binary,
                reader.module_like,
                sample=sample,
                path_map=rules,
                search=search,
                like_llvm=like_llvm,
                progress=progress,
            )
            comparer = Comparer(reference)
            return Comparison(
                list(islice(comparer.differences(reader), _KEPT)),
                comparer.functions,
                comparer.others,
                reference.described.units,
                reference.described.all_units,
                comparer.undecided,
                reference.described.unread,
                dict(comparer.uncompared),
                reference.notes,
            )
    except (GsymError, OSError, MemoryError):
        raise
    except Exception as error:
        # pyelftools raises many kinds of exceptions on damaged input.
        raise FormatError(f"pyelftools: {error!r}", path=binary) from error
