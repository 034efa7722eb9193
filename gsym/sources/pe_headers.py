"""What the headers of a PE file say of the module, read with `struct`.

Only what names the module is read here: machine, time stamp, size, and the CodeView
record that leads to the PDB.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError  # noqa: N812 - an exception, named as one

from gsym.errors import FormatError
from gsym.records import NamedTuple

__all__ = ["CodeView", "PeHeaders", "read_pe_headers"]


class CodeView(NamedTuple):
    """The record that PDB and PE file share; *pdb* is a path, as bytes."""

    guid: bytes
    age: int
    pdb: bytes


class PeHeaders(NamedTuple):
    """What the headers say; *codeview* None where there is no such record."""

    machine: int
    time_stamp: int
    size_of_image: int
    codeview: CodeView | None


_NEW_HEADER = Struct("<I")  # at 0x3c: offset of the signature
_NEW_HEADER_AT = 0x3C
_COFF = Struct("<4sHHIIIHH")
_OPTIONAL = Struct("<H54xI")  # Magic, SizeOfImage
_DIRECTORY = Struct("<II")  # address and size
_SECTION = Struct("<8xIIII16x")  # VirtualSize, VirtualAddress, size and offset in file
_DEBUG_ENTRY = Struct("<12xIIII")  # Type, SizeOfData, address, offset in file
_CODEVIEW = Struct("<4s16sI")

_DIRECTORIES_AT = {0x10B: 96, 0x20B: 112}  # in the optional header, by its Magic
_DEBUG_DIRECTORY = 6
_TYPE_CODEVIEW = 2
_MOST_DEBUG_ENTRIES = 64
_MOST_SECTIONS = 96  # of an image; more are refused by loaders


def read_pe_headers(data: memoryview, path: str) -> PeHeaders:
    """Read the headers of an image.

    Raises:
        FormatError: It is no PE file, or its headers are damaged.
    """
    try:
        return _read(data)
    except (StructError, ValueError):
        raise FormatError("damaged PE headers", path=path, offset=0) from None


def _read(data: memoryview) -> PeHeaders:
    (at,) = _NEW_HEADER.unpack_from(data, _NEW_HEADER_AT)
    signature, machine, sections, stamp, _, _, size, _ = _COFF.unpack_from(data, at)
    if signature != b"PE\0\0":
        raise ValueError("no signature")
    optional = at + _COFF.size
    magic, size_of_image = _OPTIONAL.unpack_from(data, optional)
    directory = optional + _DIRECTORIES_AT.get(magic, size)
    directory += _DEBUG_DIRECTORY * _DIRECTORY.size
    codeview = None
    if directory + _DIRECTORY.size <= optional + size:
        address, length = _DIRECTORY.unpack_from(data, directory)
        count = min(length // _DEBUG_ENTRY.size, _MOST_DEBUG_ENTRIES)
        offset = _file_offset(data, optional + size, sections, address)
        if offset is not None:
            codeview = _find_codeview(data, offset, count)
    return PeHeaders(machine, stamp, size_of_image, codeview)


def _file_offset(data: memoryview, table: int, count: int, address: int) -> int | None:
    """Where the file has what is loaded at *address*."""
    for index in range(min(count, _MOST_SECTIONS)):
        at = table + index * _SECTION.size
        _, start, size, offset = _SECTION.unpack_from(data, at)
        if start <= address < start + size:
            return int(offset + address - start)
    return None


def _find_codeview(data: memoryview, at: int, count: int) -> CodeView | None:
    for index in range(count):
        kind, size, _, offset = _DEBUG_ENTRY.unpack_from(
            data, at + index * _DEBUG_ENTRY.size
        )
        if kind != _TYPE_CODEVIEW or size < _CODEVIEW.size:
            continue
        magic, guid, age = _CODEVIEW.unpack_from(data, offset)
        if magic == b"RSDS":
            path = bytes(data[offset + _CODEVIEW.size : offset + size])
            return CodeView(guid, age, path.partition(b"\0")[0])
    return None
