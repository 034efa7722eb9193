"""Checks the header, sections and tables of a GSYM file, and that each byte is used.

Reads the tables with `struct`, not with the engine; `structure_parts` checks the
records. Errors are returned as findings, as a lookup may never be affected by them.
"""

from __future__ import annotations

import struct
from itertools import pairwise

from gsym.engine.native import lib, to_bytes
from gsym.errors import FormatError
from gsym.model import UINT64_END
from gsym.modules.key import fits_uuid, is_hex, read_debug_id
from gsym.modules.part import (
    FOOTER_SIZE,
    end_without_parts,
    module_part_start,
    read_module_part,
)
from gsym.records import NamedTuple
from gsym.writing.data_part import DATA_ALIGNMENT, data_part_start
from gsym.writing.source_part import sources_of

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGICS = {struct.pack(f"{order}I", lib.GSYM_MAGIC): order for order in "<>"}
_V1_HEADER = "4sHBBQIII20s"
_V1_UUID_AT = 28
_V2_HEADER = "4sHBBQI"
_V2_ENTRY = "IQQ"
_SHARING = "IIQQQ"
_INDEX_TRAILER = "QQIIII"
_INDEX_FILE_MULTIPLE = 512  # bytes, of a file of version 1 that has an index
_ADDRESS_SIZES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_MAX_PADDING = 7
_HEADER = "the header"
_DATA = "the data symbols"
_SOURCES = "the source files"
_MODULE = "the names of the module"
_SECTION_NAMES = {
    lib.GSYM_SECTION_ADDR_OFFSETS: "AddrOffsets",
    lib.GSYM_SECTION_ADDR_INFO_OFFSETS: "AddrInfoOffsets",
    lib.GSYM_SECTION_STRING_TABLE: "StringTable",
    lib.GSYM_SECTION_FILE_TABLE: "FileTable",
    lib.GSYM_SECTION_FUNCTION_INFO: "FunctionInfo",
    lib.GSYM_SECTION_UUID: "UUID",
    lib.GSYM_SECTION_INDEX: "Index",
}
_REQUIRED_SECTIONS = tuple(_SECTION_NAMES.values())[:5]


class Finding(NamedTuple):
    """An error at byte *offset* from the start of the file."""

    offset: int
    reason: str


class Extent(NamedTuple):
    """Bytes start <= offset < end of the file belong to *name*."""

    start: int
    end: int
    name: str

    @property
    def size(self) -> int:
        """Bytes in it."""
        return self.end - self.start


class BrokenError(Exception):
    """The rest cannot be read, because of *finding*."""

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(offset, reason)
        self.finding: Finding = Finding(offset, reason)


class Layout:
    """The locations of the parts of a file.

    Attributes:
        data: The complete file.
        binary: The binary that contains it and perhaps part of its string table; else
            the file.
        order: Byte order for `struct`: "<" or ">".
        is_version_1: Whether it is of version 1, else of version 2.
        base_address: Base of the address table, a link-time address.
        count: Number of functions.
        addr_off_size: Bytes of an entry of the address table.
        strp_field: `struct` format of a string offset, and of a record offset.
        strp_size: Bytes of a string offset.
        parts: The extents of all parts, by their names.
        records: Base of record offsets, in the file.
        own_strings: The string table without the part shared with the binary.
        uuid: Identifier of the binary that it was made from; b"" for none.
    """

    def __init__(self, data: memoryview, binary: memoryview) -> None:
        """Read the header.

        Raises:
            BrokenError: The rest cannot be read.
        """
        self.data = data
        self.binary = binary
        self.parts: dict[str, Extent] = {}
        order = _MAGICS.get(bytes(data[:4]))
        if order is None:
            raise BrokenError(0, "this is not a GSYM file: the magic is missing")
        self.order: str = order
        (version,) = self.unpack("H", 4, _HEADER)
        if version not in {lib.GSYM_VERSION_1, lib.GSYM_VERSION_2}:
            raise BrokenError(4, f"unknown version {version}")
        self.is_version_1: bool = version == lib.GSYM_VERSION_1
        fields = self.unpack(
            _V1_HEADER if self.is_version_1 else _V2_HEADER, 0, _HEADER
        )
        self.addr_off_size: int = fields[2]
        self.base_address: int = fields[4]
        self.count: int = fields[5]
        if self.addr_off_size not in _ADDRESS_SIZES:
            raise BrokenError(6, f"addr_off_size is {self.addr_off_size}")
        self.strp_field: str = "I" if self.is_version_1 else "Q"
        self.strp_size: int = struct.calcsize("<" + self.strp_field)
        self.records: int = 0
        self.uuid_size: int = 0
        if self.is_version_1:
            self.uuid_size = fields[3]
            self._read_version_1(*fields[6:8])
        else:
            self._read_version_2(fields[3])
        end = module_part_start(data, len(data))
        self._add_last(_MODULE, end, len(data))
        sources = end_without_parts(data)
        self._add_last(_SOURCES, sources, end)
        uuid_end = _V1_UUID_AT + self.uuid_size
        section = self.parts.get("UUID", Extent(_V1_UUID_AT, uuid_end, "UUID"))
        self.uuid: bytes = bytes(data[section.start : section.end])
        start = data_part_start(data[:sources], sources)
        if start >= 0:
            self._add_last(_DATA, start, sources)

    def unpack(self, fields: str, offset: int, what: str) -> tuple[int, ...]:
        """The integers at *offset* in the `struct` format *fields*."""
        size = struct.calcsize("<" + fields)
        if offset + size > len(self.data):
            raise BrokenError(offset, f"the file ends inside {what}")
        return struct.unpack_from(self.order + fields, self.data, offset)

    def addresses(self) -> list[int]:
        """Start addresses of all functions, in file order."""
        offsets = self._column("AddrOffsets", _ADDRESS_SIZES[self.addr_off_size])
        return [self.base_address + offset for offset in offsets]

    def record_offsets(self) -> list[int]:
        """File offsets of all records, in file order."""
        offsets = self._column("AddrInfoOffsets", self.strp_field)
        return [self.records + offset for offset in offsets]

    def _column(self, name: str, field: str) -> tuple[int, ...]:
        return self.unpack(f"{self.count}{field}", self.parts[name].start, name)

    def file_entries(self) -> list[tuple[int, ...]]:
        """(directory, base name) of all files as string offsets."""
        start = self.parts["FileTable"].start
        (count,) = self.unpack("I", start, "FileTable")
        fields = self.unpack(f"{2 * count}{self.strp_field}", start + 4, "FileTable")
        return list(zip(fields[::2], fields[1::2], strict=True))

    def extents(self) -> list[Extent]:
        """The bytes of all parts but records, which have extents of their own."""
        parts = self.parts | {"StringTable": self.own_strings}
        return [each for name, each in parts.items() if name != "FunctionInfo"]

    def _add(self, name: str, start: int, size: int) -> None:
        if start + size > len(self.data):
            reason = f"{name} of {size} bytes runs past the end of the file"
            raise BrokenError(start, reason)
        self.parts[name] = Extent(start, start + size, name)

    def _add_last(self, name: str, start: int, end: int) -> None:
        """Add what follows the tables, unless it is empty."""
        if start < end:
            self._add(name, start, end - start)

    def _add_strings(self, start: int, size: int) -> None:
        """The string table, which may continue in the binary."""
        end = start + size
        name, record = "StringTable", start - lib.GSYM_SHARING_SIZE
        if end > len(self.data) != len(self.binary) and record >= 0:
            what = "the record of shared strings"
            magic, _, _, strp, shared = self.unpack(_SHARING, record, what)
            if magic == lib.GSYM_SHARING_MAGIC:
                self._add(what, record, lib.GSYM_SHARING_SIZE)
                if strp + shared != size or start + strp < len(self.data):
                    raise BrokenError(record, f"{what} does not fit the string table")
                end = module_part_start(self.data, len(self.data))
        self._add(name, start, end - start)
        self.own_strings: Extent = self.parts[name]
        self.parts[name] = Extent(start, start + size, name)

    def _read_version_1(self, strtab_offset: int, strtab_size: int) -> None:
        size = lib.GSYM_V1_HEADER_SIZE
        self._add(_HEADER, 0, size)
        self._add("AddrOffsets", size, self.count * self.addr_off_size)
        start = (self.parts["AddrOffsets"].end + 3) & ~3
        self._add("AddrInfoOffsets", start, self.count * 4)
        start = self.parts["AddrInfoOffsets"].end
        (count,) = self.unpack("I", start, "FileTable")
        self._add("FileTable", start, 4 + count * 2 * self.strp_size)
        self._add_strings(strtab_offset, strtab_size)
        # The last bytes tell of an index.
        end = end_without_parts(self.data)
        start = end - struct.calcsize("<" + _INDEX_TRAILER)
        if end % _INDEX_FILE_MULTIPLE or start < self.parts["StringTable"].end:
            return
        size, _, _, _, _, magic = self.unpack(_INDEX_TRAILER, start, "the file")
        if magic != lib.GSYM_INDEX_MAGIC:
            return
        if size > end:
            raise BrokenError(start, f"Index of {size} bytes is larger than the file")
        self._add("Index", end - size, size)

    def _read_version_2(self, encoding: int) -> None:
        if encoding != 0:
            raise BrokenError(7, f"unknown encoding {encoding} of the string table")
        offset = lib.GSYM_V2_HEADER_SIZE
        while True:
            kind, start, size = self.unpack(_V2_ENTRY, offset, "the section directory")
            offset += lib.GSYM_V2_SECTION_ENTRY_SIZE
            if kind == lib.GSYM_SECTION_END_OF_LIST:
                break
            name = _SECTION_NAMES.get(kind, f"section type {kind}")
            if name in self.parts:
                raise BrokenError(offset, f"{name} appears twice in the directory")
            if kind == lib.GSYM_SECTION_STRING_TABLE:
                self._add_strings(start, size)
            else:
                self._add(name, start, size)
        self._add(_HEADER, 0, offset)
        for name in _REQUIRED_SECTIONS:
            if name not in self.parts:
                raise BrokenError(offset, f"{name} is missing")
        self.records = self.parts["FunctionInfo"].start

    @property
    def function_info(self) -> Extent:
        """The extent in which records are allowed."""
        start, end = self.parts["StringTable"].end, len(self.data)
        for name in (_MODULE, _SOURCES, "Index"):
            if name in self.parts:
                end = self.parts[name].start
        if start > end:  # the strings are shared and come last
            start, end = self.parts["FileTable"].end, self.own_strings.start
        return self.parts.get("FunctionInfo", Extent(start, end, "FunctionInfo"))


def check_tables(layout: Layout) -> Iterator[Finding]:
    """Errors outside of records."""
    yield from _check_header(layout)
    yield from _check_addresses(layout)
    yield from _check_strings(layout)
    yield from _check_files(layout)
    yield from _check_sources(layout)
    yield from _check_module(layout)


def _check_header(layout: Layout) -> Iterator[Finding]:
    if layout.is_version_1:
        if layout.uuid_size > lib.GSYM_V1_MAX_UUID_SIZE:
            yield Finding(7, f"a UUID of {layout.uuid_size} bytes")
        after = _V1_UUID_AT + layout.uuid_size
        if any(layout.data[after : lib.GSYM_V1_HEADER_SIZE]):
            yield Finding(after, "bytes after the UUID are not zero")
        return
    parts, width = layout.parts, layout.addr_off_size
    alignments = {"AddrOffsets": width, "AddrInfoOffsets": 8, "FileTable": 4}
    for name, alignment in (alignments | {"FunctionInfo": 4}).items():
        if parts[name].start % alignment:
            yield Finding(parts[name].start, f"{name} is not aligned")
    for name in ("AddrOffsets", "AddrInfoOffsets"):
        if parts[name].size != layout.count * alignments[name]:
            reason = f"{layout.count} entries of {alignments[name]} bytes"
            raise BrokenError(parts[name].start, f"{name} does not have {reason}")
    start = parts["FileTable"].start
    (count,) = layout.unpack("I", start, "FileTable")
    if parts["FileTable"].size != 4 + 16 * count:
        raise BrokenError(start, f"FileTable does not have {count} entries")
    end = parts[_HEADER].end - 16
    if any(layout.unpack("QQ", end, "the directory")):
        yield Finding(end, "EndOfList is not zero")


def _check_addresses(layout: Layout) -> Iterator[Finding]:
    table = layout.parts["AddrOffsets"]
    addresses = layout.addresses()
    for index, (before, after) in enumerate(pairwise(addresses), 1):
        if after < before:
            where = table.start + index * layout.addr_off_size
            yield Finding(where, f"address {after:#x} follows {before:#x}")
    if addresses and max(addresses) >= UINT64_END:
        yield Finding(table.start, "addresses go beyond 64 bits")


def _check_strings(layout: Layout) -> Iterator[Finding]:
    table = layout.own_strings
    if table.size == 0:
        yield Finding(table.start, "the string table is empty")
        return
    if layout.data[table.start] != 0:
        yield Finding(table.start, "string 0 is not empty")
    if layout.data[table.end - 1] != 0:
        yield Finding(table.end - 1, "the last string is not terminated")


def _check_files(layout: Layout) -> Iterator[Finding]:
    start = layout.parts["FileTable"].start + 4
    entries = layout.file_entries()
    size = layout.parts["StringTable"].size
    if not entries:
        yield Finding(start - 4, "the file table lacks entry 0")
    for index, entry in enumerate(entries):
        where = start + index * 2 * layout.strp_size
        if index == 0 and entry != (0, 0):
            yield Finding(where, "entry 0 of the file table is not empty")
        for strp in entry:
            if strp >= size:
                reason = f"file {index}: string {strp:#x} is past the string table"
                yield Finding(where, reason)


def _check_sources(layout: Layout) -> Iterator[Finding]:
    """Errors in the part with source files."""
    if _SOURCES not in layout.parts:
        return
    try:
        sources = sources_of(layout.data)
    except FormatError as error:
        yield Finding(error.offset or 0, error.reason)
        return
    for path in sources.texts:
        try:
            _ = sources.texts[path]
        except FormatError as error:  # noqa: PERF203 - each text may have one
            yield Finding(error.offset or 0, f"{error.reason} ({path})")


def _check_module(layout: Layout) -> Iterator[Finding]:
    """Errors in the part that names the module."""
    part = layout.parts.get(_MODULE)
    if part is None:
        return
    text = bytes(layout.data[part.start : part.end - FOOTER_SIZE])
    seen, at = set[str](), part.start
    for field in text.rstrip(b"\0").decode("utf-8", "surrogateescape").split("\0"):
        name, _, value = field.partition("=")
        if not name.isidentifier() or not value:
            yield Finding(at, f"{_MODULE}: a field without name or value")
        elif name in seen:
            yield Finding(at, f"{_MODULE}: two fields {name}")
        elif not _IDS.get(name, bool)(value):
            yield Finding(at, f"{_MODULE}: '{value}' is no {name.replace('_', ' ')}")
        seen.add(name)
        at += len(to_bytes(field)) + 1
    module = read_module_part(layout.data)
    if module is not None and not fits_uuid(module, layout.uuid):
        yield Finding(part.start, f"{_MODULE} contradict the UUID")


def _is_debug_id(text: str) -> bool:
    try:
        read_debug_id(text)
    except ValueError:
        return False
    return True


_IDS = {"debug_id": _is_debug_id, "code_id": is_hex, "code_hash": is_hex}


def check_extents(layout: Layout, records: list[Extent]) -> Iterator[Finding]:
    """Bytes that belong to two parts or, except padding, to none."""
    covered, before = 0, _HEADER
    end = Extent(len(layout.data), len(layout.data), "the end")
    for extent in [*sorted(layout.extents() + records), end]:
        if extent.size == 0 and extent is not end:
            continue
        if extent.start < covered:
            yield Finding(extent.start, f"{extent.name} overlaps {before}")
        gap = layout.data[covered : extent.start]
        if any(gap):
            yield Finding(covered, f"{len(gap)} bytes after {before} are in no part")
        elif len(gap) > (DATA_ALIGNMENT - 1 if extent.name == _DATA else _MAX_PADDING):
            yield Finding(covered, f"{len(gap)} zero bytes follow {before}")
        if extent.end > covered:
            covered, before = extent.end, extent.name
