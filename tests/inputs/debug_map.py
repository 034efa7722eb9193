"""Mach-O programs with debug maps, and the object files that these name.

executable(stabs("a.o", {"_a": (TEXT, 0x10)}))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import Lang
from tests.inputs.macho import (
    N_BNSYM,
    N_ENSYM,
    N_FUN,
    N_GSYM,
    N_OSO,
    N_SO,
    OBJECT,
    Macho,
    Section,
    Symbol,
    code,
    debug_sections,
)
from tests.inputs.program import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.inputs.dies import Die
    from tests.inputs.encoding import ByteOrder
    from tests.inputs.line_program import LineProgram

TEXT = 0x100001000


def object_file(  # noqa: PLR0913 - what object files differ in
    *dies: Die,
    symbols: Sequence[Symbol],
    lines: LineProgram | None = None,
    size: int = 0x40,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    cpu: tuple[int, int] | None = None,
) -> bytes:
    main = unit(*dies, version=4, language=Lang.C99, lines=lines)
    sections = Dwarf([main], byteorder, bits // 8).sections()
    return Macho(
        [code(0, size), *debug_sections(sections)],
        symbols,
        base=None,
        bits=bits,
        byteorder=byteorder,
        cpu=cpu,
        type=OBJECT,
    ).to_bytes()


def stabs(
    path: str, functions: dict[str, tuple[int, int]], mtime: int = 0
) -> list[Symbol]:
    """What a linker notes of an object file: (address, size) of its functions."""
    out = [
        Symbol("/src/", 0, 0, N_SO),
        Symbol("a.c", 0, 0, N_SO),
        Symbol(path, mtime, 0, N_OSO),
    ]
    for name, (address, size) in functions.items():
        out += [
            Symbol("", address, type=N_BNSYM),
            Symbol(name, address, type=N_FUN),
            Symbol("", size, 0, N_FUN),
            Symbol("", size, type=N_ENSYM),
        ]
    return [*out, Symbol("_data", 0, 0, N_GSYM), Symbol("", 0, 0, N_SO)]


def executable(  # noqa: PLR0913 - what executables differ in
    *groups: list[Symbol],
    symbols: Sequence[Symbol] = (),
    sections: Sequence[Section] = (),
    uuid: bytes | None = None,
    base: int = TEXT - 0x1000,
    bits: int = 64,
    byteorder: ByteOrder = "little",
    cpu: tuple[int, int] | None = None,
) -> bytes:
    every = [symbol for group in groups for symbol in group]
    return Macho(
        [code(base + 0x1000, 0x100), *sections],
        [*every, *symbols],
        uuid=uuid,
        base=base,
        bits=bits,
        byteorder=byteorder,
        cpu=cpu,
    ).to_bytes()
