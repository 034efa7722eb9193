"""The second opinion on relocatable ELF files: where their sections are placed.

docs/differences.md has the rule. Nothing of the engine is used here.
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, cast

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableIndexSection, SymbolTableSection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elftools.elf.sections import Section

__all__ = ["place", "placements"]

_SHF_ALLOC = 0x2
_SHF_EXECINSTR = 0x4


def placements(elf: ELFFile) -> dict[int, int]:
    """Address of each loaded section of a relocatable file, by its number."""
    sections = [
        (index, section)
        for index, section in enumerate(elf.iter_sections())
        if section["sh_flags"] & _SHF_ALLOC
    ]
    taken = [
        (section["sh_addr"], section["sh_addr"] + section["sh_size"])
        for _, section in sections
        if section["sh_addr"]
    ]
    addresses, end = _place_from(0, sections)
    if taken and end > min(taken)[0]:
        addresses, _ = _place_from(max(end for _, end in taken), sections)
    return addresses


def place(data: bytes) -> ELFFile:
    """A copy of a relocatable file, its sections and symbols at their addresses."""
    copy = bytearray(data)
    elf = ELFFile(BytesIO(data))
    word = struct.Struct(
        ("<" if elf.little_endian else ">") + ("Q" if elf.elfclass == 64 else "I")  # noqa: PLR2004
    )
    addresses = placements(elf)
    for index, address in addresses.items():
        header = elf["e_shoff"] + index * elf["e_shentsize"]
        word.pack_into(copy, header + 8 + word.size, address)
    for table in elf.iter_sections("SHT_SYMTAB"):
        if isinstance(table, SymbolTableSection):
            for number, index, value in _symbols(elf, table):
                entry = table["sh_offset"] + number * table["sh_entsize"]
                moved = (value + addresses.get(index, 0)) % (1 << 8 * word.size)
                word.pack_into(copy, entry + word.size, moved)
    return ELFFile(cast("BinaryIO", BytesIO(copy)))


def _place_from(
    start: int, sections: list[tuple[int, Section]]
) -> tuple[dict[int, int], int]:
    """The addresses, and the end of the sections that had none before.

    Code comes first, and each section behind the one before it.
    """
    addresses, end = {}, start
    for is_code in (True, False):
        for index, section in sections:
            if bool(section["sh_flags"] & _SHF_EXECINSTR) != is_code:
                continue
            addresses[index] = section["sh_addr"]
            if not section["sh_addr"]:
                alignment = max(1, section["sh_addralign"])
                addresses[index] = -(-end // alignment) * alignment
                end = addresses[index] + section["sh_size"]
    return addresses, end


def _symbols(elf: ELFFile, table: SymbolTableSection) -> Iterator[tuple[int, int, int]]:
    """Number, section and value of each symbol that a section defines."""
    extended = next(elf.iter_sections("SHT_SYMTAB_SHNDX"), None)
    for number, symbol in enumerate(table.iter_symbols()):
        index = symbol["st_shndx"]
        if index == "SHN_XINDEX" and isinstance(extended, SymbolTableIndexSection):
            index = extended.get_section_index(number)
        if isinstance(index, int):
            yield number, index, symbol["st_value"]
