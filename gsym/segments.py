"""Split a GSYM file into several that each hold a run of its functions.

Every segment is a GSYM file of its own, with its own strings and files and the
UUID and base address of the whole. It is named after its first function:
`OUTPUT-0x401000`.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
from gsym.atomic_file import AtomicFile
from gsym.creator import iter_finished

__all__ = ["write_segments"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def write_segments(
    whole: bytes | memoryview, output: str, size: int, *, keep_same: bool = False
) -> tuple[str, ...]:
    """Write the segments of a GSYM file and return their paths, in order.

    Args:
        whole: The bytes of the file.
        output: What the names of the segments open with.
        size: Bytes that a segment holds before no further function is added; the
            last one added may exceed it.
        keep_same: Leave a segment that would stay the same as it is.

    Raises:
        FormatError: *whole* is damaged.
        LimitError: No function fits into *size* bytes.
        OSError: A segment cannot be written.
    """
    source = _Source(whole)
    paths = []
    first = 0
    while first < source.header.num_addresses:
        creator, end = source.copy_segment(first, size)
        path = f"{output}-{source.start(first):#x}"
        _save(creator, path, keep_same=keep_same)
        paths.append(path)
        first = end
    return tuple(paths)


class _Source:
    """The whole, open for copying."""

    def __init__(self, whole: bytes | memoryview) -> None:
        self._error: Any = new_error()
        self._bytes = ffi.from_buffer("uint8_t[]", whole)
        size = len(self._bytes)
        self._image = self._made("image", lib.gsym_image_close, self._bytes, size)
        self._record = self._made("record", lib.gsym_record_destroy)
        self.header: Any = ffi.new("gsym_header *")
        lib.gsym_image_header(self._image, self.header)

    def copy_segment(self, first: int, size: int) -> tuple[Any, int]:
        """A creator that holds the functions from entry *first*; the next entry."""
        options = ffi.new("gsym_creator_options *")
        options.version = self.header.version
        options.big_endian = self.header.big_endian
        options.has_base_address = 1
        options.base_address = self.header.base_address
        creator = self._made("creator", lib.gsym_creator_destroy, options)
        uuid = self._bytes + self.header.uuid_offset, self.header.uuid_size
        self._call(lib.gsym_creator_set_uuid, creator, *uuid)
        entries = self._image, self._record, first
        end = ffi.new("uint32_t *")
        self._call(lib.gsym_creator_add_segment, creator, *entries, size, end)
        return creator, end[0]

    def start(self, index: int) -> int:
        """Start address of an entry."""
        address, offset = ffi.new("uint64_t *"), ffi.new("uint64_t *")
        self._call(lib.gsym_image_entry, self._image, index, address, offset)
        return int(address[0])

    def _made(self, kind: str, destroy: Any, *arguments: Any) -> Any:
        verb = "open" if kind == "image" else "create"
        place = ffi.new(f"gsym_{kind} **")
        self._call(getattr(lib, f"gsym_{kind}_{verb}"), *arguments, place)
        return ffi.gc(place[0], destroy)

    def _call(self, function: Any, *arguments: Any) -> None:
        check(function(*arguments, self._error), self._error)


def _save(creator: Any, path: str, *, keep_same: bool) -> None:
    error = new_error()
    report = ffi.new("gsym_creator_report *")
    with AtomicFile(path, keep_same=keep_same) as file:
        check(lib.gsym_creator_finish(creator, report, error), error)
        for chunk in iter_finished(creator):
            file.write(chunk)
