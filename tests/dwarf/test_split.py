"""Skeleton units and the split units (.dwo) that complete them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.conversions import describe, words
from tests.dwarf_files import SPLIT, DwarfFile, Outcome, Skeleton, convert_files
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType
from tests.inputs.encoding import Encoding
from tests.inputs.line_program import sequence
from tests.inputs.program import LAYOUTS, Layout, function, unit
from tests.inputs.range_lists import RangeEntry, ranges
from tests.inputs.split import DWO_ID, split_unit
from tests.inputs.split_examples import addressed, lines_of, whole_program

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

SPLIT_LAYOUTS = [layout for layout in LAYOUTS if layout.version >= 4]


def convert(
    folder: Path, *units: Unit, keep: int | None = None, layout: Layout | None = None
) -> Outcome:
    """Convert with the split files of *units*, or with the first *keep* of them."""
    dwarf = Dwarf(list(units))
    if layout is not None:
        dwarf = Dwarf(list(units), layout.byteorder, layout.address_size)
    splits = [DwarfFile(each, SPLIT) for each in dwarf.split_sections()][:keep]
    return convert_files(
        folder,
        DwarfFile(dwarf.sections()),
        *splits,
        big_endian=dwarf.byteorder == "big",
    )


def expected_of(version: int) -> str:
    file = "b.h" if version >= 5 else "a.c"
    return words(f"""
        1000-1010 N::f
          1000 /src/{file}:3
          1008 /src/{file}:4
          inlined g 1004-1008 from /src/{file}:9
        1020-1030 N::f
          1020 /src/{file}:4
        1030-1040 h
          1030 /src/{file}:4
    """)


@pytest.mark.parametrize("layout", SPLIT_LAYOUTS, ids=str)
def test_a_split_unit_takes_the_place_of_its_skeleton(
    layout: Layout, tmp_path: Path
) -> None:
    whole = whole_program(layout.version, dwarf64=layout.dwarf64)
    outcome = convert(tmp_path, whole, layout=layout)
    assert outcome.matched == [1]
    assert outcome.warnings == []
    assert describe(outcome.functions) == expected_of(layout.version)
    assert outcome.skeletons == [
        Skeleton(b"a.dwo", b"/src", DWO_ID, file=0, unit_offset=0, is_complete=True)
    ]


NEW_LAYOUTS = [layout for layout in LAYOUTS if layout.version >= 5]


@pytest.mark.parametrize("layout", NEW_LAYOUTS, ids=str)
def test_offsets_have_the_size_that_their_own_table_says(
    layout: Layout, tmp_path: Path
) -> None:
    """llvm-dwp widens the tables of strings, but not the units."""
    split = replace(whole_program(5, dwarf64=layout.dwarf64), other_tables=True)
    own = Die(
        Tag.subprogram,
        {
            At.name: Form.strx("first"),
            At.linkage_name: Form.strx("second"),
            At.ranges: Form.rnglistx(ranges(RangeEntry.start_end(0x1080, 0x1090))),
        },
    )
    whole = replace(unit(own), dwarf64=layout.dwarf64, other_tables=True)
    outcome = convert(tmp_path, split, whole, layout=layout)
    assert outcome.warnings == []
    assert describe(outcome.functions) == expected_of(5) + "1080-1090 second\n"


@pytest.mark.parametrize("version", [4, 5])
def test_a_missing_split_unit_costs_its_own_functions_only(
    version: int, tmp_path: Path
) -> None:
    outcome = convert(
        tmp_path,
        split_unit(
            Die(Tag.subprogram, {At.name: "f", **addressed(version, 0x1000, 16)}),
            version=version,
            dwo_id=1,
        ),
        split_unit(
            Die(Tag.subprogram, {At.name: "g", **addressed(version, 0x1010, 16)}),
            version=version,
            dwo_id=2,
            low_pc=0x1010,
            children=[function("of the skeleton", 0x1010, 0x1020)],
        ),
        unit(function("h", 0x1020, 0x1030), version=version),
        keep=1,
    )
    assert outcome.matched == [1]
    assert describe(outcome.functions) == words("""
        1000-1010 f
        1010-1020 of the skeleton
        1020-1030 h
    """)
    assert [(each.category, each.value) for each in outcome.warnings] == [
        ("SPLIT_MISSING", 2)
    ]
    assert [each.is_complete for each in outcome.skeletons] == [True, False]
    assert outcome.warnings[0].offset == outcome.skeletons[1].unit_offset


def test_children_of_a_skeleton_are_not_read_beside_its_split_unit(
    tmp_path: Path,
) -> None:
    outcome = convert(
        tmp_path,
        split_unit(
            Die(Tag.subprogram, {At.name: "f", **addressed(5, 0x1000, 16)}),
            children=[function("of the skeleton", 0x1010, 0x1020)],
        ),
    )
    assert describe(outcome.functions) == "1000-1010 f\n"


@pytest.mark.parametrize("others", range(12))
def test_rows_after_a_split_function_are_those_of_the_skeleton(
    others: int, tmp_path: Path
) -> None:
    """However many abbreviation tables were read before."""
    lines = replace(lines_of(5), ops=sequence((0x1000, 5), end=0x1100))
    f = Die(Tag.subprogram, {At.name: "f", **addressed(5, 0x1000, 16)})
    before = [
        unit(function(f"g{number}", 0x1200 + number, 0x1201 + number))
        for number in range(others)
    ]
    outcome = convert(tmp_path, *before, split_unit(f, lines=lines))
    assert outcome.warnings == []
    assert describe(outcome.functions[:1]) == "1000-1010 f\n  1000 /src/b.h:5\n"


@pytest.mark.parametrize("layout", SPLIT_LAYOUTS, ids=str)
@pytest.mark.parametrize(("first", "line"), [(True, 5), (False, 7)])
def test_the_sequence_of_a_split_function_counts_from_the_table_of_its_unit(
    first: bool,  # noqa: FBT001 - a parameter of the test
    line: int,
    layout: Layout,
    tmp_path: Path,
) -> None:
    """The linker does not relocate it: what is before the table is not known there."""
    version, dwarf64 = layout.version, layout.dwarf64
    one, two = (sequence((0x1000, each), end=0x1010) for each in (5, 7))
    lines = replace(lines_of(version), ops=[*one, *two])
    head = replace(lines, ops=[] if first else one)
    encoding = Encoding(layout.byteorder, layout.address_size, dwarf64)
    place = len(head.encode(encoding, version, lambda _, text: len(text)))
    code = addressed(version, 0x1000, 16)
    f = Die(Tag.subprogram, {At.name: "f", **code, At.LLVM_stmt_sequence: place})
    other = replace(lines_of(version), ops=sequence((0x1100, 1), end=0x1110))
    before = replace(unit(function("g", 0x1100, 0x1110), lines=other), version=version)
    split = split_unit(f, lines=lines, version=version, dwarf64=dwarf64)
    outcome = convert(tmp_path, before, split, layout=layout)
    file = "b.h" if version >= 5 else "a.c"
    expected = f"1000-1010 f\n  1000 /src/{file}:{line}\n"
    assert describe(outcome.functions[:1]) == expected


STRING_FORMS = [
    (4, Form.GNU_str_index),
    (5, Form.strx),
    (5, Form.strx1),
    (5, Form.strx2),
    (5, Form.strx3),
    (5, Form.strx4),
]


@pytest.mark.parametrize(("version", "form"), STRING_FORMS, ids=str)
def test_names_are_those_of_the_split_file(
    version: int, form: Form, tmp_path: Path
) -> None:
    other = Die(Tag.variable, {At.name: form("other")})
    f = Die(Tag.subprogram, {At.name: form("f"), **addressed(version, 0x1000, 16)})
    outcome = convert(tmp_path, split_unit(other, f, version=version))
    assert describe(outcome.functions) == "1000-1010 f\n"


ADDRESS_FORMS = [
    (4, Form.GNU_addr_index),
    (5, Form.addrx),
    (5, Form.addrx1),
    (5, Form.addrx2),
    (5, Form.addrx3),
    (5, Form.addrx4),
]


@pytest.mark.parametrize(("version", "form"), ADDRESS_FORMS, ids=str)
def test_addresses_are_those_of_the_skeleton(
    version: int, form: Form, tmp_path: Path
) -> None:
    # Another unit has the first addresses of the section.
    before = split_unit(
        Die(
            Tag.subprogram,
            {At.name: "e", At.low_pc: form(0x1800), At.high_pc: form(0x1808)},
        ),
        version=version,
        dwo_id=1,
    )
    own = {At.low_pc: form(0x1400), At.high_pc: form(0x1408)}
    f = Die(Tag.subprogram, {At.name: "f", **own})
    outcome = convert(tmp_path, before, split_unit(f, version=version))
    assert describe(outcome.functions) == "1400-1408 f\n1800-1808 e\n"


def test_a_range_list_by_its_offset_counts_from_the_section_of_the_split_file(
    tmp_path: Path,
) -> None:
    listed = ranges(RangeEntry.start_length(0x1200, 0x10))
    f = Die(Tag.subprogram, {At.name: "f", At.ranges: Form.sec_offset(listed)})
    outcome = convert(tmp_path, split_unit(f))
    assert describe(outcome.functions) == "1200-1210 f\n"


@pytest.mark.parametrize("version", [4, 5])
def test_lists_count_from_the_start_of_the_code_of_the_skeleton(
    tmp_path: Path, version: int
) -> None:
    form = Form.rnglistx if version >= 5 else Form.sec_offset
    f = Die(Tag.subprogram, {At.name: "f", At.ranges: form(ranges((8, 16)))})
    g = Die(Tag.subprogram, {At.name: "g", **addressed(version, 0x1110, 16)})
    split = split_unit(f, g, version=version, low_pc=0x1100)
    functions = convert(tmp_path, split).functions
    assert describe(functions) == "1108-1110 f\n1110-1120 g\n"


@pytest.mark.parametrize(
    ("language", "name"), [(Lang.C11, "f"), (Lang.C_plus_plus_14, "N::f")]
)
def test_the_language_is_that_of_the_split_unit(
    tmp_path: Path, language: Lang, name: str
) -> None:
    f = Die(Tag.subprogram, {At.name: "f", **addressed(5, 0x1000, 16)})
    inside = Die(Tag.namespace, {At.name: "N"}, f)
    outcome = convert(tmp_path, split_unit(inside, language=language))
    assert [each.name for each in outcome.functions] == [name]


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("attributes", "name"), [({At.name: "C"}, "C::f"), ({At.byte_size: 1}, "f")]
)
def test_a_type_unit_beside_it_names_the_class_of_a_method(
    version: int, attributes: dict[int, object], name: str, tmp_path: Path
) -> None:
    declared = Die(
        Tag.subprogram, {At.name: "f", At.declaration: True}, label="declared"
    )
    class_of = Die(
        Tag.class_type,
        {At.declaration: True, At.signature: Form.ref_sig8(0xC1A55)},
        declared,
    )
    f = Die(
        Tag.subprogram,
        {At.specification: Ref("declared"), **addressed(version, 0x1000, 16)},
    )
    type_unit = Unit(
        Die(
            Tag.type_unit,
            {At.language: Lang.C_plus_plus_14},
            Die(Tag.class_type, attributes, label="C"),
        ),
        version=version,
        unit_type=UnitType.split_type,
        signature=0xC1A55,
        type_label="C",
    )
    split = split_unit(class_of, f, version=version, beside=[type_unit])
    assert describe(convert(tmp_path, split).functions) == f"1000-1010 {name}\n"


# ---- what does not fit ------------------------------------------------------------


@pytest.mark.parametrize("version", [4, 5])
def test_a_split_unit_with_another_id_is_not_taken(
    tmp_path: Path, version: int
) -> None:
    f = Die(Tag.subprogram, {At.name: "f", **addressed(version, 0x1000, 16)})
    split = split_unit(f, version=version, skeleton_id=DWO_ID + 1)
    outcome = convert(tmp_path, split)
    assert outcome.matched == [0]
    assert outcome.functions == []
    assert [each.category for each in outcome.warnings] == ["SPLIT_MISSING"]


def test_a_unit_completes_one_skeleton_only(tmp_path: Path) -> None:
    def numbered(name: str, start: int) -> Unit:
        die = Die(Tag.subprogram, {At.name: name, **addressed(5, start, 16)})
        return split_unit(die, low_pc=start)

    dwarf = Dwarf([numbered("f", 0x1000), numbered("g", 0x1010)])
    first, second = (DwarfFile(each, SPLIT) for each in dwarf.split_sections())
    outcome = convert_files(tmp_path, DwarfFile(dwarf.sections()), first)
    assert outcome.matched == [1]
    assert describe(outcome.functions) == "1000-1010 f\n"
    outcome = convert_files(tmp_path, DwarfFile(dwarf.sections()), first, first, second)
    assert outcome.matched == [1, 0, 0]


@pytest.mark.parametrize("version", [4, 5])
def test_a_file_is_not_its_own_split_file(tmp_path: Path, version: int) -> None:
    f = Die(Tag.subprogram, {At.name: "f", **addressed(version, 0x1000, 16)})
    child = function("of the skeleton", 0x1010, 0x1020)
    dwarf = Dwarf([split_unit(f, version=version, children=[child])])
    main = DwarfFile(dwarf.sections())
    outcome = convert_files(tmp_path, main, main._replace(role=SPLIT))
    # Version 4 has no type of unit: a unit is split if its file has that role.
    assert outcome.matched == [1 if version == 4 else 0]
    assert describe(outcome.functions) == "1010-1020 of the skeleton\n"


def test_versions_of_skeleton_and_split_unit_agree(tmp_path: Path) -> None:
    f = Die(Tag.subprogram, {At.name: "f", **addressed(4, 0x1000, 16)})
    old, new = Dwarf([split_unit(f, version=4)]), Dwarf([split_unit(f, version=5)])
    for main, other in ((old, new), (new, old)):
        [split] = other.split_sections()
        outcome = convert_files(
            tmp_path, DwarfFile(main.sections()), DwarfFile(split, SPLIT)
        )
        assert outcome.matched == [0]


@pytest.mark.parametrize("version", [4, 5])
def test_a_unit_of_a_clang_module_is_no_skeleton(tmp_path: Path, version: int) -> None:
    module = split_unit(version=version, low_pc=None)
    code = split_unit(
        Die(Tag.subprogram, {At.name: "f", **addressed(version, 0x1000, 16)}),
        version=version,
        dwo_id=9,
    )
    outcome = convert(tmp_path, code, module)
    assert [each.dwo_id for each in outcome.skeletons] == [9]
    assert outcome.warnings == []


def test_an_address_that_the_main_file_lacks_is_a_warning(tmp_path: Path) -> None:
    wrong = {At.low_pc: Form.addrx(Raw(99)), At.high_pc: Form.data4(4)}
    outcome = convert(
        tmp_path,
        split_unit(
            Die(Tag.subprogram, {At.name: "f", **wrong}),
            Die(Tag.subprogram, {At.name: "g", **addressed(5, 0x1000, 16)}),
        ),
    )
    assert describe(outcome.functions) == "1000-1010 g\n"
    assert [(each.category, each.file) for each in outcome.warnings] == [
        ("RANGE_INVALID", 1)
    ]


@pytest.mark.parametrize("version", [4, 5])
def test_a_split_file_cut_off_anywhere_costs_no_other_unit(
    version: int, tmp_path: Path
) -> None:
    dwarf = Dwarf([whole_program(version), unit(function("k", 0x1100, 0x1110))])
    [split] = dwarf.split_sections()
    main = DwarfFile(dwarf.sections())
    for name, content in split.items():
        for size in range(len(content)):
            cut = DwarfFile({**split, name: content[:size]}, SPLIT)
            outcome = convert_files(tmp_path, main, cut)
            assert outcome.functions[-1].name == "k"


@pytest.mark.parametrize("threads", [5])
def test_many_split_units_come_out_the_same_for_any_number_of_threads(
    threads: int, tmp_path: Path
) -> None:
    units = [
        split_unit(
            Die(
                Tag.subprogram,
                {At.name: Form.strx(f"f{n}"), **addressed(5, 0x1000 + 16 * n, 16)},
            ),
            dwo_id=n + 1,
            low_pc=0x1000 + 16 * n,
        )
        for n in range(40)
    ]
    dwarf = Dwarf(units)
    main = DwarfFile(dwarf.sections())
    splits = [DwarfFile(each, SPLIT) for each in dwarf.split_sections()]
    alone = convert_files(tmp_path, main, *splits)
    assert [each.name for each in alone.functions] == [f"f{n}" for n in range(40)]
    # The order in which the files are found does not matter either.
    others = convert_files(tmp_path, main, *splits[::-1], threads=threads)
    assert others.image == alone.image
