"""A conversion of units: those of DWARF, or the modules of a PDB."""

from __future__ import annotations

from gsym.conversion.options import engine_flags
from gsym.conversion.report import LIMIT_REACHED, ConversionWarning
from gsym.engine.native import check, ffi, lib, new_error, new_object, to_bytes
from gsym.engine.workers import core_count, run_workers

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from gsym.conversion.output import ConversionOutput, ConversionRequest

# By gsym_warning_category.
_CATEGORIES = {
    lib.GSYM_WARN_UNIT_SKIPPED: "Unit skipped: damaged header or unknown version",
    lib.GSYM_WARN_ABBREVIATIONS: "Damaged abbreviations",
    lib.GSYM_WARN_DIE_DAMAGED: "DIE cannot be read, rest of its unit is skipped",
    lib.GSYM_WARN_REFERENCE: "Reference to a DIE that does not exist",
    lib.GSYM_WARN_NO_NAME: "Function has no name",
    lib.GSYM_WARN_RANGE_INVALID: "Invalid address range",
    lib.GSYM_WARN_TOO_LARGE: "Code of 4 GiB or more that records cannot hold",
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
    lib.GSYM_WARN_LIMIT: LIMIT_REACHED,
    lib.GSYM_WARN_SPLIT_MISSING: "Split unit (.dwo) not found",
    lib.GSYM_WARN_UNIT_NOT_RELOCATED: (
        "Unit skipped: its relocations could not be applied"
    ),
    lib.GSYM_WARN_SPLIT_CONTRADICTS: (
        "Function of a split unit (.dwo) contradicts the binary"
    ),
    lib.GSYM_WARN_SUPPLEMENTARY_MISSING: (
        "Reference to a supplementary file that is missing"
    ),
    lib.GSYM_WARN_SYMBOL: (
        "Symbol left out: name unreadable or too long, or size impossible"
    ),
    lib.GSYM_WARN_GO_FUNCTION: "Damaged function in the pclntab",
    lib.GSYM_WARN_GO_VALUES: "Damaged lines or files in the pclntab",
    lib.GSYM_WARN_GO_CALLS: "Inlined calls of a Go function cannot be read",
    lib.GSYM_WARN_PDB_SYMBOL: "Damaged symbol or inline site in a PDB module",
    lib.GSYM_WARN_PDB_LINES: "Damaged lines in a PDB module",
    lib.GSYM_WARN_PDB_REMOVED: "Function that an optimizer removed after linking",
    lib.GSYM_WARN_PDB_MANAGED: "Function of .NET code, which has no address",
}

_MAX_THREADS = 256


class UnitJob:
    """The engine's `gsym_conversion` and its workers."""

    def __init__(
        self,
        request: ConversionRequest,
        output: ConversionOutput,
        path: str,
        threads: int,
    ) -> None:
        self._request = request
        self._output = output
        self._path = path
        self._threads = threads
        self._flags = engine_flags(request.options, lib)
        self._error: Any = new_error()
        self.handle: Any = None  # the `gsym_conversion *`, once it is created

    def warnings(self) -> dict[str, int]:
        """Category of warning -> number."""
        counts = lib.gsym_conversion_warning_counts(self.handle)
        return {
            text: counts[category]
            for category, text in _CATEGORIES.items()
            if counts[category]
        }

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

    def _create(self, *, big_endian: bool) -> None:
        options = ffi.new("gsym_conversion_options *")
        options.flags = self._flags
        options.thread_count = self._threads
        options.big_endian = big_endian
        self.handle = new_object(
            *("conversion", lib.gsym_conversion_create, lib.gsym_conversion_destroy),
            *(self._output.creator, options),
            path=self._path,
        )

    def _add_path_map(self) -> None:
        for rule in self._request.options.path_map:
            old, new = map(to_bytes, rule)
            self._call(lib.gsym_conversion_add_path_map, old, len(old), new, len(new))

    def _convert_units(self) -> None:
        progress = self._request.progress

        def work() -> None:
            error: Any = new_error()
            check(lib.gsym_conversion_work(self.handle, error), error, self._path)

        run_workers(
            work,
            self._threads,
            None if progress is None else self._poll(progress),
            lambda: lib.gsym_conversion_cancel(self.handle),
        )
        self._call(lib.gsym_conversion_collect)

    def _poll(self, progress: Callable[[int, int], None]) -> Callable[[], None]:
        done, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")

        def poll() -> None:
            lib.gsym_conversion_progress(self.handle, done, total)
            progress(done[0], total[0])

        return poll

    def _call(self, function: Any, *arguments: Any) -> None:
        check(function(self.handle, *arguments, self._error), self._error, self._path)


def thread_count(request: ConversionRequest, size: int, bytes_per_thread: int) -> int:
    """Number of threads: the wanted one, or what *size* bytes are worth."""
    wanted = request.options.threads
    if wanted is not None:
        return min(wanted, _MAX_THREADS)
    return max(1, min(core_count(), size // bytes_per_thread))
