"""One program, built for many targets in every form that debug information takes."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from elftools.elf.elffile import ELFFile

from tests.differential.peers import PEER_ENVIRONMENT, run, zig

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).parent / "sources"
UNITS = ("bare_first.cc", "bare_second.cc")
OPTIONS = ("-O2", "-ffreestanding", "-fno-exceptions", "-fno-rtti")

# Some tools hang over files that others made.
TIMEOUT = 8

_LLD = ("-fuse-ld=lld-19",)


class Target(NamedTuple):
    """A compiler and the machine it compiles for; *linker* are its linker's options."""

    title: str
    container: str
    compiler: tuple[str, ...]
    linker: tuple[str, ...]


class Program(NamedTuple):
    """What to convert, and the file that says the same to llvm-symbolizer.

    The two differ where llvm-symbolizer cannot read the first: after dwz, and where
    the sections of a relocatable file have no addresses yet.
    """

    binary: Path
    judge: Path


def _clang(triple: str, container: str = "elf", *linker: str) -> Target:
    compiler: tuple[str, ...] = ("clang++-19", f"--target={triple}")
    if triple.startswith("riscv"):
        compiler += ("-mno-relax",)  # clang splits nothing that may shrink
    if container == "macho":
        compiler += ("-mlinker-version=705",)
        linker += ("-Wl,-undefined,dynamic_lookup",)
    return Target(f"clang-{triple}", container, compiler, (*_LLD, *linker))


def _zig(triple: str, container: str = "elf") -> Target:
    # Zig adds checks that end in traps, and folds what it compiles into its cache.
    compiler = (zig() or "zig", "c++", "-target", triple)
    return Target(
        f"zig-{triple}", container, (*compiler, "-fno-sanitize=undefined"), ()
    )


TARGETS = (
    Target("gcc", "elf", ("g++",), ()),
    Target("gcc-i386", "elf", ("g++", "-m32"), ()),
    _clang("x86_64-linux-gnu"),
    _clang("i386-linux-gnu"),
    _clang("aarch64-linux-gnu"),
    _clang("aarch64_be-linux-gnu"),
    _clang("armv7-linux-gnueabihf"),
    _clang("riscv64-linux-gnu"),
    _clang("riscv32-linux-gnu"),
    _clang("powerpc64-linux-gnu"),
    _clang("powerpc64-linux-musl"),
    _clang("powerpc64le-linux-gnu"),
    _clang("s390x-linux-gnu"),
    _clang("mips-linux-gnu"),
    _clang("loongarch64-linux-gnu"),
    _clang("arm64-apple-macos11", "macho"),
    _clang("x86_64-apple-macos11", "macho"),
    _clang("x86_64-w64-mingw32", "pe"),
    _clang("i686-w64-mingw32", "pe"),
    _clang("aarch64-w64-mingw32", "pe"),
    _zig("aarch64-linux-musl"),
    _zig("arm-linux-musleabihf"),
    _zig("riscv64-linux-musl"),
    _zig("powerpc64-linux-musl"),
    _zig("s390x-linux-musl"),
    _zig("x86-linux-musl"),
    _zig("aarch64-macos", "macho"),
    _zig("x86_64-windows-gnu", "pe"),
)

ENTRY = {"elf": "start", "pe": "start", "macho": "_start"}
SHARED = {"elf": "-shared", "pe": "-shared", "macho": "-dynamiclib"}


def compile_units(
    target: Target, folder: Path, *options: str, units: tuple[str, ...] = UNITS
) -> list[Path]:
    """The units as relocatable files."""
    objects = []
    for unit in units:
        output = folder / Path(unit).with_suffix(".o")
        paths = (f"-ffile-prefix-map={SOURCES}=sources", str(SOURCES / unit))
        command = (*target.compiler, *OPTIONS, *options, "-c", *paths)
        make(*command, "-o", str(output), folder=folder)
        objects.append(output)
    return objects


def link(target: Target, objects: list[Path], output: Path, *options: str) -> Path:
    """Link relocatable files without any library."""
    entry = f"-Wl,-e,{ENTRY[target.container]}"
    make(
        *target.compiler, "-nostdlib", *options, *target.linker, entry,
        *map(str, objects), "-o", str(output), folder=output.parent,
    )  # fmt: skip
    return output


def _linked(target: Target, folder: Path, *options: str, shared: bool = False) -> Path:
    position = ("-fPIC",) if target.container != "pe" else ()
    objects = compile_units(target, folder, *options, *position)
    how = (SHARED[target.container],) if shared else ()
    return link(target, objects, folder / _name(target), *options, *how)


# ---- the forms -----------------------------------------------------------------------


def executable(target: Target, folder: Path) -> Program:
    """Executable with DWARF 5."""
    return _own_judge(_linked(target, folder, "-gdwarf-5"))


def shared_object(target: Target, folder: Path) -> Program:
    """Shared object with DWARF 4."""
    if target.title == "zig-x86_64-windows-gnu":
        pytest.skip("its only symbols are exports, which the judge gives to others too")
    return _own_judge(_linked(target, folder, "-gdwarf-4", shared=True))


def compressed(target: Target, folder: Path) -> Program:
    """Executable with compressed sections."""
    _only(target, "elf")
    return _own_judge(_linked(target, folder, "-g", "-gz"))


def relocatable(target: Target, folder: Path) -> Program:
    """Relocatable file, all code in .text or nearly so."""
    return _placed(target, compile_units(target, folder, "-gdwarf-5")[0])


def relocatable_sections(target: Target, folder: Path) -> Program:
    """Relocatable file with a section for each function."""
    objects = compile_units(target, folder, "-gdwarf-4", "-ffunction-sections")
    return _placed(target, objects[0])


def relocatable_compressed(target: Target, folder: Path) -> Program:
    """Relocatable file with compressed sections."""
    _only(target, "elf")
    return _placed(target, compile_units(target, folder, "-g", "-gz")[1])


def split_4(target: Target, folder: Path) -> Program:
    """Split DWARF 4 in .dwo files."""
    _only(target, "elf")
    return _own_judge(_linked(target, folder, "-gdwarf-4", "-gsplit-dwarf"))


def split_5(target: Target, folder: Path) -> Program:
    """Split DWARF 5 in .dwo files."""
    _only(target, "elf")
    return _own_judge(_linked(target, folder, "-gdwarf-5", "-gsplit-dwarf"))


def packaged_4(target: Target, folder: Path) -> Program:
    """Split DWARF 4 in a package."""
    return _packaged(split_4(target, folder))


def packaged_5(target: Target, folder: Path) -> Program:
    """Split DWARF 5 in a package."""
    return _packaged(split_5(target, folder))


def dwz_single(target: Target, folder: Path) -> Program:
    """Executable that dwz went over."""
    _only(target, "elf")
    binary = _linked(target, folder, "-gdwarf-4")
    judge = Path(shutil.copy(binary, folder / "judge"))
    make("dwz", str(binary), folder=folder)
    return Program(binary, judge)


def dwz_multiple(target: Target, folder: Path) -> Program:
    """Executable whose common DWARF stands in a file of its own."""
    _only(target, "elf")
    binary = _linked(target, folder, "-gdwarf-4")
    judge = Path(shutil.copy(binary, folder / "judge"))
    other = Path(shutil.copy(binary, folder / "other"))
    files = map(str, (binary, other))
    make("dwz", "-m", "common.debug", "-M", "common.debug", *files, folder=folder)
    sections = run("readelf", "--section-headers", "--wide", str(binary))
    if ".gnu_debugaltlink" not in sections:
        pytest.skip("dwz found nothing to share")
    return Program(binary, judge)


def debug_link(target: Target, folder: Path) -> Program:
    """Stripped executable with its debug information in another file."""
    _only(target, "elf")
    binary = _linked(target, folder, "-g")
    judge = Path(shutil.copy(binary, folder / "judge"))
    objcopy = "llvm-objcopy-22"
    make(objcopy, "--only-keep-debug", "program", "program.debug", folder=folder)
    link = "--add-gnu-debuglink=program.debug"
    make(objcopy, "--strip-debug", link, "program", folder=folder)
    return Program(binary, judge)


def dsym(target: Target, folder: Path) -> Program:
    """dSYM bundle."""
    _only(target, "macho")
    binary = _linked(target, folder, "-g")
    make("dsymutil-22", str(binary), folder=folder)
    bundle = folder / "program.dSYM"
    return Program(bundle, bundle / "Contents" / "Resources" / "DWARF" / "program")


def debug_map(target: Target, folder: Path) -> Program:
    """Executable that names the object files with its debug information."""
    program = dsym(target, folder)
    shutil.move(program.binary, folder / "judge.dSYM")
    inner = folder / "judge.dSYM" / "Contents" / "Resources" / "DWARF" / "program"
    return Program(folder / "program", inner)


FORMS = (
    *(executable, shared_object, compressed),
    *(relocatable, relocatable_sections, relocatable_compressed),
    *(split_4, split_5, packaged_4, packaged_5),
    *(dwz_single, dwz_multiple, debug_link, dsym, debug_map),
)

_CONTAINERS = {"elf": FORMS[:-2], "macho": (*FORMS[3:5], *FORMS[-2:])}
_CONTAINERS["pe"] = (executable, shared_object)


def _forms(
    number: int, target: Target
) -> tuple[Callable[[Target, Path], Program], ...]:
    """Forms to try: all with two compilers, of the others each a part."""
    forms = _CONTAINERS[target.container]
    if target.container != "elf" or target.title in {"gcc", "clang-x86_64-linux-gnu"}:
        return forms
    return (executable, relocatable, *forms[1 + number % 3 :: 3])


COMBINATIONS = [
    pytest.param(target, form, id=f"{target.title}-{form.__name__}")
    for number, target in enumerate(TARGETS)
    for form in dict.fromkeys(_forms(number, target))
]


# ---- helpers of the forms ------------------------------------------------------------


def _name(target: Target) -> str:
    # Linkers of PE files add the suffix that they miss.
    return "program.exe" if target.container == "pe" else "program"


def _own_judge(binary: Path) -> Program:
    return Program(binary, binary)


def _packaged(program: Program) -> Program:
    """Move the .dwo files of a program into a package; the judge keeps its own."""
    folder = program.binary.parent
    output = folder / "program.dwp"
    make("llvm-dwp-22", "-e", str(program.binary), "-o", str(output), folder=folder)
    for dwo in folder.glob("*.dwo"):
        dwo.unlink()
    return program


def _placed(target: Target, binary: Path) -> Program:
    """A judge whose sections have the addresses that ours are placed at.

    Those with code stand one behind the other, as their alignments allow, so that
    functions of different sections do not cover each other; behind them all others.
    """
    if target.container != "elf":
        return _own_judge(binary)
    if "powerpc64-linux-gnu" in target.title:
        pytest.skip("llvm-symbolizer takes function descriptors for functions")
    judge = binary.with_suffix(".judge")
    # llvm-symbolizer trusts this table without relocating it; with another name it
    # has to do without.
    judge.write_bytes(binary.read_bytes().replace(b".debug_aranges", b".other_aranges"))
    address = 0
    for name, size, alignment in _allocated_sections(binary):
        address = -(-address // alignment) * alignment
        _set_address(judge, name, address)
        address += size
    return Program(binary, judge)


def _allocated_sections(binary: Path) -> list[tuple[int, int, int]]:
    """Index, size and alignment of the sections that take memory, code first."""
    with binary.open("rb") as file:
        sections = [
            (not section["sh_flags"] & 4, index, section)
            for index, section in enumerate(ELFFile(file).iter_sections())
            if section["sh_flags"] & 2
        ]
        return [
            (index, section["sh_size"], max(1, section["sh_addralign"]))
            for _, index, section in sorted(sections, key=lambda each: each[:2])
        ]


def _set_address(binary: Path, index: int, address: int) -> None:
    """Write sh_addr of a section; names may repeat, so objcopy cannot."""
    data = bytearray(binary.read_bytes())
    is_64, order = data[4] == 2, "<" if data[5] == 1 else ">"
    at, word, size = (0x28, "Q", 64) if is_64 else (0x20, "I", 40)
    (table,) = struct.unpack_from(order + word, data, at)
    flags = struct.calcsize(word)
    struct.pack_into(order + word, data, table + index * size + 8 + flags, address)
    binary.write_bytes(data)


def _only(target: Target, container: str) -> None:
    assert target.container == container, "not a form of this container"


def make(*command: str, folder: Path) -> None:
    """Run a tool that builds; the test is skipped where it is not to be had."""
    try:
        subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=TIMEOUT,
            env=PEER_ENVIRONMENT,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"not built here: {command[0]} hangs")
    except FileNotFoundError as error:
        pytest.skip(f"not installed: {error.filename}")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not built here: {command[0]}: {error.stderr.strip()[:200]}")
