"""The engine's creator: a handle, its result, and the bytes of that."""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error, new_object, to_bytes
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    CData = Any  # a cffi object


class CreatorReport(NamedTuple):
    """Counts of the functions added to a creator."""

    functions_debug_info: int
    functions_symbol_table: int
    functions_merged: int
    functions_pruned: int
    functions_continued: int
    functions: int
    functions_with_lines: int
    functions_with_inlines: int
    line_rows_unused: int
    duplicates_different: int
    overlapping: int
    strings: int
    files: int
    file_size: int
    index_size: int


_CHUNK_SIZE = 1 << 20


def new_creator(  # noqa: PLR0913 - the fields of the engine's options
    *,
    version: int,
    big_endian: bool,
    base_address: int | None,
    keep_all: bool = False,
    has_index: bool = False,
    path: str | None = None,
) -> CData:
    """A `gsym_creator` without functions."""
    options = ffi.new("gsym_creator_options *")
    options.version, options.big_endian = version, big_endian
    options.keep_all, options.has_index = keep_all, has_index
    if base_address is not None:
        options.has_base_address, options.base_address = 1, base_address
    life = lib.gsym_creator_create, lib.gsym_creator_destroy
    return new_object("creator", *life, options, path=path)


class CreatorStrings(dict[str, int]):
    """String offsets that a `gsym_creator` gives to texts, or its numbers of paths."""

    def __init__(self, creator: CData, *, are_paths: bool = False) -> None:
        self._creator = creator
        self._add = lib.gsym_creator_add_string
        self._number, self._error = ffi.new("uint64_t *"), new_error()
        if are_paths:
            self._add, self._number = lib.gsym_creator_add_path, ffi.new("uint32_t *")

    def __missing__(self, text: str) -> int:
        raw = to_bytes(text)
        place = self._number, self._error
        check(self._add(self._creator, raw, len(raw), *place), self._error)
        self[text] = number = int(self._number[0])
        return number


def finish_creator(creator: CData, path: str | None = None) -> CreatorReport:
    """Lay the file out.

    Raises:
        EmptyError: No function was added.
        LimitError: The file does not fit version 1.
        ValueError: A function is below the base address.
    """
    report, error = ffi.new("gsym_creator_report *"), new_error()
    check(lib.gsym_creator_finish(creator, report, error), error, path)
    fields = CreatorReport._fields
    return CreatorReport(*(getattr(report, field) for field in fields))


def iter_finished(creator: CData, file_size: int = _CHUNK_SIZE) -> Iterator[memoryview]:
    """The bytes of a finished `gsym_creator`, in pieces of about 1 MB.

    Each piece is valid until the next one. A small file needs less memory if its size
    is given.
    """
    chunk = bytearray(min(file_size, _CHUNK_SIZE))
    view = memoryview(chunk)
    target = ffi.from_buffer("uint8_t[]", chunk)
    size, error = ffi.new("size_t *"), new_error()
    while True:
        check(lib.gsym_creator_read(creator, target, len(chunk), size, error), error)
        if size[0] == 0:
            return
        yield view[: size[0]]
