"""Open what a GSYM file is compared with.

The files that belong to an ELF file are found as a conversion finds them; what they
say is decoded here, by no code that a conversion uses. Other inputs are converted anew.
"""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.companions.split_units import SplitUnitSearch
from gsym.conversion.debug_info import DebugInfo, SearchOptions, find_debug_info
from gsym.conversion.identity import find_fitting, pdb_identity
from gsym.conversion.input_file import input_of
from gsym.errors import EmptyError, UnsupportedError
from gsym.model import UINT64_END
from gsym.modules.key import Comparison, compare
from gsym.verification.binary import BinaryReference, Part
from gsym.verification.decoder.elf import ReferenceElf
from gsym.verification.new_conversion import ConversionReference, options_of_conversion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.verification.decoder.file import DebugSections, ReferenceFile
    from gsym.verification.reference import Reference

    Progress = Callable[[int, int], None]

_GO_SECTIONS = (b".gopclntab", b".data.rel.ro.gopclntab")
NOT_COMPARED = (
    "only ELF, Mach-O and PE files, PDBs and Breakpad .sym files are compared"
)


def open_reference(  # noqa: PLR0913 - independent keywords
    path: str,
    said: Saying,
    *,
    sample: int | None,
    path_map: Sequence[tuple[str, str]],
    search: SearchOptions | None,
    like_llvm: bool,
    progress: Progress | None,
) -> Reference:
    """Open the file at *path* as a reference.

    What the GSYM file has *said* chooses the slice of a fat file.

    Raises:
        UnsupportedError: It is of another kind.
        GsymError: It is damaged.
    """
    places = search or SearchOptions()
    options = options_of_conversion(places, tuple(path_map), like_llvm=like_llvm)

    def convert_anew(file: str, data: memoryview) -> ConversionReference:
        return ConversionReference(input_of(path, file, data), options, progress)

    member = bundle_member(path)
    kind = recognise_file(member)
    if kind in {"breakpad", "pdb"}:
        data = map_file(member)
        converted = convert_anew(member, data)
        if kind == "breakpad":
            return converted
        own = pdb_identity(PdbFile(data, member))
        return with_fit(converted, compare(own, said(own)))
    if kind not in {"object", "fat"}:
        raise UnsupportedError(NOT_COMPARED, path=member)
    with ExitStack() as stack:
        binary, fit = find_fitting(member, said)
        stack.enter_context(binary)
        if not binary.is_elf:
            return with_fit(convert_anew(member, binary.data), fit)
        found = find_debug_info(binary, places)
        file = open_elf(binary)
        stack.callback(file.close)
        add_companions(file, binary, found, open_elf)
        part = Part(file.debug if file.debug and file.debug.bias else file, path_map)
        unread = find_split_units(part, binary, found, places, path_map)
        reference = BinaryReference(file, [part], sample, progress, like_llvm=like_llvm)
        if not like_llvm and sample is None and _may_be_go(binary, reference):
            with suppress(EmptyError):
                converted = convert_anew(member, binary.data)
                if converted.report.functions_pclntab:
                    return with_fit(converted, fit)
        missing = (found.missing,) if found.missing and not reference.functions else ()
        reference.notes += (*missing, *found.notes, *unread)
        return with_fit(reference, fit)


def _may_be_go(binary: ObjectFile, reference: Reference) -> bool:
    """Whether the pclntab may describe functions that the DWARF does not."""
    return not reference.functions or any(map(binary.has_section, _GO_SECTIONS))


def with_fit(reference: Reference, fit: Comparison) -> Reference:
    """The reference, with whether the GSYM file is of its build."""
    reference.fit = fit
    if fit.reason and not fit.is_refused:
        reference.notes += (f"the file may be of another build: {fit.reason}",)
    return reference


def open_elf(
    binary: ObjectFile, kind: type[ReferenceElf] = ReferenceElf
) -> ReferenceFile:
    """Open an ELF file for the second decoder, as this *kind* of it.

    Raises:
        UnsupportedError: It is no ELF file.
    """
    if not binary.is_elf:
        raise UnsupportedError(NOT_COMPARED, path=binary.path)
    # A file within another one, as MiniDebugInfo, has no path of its own.
    is_file = os.path.exists(binary.path)
    file = kind(binary.path, None if is_file else binary.data)
    file.bias = binary.bias - UINT64_END * (binary.bias >> 63)
    return file


def add_companions(
    file: ReferenceFile,
    binary: ObjectFile,
    found: DebugInfo,
    open_file: Callable[[ObjectFile], ReferenceFile],
) -> None:
    """Add the files that a conversion reads for *binary*, which is *file*."""
    if found.dwarf is not binary:
        file.debug = open_file(found.dwarf)
    if found.supplementary is not None:
        file.supplementary = open_file(found.supplementary)
        if file.debug is not None:
            file.debug.supplementary = file.supplementary
    file.symbol_files = tuple(
        file if each is binary else open_file(each) for each in found.symbols
    )


def find_split_units(
    part: Part,
    binary: ObjectFile,
    found: DebugInfo,
    options: SearchOptions,
    path_map: Sequence[tuple[str, str]],
) -> tuple[str, ...]:
    """Find split units; a sentence on those that are missing."""
    splits = part.splits
    if not splits:
        return ()

    def complete(file: ObjectFile) -> bool:
        return splits.complete(partial(_split_sections, file.path))

    finder = SplitUnitSearch(binary, found.dwarf, options, path_map, complete)
    finder.take_package()
    finder.take_files(splits.incomplete())
    missing = sum(1 for _ in splits.incomplete())
    return (finder.describe(missing),) if missing else ()


def _split_sections(path: str) -> DebugSections:
    """The sections of split units; the file is closed, for there may be very many."""
    file = ReferenceElf(path)
    try:
        return file.dwarf_sections(".dwo")
    finally:
        file.close()
