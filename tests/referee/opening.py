"""Compare GSYM files with their binaries by second decoders only."""

from __future__ import annotations

from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import gsym
from gsym.arguments import pairs_of
from gsym.containers.mapped_file import map_file
from gsym.containers.pdb_file import PdbFile
from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.identity import find_fitting, pdb_identity
from gsym.conversion.options import ConvertOptions
from gsym.errors import FormatError, GsymError, UnsupportedError
from gsym.model import UINT64_END
from gsym.modules.key import Comparison as Fit, compare as compare_keys
from gsym.verification.reference import NOT_COMPARED, find_split_units
from tests.referee.binary import BinaryReference, Part
from tests.referee.breakpad import BreakpadReference
from tests.referee.comparison import Comparer
from tests.referee.elf import ReferenceElf
from tests.referee.macho import LinkedObject, ReferenceMacho
from tests.referee.pclntab import GoElf, add_pclntab
from tests.referee.pdb import PdbReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.identity import Saying
    from gsym.verification.comparison import Difference
    from gsym.verification.decoder.file import DebugSections
    from gsym.verification.reference import Place
    from tests.referee.file import ReferenceFile
    from tests.referee.pclntab import GoFile
    from tests.referee.reference import Reference

_KEPT = 1000


class Comparison(NamedTuple):
    """Result of `compare`."""

    differences: list[Difference]
    functions: int  # functions of the debug information that were compared
    symbols: int  # functions of the file that are only in the symbol table
    units: int
    units_in_all: int
    source: str  # what has the functions, if not units or besides them
    # functions that units outside the sample also describe, perhaps better
    undecided: int
    unread: dict[Place, str]
    uncompared: dict[str, int]
    rows_alone: int  # ranges with rows of line tables where the file has no function
    notes: tuple[str, ...]


def compare(  # noqa: PLR0913 - as `gsym.verification.check.compare`
    path: str,
    binary: str,
    *,
    sample: int | None = None,
    path_map: Sequence[tuple[str, str]] = (),
    search: ConvertOptions | None = None,
    like_llvm: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare a GSYM file with what second decoders read in *binary*."""
    rules = pairs_of("path_map", path_map)
    places = (search or ConvertOptions())._replace(path_map=tuple(rules))

    def open_binary(binary: ObjectFile, stack: ExitStack) -> Reference:
        found = find_debug_info(binary, places)
        if found.pdb is not None:
            pdb = found.pdb
            return PdbReference(pdb.data, pdb.path, binary.base_address or 0, rules)
        file = _open(binary)
        stack.callback(file.close)
        _add_companions(file, binary, found)
        parts = list(_parts(file, found, rules))
        unread = find_split_units(
            parts[0].splits, _split_sections, binary, found, places
        )
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
            return _with_fit(described, compare_keys(own, said(own)))
        if kind not in {"object", "fat"}:
            raise UnsupportedError(NOT_COMPARED, path=member)
        with ExitStack() as stack:
            opened, fit = find_fitting(member, said)
            stack.enter_context(opened)
            return _with_fit(open_binary(opened, stack), fit)

    try:
        with gsym.open(path) as reader:
            reference = open_of(reader.module_like)
            comparer = Comparer(reference)
            return Comparison(
                list(islice(comparer.differences(reader), _KEPT)),
                comparer.functions,
                comparer.symbols,
                reference.units,
                reference.all_units,
                reference.source,
                comparer.undecided,
                reference.unread,
                dict(comparer.uncompared),
                comparer.rows_alone,
                reference.notes,
            )
    except (GsymError, OSError, MemoryError):
        raise
    except Exception as error:
        # pyelftools raises many kinds of exceptions on damaged input.
        raise FormatError(f"pyelftools: {error!r}", path=binary) from error


def _with_fit(reference: Reference, fit: Fit) -> Reference:
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
        is_file = Path(binary.path).exists()
        file = GoElf(binary.path, None if is_file else binary.data)
    else:
        raise UnsupportedError(NOT_COMPARED, path=binary.path)
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


def _split_sections(path: str) -> DebugSections:
    """The sections of split units; the file is closed, for there may be very many."""
    file = ReferenceElf(path)
    try:
        return file.dwarf_sections(".dwo")
    finally:
        file.close()


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
