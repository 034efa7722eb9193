"""Units: versions, kinds, headers, abbreviation tables, compression, threads."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import SIBLING, Die, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType
from tests.inputs.elf import Compression, elf_of
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import (
    LAYOUTS,
    Layout,
    function,
    inlined,
    program,
    unit,
)

if TYPE_CHECKING:
    from pathlib import Path

F_AND_G = words("""
    1000-1010 f
    1010-1020 g
""")


def f(start: int = 0x1000, name: str = "f") -> Die:
    return function(name, start, start + 0x10)


def g() -> Die:
    return f(0x1010, "g")


def of_kind(kind: UnitType, tag: Tag, *dies: Die, signature: int | None = None) -> Unit:
    return Unit(Die(tag, {At.name: "u"}, *dies), unit_type=kind, signature=signature)


def type_unit(version: int, *members: Die) -> Unit:
    """A unit that holds the class N::C."""
    root = Die(
        Tag.type_unit,
        {At.language: Lang.C_plus_plus_14},
        Die(
            Tag.namespace,
            {At.name: "N"},
            Die(Tag.class_type, {At.name: "C"}, *members, label="C"),
        ),
    )
    return Unit(
        root, version, unit_type=UnitType.type, signature=0xC1A55, type_label="C"
    )


def definition_of_member(version: int) -> Unit:
    """The definition of a method whose class stands in a type unit."""
    declaration = Die(Tag.subprogram, {At.name: "f", At.declaration: True}, label="f")
    stand_in = Die(
        Tag.class_type,
        {At.declaration: True, At.signature: Form.ref_sig8(0xC1A55)},
        declaration,
    )
    return unit(
        Die(Tag.namespace, {At.name: "N"}, stand_in),
        function(None, 0x1000, 0x1010, attributes={At.specification: Ref("f")}),
        version=version,
    )


KINDS = [
    Case(
        "units of all versions, sizes and an empty one between them",
        program(
            unit(f(0x1000, "two"), version=2),
            unit(f(0x1010, "three"), version=3, dwarf64=True),
            unit(),
            unit(f(0x1020, "four"), version=4),
            unit(f(0x1030, "five"), version=5, dwarf64=True),
        ),
        words("""
            1000-1010 two
            1010-1020 three
            1020-1030 four
            1030-1040 five
        """),
    ),
    Case(
        "a skeleton unit and a unit of version 5 behind it",
        program(
            of_kind(UnitType.skeleton, Tag.skeleton_unit, f(), signature=0xD0),
            unit(g()),
        ),
        F_AND_G,
    ),
    Case(
        "functions of partial units",
        program(of_kind(UnitType.partial, Tag.partial_unit, f()), unit(g())),
        F_AND_G,
    ),
    Case(
        "an imported unit adds nothing of its own",
        program(
            Unit(
                Die(Tag.partial_unit, {At.name: "p"}, f(), label="p"),
                unit_type=UnitType.partial,
            ),
            unit(
                Die(Tag.imported_unit, {At.import_: Form.ref_addr(Ref("p"))}),
                g(),
            ),
            unit(Die(Tag.imported_unit, {At.import_: Form.ref_addr(Ref("p"))})),
        ),
        F_AND_G,
    ),
    Case(
        "functions of type units are none",
        program(type_unit(5, f(0x1020, "no")), unit(f(), g())),
        F_AND_G,
    ),
    Case(
        "a class in a type unit lends its name, version 5",
        program(type_unit(5), definition_of_member(5)),
        "1000-1010 N::C::f\n",
    ),
    Case(
        "a class in a type unit lends its name, version 4",
        program(definition_of_member(4), type_unit(4)),
        "1000-1010 N::C::f\n",
    ),
]

HEADERS = [
    Case(
        "a unit without children, then one that says it has some and has none",
        program(
            Unit(Die(Tag.compile_unit, {At.name: "empty"})),
            Unit(Die(Tag.compile_unit, {At.name: "empty"}, has_children=True)),
            unit(f(), g()),
        ),
        F_AND_G,
    ),
    Case(
        "a function that says it has children and has none",
        program(
            unit(
                Die(
                    Tag.subprogram,
                    {At.name: "f", At.low_pc: 0x1000, At.high_pc: Form.addr(0x1010)},
                    has_children=True,
                ),
                g(),
            )
        ),
        F_AND_G,
    ),
    Case(
        "addresses of four bytes in a file of 64 bits",
        elf_of(Dwarf([unit(f(), g())], address_size=4).sections()),
        F_AND_G,
    ),
    Case(
        "one table of abbreviations for all units",
        elf_of(Dwarf([unit(f()), unit(g())], one_abbreviation_table=True).sections()),
        F_AND_G,
    ),
    Case(
        "one table of abbreviations for units of different sizes and versions",
        elf_of(
            Dwarf(
                [unit(f(), version=4), unit(g(), version=4, dwarf64=True)],
                one_abbreviation_table=True,
            ).sections()
        ),
        F_AND_G,
    ),
    Case(
        "abbreviation codes that are large, sparse and out of order",
        program(
            unit(
                Die(Tag.variable, {At.name: "v"}, code=0xFFFFFFFF),
                Die(
                    Tag.subprogram,
                    {At.name: "f", At.low_pc: 0x1000, At.high_pc: Form.data1(0x10)},
                    code=0x4000_0000,
                ),
                Die(Tag.label, {At.name: "l"}, code=70),
                Die(
                    Tag.subprogram,
                    {At.high_pc: Form.data1(0x10), At.name: "g", At.low_pc: 0x1010},
                    code=69,
                ),
            )
        ),
        F_AND_G,
    ),
]

CASES = [*KINDS, *HEADERS]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_units(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


@pytest.mark.parametrize("version", [0, 1, 7, 0xFFFF])
def test_a_unit_of_an_unknown_version_is_passed_over(
    version: int, tmp_path: Path
) -> None:
    image = program(unit(f()), unit(f(0x1020, "no"), version=version), unit(g()))
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == F_AND_G
    assert sum(report.warnings.values()) == 1


def test_a_unit_without_its_abbreviations_is_passed_over(tmp_path: Path) -> None:
    bad = unit(f(0x1020, "no"))
    bad.abbreviation_offset = 0x7FFFFFFF
    report, functions = convert_bytes(tmp_path, program(unit(f()), bad, unit(g())))
    assert describe(functions) == F_AND_G
    assert sum(report.warnings.values()) >= 1


SIBLING_FORMS = [
    None,
    Form.ref1(SIBLING),
    Form.ref2(SIBLING),
    Form.ref4(SIBLING),
    Form.ref8(SIBLING),
    Form.ref_udata(SIBLING),
]


@pytest.mark.parametrize(
    "sibling",
    SIBLING_FORMS,
    ids=lambda value: "none" if value is None else value.form.name,
)
@pytest.mark.parametrize("full_walk", [False, True], ids=["skips", "full"])
def test_siblings_are_a_short_cut_and_nothing_else(
    sibling: object, full_walk: object, tmp_path: Path
) -> None:
    def die(tag: Tag, attributes: dict[int, object], *children: Die) -> Die:
        hint = {} if sibling is None else {At.sibling: sibling}
        return Die(tag, {**hint, **attributes}, *children)

    def code(name: str, start: int, *children: Die) -> Die:
        extent = {At.low_pc: start, At.high_pc: Form.addr(start + 0x10)}
        return die(Tag.subprogram, {At.name: name, **extent}, *children)

    image = program(
        unit(
            die(Tag.structure_type, {At.name: "S"}, Die(Tag.member, {At.name: "m"})),
            code(
                "f",
                0x1000,
                die(
                    Tag.lexical_block,
                    {},
                    die(Tag.structure_type, {At.name: "L"}, code("m", 0x1100)),
                    Die(Tag.variable, {At.name: "v"}),
                ),
                Die(Tag.formal_parameter, {At.name: "p"}),
            ),
            die(Tag.enumeration_type, {}, Die(Tag.enumerator, {At.name: "e"})),
            die(
                Tag.namespace,
                {At.name: "N"},
                die(Tag.array_type, {}, Die(0x21, {})),
                code("g", 0x1010),
            ),
        )
    )
    functions = convert_bytes(tmp_path, image, {"full_walk": bool(full_walk)}).functions
    assert describe(functions) == words("""
        1000-1010 f
        1010-1020 N::g
        1100-1110 f::L::m
    """)


def many_units(count: int, layout: Layout) -> bytes:
    """Units that share names and files, each with an inlined call."""
    units = []
    for n in range(count):
        start = 0x1000 + 0x20 * n
        files = (File("a.c"), File(f"b{n % 7}.h"))
        units.append(
            unit(
                Die(
                    Tag.subprogram, {At.name: f"g{n % 5}", At.inline: 1}, label=f"g{n}"
                ),
                function(
                    f"f{n}",
                    start,
                    start + 0x20,
                    inlined(Ref(f"g{n}"), (start + 4, start + 8), call=(1, n)),
                ),
                version=layout.version,
                dwarf64=layout.dwarf64,
                lines=LineProgram(
                    sequence((start, n), (start + 4, n + 1, 0), end=start + 0x20),
                    files=files,
                    directories=("/src",),
                ),
            )
        )
    return program(*units, byteorder=layout.byteorder, address_size=layout.address_size)


def test_the_bytes_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    image = many_units(100, LAYOUTS[-1])
    outputs = set()
    for threads in (1, 2, 3, 8):
        convert_bytes(tmp_path, image, {"threads": threads})
        outputs.add((tmp_path / "input.gsym").read_bytes())
    assert len(outputs) == 1


@pytest.mark.parametrize(
    ("layout", "compression"),
    list(zip(LAYOUTS, cycle(("zlib", "zstd", "gnu")), strict=False)),
    ids=str,
)
def test_compressed_sections_convert_to_the_same_bytes(
    layout: Layout, compression: Compression, tmp_path: Path
) -> None:
    outputs = set()
    for how in (None, compression):
        image = elf_of(
            Dwarf(
                [
                    unit(
                        f(),
                        version=layout.version,
                        dwarf64=layout.dwarf64,
                        lines=LineProgram(sequence((0x1000, 5), end=0x1010)),
                    )
                ],
                layout.byteorder,
                layout.address_size,
            ).sections(),
            compression=how,
            byteorder=layout.byteorder,
            bits=8 * layout.address_size,
        )
        functions = convert_bytes(tmp_path, image).functions
        assert [function.name for function in functions] == ["f"]
        outputs.add((tmp_path / "input.gsym").read_bytes())
    assert len(outputs) == 1


def test_the_report_counts_what_the_file_holds(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, many_units(10, LAYOUTS[-1]))
    assert report.functions == report.functions_debug_info == len(functions) == 10
    assert report.functions_with_lines == report.functions_with_inlines == 10
    assert report.functions_symbol_table == report.functions_pruned == 0
    assert report.file_size == (tmp_path / "input.gsym").stat().st_size
    assert report.warnings == {}


@pytest.mark.parametrize("table_version", [5, 6])
@pytest.mark.parametrize("layout", LAYOUTS[-4:], ids=str)
@pytest.mark.parametrize(
    ("language", "name"),
    # Numbers of DW_LNAME_C, C_plus_plus and Rust.
    [(0x03, "f"), (0x04, "N::f"), (0x19, "N::f"), (None, "N::f")],
)
def test_units_of_version_6_name_their_language(
    language: int | None,
    name: str,
    layout: Layout,
    table_version: int,
    tmp_path: Path,
) -> None:
    scope = Die(Tag.namespace, {At.name: "N"}, function("f", 0x1000, 0x1010))
    named = {} if language is None else {At.language_name: Form.data2(language)}
    lines = LineProgram(
        sequence((0x1000, 3, 0), end=0x1010),
        directories=("/src",),
        files=(File("a.c"),),
        version=table_version,
    )
    six = unit(scope, version=6, language=None, lines=lines, attributes=named)
    six.dwarf64 = layout.dwarf64
    size = layout.address_size
    image = program(six, byteorder=layout.byteorder, address_size=size)
    assert describe(convert_bytes(tmp_path, image).functions) == (
        f"1000-1010 {name}\n  1000 /src/a.c:3\n"
    )
