"""Split a GSYM file into several that each hold a run of its functions.

Every segment is a GSYM file of its own, with its own strings and files and the
UUID and base address of the whole. It is named after its first function:
`OUTPUT-0x401000`. Sections of unknown types stand in the first one. If the whole has an
index, each segment has its own.
"""

from __future__ import annotations

from gsym.engine.native import ffi, lib
from gsym.writing.atomic_file import AtomicFile
from gsym.writing.creator import finish_creator, iter_finished
from gsym.writing.selection import ImageSource

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
    source = ImageSource(whole)
    paths = []
    first, end = 0, ffi.new("uint32_t *")
    while first < source.header.num_addresses:
        creator = source.creator()
        source.copy(lib.gsym_creator_add_segment, creator, first, size, end)
        if first == 0:
            source.copy(lib.gsym_creator_add_sections, creator)
        path = f"{output}-{source.start(first):#x}"
        _save(creator, path, keep_same=keep_same)
        paths.append(path)
        first = end[0]
    return tuple(paths)


def _save(creator: Any, path: str, *, keep_same: bool) -> None:
    with AtomicFile(path, keep_same=keep_same) as file:
        finish_creator(creator)
        for chunk in iter_finished(creator):
            file.write(chunk)
