"""Packages (.dwp): units found by the index, in either of its versions."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import pytest

from tests.conversions import describe, words
from tests.dwarf_files import SPLIT, DwarfFile, Outcome, convert_files
from tests.inputs.split import (
    ABBREV,
    INFO,
    LINE,
    RNGLISTS,
    STR_OFFSETS,
    Index,
    Package,
    Part,
)
from tests.inputs.split_examples import (
    CLASS,
    COUNT,
    VERSIONS,
    Packaged,
    dwo_id_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

EXPECTED = "".join(
    words(f"""
        {start:x}-{start + 8:x} f{n}
        {start + 0x40:x}-{start + 0x48:x} f{n}
        {start + 0x80:x}-{start + 0x88:x} C{n}::method
    """)
    for n, start in ((n, 0x1000 + 0x100 * n) for n in range(COUNT))
)


class Made(Packaged):
    """Packaged units that can be converted."""

    def __init__(
        self,
        index_version: int,
        byteorder: ByteOrder = "little",
        *,
        other_tables: bool = False,
    ) -> None:
        super().__init__(index_version, byteorder, other_tables=other_tables)
        self.main = DwarfFile(self.main_sections)

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


@pytest.mark.parametrize("byteorder", ["little", "big"])
def test_tables_of_a_package_may_be_wider_than_its_units(
    byteorder: ByteOrder, tmp_path: Path
) -> None:
    """As llvm-dwp writes them for little-endian processors."""
    made = Made(5, byteorder, other_tables=True)
    assert made.package.sections[".debug_str_offsets"].startswith(b"\xff" * 4)
    outcome = made.convert(tmp_path)
    assert outcome.matched == [COUNT]
    assert describe(outcome.functions) == EXPECTED


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_columns_are_skipped(version: int, tmp_path: Path) -> None:
    made = Made(version)
    units = made.package.units
    columns = (LINE, 99, *units.columns, 0xFFFFFFFF)
    changed = made.package._replace(units=units._replace(columns=columns))
    assert describe(made.convert(tmp_path, changed).functions) == EXPECTED


@pytest.mark.parametrize("version", VERSIONS)
def test_a_unit_that_the_package_lacks_costs_itself_only(
    tmp_path: Path, version: int
) -> None:
    made = Made(version)
    units = made.package.units
    changed = made.package._replace(units=units._replace(rows=units.rows[:-1]))
    outcome = made.convert(tmp_path, changed)
    assert outcome.matched == [COUNT - 1]
    assert [each.category for each in outcome.warnings] == ["SPLIT_MISSING"]
    assert describe(outcome.functions) == "".join(
        EXPECTED.splitlines(keepends=True)[:-3]
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_a_type_that_the_package_lacks_costs_its_name_only(
    tmp_path: Path, version: int
) -> None:
    made = Made(version)
    types = made.package.types
    changed = made.package._replace(types=types._replace(rows=types.rows[1:]))
    words_of = describe(made.convert(tmp_path, changed).functions)
    assert words_of == EXPECTED.replace("C0::method", "method")


# ---- more than 4 GiB ----------------------------------------------------------------


def far_away(path: Path, section: bytes, before: bytes) -> memoryview:
    """*section* from 4 GiB on, in a sparse file that starts with *before*."""
    with path.open("wb") as file:
        file.write(before)
        file.seek(1 << 32)
        file.write(section)
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def of_others(section: bytes, byteorder: ByteOrder) -> bytes:
    """The same units with other ids."""
    for known in [dwo_id_of(n) for n in range(COUNT)] + [
        CLASS + n for n in range(COUNT)
    ]:
        section = section.replace(
            known.to_bytes(8, byteorder), (known + (1 << 63)).to_bytes(8, byteorder)
        )
    return section


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("is_empty", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_units_after_4_gib_are_found_by_the_rest_of_their_offset(
    version: int,
    byteorder: ByteOrder,
    is_empty: bool,  # noqa: FBT001 - a parameter of the test
    tmp_path: Path,
) -> None:
    """A row has 32 bits of an offset, and there may be a unit at these as well."""
    made = Made(version, byteorder)
    package = made.package.encode(byteorder)
    sections: dict[str, bytes | memoryview] = dict(package)
    for name in (".debug_info", ".debug_types"):
        if name in sections:
            section = bytes(sections[name])
            before = b"" if is_empty else of_others(section, byteorder)
            sections[name] = far_away(tmp_path / name, section, before)
    split = DwarfFile(sections, SPLIT)
    big_endian = byteorder == "big"
    outcome = convert_files(tmp_path, made.main, split, big_endian=big_endian)
    assert outcome.matched == [COUNT]
    assert describe(outcome.functions) == EXPECTED


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
