"""Convert the DWARF and the symbol table of an object file.

No symbol, string, row or function passes through Python on its way.
"""

from __future__ import annotations

import os

from gsym._native import check, ffi, lib, new_error, to_bytes
from gsym.conversion_output import ConversionOutput
from gsym.conversion_report import ConversionWarning
from gsym.errors import EmptyError
from gsym.sources.debug_info import find_debug_info
from gsym.sources.fat import choose_slice
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile
from gsym.sources.section_loading import load_debug_sections
from gsym.workers import run_workers

__all__ = ["convert_dwarf"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.conversion_output import ConversionRequest
    from gsym.conversion_report import ConversionReport
    from gsym.sources.debug_info import DebugInfo
    from gsym.sources.object_file import Section

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
    lib.GSYM_WARN_DECL_FILE_INDEX: "Invalid file index in DW_AT_decl_file",
    lib.GSYM_WARN_CALL_FILE_INDEX: "Invalid file index in DW_AT_call_file",
    lib.GSYM_WARN_INLINE_UNCONTAINED: "Function DIE has uncontained address range",
    lib.GSYM_WARN_INLINE_EMPTY: ("DIE contains inline functions with no valid ranges"),
    lib.GSYM_WARN_DEPTH: "DIEs nested too deeply",
    lib.GSYM_WARN_LIMIT: "Limit reached, part of a function is left out",
    lib.GSYM_WARN_SPLIT_MISSING: "Split unit (.dwo) not found",
    lib.GSYM_WARN_SUPPLEMENTARY_MISSING: (
        "Reference to a supplementary file that is missing"
    ),
    lib.GSYM_WARN_SYMBOL: (
        "Symbol left out: name unreadable or too long, or size impossible"
    ),
}

# Below this much .debug_info a second thread costs more than it brings.
_BYTES_PER_THREAD = 4 << 20
_MOST_THREADS = 256


def convert_dwarf(request: ConversionRequest) -> ConversionReport:
    """Carry *request* out; `gsym.convert` tells what it raises."""
    path = request.input
    data = choose_slice(map_file(path), path, request.architecture)
    with ObjectFile(data, path) as source:
        output = ConversionOutput(
            request, big_endian=source.big_endian, base_address=source.base_address
        )
        output.set_uuid(source.uuid)
        found = find_debug_info(source, request.search)
        job = _Job(source, found, output, request)
        job.read()
        if request.merged_functions:
            output.merge_functions()
        job.add_symbols()
        try:
            return output.write(
                architecture=source.architecture,
                build_id=source.uuid,
                companions=found.companions,
                notes=found.notes,
                warnings=job.warnings(),
                details=job.details(),
                placements=source.placements,
            )
        except EmptyError as error:
            reason = "; ".join((error.reason, *found.notes))
            raise EmptyError(reason, path=error.path) from None


class _Job:
    """The engine's handles for one conversion and what they borrow."""

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
        self._flags = (
            lib.GSYM_CONVERT_CALL_SITES * request.call_sites
            | lib.GSYM_CONVERT_KEEP_WARNINGS * request.keep_warnings
            | lib.GSYM_CONVERT_FULL_WALK * request.full_walk
            | lib.GSYM_CONVERT_KEEP_REPEATED * request.merged_functions
        )
        self._error: Any = new_error()
        self._sections: list[Any] = []
        self._handle: Any = None

    def read(self) -> None:
        """Read all units; afterwards the creator has their functions."""
        info_size = self._source.debug_section_size(lib.GSYM_DEBUG_INFO)
        count = _thread_count(self._request.threads, info_size)
        self._create(count)
        self._set_sections(0, load_debug_sections(self._source, count))
        self._call(lib.gsym_conversion_add_object_text, self._binary.handle)
        for rule in self._request.path_map:
            old, new = map(to_bytes, rule)
            self._call(lib.gsym_conversion_add_path_map, old, len(old), new, len(new))
        self._call(lib.gsym_conversion_scan)
        progress = self._request.progress
        run_workers(
            self._work,
            count,
            None if progress is None else self._poll(progress),
            lambda: lib.gsym_conversion_cancel(self._handle),
        )
        self._call(lib.gsym_conversion_collect)
        self._sections.clear()

    def add_symbols(self) -> None:
        for file in self._found.symbols:
            self._call(lib.gsym_conversion_add_object_symbols, file.handle)

    def warnings(self) -> dict[str, int]:
        counts = {}
        for category, text in _CATEGORIES.items():
            count = lib.gsym_conversion_warning_count(self._handle, category)
            if count:
                counts[text] = count
        if self._source.failed_relocations:
            counts["Relocation could not be applied"] = self._source.failed_relocations
        return counts

    def details(self) -> tuple[ConversionWarning, ...]:
        if not self._flags & lib.GSYM_CONVERT_KEEP_WARNINGS:
            return ()
        size = ffi.new("size_t *")
        items = lib.gsym_conversion_warnings(self._handle, size)
        return tuple(
            ConversionWarning(_CATEGORIES[item.category], item.offset, item.value)
            for item in (items[i] for i in range(size[0]))
        )

    def _create(self, threads: int) -> None:
        options = ffi.new("gsym_conversion_options *")
        options.flags = self._flags
        options.thread_count = threads
        options.big_endian = self._source.big_endian
        made = ffi.new("gsym_conversion **")
        creator = self._output.creator
        self._check(lib.gsym_conversion_create(creator, options, made, self._error))
        self._handle = ffi.gc(made[0], lib.gsym_conversion_destroy)

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
        check(lib.gsym_conversion_work(self._handle, error), error, self._source.path)

    def _poll(self, progress: Callable[[int, int], None]) -> Callable[[], None]:
        done, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")

        def poll() -> None:
            lib.gsym_conversion_progress(self._handle, done, total)
            progress(done[0], total[0])

        return poll

    def _call(self, function: Any, *arguments: Any) -> None:
        self._check(function(self._handle, *arguments, self._error))

    def _check(self, status: int) -> None:
        check(status, self._error, self._source.path)


def _thread_count(wanted: int | None, info_size: int) -> int:
    if wanted is not None:
        return min(wanted, _MOST_THREADS)
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, info_size // _BYTES_PER_THREAD))
