"""Second decoders of PDB, Mach-O and pclntab, plain and independent of the engine.

`compare` is that of the package, which compares ELF and Breakpad files, with these
kinds added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.debug_info import find_debug_info
from gsym.conversion.identity import pdb_identity
from gsym.model import UINT64_END, Range
from gsym.modules.key import compare as compare_keys
from gsym.verification.binary import Part
from gsym.verification.check import compare_with
from gsym.verification.opening import ReferenceOpener, with_fit
from tests.referees.macho import LinkedObject, ReferenceMacho
from tests.referees.pclntab import ReferencePclntab, has_pclntab
from tests.referees.pdb import PdbReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import DebugInfo, SearchOptions
    from gsym.conversion.identity import Saying
    from gsym.verification.binary import BinaryReference
    from gsym.verification.check import Comparison
    from gsym.verification.decoder.file import ReferenceFile
    from gsym.verification.reference import Reference


def compare(
    path: str,
    binary: str,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: SearchOptions | None = None,
) -> Comparison:
    """Compare the GSYM file at *path* with what *binary*, of any kind, says."""
    opener = _Opener(
        sample=sample, path_map=path_map, search=search, like_llvm=False, progress=None
    )
    return compare_with(path, binary, opener)


class _Opener(ReferenceOpener):
    def open(self, path: str, said: Saying) -> Reference:
        member = bundle_member(path)
        if recognise_file(member) != "pdb":
            return super().open(path, said)
        data = map_file(member)
        described = PdbReference(data, member, 0, self.path_map)
        own = pdb_identity(PdbFile(data, member))
        return with_fit(described, compare_keys(own, said(own)))

    def open_binary(self, binary: ObjectFile) -> Reference:
        if not binary.is_elf and not binary.is_macho:
            pdb = find_debug_info(binary, self.search).pdb
            if pdb is not None:
                base = binary.base_address or 0
                return PdbReference(pdb.data, pdb.path, base, self.path_map)
        return super().open_binary(binary)

    def open_file(self, binary: ObjectFile) -> ReferenceFile:
        if not binary.is_macho:
            return super().open_file(binary)
        file = ReferenceMacho(binary.path, binary.data)
        file.bias = binary.bias - UINT64_END * (binary.bias >> 63)
        return file

    def parts(self, file: ReferenceFile, found: DebugInfo) -> list[Part]:
        parts = super().parts(file, found)
        if found.debug_map is not None and isinstance(file, ReferenceMacho):
            # Which number each object file has is the linker's word.
            entries = file.debug_map()
            for number, linked in found.debug_map.objects:
                each = linked.path, linked.data, entries[number].functions
                parts.append(Part(LinkedObject(*each), self.path_map, linked.path))
        return parts

    def add_go_functions(self, reference: BinaryReference, file: ReferenceFile) -> None:
        """Add the functions of a pclntab, unless the DWARF describes them."""
        is_partial = reference.all_units and reference.is_sample
        if is_partial or not has_pclntab(file):
            return
        functions = [
            info
            for info in ReferencePclntab(file, self.path_map)
            if file.is_text(info.address)
        ]
        starts = {start for start, _ in reference.functions}
        if not starts & {each.address for each in functions}:
            reference.source = "the pclntab"
            for info in functions:
                key = Range(info.address, info.address + info.size)
                reference.functions[key] = [info]
