"""Copies of relocatable files whose sections have the addresses that gsym gives them.

LLVM's tools add the address of a section to what its relocations say, so that they
answer for such a copy what a linked file would make them answer.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from elftools.elf.elffile import ELFFile

from tests.referee.elf import placements

if TYPE_CHECKING:
    from pathlib import Path

# sh_name, sh_type, sh_flags, sh_addr, sh_offset, sh_size
_FIELDS_64, _FIELDS_32 = "IIQQQQ", "IIIIII"


def place(binary: Path, output: Path) -> Path:
    """A copy of *binary* with these addresses in its section headers.

    It has no .debug_aranges: LLVM takes their addresses without relocating them.
    """
    data = bytearray(binary.read_bytes())
    with binary.open("rb") as file:
        elf = ELFFile(file)
        addresses = placements(elf)
        fields = _FIELDS_64 if elf.elfclass == 64 else _FIELDS_32
        header = struct.Struct(("<" if elf.little_endian else ">") + fields)
        for index, section in enumerate(elf.iter_sections()):
            at = elf["e_shoff"] + index * elf["e_shentsize"]
            name, kind, flags, address, offset, size = header.unpack_from(data, at)
            address = addresses.get(index, address)
            size = 0 if section.name == ".debug_aranges" else size
            header.pack_into(data, at, name, kind, flags, address, offset, size)
    output.write_bytes(data)
    return output
