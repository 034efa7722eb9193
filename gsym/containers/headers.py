"""Headers of PE files; program headers and notes of ELF, as Python reads them."""

from __future__ import annotations

import struct
from operator import itemgetter
from struct import (
    Struct,
    error as StructError,  # noqa: N812 - an exception, named as one
)

from gsym.engine.native import zero_ended
from gsym.errors import FormatError
from gsym.leb128 import read_leb
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Segment(NamedTuple):
    """A part of a file that is loaded."""

    offset: int  # where it starts in the file, in bytes
    # in bytes, as far as the file has them; in a file with debug information alone, as
    # far as the binary had them or more
    size: int
    address: int  # where it starts, at link time
    is_executable: bool  # whether code can run there


class CodeView(NamedTuple):
    """The record that PDB and PE file share; *pdb* is a path, as bytes."""

    guid: bytes
    age: int
    pdb: bytes


class PeHeaders(NamedTuple):
    """The contents of the headers of a PE file."""

    machine: int  # what it is for
    time_stamp: int  # when it was linked, or a hash of its contents
    size_of_image: int  # bytes in memory
    base: int  # address of the image at link time
    segments: tuple[Segment, ...]  # the headers, then the sections
    # offset in the image and size of each data directory
    directories: tuple[tuple[int, int], ...]


_NEW_HEADER = Struct("<I")  # at 0x3c: offset of the signature
_NEW_HEADER_AT = 0x3C
_COFF = Struct("<4sHHIIIHH")
# By Magic, which comes first: ImageBase, SizeOfImage, SizeOfHeaders, and the number of
# directories, which follow.
_OPTIONAL = {0x10B: Struct("<28xI24xII28xI"), 0x20B: Struct("<24xQ24xII44xI")}
_DIRECTORY = Struct("<II")  # address and size
# VirtualSize, VirtualAddress, size and offset in file, Characteristics
_SECTION = Struct("<8xIIII12xI")
_PE_EXECUTABLE = 0x20000000
_DEBUG_ENTRY = Struct("<12xIIII")  # Type, SizeOfData, address, offset in file
_CODEVIEW = Struct("<4s16sI")

_MOST_DIRECTORIES = 16
_DEBUG_DIRECTORY = 6
_TYPE_CODEVIEW = 2
# Limit: Entries of the debug directory of a PE file
_MAX_DEBUG_ENTRIES = 64


def read_pe_headers(data: memoryview, path: str) -> PeHeaders:
    """Read the headers of an image."""
    try:
        (at,) = _NEW_HEADER.unpack_from(data, _NEW_HEADER_AT)
        signature, machine, sections, stamp, _, _, size, _ = _COFF.unpack_from(data, at)
        at += _COFF.size
        optional = _OPTIONAL.get(int.from_bytes(data[at : at + 2], "little"))
        if signature != b"PE\0\0" or optional is None:
            raise FormatError("damaged PE headers", path=path, offset=0)
        base, size_of_image, size_of_headers, count = optional.unpack_from(data, at)
        first, at = at + optional.size, at + size
        count = min(count, _MOST_DIRECTORIES, max(at - first, 0) // _DIRECTORY.size)
        held = data[first : first + count * _DIRECTORY.size]
        segments = [Segment(0, size_of_headers, base, is_executable=False)]
        for number in range(sections):
            fields = _SECTION.unpack_from(data, at + number * _SECTION.size)
            memory, address, in_file, offset, flags = fields
            known = min(memory or in_file, in_file)
            is_code = bool(flags & _PE_EXECUTABLE)
            segments.append(Segment(offset, known, base + address, is_code))
        directories = tuple(_DIRECTORY.iter_unpack(held))
    except StructError:
        raise FormatError("damaged PE headers", path=path, offset=0) from None
    return PeHeaders(machine, stamp, size_of_image, base, tuple(segments), directories)


def read_codeview(
    data: memoryview, path: str, headers: PeHeaders | None = None
) -> CodeView | None:
    """The record of a PE file, whose headers may be known; None if it has none."""
    headers = headers or read_pe_headers(data, path)
    if len(headers.directories) <= _DEBUG_DIRECTORY:
        return None
    place, size = headers.directories[_DEBUG_DIRECTORY]
    address = headers.base + place
    try:
        for each in headers.segments:
            if each.address <= address < each.address + each.size:
                offset = each.offset + address - each.address
                return _find_codeview(data, offset, size // _DEBUG_ENTRY.size)
    except StructError:
        raise FormatError("damaged PE headers", path=path, offset=0) from None
    return None


def _find_codeview(data: memoryview, at: int, count: int) -> CodeView | None:
    for index in range(min(count, _MAX_DEBUG_ENTRIES)):
        kind, size, _, offset = _DEBUG_ENTRY.unpack_from(
            data, at + index * _DEBUG_ENTRY.size
        )
        if kind != _TYPE_CODEVIEW or size < _CODEVIEW.size:
            continue
        magic, guid, age = _CODEVIEW.unpack_from(data, offset)
        if magic == b"RSDS":
            path = bytes(data[offset + _CODEVIEW.size : offset + size])
            return CodeView(guid, age, zero_ended(path))
    return None


_WASM_MAGIC = b"\0asm"
_WASM_CODE = 10  # the kind of the code section


class ProgramHeader(NamedTuple):
    """A program header of an ELF file; *kind* is its `p_type`."""

    kind: int
    offset: int
    file_size: int
    address: int
    memory_size: int
    is_executable: bool


class Note(NamedTuple):
    """A note of an ELF file; *name* has no NUL at its end."""

    name: bytes
    kind: int
    contents: memoryview


PT_NOTE = 4
PT_LOAD = 1

_MAGIC = b"\x7fELF"
_CLASS_AT, _ORDER_AT = 4, 5
_ORDERS = {1: "<", 2: ">"}
_IDENT_SIZE = 16
# By class, 1 for 32 bits and 2 for 64: after e_entry, e_phoff to e_shnum; sh_info of a
# section header; the fields of a program header, and which of them `ProgramHeader` has.
_FILE_HEADERS = {1: (28, "IIIHHHHH"), 2: (32, "QQIHHHHH")}
_INFO_AT = {1: 28, 2: 44}
_ENTRIES = {1: "IIIIIIII", 2: "IIQQQQQQ"}
_FIELDS = {1: itemgetter(0, 1, 4, 2, 5, 6), 2: itemgetter(0, 2, 5, 3, 6, 1)}
_NOTE = "III"  # sizes of the name and of the contents, type
_ALIGNMENT = 4  # of the parts of a note
_EXECUTABLE = 1
_COUNT_IN_SECTION = 0xFFFF  # PN_XNUM
_PAGE = 4096


def load_segments(data: memoryview, path: str | None) -> tuple[Segment, ...]:
    """The loaded parts of an ELF file, in the order of its headers.

    Of a WebAssembly module this is the code section, from which addresses count.

    Returns:
        None of them for another format, and for a file whose headers say of places
        what a loader would refuse, as a tool leaves them that strips code.
    """
    if data[: len(_WASM_MAGIC)] == _WASM_MAGIC:
        return tuple(_wasm_code(data))
    headers = [each for each in program_headers(data, path) if each.kind == PT_LOAD]
    segments = [
        Segment(each.offset, size, each.address, each.is_executable)
        for each in headers
        for size in (each.file_size or each.memory_size,)
    ]
    if any((each.offset - each.address) % _PAGE for each in segments):
        return ()
    # A file without the code may keep the places where it was, or have none: then other
    # segments begin in its place.
    for code, header in zip(segments, headers, strict=True):
        if header.is_executable and not header.file_size:
            end = code.offset + code.size
            if any(
                code.offset <= each.offset < end for each in segments if each != code
            ):
                return ()
    return tuple(segments)


def _wasm_code(data: memoryview) -> Iterator[Segment]:
    at = 2 * len(_WASM_MAGIC)
    while at < len(data):
        kind = data[at]
        size, start = read_leb(data, at + 1)
        if not start:
            return
        if kind == _WASM_CODE:
            yield Segment(start, min(size, len(data) - start), 0, is_executable=True)
        at = start + size


def program_headers(data: memoryview, path: str | None) -> tuple[ProgramHeader, ...]:
    """The program headers of an ELF file; none of another format."""
    if bytes(data[: len(_MAGIC)]) != _MAGIC or len(data) < _IDENT_SIZE:
        return ()
    bits, order = data[_CLASS_AT], _ORDERS.get(data[_ORDER_AT])
    if bits not in _ENTRIES or order is None:
        raise FormatError("its class or byte order is unknown", path=path, offset=4)
    entry = Struct(order + _ENTRIES[bits])
    try:
        at, layout = _FILE_HEADERS[bits]
        header = Struct(order + layout).unpack_from(data, at)
        start, sections, _, _, size, count, _, _ = header
        if count == _COUNT_IN_SECTION:
            at = sections + _INFO_AT[bits]
            (count,) = Struct(order + "I").unpack_from(data, at)
        if size < entry.size:
            reason = f"it cannot have {count} program headers of {size} bytes"
            raise FormatError(reason, path=path, offset=start)
        found = [
            entry.unpack_from(data, start + index * size) for index in range(count)
        ]
    except (struct.error, OverflowError) as error:
        reason = "its program headers reach past the file"
        raise FormatError(reason, path=path, offset=0) from error
    get = _FIELDS[bits]
    return tuple(
        ProgramHeader._make((*rest, bool(flags & _EXECUTABLE)))
        for *rest, flags in map(get, found)
    )


def read_notes(data: memoryview, byteorder: str) -> Iterator[Note]:
    """The notes in a segment or section, up to the first that reaches past its end."""
    header = Struct(byteorder + _NOTE)
    at = 0
    while at + header.size <= len(data):
        name_size, size, kind = header.unpack_from(data, at)
        name = at + header.size
        start = name + name_size + -name_size % _ALIGNMENT
        end = start + size
        if end > len(data):
            return
        text = bytes(data[name : name + name_size]).rstrip(b"\0")
        yield Note(text, kind, data[start:end])
        at = end + -size % _ALIGNMENT


def file_address(offset: int, segments: Sequence[Segment]) -> int | None:
    """The link-time address of a byte of a file; None if it is not loaded.

    Args:
        offset: In the file. If segments overlap, which they should not, that with code
            is used.
        segments: Of the file.
    """
    other = None
    for segment in segments:
        if segment.offset <= offset < segment.offset + segment.size:
            address = segment.address + offset - segment.offset
            if segment.is_executable:
                return address
            other = address if other is None else other
    return other
