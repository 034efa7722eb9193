"""Convert several sets of debug sections at once, as the engine takes them."""

from __future__ import annotations

import faulthandler
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import gsym
from gsym.engine.native import check, ffi, lib, new_error
from gsym.writing.creator_handle import iter_finished
from tests.conversions import SECONDS, read_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

MAIN = lib.GSYM_DWARF_MAIN
SUPPLEMENTARY = lib.GSYM_DWARF_SUPPLEMENTARY
SPLIT = lib.GSYM_DWARF_SPLIT

SECTIONS = {
    ".debug_info": lib.GSYM_DEBUG_INFO,
    ".debug_abbrev": lib.GSYM_DEBUG_ABBREV,
    ".debug_line": lib.GSYM_DEBUG_LINE,
    ".debug_str": lib.GSYM_DEBUG_STR,
    ".debug_line_str": lib.GSYM_DEBUG_LINE_STR,
    ".debug_ranges": lib.GSYM_DEBUG_RANGES,
    ".debug_rnglists": lib.GSYM_DEBUG_RNGLISTS,
    ".debug_addr": lib.GSYM_DEBUG_ADDR,
    ".debug_str_offsets": lib.GSYM_DEBUG_STR_OFFSETS,
    ".debug_types": lib.GSYM_DEBUG_TYPES,
    ".debug_cu_index": lib.GSYM_DEBUG_CU_INDEX,
    ".debug_tu_index": lib.GSYM_DEBUG_TU_INDEX,
}
_WARNINGS = {
    getattr(lib, name): name.removeprefix("GSYM_WARN_")
    for name in dir(lib)
    if name.startswith("GSYM_WARN_")
}


class DwarfFile(NamedTuple):
    """Contents of the sections by name; *spans* are (start, size, address)."""

    sections: Mapping[str, bytes | memoryview]
    role: int = MAIN
    spans: Sequence[tuple[int, int, int]] = ()


class Skeleton(NamedTuple):
    dwo_name: bytes
    comp_dir: bytes
    dwo_id: int
    file: int
    unit_offset: int
    is_complete: bool


class Warned(NamedTuple):
    category: str
    file: int
    offset: int
    value: int


class Outcome(NamedTuple):
    functions: list[gsym.FunctionInfo]
    warnings: list[Warned]
    skeletons: list[Skeleton]
    matched: list[int]  # by each split file
    image: bytes


class Run:
    """One conversion, step by step."""

    def __init__(self, flags: int, threads: int, *, big_endian: bool) -> None:
        self.error: Any = new_error()
        self.data: list[Any] = []
        wanted = ffi.new("gsym_creator_options *", {"version": 1})
        wanted.big_endian = big_endian
        made = ffi.new("gsym_creator **")
        check(lib.gsym_creator_create(wanted, made, self.error), self.error)
        self.creator = ffi.gc(made[0], lib.gsym_creator_destroy)
        options = ffi.new("gsym_conversion_options *")
        options.flags = flags | lib.GSYM_CONVERT_KEEP_WARNINGS
        options.thread_count = threads
        options.big_endian = big_endian
        handle = ffi.new("gsym_conversion **")
        check(
            lib.gsym_conversion_create(self.creator, options, handle, self.error),
            self.error,
        )
        self.handle = ffi.gc(handle[0], lib.gsym_conversion_destroy)

    def call(self, function: Callable[..., int], *arguments: object) -> None:
        check(function(self.handle, *arguments, self.error), self.error)

    def add(self, file: DwarfFile, number: int | None = None) -> int:
        if number is None:
            made = ffi.new("uint32_t *")
            self.call(lib.gsym_conversion_add_file, file.role, made)
            number = int(made[0])
        for name, content in file.sections.items():
            data = ffi.from_buffer("uint8_t[]", content)
            self.data.append(data)
            self.call(
                lib.gsym_conversion_set_section,
                *(number, SECTIONS[name], data, len(data), 0),
            )
        for span in file.spans:
            self.call(lib.gsym_conversion_add_address_span, number, *span)
        return number

    def link(self, number: int) -> int:
        matched = ffi.new("uint64_t *")
        self.call(lib.gsym_conversion_link_split, number, matched)
        return int(matched[0])

    def work(self, threads: int) -> None:
        failures: list[Exception] = []

        def run() -> None:
            error = new_error()
            try:
                check(lib.gsym_conversion_work(self.handle, error), error)
            except (gsym.GsymError, ValueError, MemoryError) as failure:
                failures.append(failure)

        workers = [threading.Thread(target=run) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert failures == []

    def skeletons(self) -> list[Skeleton]:
        count = lib.gsym_conversion_skeleton_count(self.handle)
        return [self.skeleton(index) for index in range(count)]

    def skeleton(self, index: int) -> Skeleton:
        skeleton: Any = ffi.new("gsym_skeleton *")
        self.call(lib.gsym_conversion_skeleton, index, skeleton)
        return Skeleton(
            ffi.buffer(skeleton.dwo_name, skeleton.dwo_name_size)[:],
            ffi.buffer(skeleton.comp_dir, skeleton.comp_dir_size)[:],
            *(skeleton.dwo_id, skeleton.file, skeleton.unit_offset),
            bool(skeleton.is_complete),
        )

    def warnings(self) -> list[Warned]:
        size = ffi.new("size_t *")
        items = lib.gsym_conversion_warnings(self.handle, size)
        return [
            Warned(_WARNINGS[each.category], each.file, each.offset, each.value)
            for each in (items[at] for at in range(size[0]))
        ]


def convert_files(  # noqa: PLR0913 - keywords, each a choice of its own
    folder: Path,
    main: DwarfFile,
    *others: DwarfFile,
    text: Sequence[tuple[int, int]] = ((0x1000, 0x2000),),
    flags: int = 0,
    threads: int = 1,
    big_endian: bool = False,
) -> Outcome:
    """Convert *main* with the files around it; no function at all is no failure."""
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        run = Run(flags, threads, big_endian=big_endian)
        run.add(main, 0)
        splits = [each for each in others if each.role == SPLIT]
        for each in others:
            if each.role != SPLIT:
                run.add(each)
        for start, end in text:
            run.call(lib.gsym_conversion_add_text_range, start, end)
        run.call(lib.gsym_conversion_scan)
        matched = [run.link(run.add(each)) for each in splits]
        skeletons = run.skeletons()
        run.work(threads)
        run.call(lib.gsym_conversion_collect)
        image = _finished(run)
        path = folder / "several.gsym"
        path.write_bytes(image)
        return Outcome(
            functions=read_functions(str(path)) if image else [],
            warnings=run.warnings(),
            skeletons=skeletons,
            matched=matched,
            image=image,
        )
    finally:
        faulthandler.cancel_dump_traceback_later()


def _finished(run: Run) -> bytes:
    report = ffi.new("gsym_creator_report *")
    try:
        check(lib.gsym_creator_finish(run.creator, report, run.error), run.error)
    except gsym.EmptyError:
        return b""
    return b"".join(map(bytes, iter_finished(run.creator)))
