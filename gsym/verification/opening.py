"""Open what a GSYM file is compared with.

The files that belong to a binary are found as a conversion finds them; what they say
is decoded here, by no code that a conversion uses.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from gsym.containers.recognition import recognise_file
from gsym.conversion.companions.macho import bundle_member
from gsym.conversion.companions.split_units import SplitUnitSearch
from gsym.conversion.debug_info import SearchOptions, find_debug_info
from gsym.conversion.identity import find_fitting
from gsym.errors import UnsupportedError
from gsym.model import UINT64_END
from gsym.verification.binary import BinaryReference, Part
from gsym.verification.breakpad import BreakpadReference
from gsym.verification.decoder.elf import ReferenceElf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.debug_info import DebugInfo
    from gsym.conversion.identity import Saying
    from gsym.modules.key import Comparison
    from gsym.verification.decoder.file import DebugSections, ReferenceFile
    from gsym.verification.reference import Reference

    Progress = Callable[[int, int], None]

_KINDS = {"pdb": "a PDB", "archive": "an archive", "gsym": "a GSYM file"}


class ReferenceOpener:
    """Opens ELF and Breakpad files; the tests have decoders of other kinds.

    Args:
        sample: The number of units to decode; None: all.
        path_map: (old, new) prefixes of paths that are rewritten.
        search: Where to look for files that belong to the binary.
        like_llvm: The conversion followed llvm-gsymutil, see `compare`.
        progress: Called with the bytes done and their total.
    """

    def __init__(
        self,
        *,
        sample: int | None,
        path_map: Sequence[tuple[str, str]],
        search: SearchOptions | None,
        like_llvm: bool,
        progress: Progress | None,
    ) -> None:
        self.path_map = path_map
        self.search = search or SearchOptions()
        self.like_llvm = like_llvm
        self._sample = sample
        self._progress = progress

    def open(self, path: str, said: Saying) -> Reference:
        """What the file at *path* says.

        Args:
            path: A binary or a Breakpad file.
            said: What the GSYM file says of its module.

        Raises:
            UnsupportedError: It is of another kind.
            GsymError: It is damaged.
        """
        path = bundle_member(path)
        kind = recognise_file(path)
        if kind == "breakpad":
            return BreakpadReference(path, self.path_map)
        if kind not in {"object", "fat"}:
            raise not_compared(_KINDS.get(kind, "a file of this kind"), path)
        binary, fit = find_fitting(path, said)
        with binary:
            return with_fit(self.open_binary(binary), fit)

    def open_binary(self, binary: ObjectFile) -> Reference:
        """What a binary says, with the files that belong to it."""
        with ExitStack() as stack:
            file = self.open_file(binary)
            stack.callback(file.close)
            found = find_debug_info(binary, self.search)
            self._add_companions(file, binary, found)
            parts = self.parts(file, found)
            unread = self._find_split_units(parts[0], binary, found)
            reference = BinaryReference(
                file, parts, self._sample, self._progress, like_llvm=self.like_llvm
            )
            if not self.like_llvm:
                self.add_go_functions(reference, file)
            is_missing = found.missing and not reference.functions
            missing = (found.missing,) if is_missing else ()
            reference.notes += (*missing, *found.notes, *unread)
            return reference

    def open_file(self, binary: ObjectFile) -> ReferenceFile:
        """The decoder of an object file.

        Raises:
            UnsupportedError: There is none.
        """
        if not binary.is_elf:
            kind = "a Mach-O file" if binary.is_macho else "a PE file"
            raise not_compared(kind, binary.path)
        # A file within another one, as MiniDebugInfo, has no path of its own.
        is_file = os.path.exists(binary.path)
        file = ReferenceElf(binary.path, None if is_file else binary.data)
        file.bias = binary.bias - UINT64_END * (binary.bias >> 63)
        return file

    def parts(self, file: ReferenceFile, found: DebugInfo) -> list[Part]:
        """The units that describe a binary."""
        del found
        is_moved = file.debug is not None and file.debug.bias
        return [Part(file.debug if is_moved and file.debug else file, self.path_map)]

    def add_go_functions(self, reference: BinaryReference, file: ReferenceFile) -> None:
        """Refuse a Go binary whose functions the DWARF does not describe.

        Raises:
            UnsupportedError: It is one.
        """
        if not reference.functions and file.is_go():
            raise not_compared("the pclntab of a Go binary", file.path)

    def _add_companions(
        self, file: ReferenceFile, binary: ObjectFile, found: DebugInfo
    ) -> None:
        if found.dwarf is not binary:
            file.debug = self.open_file(found.dwarf)
        if found.supplementary is not None:
            file.supplementary = self.open_file(found.supplementary)
            if file.debug is not None:
                file.debug.supplementary = file.supplementary
        file.symbol_files = tuple(
            file if each is binary else self.open_file(each) for each in found.symbols
        )

    def _find_split_units(
        self, part: Part, binary: ObjectFile, found: DebugInfo
    ) -> tuple[str, ...]:
        """Find split units; a sentence on those that are missing."""
        splits = part.splits
        if not splits:
            return ()

        def complete(file: ObjectFile) -> bool:
            return splits.complete(partial(_split_sections, file.path))

        finder = SplitUnitSearch(
            binary, found.dwarf, self.search, self.path_map, complete
        )
        finder.take_package()
        finder.take_files(splits.incomplete())
        missing = sum(1 for _ in splits.incomplete())
        return (finder.describe(missing),) if missing else ()


def not_compared(kind: str, path: str) -> UnsupportedError:
    """The error for a kind of file that has no second decoder."""
    reason = f"{kind} is not compared, only ELF and Breakpad .sym files are"
    return UnsupportedError(reason, path=path)


def with_fit(reference: Reference, fit: Comparison) -> Reference:
    """The reference, which notes that it may be of another build."""
    reference.fit = fit
    if fit.reason and not fit.is_refused:
        reference.notes += (f"the file may be of another build: {fit.reason}",)
    return reference


def _split_sections(path: str) -> DebugSections:
    """The sections of split units; the file is closed, for there may be very many."""
    file = ReferenceElf(path)
    try:
        return file.dwarf_sections(".dwo")
    finally:
        file.close()
