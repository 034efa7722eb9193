"""Size statistics of a GSYM file: sections, InfoTypes, functions."""

from __future__ import annotations

from gsym.engine.native import check, ffi, lib, new_error
from gsym.reading.reader import Reader, open as open_reader
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class InfoBytes(NamedTuple):
    """Bytes of records by InfoType, each with its 8-byte header.

    *unknown* is the sum of unknown InfoTypes.
    """

    size_and_name: int
    line_table: int
    inline_info: int
    merged_functions: int
    call_sites: int
    unknown: int
    end_of_list: int


class Footprint(NamedTuple):
    """One function of the address table and its size in the file.

    *size* is that of the function, *record_size* that of its record (0: damaged).
    *directory* is that of its first line row, or "".
    """

    name: str
    address: int
    size: int
    record_size: int
    directory: str


class Directory(NamedTuple):
    """The functions of one source directory."""

    name: str
    functions: int
    record_size: int


class Statistics(NamedTuple):
    """Sizes in bytes, and counts.

    The parts from *header* to *unknown_sections* and *padding* add up to
    *file_size*; *own* and *function_info_padding* to *function_info*.
    """

    version: int
    uuid: bytes
    num_addresses: int
    file_size: int
    header: int
    directory: int  # version 2: the table of sections; 0 in version 1
    uuid_section: int
    address_table: int
    address_info_offsets: int
    file_table: int
    string_table: int  # without strings that belong to the binary around the file
    function_info: int  # all records with the padding between them
    function_index: int  # index of large functions
    source_files: int  # the part with source files
    module_names: int  # the part that names the module
    # version 2: (type, size) of unknown sections
    unknown_sections: tuple[tuple[int, int], ...]
    padding: int
    own: InfoBytes  # the parts of the records of the address table
    function_info_padding: int
    merged: InfoBytes  # the parts of the records in `own.merged_functions`
    merged_envelope: int  # the bytes around those records
    merged_count: int  # number of those records
    damaged_count: int  # records that could be measured only in part


_BLOCK = 4096  # entries described by one call


def measure(reader: Reader) -> Statistics:
    """Count the bytes of an open file; each record is visited once."""
    header = reader.mapped.header
    totals = ffi.new("gsym_statistics *")
    _measure(reader, 0, header.num_addresses, totals, ffi.NULL)
    own, merged = _info_bytes(totals.own), _info_bytes(totals.merged)
    is_version_1 = header.version == lib.GSYM_VERSION_1
    offset_size = 4 if is_version_1 else 8
    entry_size = lib.GSYM_V2_SECTION_ENTRY_SIZE
    unknown = tuple(_unknown_sections(reader))
    parts = {
        "header": lib.GSYM_V1_HEADER_SIZE if is_version_1 else lib.GSYM_V2_HEADER_SIZE,
        # with its terminator
        "directory": 0 if is_version_1 else entry_size * (header.section_count + 1),
        "uuid_section": 0 if is_version_1 else header.uuid_size,
        "address_table": header.num_addresses * header.addr_off_size,
        "address_info_offsets": header.num_addresses * offset_size,
        "file_table": 4 + header.num_files * 2 * offset_size,
        "string_table": _strings_size(header, reader.module_part_size),
        "function_info": header.function_info_size,
        "function_index": header.index_size,
        "source_files": reader.source_part_size,
        "module_names": reader.module_part_size,
    }
    claimed = sum(parts.values()) + sum(size for _, size in unknown)
    return Statistics(
        version=header.version,
        uuid=reader.uuid,
        num_addresses=header.num_addresses,
        file_size=reader.size,
        **parts,
        unknown_sections=unknown,
        padding=max(0, reader.size - claimed),
        own=own,
        function_info_padding=max(0, header.function_info_size - sum(own)),
        merged=merged,
        merged_envelope=totals.merged_envelope,
        merged_count=totals.merged_count,
        damaged_count=totals.damaged_count,
    )


def measure_file(path: str) -> Statistics:
    """Count the bytes of a file."""
    with open_reader(path) as reader:
        return measure(reader)


def footprints(reader: Reader) -> Iterator[Footprint]:
    """Every function in the order of the address table, damaged ones too."""
    mapped, count = reader.mapped, len(reader)
    block = ffi.new("gsym_footprint[]", min(count, _BLOCK))
    totals = ffi.new("gsym_statistics *")
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        _measure(reader, first, size, totals, block)
        for index in range(size):
            entry = block[index]
            yield Footprint(
                name=mapped.strings[entry.name],
                address=entry.address,
                size=entry.size,
                record_size=entry.record_size,
                directory=mapped.files[entry.file][0],
            )


def biggest(entries: Iterable[Footprint], count: int) -> list[Footprint]:
    """The *count* entries with the largest records, largest first."""
    from heapq import nlargest

    return nlargest(count, entries, key=lambda entry: entry.record_size)


def directories(entries: Iterable[Footprint]) -> list[Directory]:
    """The size of each source directory, largest first."""
    totals: dict[str, list[int]] = {}
    for entry in entries:
        total = totals.setdefault(entry.directory, [0, 0])
        total[0] += 1
        total[1] += entry.record_size
    found = [Directory(name, *total) for name, total in totals.items()]
    return sorted(found, key=lambda entry: (-entry.record_size, entry.name))


def _measure(reader: Reader, first: int, count: int, totals: Any, block: Any) -> None:
    error, image = new_error(), reader.mapped.image
    check(lib.gsym_image_measure(image, first, count, totals, block, error), error)


def _info_bytes(counted: Any) -> InfoBytes:
    return InfoBytes(*(getattr(counted, field) for field in InfoBytes._fields))


def _strings_size(header: Any, part_size: int) -> int:
    """Size of the file's own strings and of the record of shared ones.

    Where strings are shared, only the part that names the module follows them.
    """
    if not header.shared_size:
        return int(header.strtab_size)
    start = header.strtab_offset - lib.GSYM_SHARING_SIZE
    return int(header.file_size - start) - part_size


def _unknown_sections(reader: Reader) -> Iterator[tuple[int, int]]:
    """Size of the index, even if it is not used."""
    image, header = reader.mapped.image, reader.mapped.header
    section, error = ffi.new("gsym_section *"), new_error()
    for index in range(header.section_count):
        check(lib.gsym_image_section(image, index, section, error), error)
        is_index = section.type == lib.GSYM_SECTION_INDEX and header.index_size
        if section.type > lib.GSYM_SECTION_UUID and not is_index:
            yield section.type, section.size
