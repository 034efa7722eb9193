"""A conversion of units: those of DWARF, or the modules of a PDB."""

from __future__ import annotations

from gsym.conversion.options import engine_flags
from gsym.conversion.report import CATEGORIES, ConversionWarning
from gsym.engine.native import check, ffi, lib, new_error, new_object, to_bytes
from gsym.engine.workers import core_count, run_workers

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.conversion.output import ConversionOutput, ConversionRequest

_MAX_THREADS = 256
# Below this much debug information a second thread costs more than it brings.
_BYTES_PER_THREAD = 4 << 20


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
            for category, text in enumerate(CATEGORIES)
            if counts[category]
        }

    def details(self) -> tuple[ConversionWarning, ...]:
        """Each warning, if they are kept."""
        if not self._flags & lib.GSYM_CONVERT_KEEP_WARNINGS:
            return ()
        size = ffi.new("size_t *")
        items = lib.gsym_conversion_warnings(self.handle, size)
        return tuple(
            ConversionWarning(CATEGORIES[item.category], item.offset, item.value)
            for item in (items[i] for i in range(size[0]))
        )

    def create(self, *, big_endian: bool) -> None:
        """Create the handle."""
        options = ffi.new("gsym_conversion_options *")
        options.flags = self._flags
        options.thread_count = self._threads
        options.big_endian = big_endian
        self.handle = new_object(
            *("conversion", lib.gsym_conversion_create, lib.gsym_conversion_destroy),
            *(self._output.creator, options),
            path=self._path,
        )

    def add_path_map(self) -> None:
        """Add the prefixes of paths that are replaced."""
        for rule in self._request.options.path_map:
            old, new = map(to_bytes, rule)
            self.call(lib.gsym_conversion_add_path_map, old, len(old), new, len(new))

    def read_units(self) -> None:
        """Read all units by all threads; afterwards the creator has their functions."""
        progress = self._request.progress
        done, total = ffi.new("uint64_t *"), ffi.new("uint64_t *")

        def work() -> None:
            error: Any = new_error()
            check(lib.gsym_conversion_work(self.handle, error), error, self._path)

        def poll() -> None:
            lib.gsym_conversion_progress(self.handle, done, total)
            if progress is not None:
                progress(done[0], total[0])

        run_workers(
            work,
            self._threads,
            poll if progress is not None else None,
            lambda: lib.gsym_conversion_cancel(self.handle),
        )
        self.call(lib.gsym_conversion_collect)

    def call(self, function: Any, *arguments: Any) -> None:
        """Call a function of the engine with the handle."""
        check(function(self.handle, *arguments, self._error), self._error, self._path)


def thread_count(request: ConversionRequest, size: int) -> int:
    """Number of threads: the wanted one, or what *size* bytes are worth."""
    wanted = request.options.threads
    if wanted is not None:
        return min(wanted, _MAX_THREADS)
    return max(1, min(core_count(), size // _BYTES_PER_THREAD))
