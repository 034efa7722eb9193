"""The DWARF of a file, as the second decoder needs it."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import DIE, AttributeValue
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from gsym.engine.native import lib
from gsym.model import Range
from gsym.ranges import range_at

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
_DWARF_SECTIONS_UNUSED = (
    "debug_aranges",
    "debug_frame",
    "eh_frame",
    "debug_loc",
    "debug_pubtypes",
    "debug_pubnames",
    "debug_sup",
    "gnu_debugaltlink",
)


class _RootDIE(DIE):
    """The first DIE of a unit."""

    def add_bases(self, bases: Mapping[str, int]) -> None:
        """Add the bases that it leaves out; pyelftools needs them for an index."""
        for name, start in bases.items():
            value = AttributeValue(name, "DW_FORM_sec_offset", start, start, 0, 0)
            self.attributes.setdefault(name, value)
        self._translate_indirect_attributes()


class _Unit(CompileUnit):
    """A unit whose root may leave out the bases of its indexes."""

    def add_root(self, stream: Any, bases: Mapping[str, int]) -> None:
        """Decode the root DIE, and add the bases that it leaves out."""
        root = _RootDIE(self, stream, self.cu_die_offset)
        self._dielist.insert(0, root)
        self._diemap.insert(0, self.cu_die_offset)
        root.add_bases(bases)


class _Context(DWARFInfo):
    """Reads version 6 as well, whose units and line tables have the headers of 5."""

    def _parse_CU_at_offset(self, offset: int) -> _Unit:  # noqa: N802 - inherited
        cu = super()._parse_CU_at_offset(offset)
        return _Unit(cu.header, self, cu.structs, cu.cu_offset, cu.cu_die_offset)

    def _is_supported_version(self, version: int) -> bool:
        return 2 <= version <= 6  # noqa: PLR2004


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

    def open(self) -> DWARFInfo:
        """A fresh pyelftools context; it caches every DIE it has seen."""
        names = (*DWARF_SECTIONS, *_DWARF_SECTIONS_UNUSED)
        sections: dict[str, Any] = dict.fromkeys(f"{name}_sec" for name in names)
        for name in DWARF_SECTIONS:
            data = self.contents.get(name)
            if data is not None:
                sections[f"{name}_sec"] = DebugSectionDescriptor(
                    stream=BytesIO(data),
                    name=name,
                    global_offset=0,
                    size=len(data),
                    address=0,
                )
        config = DwarfConfig(self.byteorder == "little", "", self.address_size)
        return _Context(config=config, **sections)


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
    byteorder: Literal["little", "big"] = "big" if file.big_endian else "little"
    return DebugSections(contents, byteorder, 8 if file.is_64 else 4)
