"""Names of functions: linkage names, names with the scopes around them, references."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import pytest

from gsym.conversion.report import LIMIT_REACHED
from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.dies import Die, Ref, code
from tests.inputs.dwarf import Unit
from tests.inputs.dwarf_constants import At, Form, Lang, Tag, UnitType
from tests.inputs.elf import GLOBAL, LOCAL, NOTYPE, WEAK, Symbol
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import function, inlined, program, unit

if TYPE_CHECKING:
    from pathlib import Path

LINKAGE = "_ZN1A1fEv"

# Languages whose names stand alone; llvm-gsymutil knows fewer that do not.
PLAIN = {
    Lang.C89,
    Lang.C99,
    Lang.C11,
    Lang.C17,
    Lang.C23,
    Lang.Assembly,
    Lang.Mips_Assembler,
    Lang.Ada83,  # names are complete: `n__f`
    Lang.Ada95,
    Lang.Ada2005,
    Lang.Ada2012,
}
QUALIFIED_BY_LLVM = {
    Lang.C,
    Lang.C_plus_plus,
    Lang.C_plus_plus_03,
    Lang.C_plus_plus_11,
    Lang.C_plus_plus_14,
    Lang.ObjC_plus_plus,
}
CRASHES = "llvm-gsymutil overflows its stack"


def scope(tag: Tag, name: str | None, *children: Die, label: str | None = None) -> Die:
    return Die(tag, {} if name is None else {At.name: name}, *children, label=label)


def declaration(name: str, label: str, **linkage: str) -> Die:
    attributes = {At.name: name, At.declaration: True}
    if linkage:
        attributes[At.linkage_name] = linkage["linkage"]
    return Die(Tag.subprogram, attributes, label=label)


def definition(
    reference: int, target: object, start: int = 0x1000, **own: object
) -> Die:
    attributes = {reference: target, **{getattr(At, key): own[key] for key in own}}
    return function(None, start, start + 0x10, attributes=attributes)


def named(*dies: Die, language: int | None = Lang.C_plus_plus_14) -> bytes:
    return program(unit(*dies, language=language))


LINKAGE_NAMES = [
    Case(
        "a linkage name is taken as it is",
        named(
            scope(
                Tag.namespace,
                "A",
                function("f", 0x1000, 0x1010, attributes={At.linkage_name: LINKAGE}),
            )
        ),
        "1000-1010 _ZN1A1fEv\n",
    ),
    Case(
        "the older attribute for it counts as well",
        named(
            function("f", 0x1000, 0x1010, attributes={At.MIPS_linkage_name: LINKAGE})
        ),
        "1000-1010 _ZN1A1fEv\n",
    ),
    Case(
        "an empty linkage name is none",
        named(function("f", 0x1000, 0x1010, attributes={At.linkage_name: ""})),
        "1000-1010 f\n",
    ),
    Case(
        "a declaration far away lends its linkage name",
        named(
            scope(Tag.class_type, "A", declaration("f", "f", linkage=LINKAGE)),
            definition(At.specification, Ref("f")),
        ),
        "1000-1010 _ZN1A1fEv\n",
    ),
    Case(
        "a linkage name is looked for along the whole chain before any name",
        named(
            scope(Tag.class_type, "A", declaration("f", "f", linkage=LINKAGE)),
            Die(
                Tag.subprogram,
                {At.specification: Ref("f"), At.name: "shadow", At.inline: 1},
                label="abstract",
            ),
            definition(At.abstract_origin, Ref("abstract"), name="concrete"),
        ),
        "1000-1010 _ZN1A1fEv\n",
    ),
]

SCOPED_NAMES = [
    Case(
        "namespaces, classes, structures and unions stand in front of a name",
        named(
            scope(
                Tag.namespace,
                "N",
                scope(
                    Tag.class_type,
                    "C",
                    scope(
                        Tag.structure_type,
                        "S",
                        scope(Tag.union_type, "U", function("f", 0x1000, 0x1010)),
                    ),
                ),
            )
        ),
        "1000-1010 N::C::S::U::f\n",
    ),
    Case(
        "a definition outside of its class is named where it was declared",
        named(
            scope(
                Tag.namespace, "N", scope(Tag.class_type, "C", declaration("f", "f"))
            ),
            scope(
                Tag.namespace,
                "Other",
                function(None, 0x1000, 0x1010, attributes={At.specification: Ref("f")}),
            ),
        ),
        "1000-1010 N::C::f\n",
    ),
    Case(
        "a concrete instance is named where its abstract instance was declared",
        named(
            scope(
                Tag.namespace, "N", scope(Tag.class_type, "C", declaration("f", "f"))
            ),
            Die(
                Tag.subprogram,
                {At.specification: Ref("f"), At.inline: 1},
                label="abstract",
            ),
            definition(At.abstract_origin, Ref("abstract")),
        ),
        "1000-1010 N::C::f\n",
    ),
    Case(
        "scopes without a name leave no trace",
        named(
            scope(
                Tag.namespace,
                None,
                scope(Tag.structure_type, None, function("f", 0x1000, 0x1010)),
            ),
            scope(
                Tag.namespace,
                "A",
                scope(Tag.namespace, None, function("g", 0x1010, 0x1020)),
            ),
        ),
        words("""
            1000-1010 f
            1010-1020 A::g
        """),
    ),
    Case(
        "angle brackets round a whole scope become braces",
        named(
            scope(
                Tag.structure_type,
                "<lambda(int)>",
                function("operator()", 0x1000, 0x1010),
            ),
            scope(Tag.class_type, "vector<int>", function("push", 0x1010, 0x1020)),
        ),
        words("""
            1000-1010 {lambda(int)}::operator()
            1010-1020 vector<int>::push
        """),
    ),
    Case(
        "a method of a class inside a function has the function in front",
        named(
            function(
                "outer",
                0x1000,
                0x1010,
                scope(
                    Tag.lexical_block,
                    None,
                    scope(Tag.class_type, "Local", function("f", 0x1020, 0x1030)),
                ),
            )
        ),
        words("""
            1000-1010 outer
            1020-1030 outer::Local::f
        """),
    ),
    Case(
        "a function inside a function has it in front",
        named(function("outer", 0x1000, 0x1010, function("f", 0x1020, 0x1030))),
        words("""
            1000-1010 outer
            1020-1030 outer::f
        """),
    ),
    Case(
        "an inlined function is named where it was declared, not where it was inlined",
        program(
            unit(
                scope(
                    Tag.namespace,
                    "N",
                    Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
                ),
                function("f", 0x1000, 0x1010, inlined(Ref("g"), (0x1004, 0x1008))),
                lines=LineProgram(
                    directories=("/src",), files=(File("a.c"), File("b.h"))
                ),
            )
        ),
        words("""
            1000-1010 f
              inlined N::g 1004-1008 from /src/b.h:1
        """),
    ),
    Case(
        "a clone that shows its mangled name is not qualified",
        named(
            scope(
                Tag.namespace,
                "N",
                function("_ZN1N1fEv.isra.0", 0x1000, 0x1010),
                function("_ZN1N1gEv.part.1", 0x1010, 0x1020),
                function("_Zebra", 0x1020, 0x1030),
                function("h.isra.0", 0x1030, 0x1040),
            )
        ),
        words("""
            1000-1010 _ZN1N1fEv.isra.0
            1010-1020 _ZN1N1gEv.part.1
            1020-1030 N::_Zebra
            1030-1040 N::h.isra.0
        """),
    ),
    Case(
        "a name of its own comes before that of the declaration",
        named(
            scope(Tag.class_type, "C", declaration("f", "f")),
            definition(At.specification, Ref("f"), name="own"),
        ),
        "1000-1010 C::own\n",
    ),
    Case(
        "UTF-8 and odd characters come out as they went in",
        named(
            scope(
                Tag.namespace,
                "Größe",
                function("operator <<", 0x1000, 0x1010),
                function("\udcff\udc80", 0x1010, 0x1020),
            )
        ),
        "1000-1010 Größe::operator <<\n1010-1020 Größe::\udcff\udc80\n",
    ),
]

REFERENCES_ACROSS_UNITS = [
    Case(
        "a declaration in another unit",
        program(
            unit(definition(At.specification, Form.ref_addr(Ref("f")))),
            unit(scope(Tag.namespace, "N", declaration("f", "f"))),
        ),
        "1000-1010 N::f\n",
    ),
    Case(
        "a chain through three units, the last of them partial",
        program(
            unit(definition(At.abstract_origin, Form.ref_addr(Ref("abstract")))),
            unit(
                Die(
                    Tag.subprogram,
                    {At.specification: Form.ref_addr(Ref("f")), At.inline: 1},
                    label="abstract",
                )
            ),
            Unit(
                Die(
                    Tag.partial_unit,
                    {At.language: Lang.C_plus_plus_14},
                    scope(Tag.class_type, "C", declaration("f", "f")),
                ),
                unit_type=UnitType.partial,
            ),
        ),
        "1000-1010 C::f\n",
    ),
    Case(
        "the unit of the definition decides on qualification",
        program(
            unit(
                definition(At.specification, Form.ref_addr(Ref("f"))), language=Lang.C99
            ),
            unit(scope(Tag.namespace, "N", declaration("f", "f"))),
        ),
        "1000-1010 f\n",
    ),
    Case(
        "strings of another unit are read with that unit's base",
        program(
            unit(
                Die(Tag.variable, {At.name: Form.strx1("filler")}),
                definition(At.specification, Form.ref_addr(Ref("f"))),
            ),
            unit(
                Die(
                    Tag.namespace,
                    {At.name: Form.strx1("N")},
                    Die(
                        Tag.subprogram,
                        {At.name: Form.strx1("f"), At.declaration: True},
                        label="f",
                    ),
                )
            ),
        ),
        "1000-1010 N::f\n",
    ),
]

BROKEN_REFERENCES = [
    Case(
        "a reference to itself ends",
        named(
            Die(
                Tag.subprogram,
                {
                    At.name: "f",
                    At.specification: Ref("f"),
                    At.low_pc: 0x1000,
                    At.high_pc: 0x1010,
                },
                label="f",
            )
        ),
        "1000-1010 f\n",
        CRASHES,
    ),
    Case(
        "two declarations that name each other end",
        named(
            Die(
                Tag.subprogram,
                {At.specification: Ref("b"), At.inline: 1},
                label="a",
            ),
            Die(
                Tag.subprogram,
                {At.abstract_origin: Ref("a"), At.name: "g"},
                label="b",
            ),
            definition(At.abstract_origin, Ref("a")),
        ),
        "1000-1010 g\n",
        CRASHES,
    ),
    Case(
        "a reference out of the section leaves the own name",
        named(
            definition(At.specification, Form.ref4(0x7FFFFFFF), 0x1000, name="f"),
            definition(At.specification, Form.ref_addr(0xFFFFFFF0), 0x1010, name="g"),
            definition(At.specification, Form.ref_sig8(0x1234), 0x1020, name="h"),
        ),
        words("""
            1000-1010 f
            1010-1020 g
            1020-1030 h
        """),
    ),
]

LANGUAGES = [
    Case(
        f"language {language!r}",
        named(
            scope(Tag.namespace, "N", function("f", 0x1000, 0x1010)), language=language
        ),
        f"1000-1010 {'f' if language in PLAIN else 'N::f'}\n",
        ""
        if language in PLAIN | QUALIFIED_BY_LLVM
        else "llvm-gsymutil gives names of this language without their scopes",
    )
    for language in (*Lang, None)
]

CASES = [
    *LINKAGE_NAMES,
    *SCOPED_NAMES,
    *REFERENCES_ACROSS_UNITS,
    *BROKEN_REFERENCES,
    *LANGUAGES,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_name(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


def test_a_function_without_any_name_is_left_out_and_counted(tmp_path: Path) -> None:
    image = named(
        function(None, 0x1000, 0x1010),
        function("f", 0x1010, 0x1020),
        function("", 0x1020, 0x1030),
    )
    report, functions = convert_bytes(tmp_path, image, {"verbose": True})
    assert describe(functions) == "1010-1020 f\n"
    assert [warning.value for warning in report.details] == [0x1000, 0x1020]


@pytest.mark.parametrize("length", [2, 63])
def test_a_chain_of_references_is_followed_to_its_end(
    length: int, tmp_path: Path
) -> None:
    chain = reference_chain(length)
    functions = convert_bytes(tmp_path, chain).functions
    assert describe(functions) == "1000-1010 far\n1fff-2000 other\n"


def test_an_endless_chain_of_references_is_given_up(tmp_path: Path) -> None:
    image = reference_chain(10_000)
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == "1fff-2000 other\n"
    assert sum(report.warnings.values()) >= 1


def test_one_reference_more_than_are_followed_is_counted(tmp_path: Path) -> None:
    report, functions = convert_bytes(tmp_path, reference_chain(64))
    assert describe(functions) == "1fff-2000 other\n"
    assert report.warnings[LIMIT_REACHED] == 1


@pytest.mark.parametrize(("depth", "cut"), [(64, 0), (65, 1)])
def test_a_name_has_64_scopes_and_the_report_counts_those_with_more(
    depth: int, cut: int, tmp_path: Path
) -> None:
    scope = function("f", 0x1000, 0x1010)
    for n in range(depth, 0, -1):
        scope = Die(Tag.namespace, {At.name: f"n{n}"}, scope)
    report, (only,) = convert_bytes(tmp_path, named(scope))
    assert only.name == "".join(f"n{n}::" for n in range(cut + 1, depth + 1)) + "f"
    assert report.warnings == ({LIMIT_REACHED: 1} if cut else {})


def reference_chain(length: int) -> bytes:
    links = [
        Die(Tag.subprogram, {At.specification: Ref(f"{n + 1}")}, label=f"{n}")
        for n in range(length)
    ]
    return named(
        definition(At.abstract_origin, Ref("0")),
        *links,
        Die(Tag.subprogram, {At.name: "far"}, label=f"{length}"),
        function("other", 0x1FFF, 0x2000),
    )


# ---- names that only the symbol table has --------------------------------------------

LINES = LineProgram(
    ops=sequence((0x1000, 3), end=0x1020),
    directories=("/src",),
    files=(File("a.c"),) * 2,
)


def nameless(*symbols: Symbol) -> bytes:
    """Two functions with lines, the first without a name."""
    dies = function(None, 0x1000, 0x1010), function("g", 0x1010, 0x1020)
    return program(unit(*dies, lines=LINES), symbols=symbols)


G = "1010-1020 g\n  1010 /src/a.c:3\n"


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        ([Symbol("f", 0x1000, 0x10)], "1000-1010 f\n  1000 /src/a.c:3\n" + G),
        ([Symbol("f", 0x1000, 8)], "1000-1008 f\n  1000 /src/a.c:3\n" + G),
        (
            [Symbol("label", 0x1000, 0x10, NOTYPE)],
            "1000-1010 label\n  1000 /src/a.c:3\n" + G,
        ),
        (
            [Symbol("label", 0x1000, 0, NOTYPE)],
            "1000-1000 label\n  1000 /src/a.c:3\n" + G,
        ),
        ([], G),
    ],
    ids=["of the same range", "shorter", "without a type", "without a size", "none"],
)
def test_a_function_without_a_name_takes_that_of_the_symbol_with_its_range(
    symbols: list[Symbol], expected: str, tmp_path: Path
) -> None:
    conversion = convert_bytes(tmp_path, nameless(*symbols))
    assert describe(conversion.functions) == expected
    assert conversion.report.warnings == {"Function has no name": 1}


def test_of_two_functions_of_a_range_the_one_with_a_name_is_kept(
    tmp_path: Path,
) -> None:
    dies = function(None, 0x1000, 0x1010), function("f", 0x1000, 0x1010)
    for order in (dies, dies[::-1]):
        image = program(unit(*order, lines=LINES))
        functions = convert_bytes(tmp_path, image).functions
        assert describe(functions) == "1000-1010 f\n  1000 /src/a.c:3\n"


def test_merged_functions_have_names_of_their_own(tmp_path: Path) -> None:
    image = nameless(Symbol("f", 0x1000, 0x10))
    functions = convert_bytes(tmp_path, image, {"merged_functions": True}).functions
    assert describe(functions) == "1000-1010 f\n  1000 /src/a.c:3\n" + G


# ---- names of symbols -------------------------------------------------------------

# (name in DWARF, symbols of its range, the name that is kept)
NAMED_BY_SYMBOLS = [
    ("foo", ["_Z3foov"], "_Z3foov"),
    ("foo", ["foo", "_Z3foov"], "foo"),
    ("foo", ["foo.cold"], "foo.cold"),
    ("foo", ["__foo"], "__foo"),
    ("master.0.foo", ["master.0.foo_"], "master.0.foo_"),
    ("master.0.foo", ["master.0.foo_x"], "master.0.foo"),
    ("A.build.<x>", ["Precompiled_A_build_8632"], "A.build.<x>"),
    ("Foo.bar", ["camlFoo__bar_12"], "Foo.bar"),
    ("a::foo", ["_ZN1a3fooEi"], "_ZN1a3fooEi"),
    ("operator[]", ["_ZN1AixEi"], "_ZN1AixEi"),
    ("~vector", ["_ZN6vectorD2Ev"], "_ZN6vectorD2Ev"),
    ("loop<int*, a::b<int> >", ["_ZN1a4loopIPiNS_1bIiEEEEvv"], None),
    ("a::run", ["_ZN1a3runEv", "_ZN1a4stopEv"], "_ZN1a3runEv"),
    ("a::run", ["_ZN1a3runEi", "_ZN1a3runEv"], "_ZN1a3runEv"),
    ("_Z3foov", ["_Z3barv"], "_Z3foov"),
    ("_RNvC1a3foo", ["_RNvC1b3foo"], "_RNvC1a3foo"),
    (
        "f" * 257,
        [f"_Z257{'f' * 257}v", "_Z1gv"],
        "_Z1gv",
    ),  # long names are not searched
    ("foo", [f"_Z3foo{'i' * 8187}", "_Z1gv"], "_Z1gv"),
]


@pytest.mark.parametrize(("name", "symbols", "expected"), NAMED_BY_SYMBOLS)
def test_a_function_without_a_linkage_name_has_that_of_its_symbol(
    name: str, symbols: list[str], expected: str | None, tmp_path: Path
) -> None:
    of_range = [Symbol(each, 0x1000, 0x10) for each in symbols]
    image = program(unit(function(name, 0x1000, 0x1010)), symbols=of_range)
    (kept,) = convert_bytes(tmp_path, image).functions
    assert kept.name == (expected or symbols[0])


def test_a_global_symbol_names_before_a_weak_before_a_local_one(tmp_path: Path) -> None:
    bindings = {"local": LOCAL, "weak": WEAK, "global": GLOBAL}
    for dies in ([], [function("f", 0x1000, 0x1010)]):
        for count in (3, 2, 1):
            names = [*bindings][:count]
            for order in permutations(names):
                symbols = [
                    Symbol(each, 0x1000, 0x10, binding=bindings[each]) for each in order
                ]
                image = program(unit(*dies), symbols=symbols)
                (kept,) = convert_bytes(tmp_path, image).functions
                assert kept.name == names[-1]


def test_a_symbol_of_another_range_does_not_name_a_function(tmp_path: Path) -> None:
    symbols = [Symbol("_Z3foov", 0x1000, 8), Symbol("_Z3fooi", 0x1001, 8)]
    image = program(unit(function("foo", 0x1000, 0x1010)), symbols=symbols)
    (kept,) = convert_bytes(tmp_path, image).functions
    assert kept.name == "foo"


# (name in DWARF, a symbol at its start without a size or a longer one, the name that is
# kept)
NAMED_BY_LABELS = [
    ("foo", "_Z3foov", "_Z3foov"),
    ("foo", "_Z3barv", "foo"),
    ("foo", "x", "foo"),
    ("föö", "_Z3barv", "föö"),
    ("a$b", "_Z3barv", "a$b"),
    # What mangling does not spell out.
    ("~box", "_ZN3boxD2Ev", "_ZN3boxD2Ev"),
    ("operator()", "_ZZ1fvENKUlvE_clEv", "_ZZ1fvENKUlvE_clEv"),
    ("operator<", "_ZltRK3boxS1_", "_ZltRK3boxS1_"),
    ("operator bool", "_ZNK3boxcvbEv", "_ZNK3boxcvbEv"),
    ("operator", "_Z3barv", "_Z3barv"),
    ("operators", "_Z3barv", "operators"),
    ("~box", "box_end", "~box"),
]


@pytest.mark.parametrize(("name", "label", "expected"), NAMED_BY_LABELS)
def test_a_symbol_of_the_start_names_a_function_if_it_is_its_mangled_name(
    tmp_path: Path, name: str, label: str, expected: str
) -> None:
    for symbol in (
        Symbol(label, 0x1000, 0, NOTYPE),
        Symbol(label, 0x1000, 0x14),  # of GCC on Alpha, with the padding
    ):
        image = program(unit(function(name, 0x1000, 0x1010)), symbols=[symbol])
        kept = convert_bytes(tmp_path, image).functions[0]
        assert (kept.name, kept.size) == (expected, 0x10)


def test_the_version_of_a_symbol_is_not_part_of_its_name(tmp_path: Path) -> None:
    names = {"open@@V1": "open", "read@V2": "read", "@plt": "@plt", "..@1.x": "..@1.x"}
    for symbol, expected in names.items():
        image = program(unit(), symbols=[Symbol(symbol, 0x1000, 0x10)])
        (kept,) = convert_bytes(tmp_path, image).functions
        assert kept.name == expected


def test_an_inlined_call_without_an_origin_has_its_own_name(tmp_path: Path) -> None:
    call = inlined(None, (0x1004, 0x1008))
    call.attributes.pop(At.abstract_origin)
    call.attributes[At.name] = "g"
    image = program(unit(function("f", 0x1000, 0x1010, call)))
    (kept,) = convert_bytes(tmp_path, image).functions
    assert kept.inline is not None
    assert [each.name for each in kept.inline.children] == ["g"]


@pytest.mark.parametrize("name", ["-[Shape area]", "+[Shape(Round) make:with:]"])
@pytest.mark.parametrize("language", [Lang.ObjC, Lang.ObjC_plus_plus])
def test_a_method_of_objective_c_has_its_class_in_its_name(
    name: str, language: Lang, tmp_path: Path
) -> None:
    """Direct methods are declared inside of the class."""
    declared = Die(
        Tag.subprogram, {At.name: name, At.declaration: True}, label="method"
    )
    image = named(
        Die(Tag.structure_type, {At.name: "Shape"}, declared),
        Die(Tag.subprogram, {At.specification: Ref("method"), **code(0x1000, 0x1010)}),
        language=language,
    )
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == f"1000-1010 {name}\n"


@pytest.mark.parametrize("language", [Lang.Fortran90, Lang.D, Lang.Zig])
def test_a_module_is_a_scope(language: Lang, tmp_path: Path) -> None:
    inner = function("inner", 0x1000, 0x1010)
    outer = Die(Tag.subprogram, {At.name: "area"}, inner)
    image = named(Die(Tag.module, {At.name: "geo"}, outer), language=language)
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == "1000-1010 geo::area::inner\n"
