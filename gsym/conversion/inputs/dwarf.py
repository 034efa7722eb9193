"""Convert the DWARF, the pclntab and the symbol table of an object file.

No symbol, string, row or function passes through Python on its way.
"""

from __future__ import annotations

import os

from gsym.containers.archive import is_archive, member_label, open_member
from gsym.containers.fat import choose_slice
from gsym.containers.mapped_file import map_file
from gsym.containers.object_file import ObjectFile
from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.options import engine_flags
from gsym.conversion.output import ConversionOutput
from gsym.conversion.report import ConversionWarning
from gsym.engine.native import check, ffi, lib, new_error, new_object, to_bytes
from gsym.engine.workers import core_count, run_workers
from gsym.errors import EmptyError, FormatError, UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from gsym.containers.data_symbols import DataSymbol
    from gsym.containers.object_file import Section
    from gsym.conversion.companions.macho import DebugMap
    from gsym.conversion.output import ConversionRequest
    from gsym.conversion.report import ConversionReport

# By gsym_warning_category.
_CATEGORIES = {
    lib.GSYM_WARN_UNIT_SKIPPED: "Unit skipped: damaged header or unknown version",
    lib.GSYM_WARN_ABBREVIATIONS: "Damaged abbreviations",
    lib.GSYM_WARN_DIE_DAMAGED: "DIE cannot be read, rest of its unit is skipped",
    lib.GSYM_WARN_REFERENCE: "Reference to a DIE that does not exist",
    lib.GSYM_WARN_NO_NAME: "Function has no name",
    lib.GSYM_WARN_RANGE_INVALID: "Invalid address range",
    lib.GSYM_WARN_RANGE_OUTSIDE_TEXT: (
        "Address range starts outside executable sections"
    ),
    lib.GSYM_WARN_RANGE_LIST: "Damaged range list",
    lib.GSYM_WARN_LINE_PROGRAM: "Damaged line program",
    lib.GSYM_WARN_LINE_FILE_INDEX: "Invalid file index in DWARF line table",
    lib.GSYM_WARN_LINE_ORDER: "Non-monotonically increasing addresses",
    lib.GSYM_WARN_CALL_FILE_INDEX: "Invalid file index in DW_AT_call_file",
    lib.GSYM_WARN_INLINE_UNCONTAINED: "Function DIE has uncontained address range",
    lib.GSYM_WARN_INLINE_EMPTY: ("DIE contains inline functions with no valid ranges"),
    lib.GSYM_WARN_DEPTH: "DIEs nested too deeply",
    lib.GSYM_WARN_LIMIT: "Limit reached, part of a unit or function is left out",
    lib.GSYM_WARN_SPLIT_MISSING: "Split unit (.dwo) not found",
    lib.GSYM_WARN_SUPPLEMENTARY_MISSING: (
        "Reference to a supplementary file that is missing"
    ),
    lib.GSYM_WARN_SYMBOL: (
        "Symbol left out: name unreadable or too long, or size impossible"
    ),
    lib.GSYM_WARN_GO_FUNCTION: "Damaged function in the pclntab",
    lib.GSYM_WARN_GO_VALUES: "Damaged lines or files in the pclntab",
    lib.GSYM_WARN_GO_CALLS: "Inlined calls of a Go function cannot be read",
}

# Below this much .debug_info a second thread costs more than it brings.
_BYTES_PER_THREAD = 4 << 20
_MAX_THREADS = 256


def convert(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` lists what it raises."""
    data, path = _open(request)
    with ObjectFile(data, path) as source:
        output = ConversionOutput(
            request, big_endian=source.big_endian, base_address=source.base_address
        )
        output.set_uuid(source.uuid)
        found = _find(source, request)
        job = DwarfJob(source, found, output, request)
        job.read()
        job.add_go_functions()
        if request.options.merged_functions:
            output.merge_functions()
        if not request.options.no_symbols:
            job.add_symbols()
        missing = () if job.go_functions else (found.missing,)
        notes = tuple(filter(None, (*missing, *found.notes, *job.notes)))
        try:
            return output.write(
                architecture=source.architecture,
                build_id=source.uuid,
                companions=found.companions + job.companions,
                notes=notes,
                warnings=job.warnings(),
                details=job.details(),
                placements=source.placements,
                functions_pclntab=job.go_functions,
                variables=job.variables() if request.options.data_symbols else (),
            )
        except EmptyError as error:
            reason = "; ".join((error.reason, *notes))
            raise EmptyError(reason, path=error.path) from None


def _open(request: ConversionRequest) -> tuple[memoryview, str]:
    """The bytes to convert, and what errors call them."""
    data, path = request.source.data, request.input
    if request.options.member is not None:
        data = open_member(data, path, request.options.member)
        path = member_label(path, request.options.member)
    data = choose_slice(data, path, request.options.arch)
    if is_archive(data):
        reason = "an archive in another file: extract it first, for example with lipo"
        raise UnsupportedError(reason, path=path)
    return data, path


def _find(source: ObjectFile, request: ConversionRequest) -> DebugInfo:
    if request.options.pclntab == "only":
        return DebugInfo(source, None, (source,), (), ())
    found = request.debug_info or find_debug_info(source, request.search)
    path = request.search.symbol_table
    if path is None:
        return found
    data = choose_slice(map_file(path), path, source.architecture)
    companions = (*found.companions, path)
    return found._replace(symbols=(ObjectFile(data, path),), companions=companions)


class DwarfJob:
    """The engine's handles for one conversion and what they borrow.

    Attributes:
        handle: The `gsym_conversion *`, from `scan` or `select` on.
        companions: Paths of the files with split units that were read.
        go_functions: How many functions the pclntab gave.
        notes: Sentences on split units that were not found, and on a pclntab that
            cannot be read.
    """

    def __init__(
        self,
        binary: ObjectFile,
        found: DebugInfo,
        output: ConversionOutput,
        request: ConversionRequest,
    ) -> None:
        self._binary = binary
        self._found = found
        self._source = found.dwarf
        self._output = output
        self._request = request
        self._flags = engine_flags(request.options, lib)
        self._error: Any = new_error()
        self._sections: list[Any] = []
        self._threads = _thread_count(request.options.threads, self._info_size())
        self._missing_functions = 0  # of linked objects
        self.handle: Any = None
        self.companions: tuple[str, ...] = ()
        self.go_functions = 0
        self.notes: tuple[str, ...] = ()

    def read(self) -> None:
        """Read all units; afterwards the creator has their functions."""
        self.scan()
        if lib.gsym_conversion_skeleton_count(self.handle):
            self._find_split_units()
        self.convert_units()

    def scan(self) -> None:
        """Find the units."""
        self._create()
        if self._request.options.pclntab != "only":
            self._set_sections(0, load_debug_sections(self._source, self._threads))
        if self._found.supplementary is not None:
            self._add_file(lib.GSYM_DWARF_SUPPLEMENTARY, self._found.supplementary)
        if self._found.debug_map is not None:
            self._add_linked_objects(self._found.debug_map)
        self._call(lib.gsym_conversion_add_object_text, self._binary.handle)
        for rule in self._request.options.path_map:
            old, new = map(to_bytes, rule)
            self._call(lib.gsym_conversion_add_path_map, old, len(old), new, len(new))
        self._call(lib.gsym_conversion_scan)

    def select(self, index: Any, units: Sequence[int]) -> None:
        """Take *units*, ascending, of the scanned job that *index* is of."""
        self._create()
        self._call(lib.gsym_conversion_add_object_text, self._binary.handle)
        numbers = ffi.new("uint32_t[]", units)
        self._call(lib.gsym_conversion_select, index, numbers, len(units))

    def convert_units(self) -> None:
        """Read the units that were found."""
        progress = self._request.progress
        run_workers(
            self._work,
            self._threads,
            None if progress is None else self._poll(progress),
            lambda: lib.gsym_conversion_cancel(self.handle),
        )
        self._call(lib.gsym_conversion_collect)
        self._sections.clear()

    def add_go_functions(self) -> None:
        """Read the pclntab, if there is one and it is wanted.

        Raises:
            EmptyError: It alone is wanted, and there is none.
            FormatError: The same, and it is damaged.
            UnsupportedError: The same, and it is of an old Go.
        """
        choice = self._request.options.pclntab
        if choice == "never":
            return
        count = ffi.new("uint64_t *")
        add = lib.gsym_conversion_add_go_functions
        try:
            self._call(add, self._binary.handle, choice == "auto", count)
        except (FormatError, UnsupportedError) as error:
            if choice == "only":
                raise
            self.notes += (f"{error.reason} (at offset {error.offset:#x})",)
        self.go_functions = count[0]
        if choice == "only" and not self.go_functions:
            reason = "no pclntab with a function: this is not a Go binary"
            raise EmptyError(reason, path=self._binary.path)

    def add_symbols(self) -> None:
        """Read the symbol tables."""
        for file in self._found.symbols:
            self._call(lib.gsym_conversion_add_object_symbols, file.handle)

    def variables(self) -> Iterator[DataSymbol]:
        """The symbols of data in all symbol tables."""
        from gsym.containers.data_symbols import VARIABLES, DataSymbols

        for file in (self._binary, *self._found.symbols):
            yield from DataSymbols(file, VARIABLES)

    def warnings(self) -> dict[str, int]:
        """Category of warning -> number."""
        counts = {}
        for category, text in _CATEGORIES.items():
            count = lib.gsym_conversion_warning_count(self.handle, category)
            if count:
                counts[text] = count
        if self._missing_functions:
            text = "Function of the debug map is not in its object file"
            counts[text] = self._missing_functions
        files = (self._source, *self._linked_objects())
        failed = sum(file.failed_relocations for file in files)
        if failed:
            counts["Relocation could not be applied"] = failed
        return counts

    def details(self) -> tuple[ConversionWarning, ...]:
        """Each warning, if they are kept."""
        if not self._flags & lib.GSYM_CONVERT_KEEP_WARNINGS:
            return ()
        size = ffi.new("size_t *")
        items = lib.gsym_conversion_warnings(self.handle, size)
        return tuple(
            ConversionWarning(_CATEGORIES[item.category], item.offset, item.value)
            for item in (items[i] for i in range(size[0]))
        )

    def _create(self) -> None:
        options = ffi.new("gsym_conversion_options *")
        options.flags = self._flags
        options.thread_count = self._threads
        options.big_endian = self._source.big_endian
        self.handle = new_object(
            *("conversion", lib.gsym_conversion_create, lib.gsym_conversion_destroy),
            *(self._output.creator, options),
            path=self._source.path,
        )

    def _add_file(self, role: int, file: ObjectFile) -> int:
        is_split = role == lib.GSYM_DWARF_SPLIT
        sections = load_debug_sections(file, self._threads, split=is_split)
        number = ffi.new("uint32_t *")
        self._call(lib.gsym_conversion_add_file, role, number)
        self._set_sections(number[0], sections)
        return int(number[0])

    def _info_size(self) -> int:
        files = [self._source, *self._linked_objects()]
        return sum(file.debug_section_size(lib.GSYM_DEBUG_INFO) for file in files)

    def _linked_objects(self) -> Iterator[ObjectFile]:
        if self._found.debug_map is not None:
            for linked in self._found.debug_map.objects:
                yield linked.file

    def _add_linked_objects(self, debug_map: DebugMap) -> None:
        missing = ffi.new("uint64_t *")
        for entry, file in debug_map.objects:
            number = self._add_file(lib.GSYM_DWARF_MAIN, file)
            self._call(
                lib.gsym_conversion_add_debug_map,
                *(number, debug_map.handle, entry, file.handle, missing),
            )
            self._missing_functions += missing[0]

    def _find_split_units(self) -> None:
        from gsym.conversion.companions.split_units import SplitUnitSearch

        search = SplitUnitSearch(
            self._binary,
            self._source,
            self._request.search,
            self._request.options.path_map,
            self._complete,
        )
        search.take_package()
        search.take_files(self._incomplete_skeletons())
        self.companions = tuple(search.used)
        missing = sum(1 for _ in self._incomplete_skeletons())
        if missing:
            self.notes += (search.describe(missing),)

    def _complete(self, file: ObjectFile) -> bool:
        """Take the split units of *file*; whether there were any of this binary."""
        number = self._add_file(lib.GSYM_DWARF_SPLIT, file)
        matched = ffi.new("uint64_t *")
        self._call(lib.gsym_conversion_link_split, number, matched)
        return bool(matched[0])

    def _incomplete_skeletons(self) -> Iterator[tuple[str, str]]:
        """DW_AT_dwo_name and DW_AT_comp_dir of those that have no split unit yet."""
        skeleton = ffi.new("gsym_skeleton *")
        for index in range(lib.gsym_conversion_skeleton_count(self.handle)):
            self._call(lib.gsym_conversion_skeleton, index, skeleton)
            if not skeleton.is_complete:
                name = ffi.buffer(skeleton.dwo_name, skeleton.dwo_name_size)
                folder = ffi.buffer(skeleton.comp_dir, skeleton.comp_dir_size)
                yield os.fsdecode(bytes(name)), os.fsdecode(bytes(folder))

    def _set_sections(self, file: int, sections: dict[int, Section]) -> None:
        for which, (data, is_mapping) in sections.items():
            view = ffi.from_buffer("uint8_t[]", data)
            self._sections.append(view)
            self._call(
                lib.gsym_conversion_set_section,
                *(file, which, view, len(view), is_mapping),
            )

    def _work(self) -> None:
        error: Any = new_error()
        check(lib.gsym_conversion_work(self.handle, error), error, self._source.path)

    def _poll(self, progress: Callable[[int, int], None]) -> Callable[[], None]:
        done, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")

        def poll() -> None:
            lib.gsym_conversion_progress(self.handle, done, total)
            progress(done[0], total[0])

        return poll

    def _call(self, function: Any, *arguments: Any) -> None:
        self._check(function(self.handle, *arguments, self._error))

    def _check(self, status: int) -> None:
        check(status, self._error, self._source.path)


# Below this much in all sections a second thread costs more than it brings.
_SECTION_BYTES_PER_THREAD = 1 << 20


def load_debug_sections(
    file: ObjectFile, threads: int, *, split: bool = False
) -> dict[int, Section]:
    """The sections that *file* has, by `gsym_debug_section`.

    With *split*, those of split units; *threads* may work on them.
    """
    sizes = {
        which: file.debug_section_size(which, split=split)
        for which in range(lib.GSYM_DEBUG_SECTION_COUNT)
    }
    # The longest are begun first, for the others fit in beside them.
    waiting = sorted(sizes, key=sizes.__getitem__, reverse=True)
    begun = iter(waiting)  # which the threads share
    loaded: dict[int, Section] = {}

    def work() -> None:
        for which in begun:
            section = file.debug_section(which, split=split)
            if section is not None:
                loaded[which] = section

    count = min(threads, 1 + sum(sizes.values()) // _SECTION_BYTES_PER_THREAD)
    run_workers(work, count, None, waiting.clear)
    return loaded


def _thread_count(wanted: int | None, info_size: int) -> int:
    if wanted is not None:
        return min(wanted, _MAX_THREADS)
    return max(1, min(core_count(), info_size // _BYTES_PER_THREAD))
