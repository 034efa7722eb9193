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
from gsym.containers.object_file import ObjectFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member, read_fitting
from gsym.conversion.companions.split_units import SplitUnitSearch
from gsym.conversion.debug_info import SearchOptions, find_debug_info
from gsym.errors import UnsupportedError
from gsym.verification.binary import BinaryReference, Part
from gsym.verification.breakpad import BreakpadReference
from gsym.verification.decoder.elf import ReferenceElf
from gsym.verification.decoder.macho import LinkedObject, ReferenceMacho
from gsym.verification.pdb import PdbReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.conversion.companions.macho import DebugMap
    from gsym.conversion.debug_info import DebugInfo
    from gsym.verification.decoder.file import DebugSections, ReferenceFile
    from gsym.verification.reference import Reference

    Progress = Callable[[int, int], None]

_COMPARED = (
    "only ELF and Mach-O files, PDBs with their programs and Breakpad .sym files are "
    "compared"
)


def open_reference(  # noqa: PLR0913 - independent keywords
    path: str,
    uuid: bytes,
    *,
    sample: int | None,
    path_map: Sequence[tuple[str, str]],
    search: SearchOptions | None,
    like_llvm: bool,
    progress: Progress | None,
) -> Reference:
    """What the file at *path* says.

    Args:
        path: A binary, a dSYM bundle, a PDB or a Breakpad file.
        uuid: That of the GSYM file: of a fat file it chooses the slice.
        sample: The number of units to decode; None: all.
        path_map: (old, new) prefixes of paths that are rewritten.
        search: Where to look for files that belong to the binary.
        like_llvm: The conversion followed llvm-gsymutil, see `compare`.
        progress: Called with the bytes done and their total.

    Raises:
        UnsupportedError: It is of another kind.
        GsymError: It is damaged.
    """
    path = bundle_member(path)
    kind = recognise_file(path)
    if kind == "breakpad":
        return BreakpadReference(path, path_map)
    if kind == "pdb":
        return PdbReference(map_file(path), path, 0, path_map)
    if kind not in {"object", "fat"}:
        raise UnsupportedError(_COMPARED, path=path)
    data, _ = read_fitting(path, uuid or None)
    with ExitStack() as stack:
        binary = stack.enter_context(ObjectFile(data, path))
        found = find_debug_info(binary, search or SearchOptions())
        if found.pdb is not None:
            base = binary.base_address or 0
            return PdbReference(found.pdb.data, found.pdb.path, base, path_map)
        file = _open(binary)
        stack.callback(file.close)
        _add_companions(file, binary, found)
        parts = list(_parts(file, found, path_map))
        unread = _find_split_units(parts[0], binary, found, search, path_map)
        reference = BinaryReference(file, parts, sample, progress, like_llvm=like_llvm)
        missing = (found.missing,) if found.missing and not reference.functions else ()
        reference.notes += (*missing, *found.notes, *unread)
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
    file.bias = binary.bias - (1 << 64) * (binary.bias >> 63)
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
        yield from _linked_parts(file, found.debug_map, path_map)


def _linked_parts(
    file: ReferenceMacho, debug_map: DebugMap, path_map: Sequence[tuple[str, str]]
) -> Iterator[Part]:
    """The object files that were found; which number each has is the linker's word."""
    entries = file.debug_map()
    for number, linked in debug_map.objects:
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
