"""Split units with their skeletons, and packages (.dwp) of them.

Dwarf([split_unit(function("f", 0x1000, 0x1010), dwo_id=7)]).split_sections()
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from tests.inputs.dies import Die
from tests.inputs.dwarf import Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.inputs.encoding import ByteOrder
    from tests.inputs.line_program import LineProgram

DWO_ID = 0x1122334455667788


def split_unit(  # noqa: PLR0913 - keywords, each a choice of its own
    *dies: Die,
    version: int = 5,
    dwo_id: int = DWO_ID,
    language: int = Lang.C_plus_plus_14,
    lines: LineProgram | None = None,
    dwarf64: bool = False,
    low_pc: int | None = 0x1000,
    high_pc: int | None = None,
    children: Sequence[Die] = (),
    beside: Sequence[Unit] = (),
    skeleton_id: int | None = None,
    dwo_name: str = "a.dwo",
) -> Unit:
    """A unit of these DIEs behind a skeleton whose code is from *low_pc* to *high_pc*.

    The skeleton has *children* of its own, and *skeleton_id* for another dwo_id.
    """
    is_old = version < 5
    name = At.GNU_dwo_name if is_old else At.dwo_name

    def ids(number: int) -> dict[int, object]:
        return {At.GNU_dwo_id: Form.data8(number)} if is_old else {}

    known_as = dwo_id if skeleton_id is None else skeleton_id
    code = {} if low_pc is None else {At.low_pc: Form.addr(low_pc)}
    if high_pc is not None:
        code[At.high_pc] = Form.addr(high_pc)
    skeleton = Unit(
        Die(
            Tag.compile_unit if is_old else Tag.skeleton_unit,
            {name: Form.strp(dwo_name), At.comp_dir: "/src", **code, **ids(known_as)},
            *children,
        ),
        version=version,
        dwarf64=dwarf64,
        unit_type=UnitType.skeleton,
        signature=None if is_old else known_as,
    )
    return Unit(
        Die(
            Tag.compile_unit,
            {At.name: "a.c", At.language: language, **ids(dwo_id)},
            *dies,
        ),
        version=version,
        lines=lines,
        dwarf64=dwarf64,
        unit_type=UnitType.split_compile,
        signature=None if is_old else dwo_id,
        skeleton=skeleton,
        beside=tuple(beside),
    )


class TypeUnit(NamedTuple):
    """Where a type unit stands in the section that its file has it in."""

    signature: int
    offset: int
    size: int


class SplitFile(NamedTuple):
    """The sections of a .dwo with one split unit, and type units in it."""

    dwo_id: int
    sections: Mapping[str, bytes]
    types: Sequence[TypeUnit] = ()


class Part(NamedTuple):
    """Of a section."""

    offset: int
    size: int


INFO, TYPES, ABBREV, LINE, LOCLISTS, STR_OFFSETS, MACRO, RNGLISTS = range(1, 9)
_NAMES = {
    INFO: ".debug_info",
    TYPES: ".debug_types",
    ABBREV: ".debug_abbrev",
    STR_OFFSETS: ".debug_str_offsets",
    RNGLISTS: ".debug_rnglists",
}


class Index(NamedTuple):
    """A .debug_cu_index or .debug_tu_index.

    *rows* are signatures with the parts of their unit, *columns* the kinds of these.
    The counts of the header may differ from the truth.
    """

    version: int
    rows: Sequence[tuple[int, Mapping[int, Part]]]
    columns: Sequence[int]
    slots: int | None = None
    column_count: int | None = None
    row_count: int | None = None
    slot_count: int | None = None

    def encode(self, byteorder: ByteOrder = "little") -> bytes:
        order = "<" if byteorder == "little" else ">"
        slots = self.slots or 1 << (3 * len(self.rows) // 2).bit_length()
        signatures, numbers = [0] * slots, [0] * slots
        for number, (signature, _) in enumerate(self.rows, 1):
            slot = signature & (slots - 1)
            while numbers[slot]:
                slot = (slot + ((signature >> 32) & (slots - 1) | 1)) & (slots - 1)
            signatures[slot], numbers[slot] = signature, number
        parts = [
            unit.get(kind, Part(0, 0)) for _, unit in self.rows for kind in self.columns
        ]
        numbers += self.columns
        numbers += [part.offset for part in parts] + [part.size for part in parts]
        counts = (
            len(self.columns) if self.column_count is None else self.column_count,
            len(self.rows) if self.row_count is None else self.row_count,
            slots if self.slot_count is None else self.slot_count,
        )
        version = (self.version,) if self.version == 2 else (self.version, 0)
        head = struct.pack(order + ("I" if len(version) == 1 else "HH"), *version)
        return b"".join(
            (
                head,
                struct.pack(f"{order}3I", *counts),
                struct.pack(f"{order}{slots}Q", *signatures),
                struct.pack(f"{order}{len(numbers)}I", *numbers),
            )
        )


class Package(NamedTuple):
    """The sections of a .dwp but for its indices, and what those say."""

    sections: Mapping[str, bytes]
    units: Index
    types: Index

    def encode(self, byteorder: ByteOrder = "little") -> dict[str, bytes]:
        whole = {**self.sections, ".debug_cu_index": self.units.encode(byteorder)}
        if self.types.rows:
            whole[".debug_tu_index"] = self.types.encode(byteorder)
        return whole


def package(
    files: Sequence[SplitFile], version: int, byteorder: ByteOrder = "little"
) -> Package:
    """Put .dwo files together: strings get new offsets, all else stays as it is."""
    whole = dict.fromkeys((*_NAMES.values(), ".debug_str"), b"")
    rows: list[tuple[int, dict[int, Part]]] = []
    types: list[tuple[int, dict[int, Part]]] = []
    holder = TYPES if version == 2 else INFO
    for file in files:
        parts = {}
        for kind, name in _NAMES.items():
            content = file.sections.get(name, b"")
            if kind == STR_OFFSETS:
                by = len(whole[".debug_str"])
                content = _moved(content, by, version, byteorder)
            parts[kind] = Part(len(whole[name]), len(content))
            whole[name] += content
        whole[".debug_str"] += file.sections.get(".debug_str", b"")
        rows.append((file.dwo_id, parts))
        for signature, offset, size in file.types:
            own = Part(parts[holder].offset + offset, size)
            types.append((signature, {**parts, holder: own}))
    kinds = (ABBREV, STR_OFFSETS, *((RNGLISTS,) if version == 5 else ()))
    return Package(
        {name: content for name, content in whole.items() if content},
        Index(version, rows, (INFO, *kinds)),
        Index(version, types, (holder, *kinds)),
    )


def _moved(content: bytes, by: int, version: int, byteorder: ByteOrder) -> bytes:
    """A table of offsets, each moved; its length says how many bytes they have."""
    size = 8 if content[:4] == b"\xff\xff\xff\xff" else 4
    first = 0 if version == 2 else 2 * size
    numbers = (
        int.from_bytes(content[at : at + size], byteorder) + by
        for at in range(first, len(content), size)
    )
    return content[:first] + b"".join(n.to_bytes(size, byteorder) for n in numbers)
