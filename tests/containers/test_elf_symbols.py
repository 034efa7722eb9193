"""Symbols: which of them are functions, and how far those reach."""

from __future__ import annotations

import io
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

import pytest
from elftools.elf.elffile import ELFFile

import gsym
from tests.conversions import Case, convert_bytes, describe, words
from tests.inputs.elf import (
    ABSOLUTE,
    ALLOC,
    ARM,
    FILE,
    FUNC,
    HC08,
    IFUNC,
    LOCAL,
    NOTYPE,
    OBJECT,
    PARISC,
    PPC64,
    RELOCATABLE,
    SECTION,
    SHARED,
    SPARC,
    STM8,
    UNDEFINED,
    WEAK,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.program import debug_sections, function, program, unit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder


KINDS: list[tuple[int, ByteOrder]] = [
    (64, "little"),
    (32, "little"),
    (64, "big"),
    (32, "big"),
]
ID = bytes(range(0xA0, 0xB4))
MAIN = Symbol("main", 0x1000, 0x10)
DATA = Section(".data", bytes(16), flags=ALLOC, address=0x4000)
ONLY_FUNCTIONS = "llvm-gsymutil reads STT_FUNC symbols of .symtab only"


def with_symbols(*symbols: Symbol, debug: bool = False) -> bytes:
    sections = [code_section(), DATA, *(debug_sections() if debug else [])]
    return Elf(sections, symbols=symbols).to_bytes()


def of_machine(machine: int) -> bytes:
    """A file with a symbol of the type 13, the first that a processor may define."""
    symbols = [MAIN, Symbol("$$divI", 0x1010, 0x10, 13)]
    return Elf([code_section()], symbols=symbols, machine=machine, bits=32).to_bytes()


SYMBOLS = [
    Case(
        "functions, whatever their binding",
        with_symbols(
            Symbol("global", 0x1000, 0x10),
            Symbol("weak", 0x1010, 0x10, binding=WEAK),
            Symbol("local", 0x1020, 0x10, binding=LOCAL),
        ),
        words("""
            1000-1010 global
            1010-1020 weak
            1020-1030 local
        """),
    ),
    Case(
        "jumps to functions of one type, each with the size of all",  # clang 19, CFI
        with_symbols(
            Symbol("alpha.cfi", 0x1000, 0x10, binding=LOCAL),
            Symbol("__typeid__ZTSFiiE_global_addr", 0x1FF0, 1, binding=LOCAL),
            Symbol("alpha", 0x1FF0, 0x10, binding=LOCAL),
            Symbol("beta", 0x1FF8, 0x10, binding=LOCAL),
        ),
        words("""
            1000-1010 alpha.cfi
            1ff0-2000 alpha
            1ff8-2000 beta
        """),
        "llvm-gsymutil has the sizes of the symbols",
    ),
    Case(
        "resolvers of indirect functions",
        with_symbols(MAIN, Symbol("memcpy", 0x1010, 0x10, IFUNC)),
        words("""
            1000-1010 main
            1010-1020 memcpy
        """),
        ONLY_FUNCTIONS,
    ),
    Case(
        "code without a type, as assembler leaves it",
        with_symbols(MAIN, Symbol("memset", 0x1010, 0x10, NOTYPE)),
        words("""
            1000-1010 main
            1010-1020 memset
        """),
        ONLY_FUNCTIONS,
    ),
    Case(
        "no data, sections, files or what is defined elsewhere",
        with_symbols(
            MAIN,
            Symbol("object", 0x1010, 0x10, OBJECT),
            Symbol("section", 0x1020, 0x10, SECTION),
            Symbol("file.c", 0x1030, 0x10, FILE, section=ABSOLUTE),
            Symbol("table", 0x4000, 0x10, NOTYPE, section=".data"),
            Symbol("tail", 0x4008, 0x10, FUNC, section=".data"),
            Symbol("imported", 0, 0, FUNC, section=UNDEFINED),
            Symbol("weak_import", 0, 0, NOTYPE, WEAK, UNDEFINED),
        ),
        "1000-1010 main\n",
    ),
    Case(
        "no labels of the compiler, marks of the assembler, empty names",
        with_symbols(
            MAIN,
            Symbol("", 0x1010, 0x10, NOTYPE),
            Symbol(".L12", 0x1020, 0x10, NOTYPE),
            Symbol("$x", 0x1030, 0, NOTYPE),
            Symbol("$d", 0x1040, 0, NOTYPE),
            Symbol("$x.77", 0x1050, 0, NOTYPE),
            Symbol("$d.realdata", 0x1060, 0, NOTYPE),
        ),
        "1000-1010 main\n",
    ),
    Case(
        "no marks of a thunk, to which mold gives the type of functions",
        with_symbols(
            MAIN,
            Symbol("far$thunk", 0x1010, 0, FUNC, LOCAL),
            Symbol("$t", 0x1010, 0, FUNC, LOCAL),
            Symbol("$a", 0x1014, 0, FUNC, LOCAL),
            Symbol("$d", 0x1020, 0, FUNC, LOCAL),
            Symbol("after", 0x1024, 0x10),
        ),
        words("""
            1000-1010 main
            1010-1010 far$thunk
            1024-1034 after
        """),
        "llvm-gsymutil reads all STT_FUNC symbols",
    ),
    Case(
        "functions may be called like marks",
        with_symbols(
            MAIN,
            Symbol("$d", 0x1010, 0x10, FUNC, LOCAL),
            Symbol("$t", 0x1020, 0, FUNC),
            Symbol("after", 0x1030, 0x10),
        ),
        words("""
            1000-1010 main
            1010-1020 $d
            1020-1020 $t
            1030-1040 after
        """),
    ),
    Case(
        "marks are known by their whole name",
        with_symbols(MAIN, Symbol("$xylophone", 0x1010, 0x10)),
        words("""
            1000-1010 main
            1010-1020 $xylophone
        """),
    ),
    Case(
        "more marks of ARM before its EABI, with the type of functions",
        Elf(
            [code_section()],
            symbols=[
                MAIN,
                *(Symbol(f"${letter}", 0x1010, 0, FUNC, LOCAL) for letter in "abdfmpt"),
                Symbol("$b", 0x1020, 0x10),
            ],
            machine=ARM,
            bits=32,
        ).to_bytes(),
        words("""
            1000-1010 main
            1020-1030 $b
        """),
        "llvm-gsymutil reads all STT_FUNC symbols",
    ),
    *(
        Case(
            f"no labels, variables and sizes of SDCC for {machine}",
            Elf(
                [code_section()],
                symbols=[
                    MAIN,
                    *(Symbol(name, 0x1010) for name in ("A$main$52", "XG$f$0$0")),
                    Symbol("Ss$slow$0", 0x1018),
                    Symbol("_f", 0x1020),
                    Symbol("G$sink$0_0$0", 0x1030, section=ABSOLUTE),
                    Symbol("_sink", 0x1040, section=ABSOLUTE),
                    Symbol("l_DATA", 0x1050, section=ABSOLUTE),
                ],
                machine=machine,
                bits=32,
                byteorder="big",
            ).to_bytes(),
            words("""
                1000-1010 main
                1020-2000 _f
            """),
            "llvm-gsymutil reads all STT_FUNC symbols",
        )
        for machine in (STM8, HC08)
    ),
    Case(
        "millicode of PA-RISC",
        of_machine(PARISC),
        words("""
            1000-1010 main
            1010-1020 $$divI
        """),
        "llvm-gsymutil reads STT_FUNC symbols only",
    ),
    Case("no registers of SPARC", of_machine(SPARC), "1000-1010 main\n"),
    Case(
        "what has debug information keeps it",
        with_symbols(
            Symbol("f", 0x1000, 0x10), Symbol("other", 0x1010, 0x10), debug=True
        ),
        words("""
            1000-1010 f
            1010-1020 other
        """),
    ),
]


@pytest.mark.parametrize("case", SYMBOLS, ids=lambda case: case.name)
def test_symbols(case: Case, tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, case.image, case.options)
    assert describe(converted.functions) == case.expected


CASES = SYMBOLS


@pytest.mark.parametrize(("bits", "byteorder"), KINDS)
@pytest.mark.parametrize("extended", [False, True], ids=["plain", "extended"])
def test_symbols_and_sections_read_the_same_in_every_kind_of_file(
    bits: int, byteorder: ByteOrder, extended: object, tmp_path: Path
) -> None:
    image = Elf(
        [code_section(), *debug_sections(bits, byteorder)],
        symbols=[Symbol("g", 0x1010, 0x20), Symbol("asm", 0x1040, 8, NOTYPE)],
        build_id=ID,
        bits=bits,
        byteorder=byteorder,
        extended=bool(extended),
    ).to_bytes()
    report, functions = convert_bytes(tmp_path, image)
    assert describe(functions) == words("""
        1000-1010 f
        1010-1030 g
        1040-1048 asm
    """)
    assert report.uuid == ID
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        assert reader.header.byteorder == byteorder


@pytest.mark.parametrize("kind", [NOTYPE, FUNC, IFUNC])
def test_a_symbol_inside_of_a_function_does_not_hide_the_rest_of_it(
    kind: int, tmp_path: Path
) -> None:
    image = with_symbols(Symbol("inside", 0x1004, 2, kind), debug=True)
    convert_bytes(tmp_path, image)
    with gsym.open(str(tmp_path / "input.gsym")) as reader:
        for address in (0x1000, 0x1003, 0x1006, 0x100F):
            found = reader.lookup(address)
            assert found is not None
            assert found.function.name == "f"


def test_the_name_of_a_symbol_that_is_dropped_is_left_out(tmp_path: Path) -> None:
    convert_bytes(tmp_path, with_symbols(Symbol("inside", 0x1004, 2), debug=True))
    assert b"inside" not in (tmp_path / "input.gsym").read_bytes()


def test_a_symbol_too_large_for_the_format_is_left_out(tmp_path: Path) -> None:
    image = with_symbols(Symbol("huge", 0x1000, 1 << 33), Symbol("main", 0x1100, 8))
    assert describe(convert_bytes(tmp_path, image).functions) == "1100-1108 main\n"


def test_a_symbol_of_4_gib_and_more_extends_to_the_next_one(tmp_path: Path) -> None:
    size = 5 << 30
    symbols = [Symbol("huge", 0x1000, size), Symbol("g", 0x1000 + size, 8)]
    image = Elf([code_section(0x1000, 2 * size)], symbols=symbols).to_bytes()
    converted = convert_bytes(tmp_path, image)
    assert not converted.report.warnings
    with gsym.open(tmp_path / "input.gsym") as reader:
        places = (0x1000, 0x1000 + size - 1, 0x1000 + size)
        names = [each and each.function.name for each in map(reader.lookup, places)]
    assert names == ["huge", "huge", "g"]


def test_a_symbol_that_runs_past_the_last_address_is_left_out(tmp_path: Path) -> None:
    start = 0xFFFFFFFF81000000
    symbols = [Symbol("f", start, 0x10), Symbol("wraps", start + 0x10, 0x90000000)]
    image = Elf([code_section(start)], symbols=symbols).to_bytes()
    converted = convert_bytes(tmp_path, image)
    assert [info.name for info in converted.functions] == ["f"]
    assert list(converted.report.warnings.values()) == [1]


@pytest.mark.parametrize("size", [65536, 65537, 1_000_000])
def test_a_symbol_may_have_a_long_name(size: int, tmp_path: Path) -> None:
    image = with_symbols(MAIN, Symbol("n" * size, 0x1100, 8), Symbol("g", 0x1200, 8))
    converted = convert_bytes(tmp_path, image)
    assert [info.name for info in converted.functions] == ["main", "n" * size, "g"]
    assert not converted.report.warnings


def test_long_names_of_symbols_that_share_their_end_have_a_limit(
    tmp_path: Path,
) -> None:
    """256 KiB, and 16 times the size of all names; what is cut is counted."""
    size, count = 100_000, 40
    names = [Symbol("n" * size, 0x1000, 8)]
    others = [Symbol(f"s{n}", 0x1000 + 8 * n, 8) for n in range(1, count)]
    image = bytearray(with_symbols(*names, *others))
    file = ELFFile(io.BytesIO(image))
    table = file.get_section_by_name(".symtab")
    assert table is not None
    offset, entry_size = table["sh_offset"], table["sh_entsize"]
    long_name = image[offset + entry_size :][:4]
    for n in range(count):
        at = offset + entry_size * (n + 1)
        image[at : at + 4] = long_name
    converted = convert_bytes(tmp_path, bytes(image))
    names_size = file.get_section(table["sh_link"])["sh_size"]
    kept = ((1 << 18) + 16 * names_size) // size
    assert [info.name for info in converted.functions] == ["n" * size] * kept
    assert list(converted.report.warnings.values()) == [count - kept]


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [((), "1000-1010 dynamic\n"), ((MAIN,), "1000-1010 main\n")],
)
def test_dynamic_symbols_count_only_without_others(
    symbols: tuple[Symbol, ...], expected: str, tmp_path: Path
) -> None:
    image = Elf(
        [code_section()],
        symbols=symbols,
        dynamic_symbols=[Symbol("dynamic", 0x1000, 0x10)],
        type=SHARED,
    ).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == expected


@pytest.mark.parametrize("kind", [FUNC, IFUNC])
def test_the_mode_bit_of_an_arm_function_is_no_part_of_its_address(
    kind: int, tmp_path: Path
) -> None:
    image = Elf(
        [code_section()],
        symbols=[Symbol("thumb", 0x1001, 0x10, kind), Symbol("arm", 0x1020, 0x10)],
        bits=32,
        machine=ARM,
    ).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1010 thumb
        1020-1030 arm
    """)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("open@@GLIBC_2.2.5", "open"),
        ("open@V_1", "open"),
        ("*Set(Int32)@Set(T)#add<Int32>:Bool", None),
        ("~proc3Proc(Nil)@/src/main.cr:7", None),
        ("__tag_@typeInfo(a.B).@", None),
        ("..@7.loop", None),
        ("@fast@8", None),
        ("printf@plt", None),
        ("printf@plt_2", "printf"),
    ],
)
def test_only_a_version_is_cut_off_a_name(
    name: str, expected: str | None, tmp_path: Path
) -> None:
    symbols = [Symbol(name, 0x1010, 8)]
    image = Elf([code_section()], symbols=symbols).to_bytes()
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == f"1010-1018 {expected or name}\n"


@pytest.mark.parametrize("end", [0x1018, 0x1030])
def test_a_symbol_with_a_size_needs_no_type(end: int, tmp_path: Path) -> None:
    """Of GHC, whose functions have code beyond the range of their DIE."""
    image = program(
        unit(function("f", 0x1010, end)), symbols=[Symbol("g", 0x1010, 0x10, NOTYPE)]
    )
    text = describe(convert_bytes(tmp_path, image).functions)
    expected = {0x1018: "1010-1018 f\n1010-1020 g\n", 0x1030: "1010-1030 f\n"}
    assert text == expected[end]


@pytest.mark.parametrize(("kind", "byteorder"), [(FUNC, "big"), (IFUNC, "little")])
def test_a_function_of_elfv1_is_where_its_descriptor_says(
    kind: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    """64-bit PowerPC ELF ABI, version 1, "Function Descriptors"."""
    descriptors = [(0x1020, 0x9000, 0), (0x1000, 0x9000, 0), (0, 0, 0)]
    order = ">QQQ" if byteorder == "big" else "<QQQ"
    content = b"".join(pack(order, *each) for each in descriptors)
    symbols = [
        Symbol("second", 0x4000, 0x10, kind, section=".opd"),
        Symbol("first", 0x4018, 0x20, section=".opd"),
        Symbol("none", 0x4030, 0x20, section=".opd"),
        Symbol("outside", 0x4048, 0x20, section=".opd"),
        Symbol("inside", 0x4000, 0, NOTYPE, section=".opd"),
        Symbol("label", 0x1040, 0, NOTYPE),
    ]
    opd = Section(".opd", content, flags=ALLOC, address=0x4000)
    elf = Elf([code_section(), opd], symbols=symbols, byteorder=byteorder)
    image = replace(elf, machine=PPC64).to_bytes()
    assert describe(convert_bytes(tmp_path, image).functions) == words("""
        1000-1020 first
        1020-1030 second
        1040-2000 label
    """)


R_PPC64_ADDR64, R_PPC64_TOC = 38, 51


@pytest.mark.parametrize("size", [24, 16])
def test_relocations_have_the_descriptors_of_an_object_file(
    size: int, tmp_path: Path
) -> None:
    """Without a pointer to the environment, a descriptor has 16 bytes."""
    opd = Section(".opd", bytes(3 * size), flags=ALLOC, alignment=8)
    places = [
        ("second", ".text.b", 0),
        ("first", ".text.a", 0),
        ("third", ".text.b", 8),
    ]
    symbols = [
        Symbol(name, 0, 0, SECTION, LOCAL, name) for name in (".text.a", ".text.b")
    ]
    relocations = []
    for number, (name, section, offset) in enumerate(places):
        at = number * size
        symbols.append(Symbol(name, at, 8, section=".opd"))
        relocations += [
            Relocation(at, R_PPC64_ADDR64, section, offset),
            Relocation(at + 8, R_PPC64_TOC),
        ]
    symbols.append(Symbol("outside", 3 * size, 8, section=".opd"))
    elf = Elf(
        [code_section(0, 16, ".text.a"), code_section(0, 32, ".text.b"), opd],
        symbols=symbols,
        relocations=[(".opd", relocations)],
        byteorder="big",
        type=RELOCATABLE,
    )
    assert describe(convert_bytes(tmp_path, elf.to_bytes()).functions) == words("""
        0-8 first
        10-18 second
        18-20 third
    """)
    without = replace(elf, relocations=())
    with pytest.raises(gsym.EmptyError):
        convert_bytes(tmp_path, without.to_bytes())
