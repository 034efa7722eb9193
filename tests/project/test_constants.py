"""The numbers of formats are those of LLVM, of the C library and of pyelftools.

A number on which only our own files agree is not tested by them: the files that tests
read are written with it, too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from elftools.dwarf import constants as dwarf_constants, enums as dwarf_enums
from elftools.elf import constants as elf_constants, enums as elf_enums

from tests.conftest import REPOSITORY, find_peer
from tests.inputs import dwarf_constants as inputs_of_dwarf
from tests.inputs.elf import (
    RELOCATABLE,
    XTENSA,
    Elf,
    Relocation,
    Section,
    Symbol,
    code_section,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.no_engine

# The rows of LLVM's .def files that have a name and a number, and what its names begin
# with there.
_ROWS = (
    (r"HANDLE_DW_([A-Z]+)\((0x\w+|\d+), (\w+)", r"DW_\1_\3", r"\2"),
    (r"HANDLE_MDMP_STREAM_TYPE\((0x\w+), (\w+)", r"MDMP_\2", r"\1"),
    (r"HANDLE_MDMP_ARCH\((0x\w+), (\w+)", r"ARCH_\2", r"\1"),
    (r"HANDLE_MDMP_PLATFORM\((0x\w+), (\w+)", r"PLATFORM_\2", r"\1"),
    (r"HANDLE_LOAD_COMMAND\((\w+), (0x\w+?)u?,", r"\1", r"\2"),
    (r"ELF_RELOC\((\w+), *(0x\w+|\d+)", r"\1", r"\2"),
    (r"(?:SYMBOL|TYPE|MEMBER)_RECORD(?:_ALIAS)?\((\w+) *, *(0x\w+)", r"\1", r"\2"),
    (r"CV_(?:SYMBOL|TYPE)\((\w+) *, *(0x\w+)", r"\1", r"\2"),
)
_FILES = (
    *("BinaryFormat/COFF.h", "BinaryFormat/Dwarf.def", "BinaryFormat/Dwarf.h"),
    *("BinaryFormat/ELF.h", "BinaryFormat/ELFRelocs/*.def", "BinaryFormat/MachO.def"),
    *("BinaryFormat/MachO.h", "BinaryFormat/MinidumpConstants.def"),
    *("DebugInfo/CodeView/CodeView.h", "DebugInfo/CodeView/CodeView*.def"),
)
_NUMBER = r"(-?(?:0[xX][0-9A-Fa-f]+|\d+))[uUlL]*"
_MEMBER = re.compile(rf"^\s*(\w+)\s*=\s*{_NUMBER}\s*(?:,|$|//|/\*|}})", re.MULTILINE)
_JOINED = re.compile(r"^\s*(\w+) = (\w+) \| (\w+),", re.MULTILINE)
_DEFINED = re.compile(rf"^#define\s+(\w+)\s+\(?{_NUMBER}", re.MULTILINE)


def numbers_of_llvm(folder: Path) -> Iterator[tuple[str, int]]:
    """Names and numbers in LLVM's headers."""
    for pattern in _FILES:
        for path in folder.glob(f"llvm/{pattern}"):
            text = path.read_text("utf-8")
            members = {name: int(n, 0) for name, n in _MEMBER.findall(text)}
            yield from members.items()
            for name, *parts in _JOINED.findall(text):
                if members.keys() >= set(parts):
                    yield name, members[parts[0]] | members[parts[1]]
            for row, name, number in _ROWS:
                for found in re.finditer(row, text):
                    yield found.expand(name), int(found.expand(number), 0)


def numbers_of_pyelftools() -> Iterator[tuple[str, int]]:
    """Names and numbers of a decoder in Python."""
    for module in (dwarf_enums, elf_enums, dwarf_constants, elf_constants):
        for name, value in vars(module).items():
            if isinstance(value, int):
                yield name, value
            elif isinstance(value, dict):
                yield from (each for each in value.items() if isinstance(each[1], int))
            elif isinstance(value, type):
                yield from (
                    each for each in vars(value).items() if isinstance(each[1], int)
                )


def numbers_of_readelf() -> Iterator[tuple[str, int]]:
    """Names of Xtensa's relocation types that only binutils has."""
    relocations = [Relocation(0, number, "g") for number in range(64)]
    sections = [code_section(), Section(".debug_info", bytes(8))]
    elf = Elf(
        sections,
        symbols=[Symbol("g", 0, 4)],
        relocations=[(".debug_info", relocations)],
        machine=XTENSA,
        bits=32,
        type=RELOCATABLE,
    )
    with tempfile.NamedTemporaryFile() as file:
        file.write(elf.to_bytes())
        file.flush()
        command = [find_peer("readelf"), "-rW", file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        _, info, name, *_ = *line.split(), "", "", ""
        if name.startswith("R_XTENSA_"):
            yield name, int(info, 16) & 0xFF


@cache
def known() -> dict[str, set[int]]:
    """The numbers of each name, in lower case; needs LLVM's headers."""
    config = find_peer("llvm-config-22")
    done = subprocess.run([config, "--includedir"], capture_output=True, check=True)
    folder = Path(done.stdout.decode().strip())
    if not (folder / "llvm/BinaryFormat/Dwarf.def").exists():
        pytest.skip("not installed: llvm-22-dev")
    found: dict[str, set[int]] = {}
    pairs = [
        *numbers_of_llvm(folder),
        *numbers_of_pyelftools(),
        *numbers_of_readelf(),
    ]
    header = Path("/usr/include/elf.h")
    if header.exists():
        pairs += [(name, int(n, 0)) for name, n in _DEFINED.findall(header.read_text())]
    for name, number in pairs:
        found.setdefault(name.casefold(), set()).add(number)
    return found


# ---- our own

# The engine has the names of the standards.
_STANDARD = re.compile(
    r"(?:CPU_ARCH|CPU_TYPE|DW|EM|ET|IMAGE|LC|LF|MH|N|NT|PT|R|S|SHF|SHN|SHT)_\w+"
)
_IN_C = re.compile(rf"(?:#define |\b)(\w+)(?: = |, | ){_NUMBER}")
# What the names of others begin with where ours of a file do not.
PREFIXES = {
    "gsym/memory/core_notes.py": ("NT_", "AT_"),
    "gsym/unwinding/images.py": (),
    "tests/referee/elf.py": (),
    "gsym/verification/decoder/lines.py": (),
    "tests/referee/macho.py": ("LC_", "MH_"),
    "tests/referee/msf.py": ("LF_",),
    "tests/inputs/elf.py": (
        *("EM_", "SHT_", "SHF_", "SHN_", "STT_", "STB_", "ET_", "PT_"),
    ),
    "tests/inputs/macho.py": ("MH_", "LC_", "S_", "CPU_TYPE_", "N_"),
    "tests/inputs/minidump.py": ("ARCH_", "PLATFORM_"),
    "tests/inputs/pdb.py": ("IMAGE_FILE_MACHINE_",),
}
# Names that differ in more than that.
OTHERWISE = {
    "gsym/memory/core_notes.py": {"_FILES": "NT_FILE"},
    "gsym/memory/minidump.py": {
        "_THREADS": "MDMP_ThreadList",
        "_MODULES": "MDMP_ModuleList",
        "_MEMORY": "MDMP_MemoryList",
        "_EXCEPTION": "MDMP_Exception",
        "_SYSTEM": "MDMP_SystemInfo",
        "_MEMORY_64": "MDMP_Memory64List",
        "_THREAD_NAMES": "MDMP_ThreadNames",
        "_COMMAND": "MDMP_LinuxCMDLine",
        "_MAPS": "MDMP_LinuxMaps",
    },
    "tests/referee/macho.py": {
        "_MAGIC_64": "MH_MAGIC_64",
        "_CPU_ARM": "CPU_TYPE_ARM",
        "_SCATTERED": "R_SCATTERED",
        "_STAB": "N_STAB",
        "_KIND": "N_TYPE",
        "_IN_SECTION": "N_SECT",
    },
    "tests/inputs/elf.py": {
        "EXECUTE": "SHF_EXECINSTR",
        "IFUNC": "STT_GNU_IFUNC",
        "UNDEFINED": "SHN_UNDEF",
        "ABSOLUTE": "SHN_ABS",
        "RELOCATABLE": "ET_REL",
        "EXECUTABLE": "ET_EXEC",
        "SHARED": "ET_DYN",
        "I386": "EM_386",
        "M68K": "EM_68K",
    },
    "tests/inputs/macho.py": {
        "PURE": "S_ATTR_PURE_INSTRUCTIONS",
        "SOME": "S_ATTR_SOME_INSTRUCTIONS",
        "DEBUG": "S_ATTR_DEBUG",
        "UNDEFINED": "N_UNDF",
        "ABSOLUTE": "N_ABS",
        "IN_SECTION": "N_SECT",
        "EXTERNAL": "N_EXT",
        "THUMB": "N_ARM_THUMB_DEF",
        "PPC": "CPU_TYPE_POWERPC",
        "PPC64": "CPU_TYPE_POWERPC64",
        "EXECUTE": "MH_EXECUTE",
    },
    "tests/inputs/pdb.py": {"X86_64": "IMAGE_FILE_MACHINE_AMD64"},
}
CLASSES = {
    "DW_TAG_": inputs_of_dwarf.Tag,
    "DW_AT_": inputs_of_dwarf.At,
    "DW_FORM_": inputs_of_dwarf.Form,
    "DW_LANG_": inputs_of_dwarf.Lang,
    "DW_UT_": inputs_of_dwarf.UnitType,
    "DW_LNCT_": inputs_of_dwarf.Content,
}


def numbers_in_c() -> Iterator[tuple[str, int]]:
    """Names of standards in the engine."""
    for path in (REPOSITORY / "csrc").rglob("*.[ch]"):
        for name, number in _IN_C.findall(path.read_text("utf-8")):
            if _STANDARD.fullmatch(name):
                yield name, int(number, 0)


def numbers_in_python(path: str) -> Iterator[tuple[str, int]]:
    """Names that a module assigns numbers to, one or several at a time."""
    for node in ast.parse((REPOSITORY / path).read_text("utf-8")).body:
        if not isinstance(node, ast.Assign):
            continue
        (target,) = node.targets
        names = [each.id for each in ast.walk(target) if isinstance(each, ast.Name)]
        source = compile(ast.Expression(node.value), path, "eval")
        try:
            value = eval(source, {"__builtins__": {}})  # noqa: S307 - our own
        except (NameError, TypeError):
            continue
        values = value if isinstance(value, tuple) else (value,)
        if len(names) == len(values):
            yield from (
                (name, number)
                for name, number in zip(names, values, strict=True)
                if isinstance(number, int)
            )


def is_known(name: str, number: int) -> bool:
    """Whether a source has this number."""
    return number in known().get(name.casefold(), ())


def test_the_engine_has_the_numbers_of_others() -> None:
    # LLVM has other names for those of CodeView's subsections, and no open source has
    # the relocation types of CUDA and its opcode of line programs; those of BPF that
    # binutils had up to 2.40 are in no header of today.
    ours = [
        each
        for each in numbers_in_c()
        if not each[0].startswith(
            ("DEBUG_S_", "R_CUDA_", "DW_LNE_CUDA_", "R_BPF_DATA_")
        )
    ]
    assert len(ours) > 300
    assert [each for each in ours if not is_known(*each)] == []


@pytest.mark.parametrize("path", sorted({*PREFIXES, *OTHERWISE}))
def test_a_module_has_the_numbers_of_others(path: str) -> None:
    wrong, compared = [], 0
    otherwise = OTHERWISE.get(path, {}).copy()
    for name, number in numbers_in_python(path):
        bare = name.lstrip("_")
        theirs = [prefix + bare for prefix in PREFIXES.get(path, ())]
        if _STANDARD.fullmatch(bare):
            theirs = [bare]
        if name in otherwise:
            theirs = [otherwise.pop(name)]
        theirs = [each for each in theirs if each.casefold() in known()]
        compared += bool(theirs)
        if theirs and not any(is_known(each, number) for each in theirs):
            wrong.append((name, number, theirs))
    assert not wrong
    assert not otherwise, "no such names in the module"
    assert compared


@pytest.mark.parametrize("prefix", CLASSES)
def test_inputs_of_tests_have_the_numbers_of_others(prefix: str) -> None:
    ours = {
        name.rstrip("_"): int(number)
        for name, number in vars(CLASSES[prefix]).items()
        if isinstance(number, int) and not name.startswith("_")
    }
    assert ours
    assert {
        n: number for n, number in ours.items() if not is_known(prefix + n, number)
    } == {}
