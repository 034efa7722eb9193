"""`gsymutil` with Breakpad symbol files, and the spellings of the format's proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.inputs.breakpad import Func, Public, Range, Row, text_of
from tests.inputs.dwarf import Dwarf
from tests.inputs.elf import elf_of
from tests.inputs.program import function, unit

if TYPE_CHECKING:
    from pathlib import Path

    from tests.gsymutil_runs import Run

SYMBOLS = text_of(
    "FILE 0 a.c",
    Func(Range(0x1000, 16), "f", (Row(Range(0x1000, 16), 3, 0),)),
    Func(Range(0x1000, 16), "g", (Row(Range(0x1000, 16), 4, 0),)),
    Public(0x1010, "p"),
)
REPORT = """\
Input file: app.sym
Output file (x86_64): {}
Loaded 2 functions from FUNC records.
Loaded 1 functions from PUBLIC records.
Pruned 1 functions, ended with 2 total
Duplicate address ranges with different debug info. occurred 1 time(s)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.sym").write_bytes(SYMBOLS)
    program = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    (tmp_path / "app").write_bytes(elf_of(program))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--convert", "app.sym"], "app.sym.gsym"),
        (["--convert=app.sym", "--out-file=o"], "o"),
        (["-breakpad", "app.sym", "-out-file", "o"], "o"),
        (["-breakpad=app.sym", "-out-file=o"], "o"),
    ],
    ids=repr,
)
def test_a_breakpad_file_is_converted(
    folder: Path, run: Run, arguments: list[str], output: str
) -> None:
    assert run(*arguments) == (0, REPORT.format(output), "")
    with gsym.open(folder / output) as reader:
        assert [each.name for each in reader.functions()] == ["g", "p"]


def test_an_object_file_is_converted_by_the_proposals_spelling(run: Run) -> None:
    status, out, err = run("-dwarf", "app", "-out-file", "o")
    assert (status, err) == (0, "")
    assert out.startswith(
        "Input file: app\nOutput file (x86_64): o\nLoaded 1 functions"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["-breakpad", "app"],
            "app: The file was not recognized as a Breakpad symbol file",
        ),
        (
            ["-dwarf", "app.sym"],
            "app.sym: The file was not recognized as a valid object file",
        ),
        (["-breakpad", "missing"], "missing: No such file or directory"),
        (["-breakpad"], "-breakpad: missing argument"),
        (
            ["-breakpad", "a", "-dwarf", "b"],
            "gsymutil: -dwarf and -breakpad exclude each other",
        ),
        (["--dwarf", "app"], "unknown argument '--dwarf', did you mean '-dwarf'?"),
    ],
    ids=repr,
)
def test_conversion_errors_are_printed(
    run: Run, arguments: list[str], message: str
) -> None:
    assert run(*arguments) == (1, "", f"{message}\n")


def test_a_file_without_functions_fails(folder: Path, run: Run) -> None:
    (folder / "stack.sym").write_text("STACK CFI INIT 1000 10 .cfa: $rsp 8 +\n")
    status, out, err = run("--convert=stack.sym")
    assert status == 1
    assert out == "Input file: stack.sym\nOutput file (unknown): stack.sym.gsym\n"
    assert err.startswith("Breakpad conversion failed: it has no FUNC or PUBLIC record")


def test_merged_functions_and_warnings_are_reported(folder: Path, run: Run) -> None:
    (folder / "app.sym").write_bytes(SYMBOLS + b"what\n")
    status, out, err = run("-breakpad", "app.sym", "--merged-functions", "--verbose")
    assert (status, err) == (0, "")
    assert "Have 1 merged functions as children of other functions\n" in out
    assert f"warning: Not a record: 0x0 at offset {len(SYMBOLS):#010x}\n" in out
    assert "Not a record occurred 1 time(s)\n" in out
