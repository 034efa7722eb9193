"""The DWARF of a file, as the second decoder needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from gsym.engine.native import lib
from gsym.model import Range
from gsym.ranges import range_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.containers.object_file import ObjectFile

# The sections that describe functions, and the engine's numbers of them.
_DWARF_SECTIONS = {
    "debug_info": lib.GSYM_DEBUG_INFO,
    "debug_abbrev": lib.GSYM_DEBUG_ABBREV,
    "debug_str": lib.GSYM_DEBUG_STR,
    "debug_line": lib.GSYM_DEBUG_LINE,
    "debug_line_str": lib.GSYM_DEBUG_LINE_STR,
    "debug_ranges": lib.GSYM_DEBUG_RANGES,
    "debug_rnglists": lib.GSYM_DEBUG_RNGLISTS,
    "debug_addr": lib.GSYM_DEBUG_ADDR,
    "debug_str_offsets": lib.GSYM_DEBUG_STR_OFFSETS,
    "debug_types": lib.GSYM_DEBUG_TYPES,
    "debug_cu_index": lib.GSYM_DEBUG_CU_INDEX,
    "debug_tu_index": lib.GSYM_DEBUG_TU_INDEX,
}
# pyelftools looks into these as soon as a DIE refers to them.
_LOCATION_LISTS = (b".debug_loclists", b"__debug_loclists")
# DWARFInfo's arguments, without the dots of their names.
DWARF_SECTIONS = (
    *(name for name in _DWARF_SECTIONS if not name.endswith("_index")),
    "debug_loclists",
)


class DebugSections(NamedTuple):
    """Sections of DWARF, inflated and relocated, by their names without dots."""

    contents: dict[str, bytes]
    byteorder: Literal["little", "big"]
    address_size: int

    def replace(self, **contents: bytes) -> DebugSections:
        """Copy this with other contents of some sections."""
        return self._replace(contents={**self.contents, **contents})

    def part(self, name: str, start: int, size: int) -> bytes:
        """Bytes of a section; what is beyond its end is missing."""
        return self.contents.get(name, b"")[start : start + size]

    def word(self, name: str, at: int, size: int) -> int:
        """A number in a section; 0 beyond its end."""
        return int.from_bytes(self.part(name, at, size), self.byteorder)


class DwarfFile(NamedTuple):
    """The DWARF of a binary, and what its addresses mean."""

    sections: DebugSections  # its sections of DWARF
    # the ranges of its code, merged; none: any address may be code
    text_ranges: Sequence[Range]
    # the bit of an address of code that is no part of the address but says which
    # instruction set the code is of; 0 where there is none
    isa_bit: int = 0
    # the sections of the file that the DWARF refers to
    supplementary: DebugSections | None = None
    bias: int = 0  # how far the binary is from the addresses in the DWARF

    def is_text(self, address: int) -> bool:
        """Whether *address* lies in code, if there is any."""
        if not self.text_ranges:
            return True
        return range_at(self.text_ranges, address) is not None

    def code_range(self, start: int, end: int) -> Range:
        """A range of code without the bit for the instruction set.

        The end has it if it is computed from a start with it. A label at the end has
        not, and data in code may end at any byte.
        """
        return Range(start & ~self.isa_bit, end - (start & end & self.isa_bit))


def sections_of(file: ObjectFile, *, split: bool = False) -> DebugSections:
    """The DWARF of an object file, or with *split* that of its split units.

    Sections are located, inflated and relocated by the conversion's reader.
    """
    found = {
        name: file.debug_section(which, split=split)
        for name, which in _DWARF_SECTIONS.items()
    }
    contents = {name: bytes(each.data) for name, each in found.items() if each}
    for name in _LOCATION_LISTS:
        data = file.section(name + b".dwo" * split)
        if data is not None:
            contents["debug_loclists"] = bytes(data)
    return DebugSections(contents, file.byteorder, 8 if file.is_64 else 4)
