"""Split programs, with their files and packages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType, Value
from tests.inputs.elf import (
    RELOCATABLE,
    Compression,
    Elf,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.range_lists import RangeEntry, ranges
from tests.inputs.split import Package, SplitFile, TypeUnit, package, split_unit

if TYPE_CHECKING:
    from tests.inputs.encoding import ByteOrder

LINES = LineProgram(
    ops=sequence((0x1000, 3), (0x1008, 4), end=0x1040),
    files=(File("a.c"), File("b.h")),
    directories=("/src",),
)
OLD_LINES = LineProgram(
    ops=sequence((0x1000, 3), (0x1008, 4), end=0x1040),
    files=(File("a.c"), File("b.h")),
)
VERSIONS = {2: 4, 5: 5}  # of the index, and of DWARF
COUNT = 4
CLASS = 0xC1A55
SYMBOL = Symbol("in_binary", 0x1800, 0x10)


def lines_of(version: int) -> LineProgram:
    """Rows of two files; file 1 is a.c up to version 4 and b.h from then on."""
    return LINES if version >= 5 else OLD_LINES


def addressed(version: int, start: int, size: int) -> dict[int, object]:
    """Code at an address that .debug_addr has."""
    form = Form.addrx if version >= 5 else Form.GNU_addr_index
    return {At.low_pc: form(start), At.high_pc: Form.data4(size)}


def string(version: int, text: str) -> Value:
    return (Form.strx if version >= 5 else Form.GNU_str_index)(text)


def whole_program(version: int, *, dwarf64: bool = False) -> Unit:
    """A method in a namespace with two ranges, and a call inlined into it."""
    if version >= 5:
        own = Form.rnglistx(
            ranges(
                RangeEntry.startx_length(0x1000, 0x10),
                RangeEntry.base_addressx(0x1000),
                RangeEntry.offset_pair(0x20, 0x30),
            )
        )
    else:
        own = Form.sec_offset(ranges((0x0, 0x10), (0x20, 0x30)))
    inner = Die(
        Tag.inlined_subroutine,
        {
            At.abstract_origin: Ref("g"),
            **addressed(version, 0x1004, 4),
            At.call_file: 1,
            At.call_line: 9,
        },
    )
    return split_unit(
        Die(
            Tag.namespace,
            {At.name: string(version, "N")},
            Die(Tag.subprogram, {At.name: string(version, "f"), At.ranges: own}, inner),
        ),
        Die(Tag.subprogram, {At.name: string(version, "g"), At.inline: 1}, label="g"),
        Die(Tag.subprogram, {At.name: "h", **addressed(version, 0x1030, 0x10)}),
        version=version,
        dwarf64=dwarf64,
        lines=lines_of(version),
    )


def dwo_id_of(n: int) -> int:
    """Both halves count, and some meet in one slot."""
    return 0x1BCDEF0100000000 * n + 80 * n + 1


def split_units(index_version: int) -> list[Unit]:
    """Units that name, list and refer to types by index, each in its own way."""
    version = VERSIONS[index_version]
    is_old = version < 5
    string = Form.GNU_str_index if is_old else Form.strx
    address = Form.GNU_addr_index if is_old else Form.addrx

    def numbered(n: int) -> Unit:
        start = 0x1000 + 0x100 * n
        if is_old:
            own: Value = Form.sec_offset(ranges((0, 8), (0x40, 0x48)))
        else:
            own = Form.rnglistx(
                ranges(
                    RangeEntry.startx_length(start, 8),
                    RangeEntry.startx_length(start + 0x40, 8),
                )
            )
        return split_unit(
            Die(Tag.variable, {At.name: string(f"v{n}")}),
            Die(Tag.subprogram, {At.name: string(f"f{n}"), At.ranges: own}),
            Die(
                Tag.class_type,
                {At.declaration: True, At.signature: Form.ref_sig8(CLASS + n)},
                Die(
                    Tag.subprogram,
                    {At.name: string("method"), At.declaration: True},
                    label=f"m{n}",
                ),
            ),
            Die(
                Tag.subprogram,
                {
                    At.specification: Ref(f"m{n}"),
                    At.low_pc: address(start + 0x80),
                    At.high_pc: Form.data4(8),
                },
            ),
            version=version,
            dwo_id=dwo_id_of(n),
            low_pc=start,
            beside=[
                Unit(
                    Die(
                        Tag.type_unit,
                        {At.language: Lang.C_plus_plus_14},
                        Die(Tag.class_type, {At.name: f"C{n}"}, label=f"C{n}"),
                    ),
                    version=version,
                    unit_type=UnitType.split_type,
                    signature=CLASS + n,
                    type_label=f"C{n}",
                )
            ],
        )

    return [numbered(n) for n in range(COUNT)]


class Packaged:
    """The main file and the package of `split_units`."""

    def __init__(
        self,
        index_version: int,
        byteorder: ByteOrder = "little",
        *,
        other_tables: bool = False,
    ) -> None:
        self.units = [
            replace(each, other_tables=other_tables)
            for each in split_units(index_version)
        ]
        dwarf = Dwarf(self.units, byteorder)
        self.byteorder: ByteOrder = byteorder
        self.main_sections = dwarf.sections()
        self.splits = dwarf.split_sections()
        section = ".debug_types" if index_version == 2 else ".debug_info"
        files = []
        for n, sections in enumerate(self.splits):
            start = dwarf.unit_of(f"C{n}")
            types = [TypeUnit(CLASS + n, start, len(sections[section]) - start)]
            files.append(SplitFile(dwo_id_of(n), sections, types))
        self.package: Package = package(files, index_version, byteorder)


class Built(NamedTuple):
    """A binary with skeleton units, and the files that complete them."""

    binary: bytes
    splits: list[bytes]
    package: bytes


def object_file(
    sections: dict[str, bytes],
    kind: int = RELOCATABLE,
    byteorder: ByteOrder = "little",
    compression: Compression | None = None,
) -> bytes:
    return Elf(
        [
            Section(name, data, compression=compression)
            for name, data in sections.items()
        ],
        type=kind,
        byteorder=byteorder,
    ).to_bytes()


def complete(
    unit: Unit,
    *symbols: Symbol,
    byteorder: ByteOrder = "little",
    code: Section | None = None,
) -> tuple[bytes, bytes]:
    """A binary with the skeleton of *unit*, and the .dwo file."""
    dwarf = Dwarf([unit], byteorder)
    debug = [Section(name, data) for name, data in dwarf.sections().items()]
    [split] = dwarf.split_sections()
    text = code or code_section()
    binary = Elf([text, *debug], symbols=symbols, byteorder=byteorder)
    return binary.to_bytes(), object_file(_dwo(split), RELOCATABLE, byteorder)


def build(
    *names: str,
    version: int = 5,
    first_id: int = 7,
    byteorder: ByteOrder = "little",
    compression: Compression | None = None,
    separate: bool = False,
) -> Built:
    """A unit for each name, with a function of this name.

    All .dwo files are called a.dwo, unless *separate* 0.dwo and so on.
    """
    form = Form.GNU_addr_index if version < 5 else Form.addrx
    units = [
        split_unit(
            Die(
                Tag.subprogram,
                {
                    At.name: name,
                    At.low_pc: form(0x1000 + 0x10 * i),
                    At.high_pc: Form.data4(0x10),
                },
            ),
            version=version,
            dwo_id=first_id + i,
            dwo_name=f"{i}.dwo" if separate else "a.dwo",
        )
        for i, name in enumerate(names)
    ]
    dwarf = Dwarf(units, byteorder)
    files = dwarf.split_sections()
    splits = [SplitFile(first_id + i, each) for i, each in enumerate(files)]
    pack = package(splits, 2 if version < 5 else 5, byteorder).encode(byteorder)
    index_names = (".debug_cu_index", ".debug_tu_index")
    debug = [Section(name, data) for name, data in dwarf.sections().items()]
    return Built(
        Elf([code_section(), *debug], symbols=[SYMBOL], byteorder=byteorder).to_bytes(),
        [
            object_file(_dwo(each), RELOCATABLE, byteorder, compression)
            for each in files
        ],
        object_file(
            {
                name if name in index_names else f"{name}.dwo": data
                for name, data in pack.items()
            },
            byteorder=byteorder,
            compression=compression,
        ),
    )


def _dwo(sections: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.dwo": data for name, data in sections.items()}
