"""Stripped binaries and their debug files, made in memory.

What functions come out tells what was read: `in_binary` stands in the symbol table
of a binary, `in_debug` in the DWARF of a debug file, in front of it.
"""

from __future__ import annotations

import os
import zlib
from typing import TYPE_CHECKING

import gsym
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form
from tests.inputs.elf import Elf, Section, Segment, Symbol, code_section
from tests.inputs.encoding import Encoding
from tests.inputs.program import debug_sections, function, unit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

ID = bytes(range(0xA0, 0xB4))
OTHER_ID = bytes(range(0xC0, 0xD4))
ID_PATH = ".build-id/a0/a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3.debug"
SHARED_NAME = "in_supplementary"
SYMBOL = Symbol("in_binary", 0x1100, 0x10)


def debug_link(
    name: str, target: bytes, byteorder: ByteOrder = "little", crc: int | None = None
) -> Section:
    """The section that names a debug file of these bytes."""
    text = name.encode() + b"\0"
    checksum = zlib.crc32(target) if crc is None else crc
    data = text + bytes(-len(text) % 4) + Encoding(byteorder).uint(checksum, 4)
    return Section(".gnu_debuglink", data, alignment=4)


def stripped(
    *sections: Section,
    build_id: bytes | None = None,
    symbols: tuple[Symbol, ...] = (SYMBOL,),
    bits: int = 64,
    byteorder: ByteOrder = "little",
) -> bytes:
    """A binary at 0 without DWARF."""
    return Elf(
        [code_section(), *sections],
        [Segment(0, 0x2000)],
        symbols=symbols,
        build_id=build_id,
        bits=bits,
        byteorder=byteorder,
    ).to_bytes()


def debug_file(
    build_id: bytes | None = None,
    name: str = "in_debug",
    symbols: tuple[Symbol, ...] = (),
    bits: int = 64,
    byteorder: ByteOrder = "little",
) -> bytes:
    """What `objcopy --only-keep-debug` makes; its segments count for nothing."""
    debug = debug_sections(bits, byteorder, function(name, 0x1000, 0x1010))
    return Elf(
        [code_section(), *debug],
        [Segment(0x7000)],
        symbols=symbols,
        build_id=build_id,
        bits=bits,
        byteorder=byteorder,
    ).to_bytes()


def altlink(name: str, build_id: bytes = ID) -> Section:
    return Section(".gnu_debugaltlink", os.fsencode(name) + b"\0" + build_id)


def referring(*sections: Section, byteorder: ByteOrder = "little") -> bytes:
    """A binary with a function that the supplementary file names."""
    main = unit(
        function(
            None,
            0x1000,
            0x1010,
            attributes={At.name: Form.GNU_strp_alt(0)},
        )
    )
    debug = [Section(n, d) for n, d in Dwarf([main], byteorder).sections().items()]
    parts = [code_section(), *debug, *sections]
    return Elf(parts, symbols=[SYMBOL], byteorder=byteorder).to_bytes()


def shared(
    *sections: Section,
    build_id: bytes | None = ID,
    name: str = SHARED_NAME,
    byteorder: ByteOrder = "little",
) -> bytes:
    """A supplementary file that is nothing but a name."""
    strings = Section(".debug_str", name.encode() + b"\0")
    return Elf([strings, *sections], build_id=build_id, byteorder=byteorder).to_bytes()


def place(path: Path, data: bytes) -> str:
    """Write a file, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def names_of(report: gsym.ConversionReport) -> list[str]:
    """The functions in the output of a conversion."""
    with gsym.open(report.outputs[0]) as reader:
        return [function.name for function in reader.functions()]
