"""Convert the DWARF, the pclntab and the symbol table of an object file.

No symbol, string, row or function passes through Python on its way.
"""

from __future__ import annotations

import os

from gsym.containers.fat import choose_slice, open_slice
from gsym.containers.object_file import ObjectFile, Section
from gsym.containers.recognition import HEAD_SIZE, recognise
from gsym.conversion.debug_info import DebugInfo, find_debug_info
from gsym.conversion.identity import module_of
from gsym.conversion.input_file import member_label
from gsym.conversion.output import ConversionOutput, ConversionRequest
from gsym.conversion.unit_job import UnitJob, thread_count
from gsym.engine.native import bytes_of, ffi, lib
from gsym.engine.workers import run_workers, taken_from
from gsym.errors import EmptyError, FormatError, UnsupportedError, listed

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from gsym.containers.data_symbols import DataSymbol
    from gsym.conversion.report import ConversionReport
    from gsym.writing.source_part import SourceFiles

_SHOWN = 3  # files with split units that a note names


def convert(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` lists what it raises."""
    data, path = _open(request)
    with ObjectFile(data, path) as source:
        found = _find(source, request)
        if found.pdb is not None:
            from gsym.conversion.inputs.pdb import convert_pdb

            return convert_pdb(
                request,
                found.pdb,
                base_address=source.base_address or 0,
                module=module_of(source),
                companions=found.companions,
            )
        output = ConversionOutput(
            request, big_endian=source.big_endian, base_address=source.base_address
        )
        output.set_uuid(source.uuid)
        job = DwarfJob(source, found, output, request)
        job.read()
        job.add_go_functions()
        if request.options.merged_functions:
            output.merge_functions()
        if not request.options.no_symbols:
            job.add_symbols()
        described = job.go_functions or job.line_functions
        missing = () if described else (found.missing,)
        section = source.bundle_section
        bundle = section and f"{section} has code for GPUs: --member '*' converts it"
        notes = tuple(filter(None, (*missing, *found.notes, *job.notes, bundle)))
        try:
            return output.write(
                architecture=source.architecture,
                build_id=source.uuid,
                module=module_of(source),
                companions=found.companions + job.companions,
                notes=notes,
                warnings=job.warnings(),
                details=job.details(),
                placements=source.placements,
                functions_pclntab=job.go_functions,
                symbol_sources=job.symbol_sources,
                variables=job.variables() if request.options.data_symbols else (),
                sources=job.sources,
            )
        except EmptyError as error:
            reason = "; ".join((error.reason, *notes))
            raise EmptyError(reason, path=error.path) from None


def _open(request: ConversionRequest) -> tuple[memoryview, str]:
    """The bytes to convert, and what errors call them."""
    data, path = request.source.data, request.input
    if request.options.member is not None:
        data = request.source.members.open(request.options.member)
        path = member_label(path, request.options.member)
    data = choose_slice(data, path, request.options.arch)
    if recognise(bytes(data[:HEAD_SIZE])) == "archive":
        reason = "an archive in another file: extract it first, for example with lipo"
        raise UnsupportedError(reason, path=path)
    return data, path


def _find(source: ObjectFile, request: ConversionRequest) -> DebugInfo:
    if request.options.pclntab == "only":
        return DebugInfo(source, None, (source,), (), ())
    found = request.debug_info or find_debug_info(source, request.options)
    path = request.options.symbol_table
    if path is not None:
        file = _open_companion(path, source)
        companions = (*found.companions, path)
        found = found._replace(symbols=(file,), companions=companions)
    path = request.options.symbol_stubs
    if path is not None:
        file = _open_companion(path, source)
        notes = found.notes
        if not file.is_macho:
            notes += (f"{path}: no Mach-O file, so its stubs are not read",)
        companions = (*found.companions, path)
        found = found._replace(stubs=file, companions=companions, notes=notes)
    return found


def _open_companion(path: str, source: ObjectFile) -> ObjectFile:
    file = open_slice(path, source.architecture)
    file.align(source)
    return file


class DwarfJob(UnitJob):
    """A conversion of DWARF, and what the engine borrows for it."""

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
        self._files = {found.dwarf: None}  # in the order in which they were added
        self._sections: list[Any] = []
        self._missing_functions = 0  # of linked objects
        linked = () if found.debug_map is None else found.debug_map.objects
        files = [self._source, *(each.file for each in linked)]
        size = sum(file.debug_section_size(lib.GSYM_DEBUG_INFO) for file in files)
        threads = thread_count(request, size)
        super().__init__(request, output, self._source.path, threads)
        # paths of the files with split units that were read
        self.companions: tuple[str, ...] = ()
        # how many functions line tables without DIEs and BTF gave
        self.line_functions: int = 0
        self.go_functions: int = 0  # how many functions the pclntab gave
        # how many functions each kind of symbol table gave, and stubs
        self.symbol_sources: dict[str, int] = {}
        # sentences on split units that were not found, and on a pclntab that cannot be
        # read
        self.notes: tuple[str, ...] = ()
        # the source files in line tables, where they are wanted
        self.sources: SourceFiles | None = None

    def read(self) -> None:
        """Read all units; afterwards the creator has their functions."""
        self.scan()
        if self._request.options.embedded_sources:
            self.read_sources()
        if lib.gsym_conversion_skeleton_count(self.handle):
            self._find_split_units()
        if self._request.options.pclntab != "only":
            self._add_line_functions()
        self.convert_units()

    def scan(self) -> None:
        """Find the units."""
        self.prepare()
        self.call(lib.gsym_conversion_scan)

    def prepare(self) -> None:
        """Give the conversion all that the scan for units needs."""
        self.create(big_endian=self._source.big_endian)
        if self._request.options.pclntab != "only":
            self._set_sections(0, load_debug_sections(self._source, self._threads))
            self.call(lib.gsym_conversion_add_object_spans, 0, self._source.handle)
        if self._found.supplementary is not None:
            self._add_file(lib.GSYM_DWARF_SUPPLEMENTARY, self._found.supplementary)
        debug_map = self._found.debug_map
        if debug_map is not None:
            missing = ffi.new("uint64_t *")
            for entry, file in debug_map.objects:
                number = self._add_file(lib.GSYM_DWARF_MAIN, file)
                self.call(
                    lib.gsym_conversion_add_debug_map,
                    *(number, debug_map.handle, entry, file.handle, missing),
                )
                self._missing_functions += missing[0]
        self.call(lib.gsym_conversion_add_object_text, self._binary.handle)
        for file in self._found.symbols:
            self.call(lib.gsym_conversion_add_live_code, file.handle)
        self.add_path_map()

    def read_sources(self) -> SourceFiles:
        """Find the source files in the line tables of scanned units."""
        from gsym.conversion.embedded_sources import sources_of_units

        owner = self._files, *self._sections
        self.sources = sources_of_units(self.handle, owner, self._path)
        return self.sources

    def _add_line_functions(self) -> None:
        """Read lines that come without DIEs: of -lineinfo of CUDA, of BTF."""
        count = ffi.new("uint64_t *")
        self.call(lib.gsym_conversion_add_line_functions, self._source.handle, count)
        self.line_functions = count[0]
        if not self._source.has_dwarf:
            self.call(lib.gsym_conversion_add_btf_functions, self._source.handle, count)
            self.line_functions += count[0]

    def select(self, index: Any, units: Sequence[int]) -> None:
        """Take *units*, ascending, of the scanned job that *index* is of."""
        self.create(big_endian=self._source.big_endian)
        self.call(lib.gsym_conversion_add_object_text, self._binary.handle)
        numbers = ffi.new("uint32_t[]", units)
        self.call(lib.gsym_conversion_select, index, numbers, len(units))

    def convert_units(self) -> None:
        """Read the units that were found."""
        self.read_units()
        self._sections.clear()
        counts = lib.gsym_conversion_warning_counts(self.handle)
        count = counts[lib.GSYM_WARN_SPLIT_CONTRADICTS]
        if count:
            one = "one of " * (len(self.companions) > _SHOWN)
            files = one + listed(self.companions, _SHOWN)
            self.notes += (
                f"functions of split units contradict the binary: {count}; symbols and "
                "skeleton units are used instead"
                + (f": {files} may be of another build" if files else ""),
            )

    def add_go_functions(self) -> None:
        """Read the pclntab, if there is one and it is wanted."""
        choice = self._request.options.pclntab
        if choice == "never":
            return
        count = ffi.new("uint64_t *")
        add = lib.gsym_conversion_add_go_functions
        try:
            self.call(add, self._binary.handle, choice == "auto", count)
        except (FormatError, UnsupportedError) as error:
            if choice == "only":
                raise
            self.notes += (f"{error.reason} (at offset {error.offset:#x})",)
        self.go_functions = count[0]
        if choice == "only" and not self.go_functions:
            reason = "no pclntab with a function: this is not a Go binary"
            raise EmptyError(reason, path=self._binary.path)

    def add_symbols(self) -> None:
        """Read the symbol tables, and what the code says beside them."""
        found = self._found
        for file in found.symbols:
            add = lib.gsym_conversion_add_object_symbols
            count = self._add(add, file, self._binary)
            source = "symbol table"
            if file is found.mini_debug_info:
                source = ".gnu_debugdata symbol table"
            elif (
                file.is_elf
                and not file.symbol_table_size
                and (count or file.has_section(b".dynsym"))
            ):
                source = "dynamic symbol table"
            self._count(source, count)
        has_code = self._request.options.image_code
        if has_code:
            self.call(lib.gsym_conversion_add_object_code, self._binary.handle)
        # Those of a Mach-O file are a part of its symbol table.
        object_file = found.symbols[0] if self._binary.is_macho else self._binary
        stubs = found.stubs or object_file
        if stubs.is_macho or (has_code and found.stubs is None):
            count = self._add(lib.gsym_conversion_add_object_stubs, stubs)
            self._count("stubs", count)

    def _add(self, add: Any, *files: ObjectFile) -> int:
        """Call *add* with *files*; how many functions that adds."""
        creator = self._output.creator
        before: int = lib.gsym_creator_symbol_count(creator)
        self.call(add, *(file.handle for file in files))
        return int(lib.gsym_creator_symbol_count(creator)) - before

    def _count(self, source: str, count: int) -> None:
        self.symbol_sources[source] = self.symbol_sources.get(source, 0) + count

    def variables(self) -> Iterator[DataSymbol]:
        """The symbols of data in all symbol tables."""
        from gsym.containers.data_symbols import VARIABLES, DataSymbols

        for file in (self._binary, *self._found.symbols):
            yield from DataSymbols(file, VARIABLES)

    def warnings(self) -> dict[str, int]:
        """Category of warning -> number."""
        counts = super().warnings()
        if self._missing_functions:
            text = "Function of the debug map is not in its object file"
            counts[text] = self._missing_functions
        for file in self._files:
            for kind, count in file.unapplied_relocations.items():
                of = "another type" if kind is None else f"type {kind}"
                text = f"Relocation of {of} could not be applied"
                counts[text] = counts.get(text, 0) + count
        return counts

    def _add_file(self, role: int, file: ObjectFile) -> int:
        self._files[file] = None
        is_split = role == lib.GSYM_DWARF_SPLIT
        sections = load_debug_sections(file, self._threads, split=is_split)
        number = ffi.new("uint32_t *")
        self.call(lib.gsym_conversion_add_file, role, number)
        self._set_sections(number[0], sections)
        return int(number[0])

    def _find_split_units(self) -> None:
        from gsym.conversion.companions.split_units import SplitUnitSearch

        options = self._request.options
        search = SplitUnitSearch(self._binary, self._source, options, self._complete)
        search.take_package()
        search.take_files(self._incomplete_skeletons())
        self.companions = tuple(search.used)
        for file in self._found.symbols:
            self.call(lib.gsym_conversion_add_live_code, file.handle)
        missing = sum(1 for _ in self._incomplete_skeletons())
        if missing:
            self.notes += (search.describe(missing),)

    def _complete(self, file: ObjectFile) -> bool:
        """Take the split units of *file*; whether there were any of this binary."""
        number = self._add_file(lib.GSYM_DWARF_SPLIT, file)
        matched = ffi.new("uint64_t *")
        self.call(lib.gsym_conversion_link_split, number, matched)
        return bool(matched[0])

    def _incomplete_skeletons(self) -> Iterator[tuple[str, str]]:
        """DW_AT_dwo_name and DW_AT_comp_dir of those that have no split unit yet."""
        skeleton = ffi.new("gsym_skeleton *")
        for index in range(lib.gsym_conversion_skeleton_count(self.handle)):
            self.call(lib.gsym_conversion_skeleton, index, skeleton)
            if not skeleton.is_complete:
                name = ffi.buffer(skeleton.dwo_name, skeleton.dwo_name_size)
                folder = ffi.buffer(skeleton.comp_dir, skeleton.comp_dir_size)
                yield os.fsdecode(bytes(name)), os.fsdecode(bytes(folder))

    def _set_sections(self, file: int, sections: dict[int, Section]) -> None:
        for which, (data, is_mapping, distrusted) in sections.items():
            self._sections.append(data)
            self.call(
                lib.gsym_conversion_set_section,
                *(file, which, bytes_of(data), len(data), is_mapping),
            )
            if distrusted[1]:
                self.call(lib.gsym_conversion_distrust, file, which, *distrusted)


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
    waiting = sorted(sizes, key=sizes.__getitem__)
    loaded: dict[int, Section] = {}

    def work() -> None:
        for which in taken_from(waiting):
            section = file.debug_section(which, split=split)
            if section is not None:
                loaded[which] = section

    count = min(threads, 1 + sum(sizes.values()) // _SECTION_BYTES_PER_THREAD)
    run_workers(work, count, None, waiting.clear)
    return loaded
