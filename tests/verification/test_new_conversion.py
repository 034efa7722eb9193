"""`compare` of what has no second decoder: with a new conversion of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.verification.check import compare
from tests.conversion.test_debug_map import A_MAP, A_O, ID
from tests.inputs.debug_map import TEXT, executable, stabs
from tests.inputs.go import PROGRAM, go_elf
from tests.inputs.macho import ARM64, X86_64, Symbol, fat
from tests.inputs.pdb_examples import PDBS
from tests.referee.test_breakpad import TEXT as BREAKPAD
from tests.verification.test_verification import calls, rewrite, rows, subjects

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.conversions import Options
    from tests.verification.test_verification import Change

NEW = "a new conversion"


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
        assert found.functions == len(reader)
    assert (found.source, found.symbols, found.is_empty) == (NEW, 0, False)


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
        assert (found.functions, found.differences) == (1, [])


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
    assert f"functions of {NEW} compared" in capsys.readouterr().out
    assert main(["verify", f"{binary}.gsym", "--against", str(binary)]) == 0
    assert f"functions of {NEW} compared" in capsys.readouterr().out
    assert not list(tmp_path.glob("*.tmp"))
