"""Symbols of PE images: which are functions, how far they reach, what is exported."""

from __future__ import annotations

import subprocess
from struct import pack
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.conftest import find_peer
from tests.conversions import convert_bytes, describe
from tests.inputs.pe import (
    ABSOLUTE,
    ARM64,
    DATA,
    DEBUG,
    I386,
    LABEL,
    STATIC,
    UNDEFINED,
    WEAK,
    X86_64,
    Export,
    Imports,
    Pe,
    Section,
    Symbol,
    code_section,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

BASE = 0x400000
TEXT = code_section(0x1000, 0x100)
DATA_SECTION = Section(".data", bytes(16), 0x3000, DATA)


class Case(NamedTuple):
    symbols: list[Symbol]
    expected: str  # addresses without the image base
    machine: int = X86_64
    unwind: tuple[tuple[int, int], ...] = ()
    exports: tuple[Export, ...] = ()


LONG = "n" * 70_000
CASES = {
    "one ends where the next starts": Case(
        [Symbol("a", 0), Symbol("b", 0x20)], "1000-1020 a, 1020-1100 b"
    ),
    "in any order": Case(
        [Symbol("b", 0x20), Symbol("a", 0)], "1000-1020 a, 1020-1100 b"
    ),
    "static functions": Case([Symbol("a", 0, storage=STATIC)], "1000-1100 a"),
    "weak functions": Case([Symbol("a", 0, storage=WEAK)], "1000-1100 a"),
    "hand-written code has no type": Case([Symbol("a", 0, kind=0)], "1000-1100 a"),
    "of equal symbols the one with the type of a function": Case(
        [Symbol("a", 0), Symbol("__end__", 0, kind=0)], "1000-1100 a"
    ),
    "whichever is first": Case(
        [Symbol("__end__", 0, kind=0), Symbol("a", 0, storage=STATIC)], "1000-1100 a"
    ),
    "what a section is called": Case(
        [
            Symbol(".text", 0, kind=0, storage=STATIC, auxiliary=1),
            Symbol("text$x", 0x10, kind=0, storage=STATIC, auxiliary=1),
            Symbol("a", 0x20),
        ],
        "1020-1100 a",
    ),
    "labels": Case([Symbol("a", 0), Symbol("l", 0x10, storage=LABEL)], "1000-1100 a"),
    "auxiliary entries are no symbols": Case(
        [Symbol("a", 0, auxiliary=3), Symbol("b", 0x20, auxiliary=1)],
        "1000-1020 a, 1020-1100 b",
    ),
    "in no section": Case(
        [
            Symbol("undefined", 0x10, UNDEFINED),
            Symbol("absolute", 0x10, ABSOLUTE),
            Symbol("debug", 0x10, DEBUG),
            Symbol("none", 0x10, 9),
            Symbol("a", 0),
        ],
        "1000-1100 a",
    ),
    "data": Case([Symbol("d", 0, ".data", 0), Symbol("a", 0)], "1000-1100 a"),
    "behind the end of the section": Case(
        [Symbol("a", 0), Symbol("end", 0x100)], "1000-1100 a"
    ),
    "names of 8 bytes and more": Case(
        [Symbol("eight_78", 0), Symbol("nine_6789", 0x80)],
        "1000-1080 eight_78, 1080-1100 nine_6789",
    ),
    "a name of more than 64 KiB": Case(
        [Symbol("a", 0), Symbol(LONG, 0x80)], f"1000-1080 a, 1080-1100 {LONG}"
    ),
    "the underscore of C": Case(
        [Symbol("_main", 0), Symbol("__start", 0x10), Symbol("_f@4", 0x20)],
        "1000-1010 main, 1010-1020 _start, 1020-1100 f@4",
        machine=I386,
    ),
    "an underscore and nothing else": Case([Symbol("_", 0)], "1000-1100 _", I386),
    "no underscore on other machines": Case([Symbol("_main", 0)], "1000-1100 _main"),
    "ends of the unwind table": Case(
        [Symbol("a", 0), Symbol("b", 0x20)],
        "1000-101d a, 1020-1100 b",
        unwind=((0x1000, 0x101D),),
    ),
    "starts of the unwind table": Case(
        [Symbol("a", 0), Symbol("b", 0x80)],
        "1000-1040 a, 1080-1100 b",
        machine=ARM64,
        unwind=((0x1000, 0), (0x1040, 0)),
    ),
    "exports where there are no symbols": Case(
        [],
        "1010-1030 a, 1030-1100 b",
        exports=(Export("a", 0x1010), Export("b", 0x1030)),
    ),
    "exports are known by their names": Case(
        [], "1010-1100 _a", I386, exports=(Export("_a", 0x1010),)
    ),
    "exports of data and of other images": Case(
        [],
        "1010-1100 a",
        exports=(
            Export("d", 0x3000),
            Export("elsewhere", forward="OTHER.f"),
            Export("a", 0x1010),
        ),
    ),
    "symbols are better than exports": Case(
        [Symbol("a", 0)], "1000-1100 a", exports=(Export("b", 0x1010),)
    ),
    "exports end by the unwind table": Case(
        [],
        "1010-1018 a",
        exports=(Export("a", 0x1010),),
        unwind=((0x1010, 0x1018),),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_are_found(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    image = Pe(
        [TEXT, DATA_SECTION],
        case.symbols,
        machine=case.machine,
        image_base=BASE,
        unwind=case.unwind,
        exports=case.exports,
    )
    functions = convert_bytes(tmp_path, image.to_bytes()).functions
    found = [each._replace(start=each.start - BASE) for each in functions]
    assert ", ".join(describe(found).splitlines()) == case.expected


# ---- stubs

SLOTS = 0x3000


def x86_64_stub(at: int, slot: int) -> bytes:
    return b"\xff\x25" + pack("<i", slot - (at + 6))


def i386_stub(_: int, slot: int) -> bytes:
    return b"\xff\x25" + pack("<I", BASE + slot)


def arm64_stub(at: int, slot: int) -> bytes:
    pages = (slot >> 12) - (at >> 12)
    adrp = 0x90000010 | (pages & 3) << 29 | pages >> 2 << 5
    return pack("<III", adrp, 0xF9400210 | (slot & 0xFFF) >> 3 << 10, 0xD61F0200)


def with_stubs(
    code: bytes,
    machine: int,
    *imports: Imports,
    symbols: Sequence[Symbol] = (),
    exports: Sequence[Export] = (Export("own", 0x1000),),
) -> bytes:
    text = Section(".text", code.ljust(0x100, b"\xcc"), 0x1000, TEXT.flags)
    return Pe(
        [text, DATA_SECTION],
        symbols,
        machine=machine,
        image_base=BASE,
        exports=exports,
        imports=imports,
    ).to_bytes()


def found_in(image: bytes, folder: Path) -> str:
    functions = convert_bytes(folder, image).functions
    found = [each._replace(start=each.start - BASE) for each in functions]
    return ", ".join(describe(found).splitlines())


class Machine(NamedTuple):
    number: int
    stub: Callable[[int, int], bytes]
    width: int  # of a slot
    size: int  # of a stub


@pytest.mark.parametrize("kind", ["loaded", "delayed"])
@pytest.mark.parametrize(
    "machine",
    [
        Machine(X86_64, x86_64_stub, 8, 6),
        Machine(I386, i386_stub, 4, 6),
        Machine(ARM64, arm64_stub, 8, 12),
    ],
    ids=["x64", "x86", "ARM64"],
)
def test_stubs_are_named_for_what_they_call(
    machine: Machine, kind: str, tmp_path: Path
) -> None:
    """Of a function imported by number, only its library knows the name."""
    code = b"\xc3".ljust(0x20, b"\xcc")
    ends = [0x1020 + number * machine.size for number in range(4)]
    for number in range(3):
        code += machine.stub(ends[number], SLOTS + machine.width * number)
    imports = Imports(["puts", 7, "abort"], SLOTS, is_delayed=kind == "delayed")
    assert found_in(with_stubs(code, machine.number, imports), tmp_path) == (
        f"1000-1020 own, 1020-{ends[1]:x} puts, {ends[2]:x}-{ends[3]:x} abort"
    )


PUTS = Imports(["puts"], SLOTS)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (b"\x5b\x48", "1000-1100 own"),  # pop rbx; rex.W jmp
        (b"\xc7\x44\x24\x04\0\0\0\0", "1000-1100 own"),  # movl $0, 4(%esp)
        (b"\xc3", "1000-1001 own, 1001-1007 puts"),
        (b"\x5b\xc3\x66\x90", "1000-1004 own, 1004-100a puts"),
        (b"\xc3\xcc\xcc", "1000-1003 own, 1003-1009 puts"),
    ],
)
def test_the_last_jump_of_a_function_is_no_stub(
    before: bytes, expected: str, tmp_path: Path
) -> None:
    at = 0x1000 + len(before)
    image = with_stubs(before + x86_64_stub(at, SLOTS), X86_64, PUTS)
    assert found_in(image, tmp_path) == expected


def test_other_jumps_are_no_stubs(tmp_path: Path) -> None:
    code = b"\xc3" + x86_64_stub(0x1001, SLOTS + 8)
    assert found_in(with_stubs(code, X86_64, PUTS), tmp_path) == "1000-1100 own"
    code = b"\xc3" + x86_64_stub(0x1001, SLOTS)
    old = Imports(["puts"], SLOTS, is_delayed=True, flags=0)  # of Visual C++ 6
    assert found_in(with_stubs(code, X86_64, old), tmp_path) == "1000-1100 own"


def test_a_symbol_table_names_stubs_itself(tmp_path: Path) -> None:
    code = b"\xc3".ljust(0x20, b"\xcc") + x86_64_stub(0x1020, SLOTS)
    symbols = [Symbol("own", 0), Symbol("jump", 0x20)]
    image = with_stubs(code, X86_64, PUTS, symbols=symbols)
    assert found_in(image, tmp_path) == "1000-1020 own, 1020-1100 jump"


def test_a_program_with_nothing_but_stubs_has_no_symbols(tmp_path: Path) -> None:
    image = with_stubs(x86_64_stub(0x1000, SLOTS), X86_64, PUTS, exports=())
    with pytest.raises(gsym.EmptyError):
        convert_bytes(tmp_path, image)


@pytest.mark.parametrize("target", ["x86_64", "i686"])
def test_a_stripped_library_names_stubs_as_the_linker_did(
    target: str, tmp_path: Path
) -> None:
    source, library = tmp_path / "a.c", tmp_path / "a.dll"
    source.write_text(
        "#include <stdio.h>\n#include <stdlib.h>\n"
        '__declspec(dllexport) int f(int x) { return puts("") + rand() + x; }\n'
    )
    gcc = find_peer(f"{target}-w64-mingw32-gcc")
    strip = find_peer(f"{target}-w64-mingw32-strip")
    subprocess.run([gcc, "-O1", "-shared", str(source), "-o", str(library)], check=True)
    names = named_in(library)
    assert names.keys() == {"puts", "rand"}
    subprocess.run([strip, str(library)], check=True)
    assert named_in(library) == names


def named_in(library: Path) -> dict[str, int]:
    output = gsym.convert(library, library.with_suffix(".gsym")).outputs[0]
    with gsym.open(output) as reader:
        functions = {each.name: each.start for each in reader.functions()}
    return {name: functions[name] for name in {"puts", "rand"} & functions.keys()}
