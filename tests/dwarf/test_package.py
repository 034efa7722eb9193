"""Packages (.dwp): units found by the index, in either of its versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conversions import describe, words
from tests.dwarf_files import SPLIT, DwarfFile, Outcome, convert_files
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType, Value
from tests.inputs.range_lists import RangeEntry, ranges
from tests.inputs.split import (
    ABBREV,
    INFO,
    LINE,
    RNGLISTS,
    STR_OFFSETS,
    Index,
    Package,
    Part,
    SplitFile,
    TypeUnit,
    package,
    split_unit,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

VERSIONS = {2: 4, 5: 5}  # of the index, and of DWARF
COUNT = 4
CLASS = 0xC1A55


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


EXPECTED = "".join(
    words(f"""
        {start:x}-{start + 8:x} f{n}
        {start + 0x40:x}-{start + 0x48:x} f{n}
        {start + 0x80:x}-{start + 0x88:x} C{n}::method
    """)
    for n, start in ((n, 0x1000 + 0x100 * n) for n in range(COUNT))
)


class Made:
    """The main file and the package of the units above."""

    def __init__(self, index_version: int, byteorder: ByteOrder = "little") -> None:
        self.units = split_units(index_version)
        dwarf = Dwarf(self.units, byteorder)
        self.byteorder: ByteOrder = byteorder
        self.main_sections = dwarf.sections()
        self.main = DwarfFile(self.main_sections)
        self.splits = dwarf.split_sections()
        section = ".debug_types" if index_version == 2 else ".debug_info"
        files = []
        for n, sections in enumerate(self.splits):
            start = dwarf.unit_of(f"C{n}")
            types = [TypeUnit(CLASS + n, start, len(sections[section]) - start)]
            files.append(SplitFile(dwo_id_of(n), sections, types))
        self.package: Package = package(files, index_version, byteorder)

    def convert(self, folder: Path, changed: Package | None = None) -> Outcome:
        sections = (changed or self.package).encode(self.byteorder)
        return convert_files(
            folder,
            self.main,
            DwarfFile(sections, SPLIT),
            big_endian=self.byteorder == "big",
        )


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_unit_of_a_package_is_found(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    outcome = Made(version, byteorder).convert(tmp_path)
    assert outcome.matched == [COUNT]
    assert outcome.warnings == []
    assert describe(outcome.functions) == EXPECTED


@pytest.mark.parametrize("version", VERSIONS)
def test_a_package_gives_the_functions_of_its_files(
    version: int, tmp_path: Path
) -> None:
    made = Made(version)
    splits = [DwarfFile(each, SPLIT) for each in made.splits]
    apart = convert_files(tmp_path, made.main, *splits)
    assert made.convert(tmp_path).image == apart.image


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_columns_are_skipped(version: int, tmp_path: Path) -> None:
    made = Made(version)
    units = made.package.units
    columns = (LINE, 99, *units.columns, 0xFFFFFFFF)
    changed = made.package._replace(units=units._replace(columns=columns))
    assert describe(made.convert(tmp_path, changed).functions) == EXPECTED


def test_a_unit_that_the_package_lacks_costs_itself_only(tmp_path: Path) -> None:
    for version in VERSIONS:
        made = Made(version)
        units = made.package.units
        changed = made.package._replace(units=units._replace(rows=units.rows[:-1]))
        outcome = made.convert(tmp_path, changed)
        assert outcome.matched == [COUNT - 1]
        assert [each.category for each in outcome.warnings] == ["SPLIT_MISSING"]
        assert describe(outcome.functions) == "".join(
            EXPECTED.splitlines(keepends=True)[:-3]
        )


def test_a_type_that_the_package_lacks_costs_its_name_only(tmp_path: Path) -> None:
    for version in VERSIONS:
        made = Made(version)
        types = made.package.types
        changed = made.package._replace(types=types._replace(rows=types.rows[1:]))
        words_of = describe(made.convert(tmp_path, changed).functions)
        assert words_of == EXPECTED.replace("C0::method", "method")


# ---- damage -------------------------------------------------------------------------


def with_part(index: Index, row: int, kind: int, part: Part) -> Index:
    rows = list(index.rows)
    rows[row] = (rows[row][0], {**rows[row][1], kind: part})
    return index._replace(rows=rows)


def part_of(index: Index, row: int, kind: int) -> Part:
    return index.rows[row][1][kind]


WRONG: dict[str, Callable[[Index], Index]] = {
    "more columns than there can be": lambda index: index._replace(
        column_count=0xFFFFFFFF
    ),
    "no column": lambda index: index._replace(columns=()),
    "more rows than the section holds": lambda index: index._replace(
        row_count=0xFFFFFFFF
    ),
    "more slots than the section holds": lambda index: index._replace(
        slot_count=0xFFFFFFFF
    ),
    "no slot": lambda index: index._replace(slot_count=0),
    "an unknown version": lambda index: index._replace(version=6),
    "no column of units": lambda index: index._replace(columns=index.columns[1:]),
    "a unit behind the end of the section": lambda index: with_part(
        index, 0, INFO, Part(0xFFFFFFF0, 100)
    ),
    "a unit that does not start where the row says": lambda index: with_part(
        index, 0, INFO, Part(part_of(index, 0, INFO).offset + 1, 1 << 20)
    ),
    "a part too small for its unit": lambda index: with_part(
        index, 0, INFO, Part(part_of(index, 0, INFO).offset, 3)
    ),
    "the unit of another signature": lambda index: with_part(
        index, 0, INFO, part_of(index, 1, INFO)
    ),
    "abbreviations behind the end": lambda index: with_part(
        index, 0, ABBREV, Part(0xFFFFFFF0, 10)
    ),
    "strings behind the end": lambda index: with_part(
        index, 0, STR_OFFSETS, Part(0xFFFFFFF0, 10)
    ),
    "range lists behind the end": lambda index: with_part(
        index, 0, RNGLISTS, Part(0xFFFFFFF0, 10)
    ),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", WRONG)
def test_a_wrong_index_costs_names_or_units_and_no_more(
    how: str, version: int, tmp_path: Path
) -> None:
    made = Made(version)
    whole = made.package
    for changed in (
        whole._replace(units=WRONG[how](whole.units)),
        whole._replace(types=WRONG[how](whole.types)),
    ):
        outcome = made.convert(tmp_path, changed)
        assert sum(outcome.matched) <= COUNT
        known = {line.split()[0] for line in EXPECTED.splitlines()}
        found = describe(outcome.functions).splitlines()
        assert {line.split()[0] for line in found} <= known


@pytest.mark.parametrize("version", VERSIONS)
def test_a_full_table_of_wrong_signatures_is_given_up(
    version: int, tmp_path: Path
) -> None:
    made = Made(version)
    parts = made.package.units.rows[0][1]
    rows = [(1000 + n, parts) for n in range(1 << 10)]
    units = made.package.units._replace(rows=rows, slots=1 << 10)
    outcome = made.convert(tmp_path, made.package._replace(units=units))
    assert outcome.matched == [0]


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_that_share_one_unit_complete_one_skeleton(
    version: int, tmp_path: Path
) -> None:
    """Where the dwo_id is not part of the unit the index alone would decide."""
    made = Made(version)
    rows = [
        (signature, made.package.units.rows[0][1])
        for signature, _ in made.package.units.rows
    ]
    units = made.package.units._replace(rows=rows)
    outcome = made.convert(tmp_path, made.package._replace(units=units))
    assert outcome.matched == [1]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", [".debug_cu_index", ".debug_tu_index"])
def test_an_index_cut_off_anywhere_or_with_any_byte_changed_is_survived(
    name: str, version: int, tmp_path: Path
) -> None:
    made = Made(version)
    sections = made.package.encode()
    index = sections[name]
    for at in range(len(index)):
        flipped = index[:at] + bytes([index[at] ^ 0xFF]) + index[at + 1 :]
        # Each byte is changed; the index is cut off inside of each number.
        for changed in (flipped, index[:at])[: 1 + (at % 4 == 2)]:
            split = DwarfFile({**sections, name: changed}, SPLIT)
            outcome = convert_files(tmp_path, made.main, split)
            assert sum(outcome.matched) <= COUNT
