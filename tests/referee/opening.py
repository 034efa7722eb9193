"""Open a file as the reference of a comparison, by second decoders only."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from gsym.arguments import pairs_of
from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.debug_info import DebugInfo, SearchOptions, find_debug_info
from gsym.conversion.identity import find_fitting, pdb_identity
from gsym.errors import UnsupportedError
from gsym.model import UINT64_END
from gsym.modules.key import compare as compare_keys
from gsym.verification.binary import BinaryReference, Part
from gsym.verification.check import Comparison, compare_with
from gsym.verification.opening import (
    NOT_COMPARED,
    add_companions,
    find_split_units,
    open_elf,
    with_fit,
)
from tests.referee.breakpad import BreakpadReference
from tests.referee.macho import LinkedObject, ReferenceMacho
from tests.referee.pclntab import GoElf, add_pclntab
from tests.referee.pdb import PdbReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.verification.decoder.file import ReferenceFile
    from gsym.verification.reference import Reference
    from tests.referee.pclntab import GoFile


def compare(  # noqa: PLR0913 - as `gsym.verification.check.compare`
    path: str,
    binary: str,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: SearchOptions | None = None,
    like_llvm: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare a GSYM file with what second decoders read in *binary*."""
    rules = pairs_of("path_map", path_map)
    places = search or SearchOptions()

    def open_binary(binary: ObjectFile, stack: ExitStack) -> Reference:
        found = find_debug_info(binary, places)
        if found.pdb is not None:
            pdb = found.pdb
            return PdbReference(pdb.data, pdb.path, binary.base_address or 0, rules)
        file = _open(binary)
        stack.callback(file.close)
        add_companions(file, binary, found, _open)
        parts = list(_parts(file, found, rules))
        unread = find_split_units(parts[0], binary, found, places, rules)
        reference = BinaryReference(file, parts, sample, progress, like_llvm=like_llvm)
        if not like_llvm and not (reference.all_units and reference.is_sample):
            add_pclntab(reference, cast("GoFile", file), rules)
        missing = (found.missing,) if found.missing and not reference.functions else ()
        reference.notes += (*missing, *found.notes, *unread)
        return reference

    def open_of(said: Saying) -> Reference:
        member = bundle_member(binary)
        kind = recognise_file(member)
        if kind == "breakpad":
            return BreakpadReference(member, rules)
        if kind == "pdb":
            data = map_file(member)
            described = PdbReference(data, member, 0, rules)
            own = pdb_identity(PdbFile(data, member))
            return with_fit(described, compare_keys(own, said(own)))
        if kind not in {"object", "fat"}:
            raise UnsupportedError(NOT_COMPARED, path=member)
        with ExitStack() as stack:
            opened, fit = find_fitting(member, said)
            stack.enter_context(opened)
            return with_fit(open_binary(opened, stack), fit)

    return compare_with(path, binary, open_of)


def _open(binary: ObjectFile) -> ReferenceFile:
    if not binary.is_macho:
        return open_elf(binary, GoElf)
    file = ReferenceMacho(binary.path, binary.data)
    file.bias = binary.bias - UINT64_END * (binary.bias >> 63)
    return file


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
