"""DIEs and strings in a supplementary file: dwz's, and DWARF 5's."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING

import pytest

from tests.conversions import describe
from tests.dwarf_files import SUPPLEMENTARY, DwarfFile, Outcome, convert_files
from tests.inputs.dies import Die, Raw, Ref
from tests.inputs.dwarf import Dwarf, Unit
from tests.inputs.dwarf_constants import At, Form, Tag, UnitType, Value
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import LAYOUTS, Layout, function, unit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.long

REFERENCES = [Form.GNU_ref_alt, Form.ref_sup4, Form.ref_sup8]
STRINGS = [Form.GNU_strp_alt, Form.strp_sup]


def partial_unit(
    *dies: Die, version: int = 5, lines: LineProgram | None = None
) -> Unit:
    root = Die(Tag.partial_unit, {At.comp_dir: "/shared"}, *dies)
    return Unit(root, version=version, unit_type=UnitType.partial, lines=lines)


def method_in_scopes() -> Die:
    """N::C::f, declared."""
    f = Die(Tag.subprogram, {At.name: Form.strp("f"), At.declaration: True}, label="f")
    return Die(
        Tag.namespace,
        {At.name: Form.strp("N")},
        Die(Tag.class_type, {At.name: Form.strp("C")}, f),
    )


def shared(*units: Unit, layout: Layout | None = None) -> Dwarf:
    """A supplementary file; what is of interest does not stand at its start."""
    first = partial_unit(Die(Tag.variable, {At.name: Form.strp("first")}))
    if layout is None:
        return Dwarf([first, *units])
    return Dwarf([first, *units], layout.byteorder, layout.address_size)


def convert(
    folder: Path,
    supplementary: Dwarf | None,
    *units: Unit,
    layout: Layout | None = None,
) -> Outcome:
    main = Dwarf(list(units))
    if layout is not None:
        main = Dwarf(list(units), layout.byteorder, layout.address_size)
    others = []
    if supplementary is not None:
        others = [DwarfFile(supplementary.sections(), SUPPLEMENTARY)]
    return convert_files(
        folder,
        DwarfFile(main.sections()),
        *others,
        big_endian=main.byteorder == "big",
    )


def string_at(supplementary: Dwarf, text: str) -> Raw:
    strings = supplementary.sections()[".debug_str"]
    return Raw((b"\0" + strings).index(b"\0" + text.encode() + b"\0"))


def refers(form: Callable[[object], Value], to: int, **own: object) -> Die:
    attributes = {getattr(At, name): value for name, value in own.items()}
    return function(
        None,
        0x1000,
        0x1010,
        attributes={At.specification: form(Raw(to)), **attributes},
    )


@pytest.mark.parametrize(
    ("form", "layout"), list(zip(cycle(REFERENCES), LAYOUTS, strict=False)), ids=str
)
def test_names_and_scopes_are_followed_into_the_file(
    form: Form, layout: Layout, tmp_path: Path
) -> None:
    other = shared(
        partial_unit(method_in_scopes(), version=layout.version), layout=layout
    )
    main = unit(
        refers(form, other.place_of("f")),
        version=layout.version,
        dwarf64=layout.dwarf64,
    )
    outcome = convert(tmp_path, other, main, layout=layout)
    assert describe(outcome.functions) == "1000-1010 N::C::f\n"
    assert outcome.warnings == []


@pytest.mark.parametrize(
    ("form", "layout"), list(zip(cycle(STRINGS), LAYOUTS, strict=False)), ids=str
)
def test_strings_are_those_of_the_file(
    form: Form, layout: Layout, tmp_path: Path
) -> None:
    text = "a name of its own"
    other = shared(
        partial_unit(Die(Tag.variable, {At.name: Form.strp(text)})), layout=layout
    )
    for attribute in (At.name, At.linkage_name):
        own = {attribute: form(string_at(other, text))}
        main = unit(
            function(None, 0x1000, 0x1010, attributes=own),
            version=layout.version,
            dwarf64=layout.dwarf64,
        )
        outcome = convert(tmp_path, other, main, layout=layout)
        assert describe(outcome.functions) == f"1000-1010 {text}\n"


def test_a_scope_of_the_main_file_may_be_named_by_a_shared_string(
    tmp_path: Path,
) -> None:
    other = shared(partial_unit(method_in_scopes()))
    scope = {At.name: Form.GNU_strp_alt(string_at(other, "N"))}
    main = unit(Die(Tag.namespace, scope, function("g", 0x1000, 0x1010)))
    assert describe(convert(tmp_path, other, main).functions) == "1000-1010 N::g\n"


def test_references_continue_inside_of_the_file(tmp_path: Path) -> None:
    f = Die(Tag.subprogram, {At.specification: Form.ref_addr(Ref("f"))}, label="origin")
    near = Die(Tag.subprogram, {At.specification: Ref("origin")}, label="near")
    other = shared(partial_unit(method_in_scopes()), partial_unit(f, near))
    main = unit(refers(Form.GNU_ref_alt, other.place_of("near")))
    assert describe(convert(tmp_path, other, main).functions) == "1000-1010 N::C::f\n"


def test_equal_offsets_of_different_files_are_different_places(tmp_path: Path) -> None:
    """The caches of names and scopes are asked for both, again and again."""

    def in_scope(scope: str, name: str, label: str) -> Die:
        die = Die(
            Tag.subprogram,
            {At.name: Form.strp(name), At.declaration: True},
            label=label,
        )
        return Die(Tag.namespace, {At.name: Form.strp(scope)}, die)

    def with_linkage_name(name: str, label: str) -> Die:
        return Die(Tag.subprogram, {At.linkage_name: Form.strp(name)}, label=label)

    twin = Dwarf([partial_unit(in_scope("A", "f", "f"), with_linkage_name("_Zx", "x"))])
    place, plain = twin.place_of("f"), twin.place_of("x")
    own = partial_unit(in_scope("B", "g", "g"), with_linkage_name("_Zy", "y"))
    users = [
        unit(
            *(
                function(
                    None,
                    start,
                    start + 8,
                    attributes={At.specification: form(Raw(target))},
                )
                for start, form, target in (
                    (base, Form.GNU_ref_alt, place),
                    (base + 8, Form.ref_addr, place),
                    (base + 16, Form.GNU_ref_alt, plain),
                    (base + 24, Form.ref_addr, plain),
                )
            )
        )
        for base in (0x1000, 0x1100, 0x1200)
    ]
    main = Dwarf([own, *users])
    assert (main.place_of("g"), main.place_of("y")) == (place, plain)
    outcome = convert_files(
        tmp_path,
        DwarfFile(main.sections()),
        DwarfFile(twin.sections(), SUPPLEMENTARY),
    )
    names = [each.name for each in outcome.functions]
    assert names == ["A::f", "B::g", "_Zx", "_Zy"] * 3


def test_inlined_calls_are_named_by_the_file(tmp_path: Path) -> None:
    other = shared(partial_unit(method_in_scopes()))
    call = Die(
        Tag.inlined_subroutine,
        {
            At.abstract_origin: Form.GNU_ref_alt(Raw(other.place_of("f"))),
            At.low_pc: 0x1004,
            At.high_pc: Form.addr(0x1008),
        },
    )
    outcome = convert(tmp_path, other, unit(function("main", 0x1000, 0x1010, call)))
    [found] = outcome.functions
    assert found.inline is not None
    assert [each.name for each in found.inline.children] == ["N::C::f"]


def test_line_tables_may_have_their_strings_there(tmp_path: Path) -> None:
    other = shared(partial_unit(Die(Tag.variable, {At.name: Form.strp("shared.c")})))
    at = string_at(other, "shared.c").number
    lines = LineProgram(
        ops=sequence((0x1000, 3), end=0x1010),
        files=(File("a.c", columns={1: at}),) * 2,
        file_format=((1, Form.strp_sup),),
    )
    main = unit(function("f", 0x1000, 0x1010), lines=lines)
    [found] = convert(tmp_path, other, main).functions
    assert [row.path for row in found.line_table or ()] == ["shared.c"]


# ---- what is missing or wrong --------------------------------------------------------


@pytest.mark.parametrize("form", REFERENCES, ids=str)
def test_without_the_file_its_references_are_counted(
    form: Form, tmp_path: Path
) -> None:
    main = unit(refers(form, 0x40, name="own"), function("g", 0x1010, 0x1020))
    outcome = convert(tmp_path, None, main)
    assert describe(outcome.functions) == "1000-1010 own\n1010-1020 g\n"
    assert [(each.category, each.value) for each in outcome.warnings] == [
        ("SUPPLEMENTARY_MISSING", 0x40)
    ]


@pytest.mark.parametrize("form", STRINGS, ids=str)
def test_without_the_file_its_strings_are_counted(form: Form, tmp_path: Path) -> None:
    own = {At.name: form(Raw(0x40))}
    outcome = convert(
        tmp_path, None, unit(function(None, 0x1000, 0x1010, attributes=own))
    )
    assert {each.category for each in outcome.warnings} == {
        "SUPPLEMENTARY_MISSING",
        "NO_NAME",
    }


def test_a_dangling_reference_is_reported_with_its_file(tmp_path: Path) -> None:
    other = shared(partial_unit(method_in_scopes()))
    main = unit(refers(Form.GNU_ref_alt, 0x7FFFFFFF, name="own"))
    outcome = convert(tmp_path, other, main)
    assert describe(outcome.functions) == "1000-1010 own\n"
    [warned] = outcome.warnings
    assert (warned.category, warned.file, warned.offset) == ("REFERENCE", 1, 0x7FFFFFFF)


@pytest.mark.parametrize("form", [Form.GNU_ref_alt, Form.ref_addr, Form.ref_sup8])
def test_cyclic_references_end(form: Form, tmp_path: Path) -> None:
    """In the file itself, a reference to a supplementary file stays there."""

    def circle(target: int) -> Dwarf:
        return shared(
            partial_unit(
                Die(
                    Tag.namespace,
                    {At.specification: form(Raw(target))},
                    Die(
                        Tag.subprogram,
                        {At.abstract_origin: form(Raw(target))},
                        label="f",
                    ),
                )
            )
        )

    place = circle(0).place_of("f")
    main = unit(refers(Form.GNU_ref_alt, place))
    outcome = convert(tmp_path, circle(place), main)
    assert outcome.functions == []
    assert "NO_NAME" in {each.category for each in outcome.warnings}


def test_numbers_past_every_section_are_ignored(tmp_path: Path) -> None:
    other = shared(partial_unit(method_in_scopes()))
    for number in (1 << 63, (1 << 63) | other.place_of("f"), (1 << 64) - 1, 1 << 40):
        for form in (Form.ref_sup8, Form.ref8, Form.GNU_ref_alt, Form.ref_addr):
            main = unit(refers(form, number, name="own"), dwarf64=True)
            names = [each.name for each in convert(tmp_path, other, main).functions]
            assert names in (["own"], ["N::C::own"])


@pytest.mark.parametrize("version", [4, 5])
def test_a_supplementary_file_cut_off_anywhere_is_survived(
    version: int, tmp_path: Path
) -> None:
    other = shared(partial_unit(method_in_scopes(), version=version))
    own = {At.linkage_name: Form.GNU_strp_alt(string_at(other, "C"))}
    main = unit(
        refers(Form.GNU_ref_alt, other.place_of("f")),
        function(None, 0x1010, 0x1020, attributes=own),
        function("g", 0x1020, 0x1030),
        version=version,
    )
    sections = other.sections()
    for name, content in sections.items():
        for size in range(len(content)):
            cut = DwarfFile({**sections, name: content[:size]}, SUPPLEMENTARY)
            main_file = DwarfFile(Dwarf([main]).sections())
            outcome = convert_files(tmp_path, main_file, cut)
            assert outcome.functions[-1].name == "g"
