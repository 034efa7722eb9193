"""References for a GSYM file: the DWARF decoded once more, and a new conversion.

The files that belong to a binary are found as a conversion finds them.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gsym.containers.fat import open_slice
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import refuse
from gsym.conversion.companions.split_units import SplitUnitSearch
from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.identity import find_fitting, pdb_identity
from gsym.conversion.input_file import input_of, open_input
from gsym.conversion.job import open_converted
from gsym.conversion.options import ConvertOptions
from gsym.errors import EmptyError, GsymError
from gsym.model import UINT64_END, FunctionInfo, InlineInfo, LineEntry, Range
from gsym.modules.key import SAME, Comparison, compare
from gsym.ranges import merged
from gsym.verification.decoder.file import DebugSections, DwarfFile, sections_of
from gsym.verification.decoder.functions import UnitFunctions
from gsym.verification.decoder.split import SplitUnits
from gsym.verification.decoder.units import DECODING_ERRORS, Unit, Units

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.reading.reader import Reader

    Key = tuple[int, int]  # start and end of a function
    Progress = Callable[[int, int], None]

NOT_COMPARED = (
    "only ELF, Mach-O and PE files, WebAssembly, PDBs and Breakpad .sym files are "
    "compared"
)
_NO_DWARF = DebugSections({}, "little", 8)
_HAS_ISA_BIT = re.compile("arm(?!64)|thumb|mips")


class Place(NamedTuple):
    """A unit: the path of its file, "" for the binary or its debug file, and where."""

    path: str
    offset: int


class Described:
    """The functions of the units of a binary, by their start and end."""

    def __init__(
        self, file: DwarfFile, path_map: Sequence[tuple[str, str]] = ()
    ) -> None:
        self.functions: dict[Key, list[FunctionInfo]] = {}
        self.units: int = 0  # number of units that were examined
        self.all_units: int = 0  # number of units
        self.unread: dict[Place, str] = {}  # why units cannot be decoded
        # number of functions that were not decoded, by reason
        self.uncompared: Counter[str] = Counter()
        self._file = file
        self._units = Units(file, path_map)
        self.splits: SplitUnits = SplitUnits(self._units)

    def decode(self, sample: int | None, progress: Progress | None) -> None:
        """Decode the units, or *sample* of them, spread over those with code."""
        units = self._units
        offsets = units.offsets
        self.all_units = len(offsets)
        if units.damage is not None:
            self.unread[Place("", units.end)] = units.damage
        if sample is not None:
            with_code = [each for each in offsets if self._has_code(each)]
            count = min(sample, len(with_code))
            offsets = [with_code[i * len(with_code) // count] for i in range(count)]
        self.units = len(offsets)
        done, total = 0, sum(map(units.size, offsets))
        for offset in offsets:
            if self.splits.is_missing(offset):
                self.unread[Place("", offset)] = "its split unit was not found"
            try:
                self._add(self.splits.open(offset))
            except DECODING_ERRORS as error:
                self.unread[Place("", offset)] = reason_of(error)
            done += units.size(offset)
            if progress is not None:
                progress(done, total)
        self.uncompared.update(units.uncompared)

    def _has_code(self, offset: int) -> bool:
        try:
            return bool(self.splits.open(offset).code_ranges())
        except DECODING_ERRORS as error:
            self.unread[Place("", offset)] = reason_of(error)
            return False

    def _add(self, unit: Unit) -> None:
        for _, info in UnitFunctions(unit):
            if info.name:
                moved = move_function(info, self._file.bias)
                key = moved.start, moved.start + moved.size
                self.functions.setdefault(key, []).append(moved)
        if unit.units is not self._units:
            self.uncompared.update(unit.units.uncompared)


def reason_of(error: Exception) -> str:
    """Reason why something cannot be decoded."""
    if isinstance(error, GsymError):
        return error.reason
    return f"{type(error).__name__}: {error}"


def move_function(info: FunctionInfo, distance: int) -> FunctionInfo:
    """The function at other addresses."""
    if not distance:
        return info
    return info._replace(
        start=info.start + distance,
        line_table=info.line_table and move_rows(info.line_table, distance),
        inline=info.inline and _move_calls(info.inline, distance),
    )


def move_rows(rows: tuple[LineEntry, ...], distance: int) -> tuple[LineEntry, ...]:
    """The rows at other addresses."""
    return tuple(row._replace(address=row.address + distance) for row in rows)


def _move_calls(node: InlineInfo, distance: int) -> InlineInfo:
    return node._replace(
        ranges=tuple(Range(a + distance, b + distance) for a, b in node.ranges),
        children=tuple(_move_calls(child, distance) for child in node.children),
    )


class Reference(NamedTuple):
    """The side that a GSYM file is compared with."""

    described: Described  # what the DWARF describes
    converted: Reader | None  # a new conversion; None if it has no functions
    fit: Comparison  # whether the GSYM file is of this build
    is_sample: bool  # whether only some units of the DWARF were decoded
    # sentences on files that were not found, and on the fit
    notes: tuple[str, ...]


def open_reference(  # noqa: PLR0913 - independent keywords
    path: str,
    said: Saying,
    *,
    sample: int | None,
    path_map: Sequence[tuple[str, str]],
    search: ConvertOptions | None,
    like_llvm: bool,
    progress: Progress | None,
) -> Reference:
    """Open the file at *path* as a reference.

    What the GSYM file has *said* chooses the slice of a fat file.

    Raises:
        FormatError: It is damaged, or no binary.
        UnsupportedError: It is of a kind that is not compared.
    """
    file = open_input(path)
    kind, data = file.kind, file.data
    places = (search or ConvertOptions())._replace(path_map=tuple(path_map))
    described = Described(DwarfFile(_NO_DWARF, ()), path_map)
    fit, converted = Comparison(SAME), None
    notes: tuple[str, ...] = ()
    with ExitStack() as stack:
        if kind in {"object", "fat"}:
            binary, fit = find_fitting(file, said)
            stack.enter_context(binary)
            data = binary.data
            found = find_debug_info(binary, places)
            described = Described(_dwarf_of(binary, found), path_map)
            unread = find_split_units(
                described.splits, _split_sections, binary, found, places
            )
            described.decode(sample, progress)
            missing = found.missing if not described.functions else ""
            notes = (*filter(None, [missing]), *found.notes, *unread)
        elif kind in {"pdb", "breakpad"}:
            if kind == "pdb":
                identity = pdb_identity(PdbFile(data, file.path))
                fit = compare(identity, said(identity))
        else:
            refuse(kind, file.path, NOT_COMPARED)
        if fit.reason and not fit.is_refused:
            notes += (f"the file may be of another build: {fit.reason}",)
        # With all that the file may have.
        options = places._replace(
            merged_functions=True,
            call_sites=True,
            image_code=not like_llvm,
            pclntab="never" if like_llvm else "auto",
        )
        with suppress(EmptyError):
            converted = open_converted(input_of(path, file.path, data), options)
    return Reference(described, converted, fit, sample is not None, notes)


def _dwarf_of(binary: ObjectFile, found: DebugInfo) -> DwarfFile:
    """The DWARF that the second decoder reads.

    It is none in WebAssembly, whose addresses count otherwise, and in the object files
    of a debug map, whose functions the linker moved.
    """
    if binary.is_wasm or found.debug_map is not None:
        return DwarfFile(_NO_DWARF, ())
    bias = found.dwarf.bias - UINT64_END * (found.dwarf.bias >> 63)
    code = ((start - bias, end - bias) for _, start, end in binary.code_sections())
    return DwarfFile(
        sections_of(found.dwarf),
        merged(Range(*each) for each in code),
        # Code of A32 and MIPS is even; odd addresses are of Thumb (AAELF32, "Symbol
        # Values"), microMIPS and MIPS16.
        int(_HAS_ISA_BIT.match(binary.architecture) is not None),
        None if found.supplementary is None else sections_of(found.supplementary),
        bias,
    )


def find_split_units(
    splits: SplitUnits,
    read: Callable[[str], DebugSections],
    binary: ObjectFile,
    found: DebugInfo,
    options: ConvertOptions,
) -> tuple[str, ...]:
    """Find split units and *read* their files; a sentence on those that are missing."""
    if not splits:
        return ()

    def complete(file: ObjectFile) -> bool:
        return splits.complete(partial(read, file.path))

    finder = SplitUnitSearch(binary, found.dwarf, options, complete)
    finder.take_package()
    finder.take_files(splits.incomplete())
    missing = sum(1 for _ in splits.incomplete())
    return (finder.describe(missing),) if missing else ()


def _split_sections(path: str) -> DebugSections:
    """The sections of split units; the file is closed, for there may be very many."""
    with open_slice(path) as file:
        return sections_of(file, split=True)
