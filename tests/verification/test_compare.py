"""`compare`: the DWARF by a second decoder, all else with a new conversion."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.job import open_converted
from gsym.verification import reference
from gsym.verification.check import compare
from tests.conversion.test_debug_map import A_MAP, A_O, ID
from tests.dwarf.test_differential import MODULES
from tests.inputs.debug_map import TEXT, executable, stabs
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import Elf, Symbol as ElfSymbol, code_section
from tests.inputs.go import PROGRAM, go_elf
from tests.inputs.line_program import File, LineProgram, sequence
from tests.inputs.macho import (
    ARM64,
    DSYM,
    X86_64,
    Macho,
    Symbol,
    code,
    debug_sections,
    fat,
)
from tests.inputs.pdb_examples import PDBS
from tests.inputs.program import function, unit
from tests.referee.test_breakpad import TEXT as BREAKPAD
from tests.verification.test_planted_faults import FAULTS, Fault, planted
from tests.verification.test_reference_decoder import UNREADABLE
from tests.verification.test_verification import calls, only, rewrite, rows, subjects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import ModuleType

    from gsym.conversion.input_file import InputFile
    from gsym.conversion.options import ConvertOptions
    from tests.conversions import Options
    from tests.verification.test_verification import Change

NEW = "functions compared with a new conversion"


def macho(folder: Path) -> bytes:
    (folder / "a.o").write_bytes(A_O)
    symbols = [Symbol("_start", TEXT)]
    return executable(stabs(f"{folder}/a.o", A_MAP), symbols=symbols, uuid=ID)


def breakpad(_: Path) -> bytes:
    return BREAKPAD.encode()


def pdb(_: Path) -> bytes:
    return PDBS["functions"].to_bytes()


def go(_: Path) -> bytes:
    return go_elf(PROGRAM).to_bytes()


FORMS = [macho, breakpad, pdb, go]


@pytest.fixture(params=FORMS, ids=lambda form: form.__name__)
def binary(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    path = tmp_path / "app"
    path.write_bytes(request.param(tmp_path))
    return str(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"merged_functions": True},
        {"call_sites": True},
        {"output_version": 2},
        {"index": False, "identity": False},
    ],
    ids=str,
)
def test_every_form_agrees_with_a_new_conversion(options: Options, binary: str) -> None:
    path = gsym.convert(binary, **options).outputs[0]
    found = compare(path, binary)
    assert (found.differences, found.unread, found.uncompared) == ([], {}, {})
    with gsym.open(path) as reader:
        assert found.others == len(reader)
    assert (found.functions, found.units, found.is_empty) == (0, 0, False)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda info: info._replace(name="other"), {"name"}),
        (lambda info: info._replace(size=info.size + 1), {"function"}),
        (rows(lambda row: row._replace(line=row.line + 1), 0), {"lines"}),
        (calls(lambda _: None), {"inlined calls"}),
        (lambda _: None, {"function", "name"}),  # a symbol may take its place
    ],
    ids=["name", "size", "lines", "calls", "gone"],
)
def test_a_change_of_a_function_is_found(
    change: Change, expected: set[str], binary: str
) -> None:
    path = gsym.convert(binary).outputs[0]
    with gsym.open(path) as reader:
        chosen = next(
            (info.start for info in reader.functions() if info.inline is not None), 0
        )
    assert chosen
    rewrite(path, lambda info: change(info) if info.start == chosen else info)
    assert expected & subjects(compare(path, binary))


def test_paths_are_rewritten_as_the_conversion_did(tmp_path: Path) -> None:
    binary = tmp_path / "app.sym"
    binary.write_bytes(breakpad(tmp_path))
    rule = (("/src", "/elsewhere"),)
    path = gsym.convert(binary, path_map=rule).outputs[0]
    assert compare(path, str(binary), path_map=rule).differences == []
    assert subjects(compare(path, str(binary))) == {"lines", "inlined calls"}


def test_the_slice_of_a_fat_file_is_the_one_of_the_gsym_file(tmp_path: Path) -> None:
    slices = [
        (
            (cpu, 0),
            executable(symbols=[Symbol(name, TEXT)], uuid=ID[::step], cpu=(cpu, 0)),
        )
        for cpu, name, step in ((X86_64, "_one", 1), (ARM64, "_two", -1))
    ]
    path = tmp_path / "app"
    path.write_bytes(fat(*slices))
    for architecture in ("x86_64", "arm64"):
        output = tmp_path / architecture
        gsym.convert(path, output, arch=architecture)
        found = compare(str(output), str(path))
        assert (found.others, found.differences) == (1, [])


def test_another_build_is_no_list_of_differences(tmp_path: Path) -> None:
    binary = tmp_path / "app"
    binary.write_bytes(executable(symbols=[Symbol("_one", TEXT)], uuid=ID))
    path = gsym.convert(binary).outputs[0]
    binary.write_bytes(executable(symbols=[Symbol("_two", TEXT)], uuid=ID[::-1]))
    assert subjects(compare(path, str(binary))) == {"UUID"}


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_the_commands_say_what_they_compare_with(
    form: Callable[[Path], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    binary = tmp_path / "app"
    binary.write_bytes(form(tmp_path))
    assert main(["convert", "--verify", str(binary)]) == 0
    assert NEW in capsys.readouterr().out
    assert main(["verify", f"{binary}.gsym", "--against", str(binary)]) == 0
    assert NEW in capsys.readouterr().out


# ---- DWARF, of any container


def bundle(folder: Path, name: str, line: int) -> str:
    """A Mach-O program whose dSYM bundle describes a function."""
    inside = folder / "app.dSYM" / "Contents" / "Resources" / "DWARF"
    inside.mkdir(parents=True, exist_ok=True)
    lines = LineProgram(
        files=(File("a.c"),), ops=sequence((TEXT, line, 1), end=TEXT + 16)
    )
    described = unit(function(name, TEXT, TEXT + 16), version=4, lines=lines)
    sections = debug_sections(Dwarf([described]).sections())
    file = Macho([code(TEXT, 0x100), *sections], uuid=ID, base=TEXT, type=DSYM)
    (inside / "app").write_bytes(file.to_bytes())
    path = folder / "app"
    path.write_bytes(executable(symbols=[Symbol("_g", TEXT + 0x20)], uuid=ID))
    return str(path)


def test_the_bundle_of_a_mach_o_program_is_decoded_once_more(tmp_path: Path) -> None:
    binary = bundle(tmp_path, "f", 7)
    path = gsym.convert(binary).outputs[0]
    found = compare(path, binary)
    assert (found.functions, found.others, found.units) == (1, 1, 1)
    assert found.differences == []
    bundle(tmp_path, "f", 8)
    assert subjects(compare(path, binary)) == {"lines"}
    bundle(tmp_path, "h", 7)
    assert subjects(compare(path, binary)) == {"name"}


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_case_of_dwarf_agrees(module: ModuleType, tmp_path: Path) -> None:
    binary, path = tmp_path / "input", str(tmp_path / "input.gsym")
    for case in module.CASES:
        binary.write_bytes(case.image)
        gsym.convert(binary, path, **(case.options or {}))
        found = compare(path, str(binary))
        assert found.differences == [], case.name
        assert bool(found.unread) == (case.name in UNREADABLE), case.name


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_every_planted_fault_is_found(fault: Fault, tmp_path: Path) -> None:
    binary = tmp_path / "app"
    binary.write_bytes(fault.program)
    (path,) = gsym.convert(binary).outputs
    right = compare(path, str(binary))
    assert (right.differences, right.unread) == ([], {})
    planted(path, fault)
    assert compare(path, str(binary)).differences


def test_what_a_conversion_reads_wrongly_is_found_by_the_second_decoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new conversion with the same fault is no help then."""
    binary = bundle(tmp_path, "f", 7)
    path = gsym.convert(binary).outputs[0]
    bundle(tmp_path, "f", 8)
    whole = open_converted
    change = rows(lambda row: row._replace(line=7), 0)

    def converted(source: InputFile, options: ConvertOptions) -> SimpleNamespace:
        reader = whole(source, options)
        found = [change(info) if info.line_table else info for info in reader]
        functions = filter(None, found)
        return SimpleNamespace(header=reader.header, functions=lambda: functions)

    monkeypatch.setattr(reference, "open_converted", converted)
    assert subjects(compare(path, binary)) == {"lines"}


def test_a_symbol_may_have_no_size_in_the_file(tmp_path: Path) -> None:
    binary = tmp_path / "app"
    symbols = [ElfSymbol("f", 0x1000, 0x10), ElfSymbol("g", 0x1010, 0x10)]
    binary.write_bytes(Elf([code_section()], symbols=symbols).to_bytes())
    path = gsym.convert(binary).outputs[0]
    rewrite(path, only("f", lambda each: each._replace(size=0)))
    found = compare(path, str(binary))
    assert (found.others, found.differences) == (2, [])
    rewrite(path, only("f", lambda each: each._replace(name="h")))
    assert subjects(compare(path, str(binary))) == {"name"}
    gsym.convert(binary)
    rewrite(path, only("g", lambda each: each._replace(size=0)))
    (difference,) = compare(path, str(binary)).differences
    assert difference == (
        0x1010,
        "function",
        "g [0x1010, 0x1020)",
        "g [0x1010, 0x1010)",
    )
