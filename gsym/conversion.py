"""Convert a binary's debug information to a GSYM file.

Python opens, maps, starts threads and writes; everything in between is the
engine's. No symbol, string, row or function passes through Python on its way.
"""

from __future__ import annotations

import os
import time

from gsym._native import check, ffi, lib, new_error, to_bytes
from gsym.atomic_file import AtomicFile, is_same_file
from gsym.creator import iter_finished
from gsym.errors import UnsupportedError
from gsym.sources.mapped_file import map_file
from gsym.sources.object_file import ObjectFile
from gsym.workers import run_workers

__all__ = ["ConversionReport", "ConversionWarning", "convert"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    class ConversionWarning(NamedTuple):
        """One thing that was wrong with the input.

        *offset* is that of the DIE or unit in .debug_info, of the sequence in
        .debug_line, or of the name in the symbol names; *value* the address,
        index or offset at fault.
        """

        category: str
        offset: int
        value: int

    class ConversionReport(NamedTuple):
        """What a conversion read and wrote.

        Attributes:
            input: Path that was converted.
            outputs: Paths that were written: one, or one per segment.
            architecture: Of the binary, as LLVM's target triples name it.
            uuid: Identifier in the output.
            build_id: The binary's own identifier, b"" for none.
            functions_debug_info: Address ranges of functions in the DWARF.
            functions_symbol_table: Functions in the symbol table.
            functions_merged: Functions kept as part of one with the same range.
            functions_pruned: Functions left out since another says more.
            functions: Functions in the output.
            functions_with_lines: Of these, functions with a line table.
            functions_with_inlines: Of these, functions with inlined calls.
            duplicates_different: Pairs of equal ranges with different contents.
            overlapping: Functions that overlap the one before them.
            strings: Strings in the output.
            files: Source files in the output.
            file_size: Of the output, in bytes.
            warnings: Category of warning -> how often.
            details: Each warning, by offset; empty unless asked for.
            seconds: Wall time.
            peak_memory: Peak resident memory of the process, in bytes.
        """

        input: str
        outputs: tuple[str, ...]
        architecture: str
        uuid: bytes
        build_id: bytes
        functions_debug_info: int
        functions_symbol_table: int
        functions_merged: int
        functions_pruned: int
        functions: int
        functions_with_lines: int
        functions_with_inlines: int
        duplicates_different: int
        overlapping: int
        strings: int
        files: int
        file_size: int
        warnings: dict[str, int]
        details: tuple[ConversionWarning, ...]
        seconds: float
        peak_memory: int

else:
    from collections import namedtuple

    ConversionWarning = namedtuple("ConversionWarning", "category offset value")
    ConversionReport = namedtuple(
        "ConversionReport",
        "input outputs architecture uuid build_id functions_debug_info "
        "functions_symbol_table functions_merged functions_pruned functions "
        "functions_with_lines functions_with_inlines duplicates_different "
        "overlapping strings files file_size warnings details seconds peak_memory",
    )
    ConversionWarning.__doc__ = """One thing that was wrong with the input.

    *offset* is that of the DIE or unit in .debug_info, of the sequence in
    .debug_line, or of the name in the symbol names; *value* the address,
    index or offset at fault.
    """
    ConversionReport.__doc__ = (
        "What a conversion read and wrote; docs/api.md explains the fields."
    )

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
    lib.GSYM_WARN_SYMBOL: (
        "Symbol left out: name unreadable or too long, or size impossible"
    ),
}

_COUNTS = (
    "functions_debug_info",
    "functions_symbol_table",
    "functions_merged",
    "functions_pruned",
    "functions",
    "functions_with_lines",
    "functions_with_inlines",
    "duplicates_different",
    "overlapping",
    "strings",
    "files",
    "file_size",
)

# Below this much .debug_info a second thread costs more than it brings.
_BYTES_PER_THREAD = 4 << 20
_MOST_THREADS = 256
_SIZE_END = 1 << 64


def convert(  # noqa: PLR0913 - keywords, each a choice of its own
    input: str | os.PathLike[str],  # noqa: A002 - what it is
    output: str | os.PathLike[str] | None = None,
    *,
    threads: int | None = None,
    version: int = 1,
    uuid: bytes | None = None,
    merged_functions: bool = False,
    call_sites: bool = False,
    segment_size: int | None = None,
    path_map: tuple[tuple[str, str], ...] = (),
    keep_warnings: bool = False,
    keep_same: bool = False,
    full_walk: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> ConversionReport:
    """Convert the DWARF and the symbol table of a binary to a GSYM file.

    The output appears whole or not at all, and its bytes do not depend on
    *threads*.

    Args:
        input: ELF file with debug information.
        output: File to write; by default the input's path with `.gsym` added.
        threads: Worker threads, 256 at most; by default one per core, fewer for
            small inputs.
        version: Version of the format, 1 or 2.
        uuid: Identifier to write instead of the binary's build id.
        merged_functions: Keep functions of equal range as children of the first.
        call_sites: Keep the call sites that the DWARF names.
        segment_size: Split into files of about this many bytes.
        path_map: (old, new) prefixes of source paths; the first that fits counts.
        keep_warnings: Report each warning, not only counts.
        keep_same: Leave an output that would stay the same as it is.
        full_walk: Visit every DIE, also those that are known to hold no code. The
            result is the same; this checks that.
        progress: Called now and then from this thread with (bytes done, bytes in
            all) of .debug_info.

    Raises:
        FormatError: The input is no ELF file or is damaged as a whole.
        UnsupportedError: It is of a kind that is not read.
        EmptyError: It names no function.
        LimitError: The output does not fit version 1, for its size or for an
            identifier of more than 20 bytes; the text names version 2.
        OSError: A file cannot be read or written.
        ValueError: An argument is out of its range, or *output* is *input*.
    """
    started = time.perf_counter()
    source_path = os.fspath(input)
    target = source_path + ".gsym" if output is None else os.fspath(output)
    _check_arguments(source_path, target, threads, segment_size)
    with ObjectFile(map_file(source_path), source_path) as source:
        if source.is_relocatable:
            raise UnsupportedError(
                "a relocatable file; link it first, its relocations are not applied",
                path=source_path,
            )
        identifier = source.uuid if uuid is None else uuid
        flags = (
            lib.GSYM_CONVERT_CALL_SITES * call_sites
            | lib.GSYM_CONVERT_KEEP_WARNINGS * keep_warnings
            | lib.GSYM_CONVERT_FULL_WALK * full_walk
            | lib.GSYM_CONVERT_KEEP_REPEATED * merged_functions
        )
        job = _Job(source, identifier, version, flags)
        for old, new in path_map:
            job.add_path_map(to_bytes(old), to_bytes(new))
        job.read(threads, progress)
        if merged_functions:
            job.merge_functions()
        job.add_symbols()
        if segment_size is None:
            with AtomicFile(target, keep_same=keep_same) as file:
                counts = job.finish()
                for chunk in iter_finished(job.creator):
                    file.write(chunk)
            outputs: tuple[str, ...] = (target,)
        else:
            from gsym.segments import write_segments

            counts = job.finish()
            whole = b"".join(map(bytes, iter_finished(job.creator)))
            outputs = tuple(
                write_segments(whole, target, segment_size, keep_same=keep_same)
            )
        return ConversionReport(
            input=source_path,
            outputs=outputs,
            architecture=source.architecture,
            uuid=identifier,
            build_id=source.uuid,
            **counts,
            warnings=job.warnings(),
            details=job.details(),
            seconds=time.perf_counter() - started,
            peak_memory=_peak_memory(),
        )


class _Job:
    """The engine's handles for one conversion and what they borrow."""

    def __init__(
        self,
        source: ObjectFile,
        uuid: bytes,
        version: int,
        flags: int,
    ) -> None:
        self._source = source
        self._flags = flags
        self._error: Any = new_error()
        self._sections: list[Any] = []
        self._path_map: list[tuple[bytes, bytes]] = []
        self._handle: Any = None
        options = ffi.new("gsym_creator_options *")
        options.version = version
        options.big_endian = source.big_endian
        if source.base_address is not None:
            options.has_base_address = 1
            options.base_address = source.base_address
        made = ffi.new("gsym_creator **")
        self._check(lib.gsym_creator_create(options, made, self._error))
        self.creator: Any = ffi.gc(made[0], lib.gsym_creator_destroy)
        self._check(
            lib.gsym_creator_set_uuid(self.creator, uuid, len(uuid), self._error)
        )

    def add_path_map(self, old: bytes, new: bytes) -> None:
        self._path_map.append((old, new))

    def read(
        self, threads: int | None, progress: Callable[[int, int], None] | None
    ) -> None:
        """Read all units; afterwards the creator has their functions."""
        sections = [
            (which, self._source.debug_section(which))
            for which in range(lib.GSYM_DEBUG_SECTION_COUNT)
        ]
        info = sections[lib.GSYM_DEBUG_INFO][1]
        count = _thread_count(threads, 0 if info is None else len(info[0]))
        self._create(count)
        for which, section in sections:
            if section is not None:
                data = ffi.from_buffer("uint8_t[]", section[0])
                self._sections.append(data)
                self._call(
                    lib.gsym_conversion_set_section, which, data, len(data), section[1]
                )
        self._call(lib.gsym_conversion_add_object_text, self._source.handle)
        for old, new in self._path_map:
            self._call(lib.gsym_conversion_add_path_map, old, len(old), new, len(new))
        self._call(lib.gsym_conversion_scan)
        run_workers(
            self._work,
            count,
            None if progress is None else self._poll(progress),
            lambda: lib.gsym_conversion_cancel(self._handle),
        )
        self._call(lib.gsym_conversion_collect)

    def merge_functions(self) -> None:
        self._check(lib.gsym_creator_merge_functions(self.creator, self._error))

    def add_symbols(self) -> None:
        self._call(lib.gsym_conversion_add_object_symbols, self._source.handle)

    def finish(self) -> dict[str, int]:
        """Lay the file out; the counts of the report."""
        report: Any = ffi.new("gsym_creator_report *")
        self._check(lib.gsym_creator_finish(self.creator, report, self._error))
        return {name: getattr(report, name) for name in _COUNTS}

    def warnings(self) -> dict[str, int]:
        counts = {}
        for category, text in _CATEGORIES.items():
            count = lib.gsym_conversion_warning_count(self._handle, category)
            if count:
                counts[text] = count
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
        self._check(
            lib.gsym_conversion_create(self.creator, options, made, self._error)
        )
        self._handle = ffi.gc(made[0], lib.gsym_conversion_destroy)

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


def _check_arguments(
    source: str, target: str, threads: int | None, segment_size: int | None
) -> None:
    if threads is not None and threads < 1:
        raise ValueError(f"threads: at least 1, not {threads}")
    if segment_size is not None and not 1 <= segment_size < _SIZE_END:
        raise ValueError(f"segment_size: {segment_size} is out of range")
    if segment_size is None and is_same_file(target, source):
        raise ValueError(f"{target}: the output would replace the input")


def _thread_count(wanted: int | None, info_size: int) -> int:
    if wanted is not None:
        return min(wanted, _MOST_THREADS)
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, info_size // _BYTES_PER_THREAD))


def _peak_memory() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
