"""Split a GSYM file into several that each hold a run of its functions.

Every segment is a GSYM file of its own, with its own strings and files and the
UUID and base address of the whole. It is named after its first function:
`OUTPUT-0x401000`.
"""

from __future__ import annotations

from gsym._native import check, ffi, lib, new_error
from gsym.atomic_file import AtomicFile
from gsym.creator import iter_finished

__all__ = ["write"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.reader import Reader


def write(reader: Reader, output: str, size: int) -> tuple[str, ...]:
    """Write the segments of an open file and return their paths.

    Args:
        reader: The whole.
        output: What the names of the segments open with.
        size: Bytes that a segment holds before no further function is added; the
            last one added may exceed it.

    Raises:
        FormatError: A record of the whole is damaged.
        LimitError: No function fits into *size* bytes.
        OSError: A segment cannot be written.
    """
    paths = []
    error = new_error()
    image = reader._image  # noqa: SLF001 - a sibling's handle, by design
    header = ffi.new("gsym_header *")
    lib.gsym_image_header(image, header)
    record = _made("gsym_record", lib.gsym_record_create, lib.gsym_record_destroy)
    first, end = 0, ffi.new("uint32_t *")
    while first < header.num_addresses:
        creator = _creator_like(header, reader.uuid)
        source = image, record, first, size
        check(lib.gsym_creator_add_segment(creator, *source, end, error), error)
        path = f"{output}-{_address(image, first):#x}"
        _save(creator, path)
        paths.append(path)
        first = end[0]
    return tuple(paths)


def _made(kind: str, create: Any, destroy: Any, *arguments: Any) -> Any:
    place, error = ffi.new(f"{kind} **"), new_error()
    check(create(*arguments, place, error), error)
    return ffi.gc(place[0], destroy)


def _creator_like(header: Any, uuid: bytes) -> Any:
    options = ffi.new("gsym_creator_options *")
    options.version = header.version
    options.big_endian = header.big_endian
    options.has_base_address = 1
    options.base_address = header.base_address
    kind, destroy = "gsym_creator", lib.gsym_creator_destroy
    creator = _made(kind, lib.gsym_creator_create, destroy, options)
    error = new_error()
    check(lib.gsym_creator_set_uuid(creator, uuid, len(uuid), error), error)
    return creator


def _address(image: Any, index: int) -> int:
    address, offset = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    error = new_error()
    check(lib.gsym_image_entry(image, index, address, offset, error), error)
    return int(address[0])


def _save(creator: Any, path: str) -> None:
    error = new_error()
    report = ffi.new("gsym_creator_report *")
    check(lib.gsym_creator_finish(creator, report, error), error)
    with AtomicFile(path) as file:
        for chunk in iter_finished(creator):
            file.write(chunk)
