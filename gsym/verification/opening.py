"""Open what a GSYM file is compared with.

The files that belong to a binary are found as a conversion finds them; what they say
is decoded here, by no code that a conversion uses.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.companions.split_units import SplitUnitSearch
from gsym.conversion.debug_info import DebugInfo, SearchOptions, find_debug_info
from gsym.conversion.identity import find_fitting, pdb_identity
from gsym.errors import UnsupportedError
from gsym.model import UINT64_END
from gsym.modules.key import Comparison, compare
from gsym.verification.binary import BinaryReference, Part
from gsym.verification.breakpad import BreakpadReference
from gsym.verification.decoder.elf import ReferenceElf
from gsym.verification.decoder.macho import LinkedObject, ReferenceMacho
from gsym.verification.pdb import PdbReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.verification.decoder.file import DebugSections, ReferenceFile
    from gsym.verification.reference import Reference

    Progress = Callable[[int, int], None]

_COMPARED = (
    "only ELF and Mach-O files, PDBs with their programs and Breakpad .sym files are "
    "compared"
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
    path = bundle_member(path)
    kind = recognise_file(path)
    if kind == "breakpad":
        return BreakpadReference(path, path_map)
    if kind == "pdb":
        data = map_file(path)
        described = PdbReference(data, path, 0, path_map)
        own = pdb_identity(PdbFile(data, path))
        return _with_fit(described, compare(own, said(own)))
    if kind not in {"object", "fat"}:
        raise UnsupportedError(_COMPARED, path=path)
    with ExitStack() as stack:
        binary, fit = find_fitting(path, said)
        stack.enter_context(binary)
        found = find_debug_info(binary, search or SearchOptions())
        if found.pdb is not None:
            base, pdb = binary.base_address or 0, found.pdb
            return _with_fit(PdbReference(pdb.data, pdb.path, base, path_map), fit)
        file = _open(binary)
        stack.callback(file.close)
        _add_companions(file, binary, found)
        parts = list(_parts(file, found, path_map))
        unread = _find_split_units(parts[0], binary, found, search, path_map)
        reference = BinaryReference(file, parts, sample, progress, like_llvm=like_llvm)
        missing = (found.missing,) if found.missing and not reference.functions else ()
        reference.notes += (*missing, *found.notes, *unread)
        return _with_fit(reference, fit)


def _with_fit(reference: Reference, fit: Comparison) -> Reference:
    reference.fit = fit
    if fit.reason and not fit.is_refused:
        reference.notes += (f"the file may be of another build: {fit.reason}",)
    return reference


def _open(binary: ObjectFile) -> ReferenceFile:
    file: ReferenceFile
    if binary.is_macho:
        file = ReferenceMacho(binary.path, binary.data)
    elif binary.is_elf:
        # A file within another one, as MiniDebugInfo, has no path of its own.
        is_file = os.path.exists(binary.path)
        file = ReferenceElf(binary.path, None if is_file else binary.data)
    else:
        raise UnsupportedError(_COMPARED, path=binary.path)
    file.bias = binary.bias - UINT64_END * (binary.bias >> 63)
    return file


def _add_companions(file: ReferenceFile, binary: ObjectFile, found: DebugInfo) -> None:
    if found.dwarf is not binary:
        file.debug = _open(found.dwarf)
    if found.supplementary is not None:
        file.supplementary = _open(found.supplementary)
        if file.debug is not None:
            file.debug.supplementary = file.supplementary
    file.symbol_files = tuple(
        file if each is binary else _open(each) for each in found.symbols
    )


def _parts(
    file: ReferenceFile, found: DebugInfo, path_map: Sequence[tuple[str, str]]
) -> Iterator[Part]:
    is_moved = file.debug is not None and file.debug.bias
    yield Part(file.debug if is_moved and file.debug else file, path_map)
    if found.debug_map is not None and isinstance(file, ReferenceMacho):
        # Which number an object file has is the linker's word.
        entries = file.debug_map()
        for number, linked in found.debug_map.objects:
            each = linked.path, linked.data, entries[number].functions
            yield Part(LinkedObject(*each), path_map, linked.path)


def _find_split_units(
    part: Part,
    binary: ObjectFile,
    found: DebugInfo,
    search: SearchOptions | None,
    path_map: Sequence[tuple[str, str]],
) -> tuple[str, ...]:
    """Find split units; a sentence on those that are missing."""
    splits = part.splits
    if not splits:
        return ()

    def complete(file: ObjectFile) -> bool:
        return splits.complete(partial(_split_sections, file.path))

    options = search or SearchOptions()
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
