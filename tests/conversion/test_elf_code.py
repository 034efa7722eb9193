"""What the code of an ELF image says beside its symbols: stubs, starts of functions."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from elftools.elf.elffile import ELFFile

import gsym
from gsym.conversion.report import LIMIT_REACHED
from tests.conftest import find_peer
from tests.conversions import convert_bytes, describe
from tests.inputs.elf import (
    AARCH64,
    ARM,
    CODE,
    I386,
    NOBITS,
    PPC,
    PPC64,
    REL,
    RELA,
    RISCV,
    S390,
    SHARED,
    UNDEFINED,
    X86_64,
    Elf,
    Section,
    Symbol,
    code_section,
)
from tests.inputs.encoding import Encoding
from tests.referee.opening import compare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder

pytestmark = pytest.mark.long

PLT, GOT = 0x2000, 0x4018


class Machine(NamedTuple):
    """*stubs* jump to the functions in the slots at GOT and after it."""

    number: int
    stubs: tuple[bytes, bytes]
    head: bytes = b""  # code before the stubs
    bits: int = 64
    byteorder: ByteOrder = "little"


def little(*instructions: int) -> bytes:
    return b"".join(each.to_bytes(4, "little") for each in instructions)


def x86_64(at: int, slot: int, prefix: bytes = b"") -> bytes:
    """jmp *slot(%rip), at least 16 bytes long."""
    start = prefix + b"\xff\x25"
    distance = slot - (at + len(start) + 4)
    return (start + distance.to_bytes(4, "little")).ljust(16, b"\x90")


def aarch64(at: int, slot: int) -> bytes:
    pages = (slot >> 12) - (at >> 12)
    adrp = 0x90000010 | (pages & 3) << 29 | pages >> 2 << 5
    return little(adrp, 0xF9400211 | (slot & 0xFFF) >> 3 << 10, 0x91000210, 0xD61F0220)


def arm(at: int, slot: int) -> bytes:
    distance = slot - (at + 8)
    return little(
        0xE28FC600, 0xE28CCA00 | distance >> 12, 0xE5BCF000 | distance & 0xFFF
    )


def riscv(at: int, slot: int, load: int = 3) -> bytes:
    distance = slot - at
    high = (distance + 0x800) & 0xFFFFF000
    low = distance - high & 0xFFF
    return little(0xE17 | high, low << 20 | 0xE0E03 | load << 12, 0x000E0367, 0x13)


def s390x(at: int, slot: int) -> bytes:
    larl = b"\xc0\x10" + ((slot - at) // 2).to_bytes(4, "big")
    return (larl + b"\xe3\x10\x10\x00\x00\x04\x07\xf1").ljust(32, b"\x07")


def absolute_386(slot: int) -> bytes:
    return (b"\xff\x25" + slot.to_bytes(4, "little")).ljust(16, b"\x90")


BTI_C = 0xD503245F
ENDBR64 = b"\xf3\x0f\x1e\xfa"
MACHINES = {
    "x86-64": Machine(
        X86_64,
        (x86_64(PLT + 16, GOT), x86_64(PLT + 32, GOT + 8)),
        head=x86_64(PLT, 0x4010),
    ),
    "x86-64, IBT": Machine(
        X86_64,
        (x86_64(PLT, GOT, ENDBR64 + b"\xf2"), x86_64(PLT + 16, GOT + 8, ENDBR64)),
    ),
    "x86-64, of mold": Machine(
        X86_64,
        (
            x86_64(PLT, GOT, ENDBR64 + b"\x41\xbb\0\0\0\0"),
            x86_64(PLT + 16, GOT + 8, ENDBR64 + b"\x41\xbb\1\0\0\0"),
        ),
    ),
    "i386": Machine(I386, (absolute_386(GOT), absolute_386(GOT + 4)), bits=32),
    "i386, position-independent": Machine(
        I386,
        (
            b"\xff\xa3\x18\0\0\0".ljust(16, b"\x90"),
            b"\xff\xa3\x1c\0\0\0".ljust(16, b"\x90"),
        ),
        bits=32,
    ),
    "AArch64": Machine(
        AARCH64,
        (aarch64(PLT + 32, GOT), aarch64(PLT + 48, GOT + 8)),
        head=little(0xA9BF7BF0) + aarch64(PLT + 4, 0x4010) + little(*[0xD503201F] * 3),
    ),
    "AArch64, BTI": Machine(
        AARCH64,
        (
            little(BTI_C) + aarch64(PLT + 4, GOT),
            little(BTI_C) + aarch64(PLT + 24, GOT + 8),
        ),
    ),
    "AArch64, big-endian": Machine(
        AARCH64, (aarch64(PLT, GOT), aarch64(PLT + 16, GOT + 8)), byteorder="big"
    ),
    "ARM": Machine(ARM, (arm(PLT, GOT), arm(PLT + 12, GOT + 4)), bits=32),
    "RISC-V": Machine(RISCV, (riscv(PLT, GOT), riscv(PLT + 16, GOT + 8))),
    "RISC-V of 32 bits": Machine(
        RISCV, (riscv(PLT, GOT, 2), riscv(PLT + 16, GOT + 4, 2)), bits=32
    ),
    "s390x": Machine(
        S390, (s390x(PLT, GOT), s390x(PLT + 32, GOT + 8)), byteorder="big"
    ),
}


def image_of(
    machine: Machine,
    section: str = ".plt",
    names: Sequence[str] = "ab",
    *,
    own: tuple[Symbol, ...] = (Symbol("start", 0x1000),),
    more: Sequence[Section] = (),
) -> bytes:
    encoding = Encoding(machine.byteorder, machine.bits // 8)
    symbols = [Symbol(name, 0, section=UNDEFINED) for name in names]
    wide = machine.bits == 64
    relocations = b"".join(
        encoding.address(GOT + n * machine.bits // 8)
        + encoding.address((n + 1) << (32 if wide else 8) | 7)
        + (encoding.address(0) if wide else b"")
        for n in range(len(names))
    )
    code = machine.head + b"".join(machine.stubs)
    sections = [
        code_section(0x1000, 0x100),
        Section(section, code, flags=CODE, address=PLT),
        Section(".got.plt", bytes(32), address=0x4000),
        Section(".rela.plt", relocations, RELA if wide else REL, link=5 + len(more)),
        *more,
    ]
    return Elf(
        sections,
        symbols=[],
        dynamic_symbols=[*symbols, *own],
        bits=machine.bits,
        byteorder=machine.byteorder,
        machine=machine.number,
        type=SHARED,
    ).to_bytes()


@pytest.mark.parametrize("section", [".plt", ".plt.sec", ".plt.got"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
def test_stubs_have_the_names_of_what_they_call(
    machine: Machine, section: str, tmp_path: Path
) -> None:
    text = describe(convert_bytes(tmp_path, image_of(machine, section)).functions)
    first = PLT + len(machine.head)
    second = first + len(machine.stubs[0])
    end = second + len(machine.stubs[1])
    assert text == (
        f"1000-1100 start\n{first:x}-{second:x} a@plt\n{second:x}-{end:x} b@plt\n"
    )


def test_a_slot_may_have_any_number_of_stubs(tmp_path: Path) -> None:
    """Linkers repeat stubs where code is far from the first ones."""
    pairs = 100
    stubs = b"".join(x86_64(PLT + 16 * n, GOT + 8 * (n % 2)) for n in range(2 * pairs))
    machine = Machine(X86_64, (stubs, b""))
    report, functions = convert_bytes(tmp_path, image_of(machine))
    assert not report.warnings
    found = [each.name for each in functions if each.name.endswith("@plt")]
    assert found == ["a@plt", "b@plt"] * pairs


def test_a_long_name_of_many_stubs_is_copied_up_to_a_limit(tmp_path: Path) -> None:
    """1 MiB, and 16 times the names of dynamic symbols."""
    size = 60_000
    stubs = b"".join(x86_64(PLT + 16 * n, GOT + 8 * (n % 2)) for n in range(200))
    names = ("a" * size, "b" * size)
    image = image_of(Machine(X86_64, (stubs, b"")), names=names)
    report, functions = convert_bytes(tmp_path, image)
    found = sum(each.name.endswith("@plt") for each in functions)
    assert report.warnings == {LIMIT_REACHED: 200 - found}
    assert found == ((1 << 20) + 16 * (2 * size + len("\0\0\0start\0"))) // size


def test_sections_of_stubs_are_no_larger_than_the_file(tmp_path: Path) -> None:
    """Sections that share their bytes could make a search take any time."""
    sharing = [Section(".plt", size=3_000, flags=CODE, address=0x3000)] * 200
    filler = Section(".data", bytes(5_000))
    image = image_of(MACHINES["x86-64"], more=[*sharing, filler])
    report, functions = convert_bytes(tmp_path, image)
    assert report.warnings.keys() == {LIMIT_REACHED}
    assert [each.name for each in functions if each.start < 0x3000] == [
        "start",
        "a@plt",
        "b@plt",
    ]


def test_a_program_with_nothing_but_stubs_has_no_symbols(tmp_path: Path) -> None:
    """Or its debug information would not be looked for elsewhere."""
    with pytest.raises(gsym.EmptyError):
        convert_bytes(tmp_path, image_of(MACHINES["x86-64"], own=()))


def test_code_of_another_section_is_no_stub(tmp_path: Path) -> None:
    image = image_of(MACHINES["x86-64"], ".text.hot")
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == "1000-1100 start\n"


def test_a_jump_by_another_slot_is_no_stub(tmp_path: Path) -> None:
    image = image_of(MACHINES["x86-64"], names="a")
    text = describe(convert_bytes(tmp_path, image).functions)
    assert "b@plt" not in text
    assert text.startswith("1000-1100 start\n2010-2030 a@plt\n")


def test_a_symbol_without_a_size_ends_with_its_section(tmp_path: Path) -> None:
    sections = [
        code_section(0x1000, 0x20, ".init"),
        code_section(0x1040, 0x40),
        code_section(0x1090, 0x10, ".fini"),
    ]
    symbols = [
        Symbol("_init", 0x1000, section=".init"),
        Symbol("a", 0x1050),
        Symbol("b", 0x1060),
        Symbol("_fini", 0x1090, section=".fini"),
    ]
    image = Elf(sections, symbols=symbols).to_bytes()
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == "1000-1020 _init\n1050-1050 a\n1060-1080 b\n1090-10a0 _fini\n"


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("bits", [32, 64])
def test_a_symbol_without_a_size_ends_where_the_next_function_is_unwound(
    bits: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    encoding = Encoding(byteorder, bits // 8)
    starts = [0x1000, 0x1030, 0x1060]
    table = b"".join(
        encoding.uint((each - 0x2000) & 0xFFFFFFFF, 4) * 2 for each in starts
    )
    header = b"\x01\x1b\x03\x3b" + bytes(4) + encoding.uint(len(starts), 4) + table
    image = Elf(
        [code_section(0x1000, 0x100), Section(".eh_frame_hdr", header, address=0x2000)],
        symbols=[Symbol("a", 0x1000), Symbol("b", 0x1040), Symbol("c", 0x1070, 8)],
        bits=bits,
        byteorder=byteorder,
    ).to_bytes()
    text = describe(convert_bytes(tmp_path, image).functions)
    assert text == "1000-1030 a\n1040-1060 b\n1070-1078 c\n"


MAIN = """
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
  if (count > 1) abort();
  printf("%s %d", words[0], rand());
  return puts("") + atexit(0);
}
"""


@pytest.mark.parametrize(
    "options",
    [
        "-O1",
        "-O1 -fcf-protection=full -Wl,-z,ibtplt",
        "-O1 -no-pie -Wl,-z,norelro",
        "-O1 -Wl,-z,now -fno-plt",
        "-O1 -fuse-ld=gold",
    ],
)
def test_stubs_are_called_as_objdump_calls_them(options: str, tmp_path: Path) -> None:
    source, binary = tmp_path / "main.c", tmp_path / "main"
    source.write_text(MAIN)
    compiler, objdump = find_peer("gcc", "cc"), find_peer("objdump")
    command = [compiler, *options.split(), str(source), "-o", str(binary)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"not built here: {options}")
    listing = subprocess.run(
        [objdump, "-d", str(binary)], capture_output=True, text=True, check=True
    ).stdout
    named = re.findall(r"^([0-9a-f]+) <([\w.]+@plt)>:", listing, re.MULTILINE)
    output = tmp_path / "out" / "main.gsym"
    output.parent.mkdir()
    gsym.convert(str(binary), str(output))
    with gsym.open(str(output)) as reader:
        for address, name in named:
            found = reader.lookup(int(address, 16))
            assert found is not None
            assert [frame.name for frame in found.frames] == [name]


# ---- PowerPC: stubs among functions

LIBRARY = "int alpha(int x) { return x; } int beta(int x) { return x; }"
CALLER = """
int alpha(int), beta(int);
int call(int count) { return alpha(count) + beta(alpha(count)); }
void _start(void) { call(1); for (;;) ; }
"""
V1, V2, POWER10 = "-mabi=elfv1", "-mabi=elfv2", "-mabi=elfv2 -mcpu=pwr10"
SECURE = "-fpic -msecure-plt"
POWERPC = {
    "64-bit, little-endian": ("powerpc64le", V2, "", "elf64lppc"),
    "64-bit, position-independent": ("powerpc64le", f"{V2} -fPIC", "", "elf64lppc"),
    "64-bit, relative to the code": ("powerpc64le", POWER10, "", "elf64lppc"),
    "64-bit, big-endian": ("powerpc64", V2, "", "elf64ppc"),
    "32-bit, position-independent": ("powerpc", SECURE, "-pie", "elf32ppclinux"),
    "ELFv1": ("powerpc64", V1, "", "elf64ppc"),
    "ELFv1, of threads": ("powerpc64", V1, "--plt-thread-safe", "elf64ppc"),
    "ELFv1, with all registers": ("powerpc64", V1, "--plt-static-chain", "elf64ppc"),
    "32-bit": ("powerpc", "-fno-pic", "", "elf32ppclinux"),
}
# What linkers call stubs, in symbols that are left out here.
_STUB = re.compile(r"(?:.*\.plt_(?:call|call32|pic32)\.|__plt_(?:pcrel_)?)(\w+)")


def stub_symbols(path: Path) -> dict[int, str]:
    with path.open("rb") as stream:
        symbols: Any = ELFFile(stream).get_section_by_name(".symtab")
        named = (
            (each["st_value"], _STUB.match(each.name))
            for each in symbols.iter_symbols()
        )
        return {at: f"{match[1]}@plt" for at, match in named if match}


@pytest.mark.parametrize(
    ("name", "linker"),
    [(name, "powerpc-linux-gnu-ld") for name in POWERPC]
    + [(name, "ld.lld-19") for name in POWERPC if "ELFv1" not in name],
)
def test_stubs_of_powerpc_are_found_among_functions(
    name: str, linker: str, tmp_path: Path
) -> None:
    target, flags, linking, emulation = POWERPC[name]
    clang, link = find_peer("clang-19"), [find_peer(linker), "-m", emulation]
    objcopy = find_peer("llvm-objcopy-19", "llvm-objcopy-22")
    command = [clang, f"--target={target}-linux-gnu", "-g", *flags.split(), "-c"]
    paths = {}
    for part, text in (("library", LIBRARY), ("main", CALLER)):
        source = tmp_path / f"{part}.c"
        source.write_text(text)
        paths[part] = str(source.with_suffix(".o"))
        subprocess.run([*command, str(source), "-o", paths[part]], check=True)
    library, main = str(tmp_path / "library.so"), tmp_path / "main"
    subprocess.run([*link, "-shared", paths["library"], "-o", library], check=True)
    command = [*link, *linking.split(), paths["main"], library, "-o", str(main)]
    subprocess.run(command, check=True)
    named = stub_symbols(main)
    subprocess.run([objcopy, "-w", "-N", "*plt_*", str(main)], check=True)
    assert not stub_symbols(main)
    with gsym.open(gsym.convert(main, tmp_path / "a.gsym").outputs[0]) as reader:
        ours = {each.start: each.name for each in reader.functions()}
    stubs = {at: name for at, name in ours.items() if name.endswith("@plt")}
    assert sorted(set(stubs.values())) == ["alpha@plt", "beta@plt"]
    assert {at: stubs.get(at) for at in named} == named
    assert named or target == "powerpc"  # whose stubs the loader may write
    assert compare(str(tmp_path / "a.gsym"), str(main)).differences == []


def big(*instructions: int) -> bytes:
    return b"".join(each.to_bytes(4, "big") for each in instructions)


def powerpc_image(
    code: bytes, *sections: Section, bits: int = 64, kind: int = 21, got: int = 8
) -> bytes:
    """Slots at 0x18000 and after it, which is where r2 leads to in 64 bits."""
    encoding = Encoding("big", bits // 8)
    entries = b"".join(
        encoding.address(0x18000 + n * bits // 8)
        + encoding.address((n + 1) << (32 if bits == 64 else 8) | kind)
        + encoding.address(0)
        for n in range(2)
    )
    parts = [
        Section(".text", code.ljust(0x100, b"\0"), flags=CODE, address=0x1000),
        Section(".got", address=0x10000, kind=NOBITS, size=got),
        *sections,
        Section(".rela.plt", entries, RELA, link=4 + len(sections)),
    ]
    slots = [Symbol(name, 0, section=UNDEFINED) for name in "ab"]
    return Elf(
        parts,
        dynamic_symbols=[*slots, Symbol("start", 0x1080, 0x40)],
        bits=bits,
        byteorder="big",
        machine=PPC64 if bits == 64 else PPC,
        type=SHARED,
    ).to_bytes()


# ld r12,8(r2); mtctr r12; bctr, after addis r12,r2,0 and ld r12,0(r12) and so on
V2_STUBS = big(0x3D820000, 0xE98C0000, 0x7D8903A6, 0x4E800420) + big(
    0xF8410018, 0xE9820008, 0x7D8903A6, 0x4E800420
)
NAMED = "1000-1010 a@plt\n1010-1020 b@plt\n1080-10c0 start\n"
UNNAMED = "1080-10c0 start\n"
# lis r11,1; lwz r11,-32768(r11) as of 0x18000, and the same from r30
V32_STUBS = big(0x3D600002, 0x816B8000, 0x7D6903A6, 0x4E800420) + big(
    0x3D600002, 0x816B8004, 0x7D6903A6, 0x4E800420
)


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        (powerpc_image(V2_STUBS), NAMED),
        # A variable that the loader sets to a function is no slot.
        (powerpc_image(V2_STUBS, kind=38), UNNAMED),
        # With a table of more than 64 KiB parts of a program have different bases.
        (powerpc_image(V2_STUBS, got=0x10000), NAMED),
        (powerpc_image(V2_STUBS, got=0x10008), UNNAMED),
        # Calls are not jumps: bctrl.
        (powerpc_image(V2_STUBS.replace(big(0x4E800420), big(0x4E800421))), UNNAMED),
        (powerpc_image(V2_STUBS.replace(big(0x7D8903A6), big(0x60000000))), UNNAMED),
        (powerpc_image(V32_STUBS, bits=32), NAMED),
        (powerpc_image(V32_STUBS, bits=32, kind=20), UNNAMED),
        (powerpc_image(V32_STUBS.replace(b"\x3d\x60", b"\x3d\x7e"), bits=32), UNNAMED),
    ],
)
def test_only_a_jump_by_a_known_slot_is_a_stub_of_powerpc(
    image: bytes, expected: str, tmp_path: Path
) -> None:
    assert describe(convert_bytes(tmp_path, image).functions) == expected


def test_parts_of_a_large_program_have_stubs_of_their_own(tmp_path: Path) -> None:
    converted = convert_bytes(tmp_path, powerpc_image(V2_STUBS * 40))
    assert not converted.report.warnings
    assert converted.report.symbol_sources["stubs"] == 80
