"""Relocatable files of real compilers against llvm-symbolizer, a linker and pyelftools.

llvm-symbolizer is asked about a copy whose sections have the addresses that gsym gives
them (`tests/differential/relocatable.py`).
"""

from __future__ import annotations

import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

import gsym
from tests.conftest import find_peer
from tests.differential.answers import ask, relative_functions
from tests.differential.programs import SOURCES
from tests.differential.relocatable import place
from tests.referee.opening import compare

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

SOURCE = SOURCES / "sections.c"
# Not ve: LLVM compiles for it, but resolves no relocations of its debug information.
TARGETS = (
    *("aarch64", "aarch64_be", "arm", "armeb", "thumbv7", "i386"),
    *("loongarch32", "loongarch64", "mips", "mipsel", "mips64", "mips64el"),
    *("powerpc", "powerpc64", "powerpc64le", "riscv32", "riscv64", "s390x"),
    *("sparc", "sparcv9", "x86_64", "bpfel", "bpfeb"),
    *("avr", "hexagon", "msp430", "m68k"),
)
# Those without a system.
BARE = {"bpfel", "bpfeb", "avr", "hexagon", "msp430"}
FLAVOURS = (
    "-gdwarf-5 -O1 -ffunction-sections",
    "-gdwarf-4 -O1",
    "-gdwarf-5 -O0 -ffunction-sections -gz",
    "-gdwarf-4 -O0 -gz",
)
# Each target in one flavour, and one that many people use in all.
COMPILED = [
    *((target, FLAVOURS[at % 4]) for at, target in enumerate(TARGETS)),
    *(("x86_64", flavour) for flavour in FLAVOURS[1:]),
    ("riscv64", "-gdwarf-5 -O1 -ffunction-sections -mno-relax"),
]


def compile_with(compiler: str, output: Path, *options: str) -> Path:
    """SOURCE as an object file; skips the test where the compiler cannot."""
    command = [compiler, *options, "-ffreestanding", "-c", str(SOURCE), "-o"]
    done = subprocess.run([*command, str(output)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"not compiled here: {done.stderr.decode()[:200]}")
    return output


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize(("target", "options"), COMPILED)
def test_objects_of_every_target_answer_as_llvm_symbolizer_says(
    target: str, options: str, clang: str, tmp_path: Path
) -> None:
    triple = target if target in BARE else f"{target}-linux-gnu"
    binary = tmp_path / "a.o"
    compile_with(clang, binary, f"--target={triple}", *options.split())
    answers = ask(binary, tmp_path, place(binary, tmp_path / "placed"))
    assert answers.different == []
    assert answers.with_lines == answers.asked > 100


@pytest.mark.usefixtures("llvm_symbolizer")
@pytest.mark.parametrize(
    "options",
    [
        "-g -O2 -ffunction-sections",
        "-gdwarf-4 -O2 -ffunction-sections",
        "-g -O2 -gdwarf64",
        "-g -O2 -ffunction-sections -m32",
        "-g -O2 -gz -m32",
    ],
)
def test_objects_of_gcc_answer_as_llvm_symbolizer_says(
    options: str, tmp_path: Path
) -> None:
    binary = compile_with(find_peer("gcc"), tmp_path / "a.o", *options.split())
    answers = ask(binary, tmp_path, place(binary, tmp_path / "placed"))
    assert answers.different == []
    assert answers.asked >= answers.with_lines > 100


# LLVM reads neither the relocations of 32-bit pointers on 64-bit machines nor old
# compression; where pyelftools does, it is the judge.
@pytest.mark.parametrize("options", ["-mx32", "-gz=zlib-gnu", "-m32 -gz=zlib-gnu"])
def test_objects_that_llvm_does_not_read_are_what_pyelftools_says(
    options: str, tmp_path: Path
) -> None:
    flags = f"-g -O2 -ffunction-sections {options}".split()
    binary = compile_with(find_peer("gcc"), tmp_path / "a.o", *flags)
    gsym.convert(str(binary), str(tmp_path / "a.gsym"))
    outcome = compare(str(tmp_path / "a.gsym"), str(binary))
    assert outcome.differences == []
    assert outcome.functions == 4


@pytest.mark.parametrize("options", ["", "-m32", "-gdwarf-4 -gz"])
def test_linking_changes_addresses_and_nothing_else(
    options: str, tmp_path: Path
) -> None:
    flags = f"-g -O2 -fno-pie {options}".split()
    compiler = find_peer("gcc")
    binary = compile_with(compiler, tmp_path / "a.o", *flags, "-ffunction-sections")
    linked = tmp_path / "linked"
    subprocess.run(
        [compiler, *flags, "-static", "-nostdlib", "-Wl,-estart", binary, "-o", linked],
        check=True,
    )
    functions = [relative_functions(each) for each in (binary, linked)]
    assert functions[0] == functions[1]
    assert set(functions[0]) == {"first", "second", "third", "start"}


def test_a_partly_linked_file_has_the_functions_of_its_parts(tmp_path: Path) -> None:
    compiler, linker = find_peer("gcc"), find_peer("ld")
    binary = compile_with(
        compiler, tmp_path / "a.o", "-g", "-O2", "-ffunction-sections"
    )
    whole = tmp_path / "whole.o"
    subprocess.run([linker, "-r", binary, "-o", whole], check=True)
    assert relative_functions(whole) == relative_functions(binary)


# ---- real files --------------------------------------------------------------------

# LLVM finds no unit for an address where the unit has none itself, as in old clang, and
# does not join sections of one name, as armcc makes them.
NOT_FOUND_BY_LLVM = {"clang33-simple.o", "gmtime_r.o.elf", "penalty_64_clang.o.elf"}


def is_relocatable(path: Path) -> bool:
    if not path.is_file() or path.read_bytes()[:4] != b"\x7fELF":
        return False
    try:
        with path.open("rb") as file:
            return bool(ELFFile(file)["e_type"] == "ET_REL")
    except ELFError:
        return False


@pytest.fixture(scope="module")
def real_files(fixtures: Path) -> dict[str, Path]:
    folder = fixtures / "pyelftools"
    return {path.name: path for path in folder.rglob("*") if is_relocatable(path)}


def test_the_sections_of_armcc_are_joined(
    real_files: dict[str, Path], tmp_path: Path
) -> None:
    """The lines as readelf --debug-dump=line prints the second line program."""
    output = str(tmp_path / "out.gsym")
    gsym.convert(str(real_files["gmtime_r.o.elf"]), output)
    with gsym.open(output) as reader:
        rows = reader.lookup_many([0, 2, 0xE, 0x15, 0x16]).to_pylist()
    assert [row["line"] for row in rows] == [66, 79, 80, 80, 81]


@pytest.mark.usefixtures("llvm_symbolizer")
def test_real_files_answer_as_llvm_symbolizer_says(
    real_files: dict[str, Path], tmp_path: Path
) -> None:
    compared = 0
    for name, binary in real_files.items():
        with suppress(gsym.GsymError):
            report = gsym.convert(str(binary), str(tmp_path / "out.gsym"))
            if report.functions_with_lines and name not in NOT_FOUND_BY_LLVM:
                placed = place(binary, tmp_path / f"{name}.placed")
                answers = ask(binary, tmp_path, placed)
                assert answers.different == [], name
                assert answers.with_lines > 0, name
                compared += 1
    assert compared >= 20


CREL = "-Wa,--crel,--allow-experimental-crel"


@pytest.mark.parametrize(
    "target", ["aarch64", "i386", "powerpc64", "riscv64", "s390x", "x86_64"]
)
def test_compact_relocations_say_the_same(
    target: str, clang: str, tmp_path: Path
) -> None:
    """SHT_CREL of clang 19, with addends and, for i386, without."""
    functions = []
    for name, how in (("usual", ()), ("compact", (CREL,))):
        options = (f"--target={target}-linux-gnu", "-g", "-O1", *how)
        path = compile_with(clang, tmp_path / f"{name}.o", *options)
        assert (b".crel.debug_info" in path.read_bytes()) == (name == "compact")
        assert not gsym.convert(path).warnings
        with gsym.open(f"{path}.gsym") as reader:
            functions.append(list(reader))
    assert functions[0] == functions[1]
    assert any(each.line_table for each in functions[0])


def test_damaged_compact_relocations_are_counted(clang: str, tmp_path: Path) -> None:
    path = compile_with(clang, tmp_path / "a.o", "-g", "-O1", CREL)
    with path.open("rb") as stream:
        (section,) = (
            each
            for each in ELFFile(stream).iter_sections()
            if each.name == ".crel.debug_info"
        )
        start, size = section["sh_offset"], section["sh_size"]
    whole = path.read_bytes()
    for at in range(start, start + size):
        for value in (0, 0x7F, 0x80, 0xFF):
            damaged = bytearray(whole)
            damaged[at] = value
            path.write_bytes(damaged)
            with suppress(gsym.GsymError):
                gsym.convert(path)
    damaged = bytearray(whole)
    damaged[start : start + size] = b"\xff" * (size - 1) + b"\x7f"
    path.write_bytes(damaged)
    warnings = gsym.convert(path).warnings
    assert any(each.endswith("could not be applied") for each in warnings)
