"""The decoder behind `compare` and the engine agree on inputs made to be difficult."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from struct import pack
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.containers.test_elf_dynamic import made_by_hand, without_headers
from tests.dwarf import test_inlines
from tests.dwarf.test_differential import MODULES
from tests.inputs.dies import Die, Ref
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import (
    AARCH64,
    ALLOC,
    IFUNC,
    NOTYPE,
    PPC64,
    RELOCATABLE,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.program import LAYOUTS, Layout, function, inlined, program, unit
from tests.referee.opening import compare

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from tests.conversions import Options
    from tests.referee.opening import Comparison

pytestmark = pytest.mark.long


# pyelftools does not get past what these hold.
UNREADABLE = {"all forms of version 5 at once"}


def compare_converted(
    folder: Path, image: bytes, options: Options | None = None
) -> Comparison:
    binary, path = os.fspath(folder / "input"), os.fspath(folder / "input.gsym")
    (folder / "input").write_bytes(image)
    gsym.convert(binary, path, **(options or {}))
    return compare(path, binary)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_second_opinion_agrees_on_every_case(
    module: ModuleType, tmp_path: Path
) -> None:
    for case in module.CASES:
        if case.image.startswith(b"MZ"):
            continue
        found = compare_converted(tmp_path, case.image, case.options)
        assert bool(found.unread) == (case.name in UNREADABLE), case.name
        assert found.differences == [], case.name


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_the_second_opinion_agrees_in_every_layout(
    layout: Layout, tmp_path: Path
) -> None:
    lines = LineProgram(
        directories=("/src",) if layout.version >= 5 else (),
        files=(File("a.c"), File("b.h")),
        ops=sequence((0x1000, 5, 1), (0x1008, 6, 1), (0x1010, 9, 1), end=0x1040),
    )
    image = layout.program(
        Die(Tag.subprogram, {At.name: "g", At.inline: 1}, label="g"),
        function("f", 0x1000, 0x1040, inlined(Ref("g"), (0x1004, 0x1010))),
        lines=lines,
    )
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.unread) == ([], {})
    assert found.functions == 1


def test_the_second_opinion_knows_rows_after_the_start(tmp_path: Path) -> None:
    image = program(
        unit(
            function(
                "f", 0x1000, 0x1010, attributes={At.decl_file: 1, At.decl_line: 4}
            ),
            version=4,
            lines=LineProgram(
                files=(File("a.c"),),
                ops=sequence((0x1004, 7, 1), (0x1008, 8, 1), end=0x1010),
            ),
        )
    )
    assert compare_converted(tmp_path, image).differences == []
    with gsym.open(tmp_path / "input.gsym") as reader:
        rows = next(iter(reader.functions())).line_table
    assert [(row.address, row.line) for row in rows or ()] == [(0x1004, 7), (0x1008, 8)]


@pytest.mark.parametrize(
    ("version", "directories", "file", "expected"),
    [
        (4, ("lib",), 1, "/src/lib/a.c"),
        (4, ("lib",), 0, ""),
        (5, ("build", "lib"), 0, "build/a.c"),
        (5, ("/src", "lib"), 1, "/src/lib/b.c"),
    ],
)
def test_the_second_opinion_knows_relative_directories(
    version: int,
    directories: tuple[str, ...],
    file: int,
    expected: str,
    tmp_path: Path,
) -> None:
    files = (File("a.c", version < 5), File("b.c", 1))
    ops = sequence((0x1000, 5, file), end=0x1010)
    lines = LineProgram(ops, directories=directories, files=files)
    image = program(unit(function("f", 0x1000, 0x1010), lines=lines, version=version))
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.unread) == ([], {})
    with gsym.open(tmp_path / "input.gsym") as reader:
        answer = reader.lookup(0x1000)
    assert answer is not None
    assert [frame.path for frame in answer.frames] == [expected]


def test_the_second_opinion_knows_the_languages_of_version_6(tmp_path: Path) -> None:
    inner = function("inner", 0x1010, 0x1020)
    for language, name in ((0x03, "inner"), (0x04, "f::inner")):  # C, C++
        lines = LineProgram(
            sequence((0x1000, 3, 0), end=0x1020),
            directories=("/src",),
            files=(File("a.c"),),
        )
        main = unit(
            function("f", 0x1000, 0x1010, inner),
            version=6,
            language=None,
            lines=lines,
            attributes={At.language_name: Form.data2(language)},
        )
        found = compare_converted(tmp_path, program(main))
        assert (found.differences, found.unread, found.functions) == ([], {}, 2)
        with gsym.open(tmp_path / "input.gsym") as reader:
            assert [each.name for each in reader] == ["f", name]


DESCRIPTORS = Section(
    ".opd", pack(">QQQ", 0x1020, 0x9000, 0) + bytes(24), flags=ALLOC, address=0x4000
)
SYMBOLS = {
    "versions": Elf(
        [code_section()],
        symbols=[
            Symbol(name, 0x1000 + 16 * number, 16)
            for number, name in enumerate(
                ["open@@V_1.2", "*A(Int)@A(T)#add<Int>:Bool", "..@7.loop", "@fast@8"]
            )
        ],
    ),
    "function descriptors": Elf(
        [code_section(0, 0x2000), DESCRIPTORS],
        symbols=[
            Symbol("f", 0x4000, 0x10, section=".opd"),
            Symbol("no_code", 0x4018, 0x10, section=".opd"),
            Symbol("outside", 0x4030, 0x10, IFUNC, section=".opd"),
        ],
        byteorder="big",
    ),
    "function descriptors of an object file": Elf(
        [
            code_section(0, 0x20),
            Section(".opd", bytes(48), flags=ALLOC, alignment=8),
        ],
        symbols=[
            Symbol("label", 0x10, kind=NOTYPE),
            Symbol("f", 24, 0x10, section=".opd"),
            Symbol("no_code", 0, 0x10, section=".opd"),
        ],
        relocations=[(".opd", [Relocation(24, 38, "label", -0x10)])],
        byteorder="big",
        type=RELOCATABLE,
    ),
    "sections with addresses in an object file": Elf(
        [
            code_section(0, 8),
            Section(".data", bytes(0x300), flags=ALLOC, alignment=64),
            code_section(0x300, 1, ".plt"),
        ],
        symbols=[Symbol("f", 0, 8)],
        type=RELOCATABLE,
    ),
    "indexes of sections that do not fit": Elf(
        [code_section()], symbols=[Symbol("f", 0x1000, 8)], extended=True
    ),
    "a symbol larger than a record": Elf(
        [code_section(size=1 << 33)],
        symbols=[Symbol("f", 0x1000, 1 << 32), Symbol("g", 1 << 33, 16)],
    ),
    "mapping symbols and local labels": Elf(
        [code_section()],
        symbols=[
            Symbol(name, 0x1000 + 16 * number, 0, NOTYPE)
            for number, name in enumerate(["f", "$x", "$d.1", ".L3", "$t", "$table"])
        ],
        machine=AARCH64,
    ),
}


@pytest.mark.parametrize("elf", SYMBOLS.values(), ids=SYMBOLS)
def test_the_second_opinion_agrees_on_symbols(elf: Elf, tmp_path: Path) -> None:
    found = compare_converted(tmp_path, elf.to_bytes())
    assert (found.differences, found.symbols > 0) == ([], True)


def test_the_second_opinion_needs_no_executable_section(tmp_path: Path) -> None:
    data = Section(".data", bytes(16), flags=ALLOC, address=0x8000)
    image = program(unit(function("f", 0x1000, 0x1010)), text=[data])
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.functions) == ([], 1)


def test_the_second_opinion_knows_functions_at_the_end_of_the_address_space(
    tmp_path: Path,
) -> None:
    die = Die(
        Tag.subprogram,
        {At.name: "f", At.low_pc: 0xFFFFFFF0, At.high_pc: Form.addr(0)},
    )
    text = code_section(0xFFFFF000, 0x1000)
    image = program(unit(die, version=4), text=[text], address_size=4)
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.functions) == ([], 1)


@pytest.mark.parametrize("size", [0, 8])
def test_the_second_opinion_gives_rows_of_nameless_functions_to_symbols(
    size: int, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0x1000, 5), end=0x1010))
    main = unit(function(None, 0x1000, 0x1010), version=4, lines=lines)
    found = compare_converted(
        tmp_path, program(main, symbols=[Symbol("f", 0x1000, size)])
    )
    assert (found.differences, found.symbols) == ([], 1)


def test_the_second_opinion_needs_no_section_headers(
    compiler: str, tmp_path: Path
) -> None:
    (tmp_path / "a.c").write_text("int f(int x) { return x * 3; }\n")
    command = [compiler, "-shared", "-fPIC", "-nostdlib", "-s", "a.c", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    image = bytes(without_headers(tmp_path / "a.so"))
    found = compare_converted(tmp_path, image)
    assert (found.differences, found.symbols) == ([], 1)


def test_the_second_opinion_needs_no_section_headers_of_descriptors(
    tmp_path: Path,
) -> None:
    image = made_by_hand(PPC64, 64, "big", places=(0x818, 0x800))
    for place, code in ((0x818, 0x900), (0x800, 0x920)):
        image[place : place + 8] = code.to_bytes(8, "big")
    (tmp_path / "a.so").write_bytes(image)
    found = compare_converted(tmp_path, bytes(without_headers(tmp_path / "a.so")))
    assert (found.differences, found.symbols) == ([], 2)


def test_the_second_opinion_evaluates_addresses(clang: str, tmp_path: Path) -> None:
    source = "int f(int x) {\n  return x * 3; }\nint g(int x) { return x / 5; }\n"
    (tmp_path / "a.c").write_text(source)
    how = ["-gdwarf-5", "-O1", "-mllvm", "-minimize-addr-in-v5=Expressions"]
    command = [clang, *how, "-fPIC", "-shared", "-nostdlib", "a.c", "-o", "a.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    found = compare_converted(tmp_path, (tmp_path / "a.so").read_bytes())
    assert (found.differences, found.unread, found.functions) == ([], {}, 2)


def test_relocations_that_pyelftools_does_not_know_are_named(tmp_path: Path) -> None:
    sections = Dwarf([unit(function("f", 0, 8))]).sections()
    names = ["", ".text", *sections]
    info = names.index(".debug_info")
    crel = Section(".crel.debug_info", b"\0", kind=0x40000014, info=info)
    debug = [Section(name, data) for name, data in sections.items()]
    image = Elf([code_section(0, 16), *debug, crel], type=RELOCATABLE).to_bytes()
    with pytest.raises(gsym.UnsupportedError, match="relocations in CREL"):
        compare_converted(tmp_path, image)


def test_an_unknown_compression_type_is_named(tmp_path: Path) -> None:
    main = unit(function("f", 0x1000, 0x1010))
    image = program(main, compression="zlib")
    compare_converted(tmp_path, image)
    binary, path = tmp_path / "input", os.fspath(tmp_path / "input.gsym")
    head = pack("<II", 1, 0)  # ch_type ELFCOMPRESS_ZLIB, ch_reserved
    assert head in image
    binary.write_bytes(image.replace(head, pack("<II", 7, 0)))
    with pytest.raises(gsym.UnsupportedError, match="unknown compression type 7"):
        compare(path, os.fspath(binary))


@pytest.mark.parametrize("table", ["directory_format", "file_format"])
def test_entries_of_line_tables_without_bytes_are_not_read(
    table: str, tmp_path: Path
) -> None:
    lines = LineProgram(sequence((0x1000, 5), end=0x1010), **{table: ()})  # type: ignore[arg-type]
    for count, is_read in ((0, True), (1000, False)):
        some = replace(lines, files=(File("a.c"),) * count, directories=("/",) * count)
        image = program(unit(function("f", 0x1000, 0x1010), lines=some, version=5))
        found = compare_converted(tmp_path, image)
        reasons = "".join(found.unread.values())
        assert ("take no bytes" in reasons) != is_read, reasons


def test_no_damaged_binary_stops_the_comparison_but_by_an_error(tmp_path: Path) -> None:
    cases = {case.name: case for case in test_inlines.CASES}
    image = cases["a call may fill its caller"].image
    compare_converted(tmp_path, image)
    binary, path = tmp_path / "input", os.fspath(tmp_path / "input.gsym")
    answered = refused = 0
    for offset in range(0, len(image), 7):
        damaged = bytearray(image)
        damaged[offset] ^= 0xFF
        binary.write_bytes(damaged)
        try:
            compare(path, os.fspath(binary))
            answered += 1
        except gsym.GsymError:
            refused += 1
    assert answered > 10
    assert refused > 10
