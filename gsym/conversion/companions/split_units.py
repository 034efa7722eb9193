"""Split units: in the binary, in a package, or in a .dwo file each.

A package is beside the binary, or where the binary's .debug_dwp says.

A skeleton unit names its .dwo file as the compiler wrote it, often relative to the
folder that it compiled in, and often on another machine.
"""

from __future__ import annotations

import os

from gsym.containers.fat import open_slice
from gsym.conversion.companions.elf import DWP, own_checksum, read_link
from gsym.conversion.companions.search import CompanionSearch, SearchNote
from gsym.engine.native import lib
from gsym.errors import FormatError, GsymError
from gsym.model import rewritten

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gsym.containers.object_file import ObjectFile
    from gsym.conversion.options import ConvertOptions

_SHOWN = 5  # candidates that a report names
_WANTED = 16  # of which a note has the paths


def _mismatch(file: ObjectFile) -> str:
    size = file.debug_section_size(lib.GSYM_DEBUG_INFO, split=True)
    return "" if size else "has no split units"


class SplitUnitSearch:
    """Finds the files with the split units of a binary.

    *complete* takes the split units of a file and returns whether there were any that
    fit.
    """

    def __init__(
        self,
        binary: ObjectFile,
        dwarf: ObjectFile,
        options: ConvertOptions,
        complete: Callable[[ObjectFile], bool],
    ) -> None:
        self.used: list[str] = []  # paths of the files whose units were taken
        self._own = (dwarf,) if dwarf is binary else (dwarf, binary)
        self._search = CompanionSearch(binary, many=True, aligns=False)
        self._folder = os.path.dirname(binary.path)
        self._neighbours = dict.fromkeys((f"{binary.path}.dwp", f"{dwarf.path}.dwp"))
        self._package = options.dwp
        self._path_map = options.path_map
        self._complete = complete
        self._asked: set[tuple[str, str]] = set()
        self._opened: set[str] = set()
        self._failed = 0
        self._wanted: list[str] = []

    def take_package(self) -> None:
        """Take the units of the package that was asked for.

        Or else those in the binary, in its debug file, and of a package that one of
        them names or that is beside them.
        """
        if self._package is None:
            for file in self._own:  # clang -gsplit-dwarf=single; a package merged in
                if not _mismatch(file):
                    self._complete(file)
            for file in self._own:
                self._take_linked(file)
            self._take_first(self._neighbours)
            return
        package = open_slice(self._package)
        if _mismatch(package) or not self._complete(package):
            reason = f"it has no split unit of {self._search.binary.path}"
            raise FormatError(reason, path=self._package)
        self.used.append(self._package)

    def take_files(self, skeletons: Iterable[tuple[str, str]]) -> None:
        """Take the .dwo files of skeleton units.

        Those are given by DW_AT_dwo_name and DW_AT_comp_dir, when the turn of each
        comes.
        """
        for skeleton in skeletons:
            if skeleton not in self._asked:
                self._asked.add(skeleton)
                self._take_first(self._paths_of(*skeleton))

    def describe(self, missing: int) -> SearchNote:
        """A sentence on *missing* units that were not found."""
        units = f"{missing} split unit{'s' if missing > 1 else ''} not found"
        more = f" and {self._failed - _SHOWN} more" if self._failed > _SHOWN else ""
        return SearchNote(f"{units}: {self._search.describe()}{more}", self._wanted)

    def _take_first(
        self, paths: Iterable[str], mismatch: Callable[[ObjectFile], str] = _mismatch
    ) -> None:
        tried = self._search.tried
        known = len(tried)
        for path in paths:
            if path not in self._opened and self._take(path, mismatch):
                del tried[known:]
                return
        self._failed += len(tried) - known
        failed = [each.source for each in tried[known:]]
        self._wanted += failed[: _WANTED - len(self._wanted)]
        del tried[_SHOWN:]

    def _take_linked(self, file: ObjectFile) -> None:
        """Take the units of the package that .debug_dwp names, if its id is right."""
        try:
            link = read_link(file, DWP)
        except GsymError as error:
            self._search.refuse(DWP, error.reason)
            return
        if link is None:
            return
        name, wanted = link

        def mismatch(package: ObjectFile) -> str:
            has_other_id = own_checksum(package, DWP) != wanted
            return "has another id" if has_other_id else _mismatch(package)

        folders = map(os.path.dirname, (file.path, os.path.realpath(file.path)))
        paths = dict.fromkeys(os.path.join(folder, name) for folder in folders)
        self._take_first(paths, mismatch)

    def _take(self, path: str, mismatch: Callable[[ObjectFile], str]) -> bool:
        for file in self._search.open(path, mismatch):
            self._opened.add(path)
            try:
                if self._complete(file):
                    self.used.append(path)
                    return True
                self._search.refuse(path, "has other units")
            except GsymError as error:
                self._search.refuse(path, error.reason)
        return False

    def _paths_of(self, name: str, folder: str) -> Iterator[str]:
        """Paths that a .dwo file may have."""
        recorded = os.path.join(folder, name)
        yield recorded
        if (moved := rewritten(recorded, self._path_map)) != recorded:
            yield moved
        if not os.path.isabs(name):
            yield os.path.join(self._folder, name)
        if os.path.basename(name) != name:
            yield os.path.join(self._folder, os.path.basename(name))
