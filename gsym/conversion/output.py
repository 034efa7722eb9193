"""The way out that conversions share: one creator, then one file or its segments."""

from __future__ import annotations

import _thread
import os
import sys
import time

from gsym.containers.mapped_file import map_file
from gsym.conversion.input_file import NO_NAME, InputFile, member_label
from gsym.conversion.options import ConvertOptions
from gsym.conversion.report import LIMIT_REACHED, ConversionReport, ConversionWarning
from gsym.engine.native import bytes_of, check, ffi, lib, new_error, new_object
from gsym.errors import ArchitectureError, EmptyError, GsymError
from gsym.model import BEST_LEVEL, detail_level
from gsym.modules.key import (
    ModuleKey,
    fits_uuid,
    is_absent,
    is_hex,
    uuid_code_id,
    uuid_debug_id,
)
from gsym.modules.part import module_part
from gsym.records import NamedTuple
from gsym.writing.creator_handle import finish_creator, iter_finished, new_creator

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from gsym.containers.data_symbols import DataSymbol
    from gsym.conversion.debug_info import DebugInfo
    from gsym.writing.selection import Selection
    from gsym.writing.source_part import SourceFiles


class ConversionRequest(NamedTuple):
    """A conversion: its input, its output, and what is wanted of it.

    *started* is the value of `time.perf_counter` at its start; *debug_info* are the
    files of a binary, if they have been looked for.
    """

    started: float
    source: InputFile
    output: str
    options: ConvertOptions = ConvertOptions()
    selection: Selection | None = None
    progress: Callable[[int, int], None] | None = None
    debug_info: DebugInfo | None = None

    @property
    def input(self) -> str:
        """The name of the input."""
        return self.source.path

    def check_architecture(self, found: str) -> None:
        """Raise `ArchitectureError` if the input is for another one than was asked."""
        if self.options.arch not in {None, found}:
            known = found or "an unknown architecture"
            reason = f"is for {known}, not for {self.options.arch}"
            raise ArchitectureError(reason, path=self.input)

    def with_options(self, **options: Any) -> ConversionRequest:
        """Copy this with other options."""
        return self._replace(options=self.options._replace(**options))


_LARGE = 1 << 20  # bytes of an output
_CONTRADICTION = "Id omitted: it contradicts the UUID"
_NO_SOURCES = "No source file found: the debug information has none"
_LARGE_SOURCE = "Source file omitted: it has more than 64 MiB"
_NO_VARIABLES = "No variable found: only symbol tables of ELF files name them"
_COUNTS_OF_INPUT = (
    "functions_debug_info",
    "functions_symbol_table",
    "functions_merged",
    "functions_pruned",
    "duplicates_different",
)


class ConversionOutput:
    """A creator that an input fills, and its output.

    With *keep_all* functions are added in ascending order, and none is pruned. In
    version 1 symbols of variables are where an index would be.

    Raises:
        ValueError: The version is unknown.
    """

    def __init__(  # noqa: PLR0913 - what inputs know of their outputs
        self,
        request: ConversionRequest,
        *,
        big_endian: bool,
        base_address: int | None,
        version: int = lib.GSYM_VERSION_1,
        keep_all: bool = False,
        has_variables: bool = False,
    ) -> None:
        self._request = request
        self._label = member_label(request.input, request.options.member)
        self._uuid = b""
        self._big_endian = big_endian
        self._is_selection = False
        self._cut_functions = 0
        self._error: Any = new_error()
        options = request.options
        self._version = (
            version if options.output_version is None else options.output_version
        )
        order = options.byteorder
        is_taken = self._version == lib.GSYM_VERSION_1 and (
            options.data_symbols or has_variables
        )
        self.creator: Any = new_creator(
            version=self._version,
            big_endian=big_endian if order is None else order == "big",
            base_address=base_address,
            keep_all=keep_all,
            has_index=options.index and not is_taken,
            path=self._label,
        )

    def set_uuid(self, own: bytes) -> None:
        """Write the requested identifier, or else the input's *own*."""
        uuid = own if self._request.options.uuid is None else self._request.options.uuid
        self._check(
            lib.gsym_creator_set_uuid(self.creator, uuid, len(uuid), self._error)
        )
        self._uuid = uuid

    def merge_functions(self) -> None:
        """Merge functions of equal range, before symbols are added."""
        self._check(lib.gsym_creator_merge_functions(self.creator, self._error))

    def write(  # noqa: PLR0913 - each a field of the report
        self,
        *,
        architecture: str,
        build_id: bytes,
        module: ModuleKey,
        warnings: dict[str, int],
        details: tuple[ConversionWarning, ...],
        companions: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        placements: tuple[tuple[str, int, int], ...] = (),
        functions_pclntab: int = 0,
        symbol_sources: dict[str, int] | None = None,
        variables: Iterable[DataSymbol] = (),
        data_part: bytes = b"",
        sources: SourceFiles | None = None,
    ) -> ConversionReport:
        """Write the file, or its segments."""
        request = self._request
        if sources is not None and sources.too_large:
            warnings = warnings | {_LARGE_SOURCE: sources.too_large}
        elif request.options.embedded_sources and not sources:
            warnings = warnings | {_NO_SOURCES: 1}
        if request.options.call_sites_yaml is not None:
            from gsym.writing.call_sites import add_call_sites

            add_call_sites(self.creator, request.options.call_sites_yaml)
            companions = (*companions, request.options.call_sites_yaml)
        found = self._select(request.selection) if request.selection else None
        part = data_part
        if request.options.data_symbols and not part:
            from gsym.writing.data_part import make_data_part

            part = make_data_part(variables, self._uuid)
            warnings = warnings if part else warnings | {_NO_VARIABLES: 1}
        if request.options.segment_size is None:
            outputs: tuple[str, ...] = (request.output,)
            named, omitted = self._sound(self._named(module, build_id))
            warnings = warnings | omitted
            counts, is_written, note = self._write_file(part, sources, named)
            notes += note
        else:
            counts = self._finish()
            outputs, is_written = self._write_segments(request.options.segment_size)
            warnings = warnings | _left_out(part, sources)
        if self._cut_functions:
            cut = warnings.get(LIMIT_REACHED, 0) + self._cut_functions
            warnings = warnings | {LIMIT_REACHED: cut}
        dropped = 0
        if found is not None:
            kept = counts["functions"] - counts["functions_continued"]
            dropped = found["functions"] - kept
            counts |= {name: found[name] for name in _COUNTS_OF_INPUT}
        return ConversionReport(
            input=request.input,
            member=request.options.member or "",
            outputs=outputs,
            architecture=architecture,
            version=self._version,
            uuid=self._uuid,
            build_id=build_id,
            placements=placements,
            functions_pclntab=functions_pclntab,
            symbol_sources=symbol_sources or {},
            functions_dropped=dropped,
            **counts,
            warnings=warnings,
            details=details,
            companions=companions,
            notes=notes,
            seconds=time.perf_counter() - request.started,
            peak_memory=peak_memory(),
            is_written=is_written,
        )

    def _write_file(
        self, part: bytes, sources: SourceFiles | None, named: ModuleKey
    ) -> tuple[dict[str, int], bool, tuple[str, ...]]:
        """Write one file, with its source files and the part that names its module.

        Returns counts, whether it was written, and a note if a better one is kept.
        """
        from gsym.writing.atomic_file import AtomicFile

        request = self._request
        keep_same = request.options.if_changed
        with AtomicFile(request.output, keep_same=keep_same, sync_folder=False) as file:
            counts = self._finish()
            size = counts["file_size"]
            kept = self._better_output(counts)
            if kept:
                file.discard()
                counts["file_size"] = os.path.getsize(request.output)
                return counts, False, kept
            paths: set[str] = set()
            if sources:
                image = self._finished()
                from gsym.reading.reader import Reader

                with Reader(image) as reader:
                    paths = {*reader.files()}
                file.write(image)
            else:
                for chunk in iter_finished(self.creator, size):
                    file.write(chunk)
            if part:
                from gsym.writing.data_part import DATA_ALIGNMENT

                part = bytes(-size % DATA_ALIGNMENT) + part
            if sources:
                from gsym.writing.source_part import make_source_part

                part += make_source_part(sources, paths, size + len(part))
            part += module_part(named, size + len(part))
            file.write(part)
            counts["file_size"] = size + len(part)
            if request.options.threads != 1 and size > _LARGE:
                self._release()  # while this thread waits for the disk
        return counts, file.is_written, kept

    def _better_output(self, counts: dict[str, int]) -> tuple[str, ...]:
        """A note if the output is kept: it is of the same build and has more detail."""
        path = self._request.output
        level = detail_level(
            counts["functions_with_lines"], counts["functions_with_inlines"]
        )
        is_asked = self._request.options.force or not self._uuid
        if is_asked or level == BEST_LEVEL or not os.path.isfile(path):
            return ()
        try:
            if _detail_of(path, self._uuid) <= level:
                return ()
        except (GsymError, OSError):
            return ()  # what cannot be read is replaced
        more = "inlined calls" if level else "lines"
        return (f"{path} is kept: it has {more}, a new file has none (see --force)",)

    def _sound(self, named: ModuleKey) -> tuple[ModuleKey, dict[str, int]]:
        """*named* without ids that contradict the UUID of the output.

        The warning counts these. What is no id at all is left out without a warning.
        Nothing is left if the output should not name its module.
        """
        if not self._request.options.identity:
            return ModuleKey(), {}
        kept = named
        if not is_hex(kept.code_id) or not fits_uuid(kept, self._uuid):
            kept = kept._replace(code_id="")
        if not fits_uuid(kept, self._uuid):
            kept = kept._replace(debug_id="")
        omitted = sum(
            each != left and is_hex(each) and not is_absent(each)
            for each, left in zip(named, kept, strict=True)
        )
        return kept, {_CONTRADICTION: omitted} if omitted else {}

    def _named(self, module: ModuleKey, build_id: bytes) -> ModuleKey:
        """Module of the output, which has the UUID that was asked for."""
        if self._request.input == NO_NAME:
            names = {"debug_file": module.debug_file, "code_file": module.code_file}
            unknown = {each: "" for each, name in names.items() if name == NO_NAME}
            module = module._replace(**unknown)
        if self._uuid == build_id:
            return module
        byteorder = "big" if self._big_endian else "little"
        return module._replace(
            debug_id=uuid_debug_id(self._uuid, module.os, byteorder),
            code_id=uuid_code_id(self._uuid, module.os),
        )

    def _finish(self) -> dict[str, int]:
        """Lay the file out; the counts of the report."""
        try:
            counts = finish_creator(self.creator, self._label)._asdict()
        except EmptyError:
            if self._is_selection:
                raise EmptyError("no function is selected", path=self._label) from None
            raise
        self._cut_functions += lib.gsym_creator_cut_functions(self.creator)
        return counts

    def _release(self) -> None:
        """Have another thread free what the creator holds; nothing follows."""
        try:
            _thread.start_new_thread(lib.gsym_creator_release, (self.creator,))
        except RuntimeError:
            return  # too many threads: it is freed later

    def _finished(self) -> bytes:
        return b"".join(map(bytes, iter_finished(self.creator)))

    def _select(self, selection: Selection) -> dict[str, int]:
        """Go on with the selected functions alone; the counts of all."""
        from gsym.writing.selection import select_functions

        counts = self._finish()
        self.creator = select_functions(self._finished(), selection)
        self._is_selection = True
        return counts

    def _write_segments(self, size: int) -> tuple[tuple[str, ...], bool]:
        from gsym.writing.selection import write_segments

        whole = self._finished()
        request = self._request
        return write_segments(
            whole, request.output, size, keep_same=request.options.if_changed
        )

    def _check(self, status: int) -> None:
        check(status, self._error, self._label)


def _detail_of(path: str, uuid: bytes) -> int:
    """The `detail_level` of a GSYM file; 0 if it is of another build than *uuid*.

    By the engine alone, because the import of a reader takes longer than that.
    """
    data, header = map_file(path), ffi.new("gsym_header *")
    life = lib.gsym_image_open, lib.gsym_image_close
    image = new_object("image", *life, bytes_of(data), len(data), path=path)
    lib.gsym_image_header(image, header)
    start = header.file_offset + header.uuid_offset
    if data[start : start + header.uuid_size] != uuid:
        return 0
    total, error = ffi.new("gsym_statistics *"), new_error()
    all_entries = image, 0, header.num_addresses
    check(lib.gsym_image_measure(*all_entries, total, ffi.NULL, error), error, path)
    return detail_level(total.own.line_table, total.own.inline_info)


def _left_out(data_part: bytes, sources: SourceFiles | None) -> dict[str, int]:
    """The warnings that variables and source files have no place."""
    from gsym.writing.data_part import count_variables

    counts = {
        "Variable omitted: no place for it in segments": count_variables(data_part),
        "Source file omitted: no place for it in segments": len(sources.texts)
        if sources
        else 0,
    }
    return {text: count for text, count in counts.items() if count}


def peak_memory() -> int:
    """The peak memory of this process, in bytes.

    Linux counts in the usage of a process what its parent had when it started it.
    """
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            return int(file.read().partition(b"VmHWM:")[2].split(maxsplit=1)[0]) * 1024
    except (OSError, IndexError, ValueError):
        pass
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
