"""What a GSYM file holds, as plain values.

Nothing is resolved: a string is its offset in the string table, a file its index
in the file table, so that a decoded file can be written back byte for byte.
Addresses are absolute; a range is (start, end).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

AddressRange = tuple[int, int]


class OracleError(Exception):
    """The bytes are not what the specification describes."""


@dataclass(frozen=True)
class LineRow:
    address: int
    file: int
    line: int


@dataclass(frozen=True)
class InlineInfo:
    ranges: tuple[AddressRange, ...]
    name: int
    call_file: int
    call_line: int
    children: tuple[InlineInfo, ...] = ()

    def contains(self, address: int) -> bool:
        return any(start <= address < end for start, end in self.ranges)


@dataclass(frozen=True)
class CallSite:
    return_offset: int
    flags: int
    regexes: tuple[int, ...]


@dataclass(frozen=True)
class FunctionInfo:
    start: int
    size: int
    name: int
    line_table: tuple[LineRow, ...] | None = None
    inline: InlineInfo | None = None
    merged: tuple[FunctionInfo, ...] = ()
    call_sites: tuple[CallSite, ...] = ()
    extra: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class GsymFile:
    version: int
    byteorder: str
    addr_off_size: int
    base_address: int
    uuid: bytes
    strings: bytes
    files: tuple[tuple[int, int], ...]
    functions: tuple[FunctionInfo, ...]
    extra_sections: dict[int, bytes] = field(default_factory=dict)

    def string(self, offset: int) -> bytes:
        """The string at *offset*; past the table it reads as empty."""
        return self.strings[offset:].partition(b"\0")[0]

    def as_version(self, version: int) -> GsymFile:
        """The same content, to be written in another version."""
        sections = self.extra_sections if version == 2 else {}
        return replace(self, version=version, extra_sections=sections)
