"""Whole programs in one call, with what most tests do not care about filled in.

Without other wishes a program is one C++ unit `a.c` compiled in `/src`, and its
code section spans 0x1000 to 0x2000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.dies import Die, code
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Lang, Tag
from tests.inputs.elf import Compression, Section, Symbol, elf_of
from tests.inputs.range_lists import RangeEntry, ranges

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.inputs.encoding import ByteOrder
    from tests.inputs.line_program import LineProgram


class Layout(NamedTuple):
    """The choices that change every byte of a program and nothing of its meaning."""

    version: int
    byteorder: ByteOrder
    address_size: int
    dwarf64: bool

    def __str__(self) -> str:
        bits = 64 if self.dwarf64 else 32
        return f"v{self.version}-{self.byteorder}-{self.address_size}-dwarf{bits}"

    def program(self, *dies: Die, lines: LineProgram | None = None) -> bytes:
        """A program of one unit in this layout."""
        main = unit(*dies, version=self.version, lines=lines, dwarf64=self.dwarf64)
        return program(main, byteorder=self.byteorder, address_size=self.address_size)


# Every pair of choices comes together, for version 5 in its own layouts; what takes
# random programs meets the other combinations.
LAYOUTS = [
    Layout(2, "little", 4, dwarf64=False),
    Layout(2, "big", 8, dwarf64=False),
    Layout(3, "little", 8, dwarf64=True),
    Layout(3, "big", 4, dwarf64=False),
    Layout(4, "little", 4, dwarf64=True),
    Layout(4, "big", 8, dwarf64=False),
    Layout(5, "little", 4, dwarf64=False),
    Layout(5, "little", 8, dwarf64=True),
    Layout(5, "big", 4, dwarf64=True),
    Layout(5, "big", 8, dwarf64=False),
]


def function(
    name: str | None,
    start: int,
    end: int,
    *children: Die,
    attributes: Mapping[int, object] | None = None,
    label: str | None = None,
) -> Die:
    """A DW_TAG_subprogram with code at [start, end)."""
    named = {} if name is None else {At.name: name}
    return Die(
        Tag.subprogram,
        {**named, **code(start, end), **(attributes or {})},
        *children,
        label=label,
    )


def inlined(
    origin: object,
    *extents: tuple[int, int],
    call: tuple[int, int] = (1, 1),
    children: Sequence[Die] = (),
) -> Die:
    """A DW_TAG_inlined_subroutine of *origin*, called from file and line *call*."""
    where = code(*extents[0])
    if len(extents) > 1:
        where = {At.ranges: ranges(*(RangeEntry.start_end(*each) for each in extents))}
    file, line = call
    return Die(
        Tag.inlined_subroutine,
        {At.abstract_origin: origin, **where, At.call_file: file, At.call_line: line},
        *children,
    )


def unit(
    *dies: Die,
    version: int = 5,
    language: int | None = Lang.C_plus_plus_14,
    lines: LineProgram | None = None,
    attributes: Mapping[int, object] | None = None,
    dwarf64: bool = False,
) -> Unit:
    """A compile unit of these top-level DIEs."""
    spoken = {} if language is None else {At.language: language}
    root = Die(
        Tag.compile_unit,
        {At.name: "a.c", At.comp_dir: "/src", **spoken, **(attributes or {})},
        *dies,
    )
    return Unit(root, version=version, lines=lines, dwarf64=dwarf64)


def program(
    *units: Unit,
    text: Sequence[Section] = (),
    symbols: Sequence[Symbol] = (),
    compression: Compression | None = None,
    byteorder: ByteOrder = "little",
    address_size: int = 8,
) -> bytes:
    """An executable of these units."""
    return elf_of(
        Dwarf(list(units), byteorder, address_size).sections(),
        *text,
        symbols=symbols,
        compression=compression,
        byteorder=byteorder,
        bits=8 * address_size,
    )


def debug_sections(
    bits: int = 64, byteorder: ByteOrder = "little", *dies: Die
) -> list[Section]:
    """The debug sections of a unit of *dies*, else of a function f at 1000-1010."""
    main = unit(*(dies or [function("f", 0x1000, 0x1010)]))
    sections = Dwarf([main], byteorder, bits // 8).sections()
    return [Section(name, data) for name, data in sections.items()]
