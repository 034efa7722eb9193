"""`gsym verify`: what it prints, and its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import gsym
from gsym.cli.main import main
from tests.hostile import small_file
from tests.inputs.dies import Die
from tests.inputs.dwarf import Dwarf
from tests.inputs.dwarf_constants import At, Form, Tag
from tests.inputs.elf import Elf, Section, code_section
from tests.inputs.program import function, program as program_of, unit
from tests.inputs.range_lists import ranges

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]

SOURCE = "int twice(int n) { return n * 2; }\nint main(void) { return twice(0); }\n"


@pytest.fixture
def program(compiler: str, tmp_path: Path) -> str:
    source, program = tmp_path / "main.c", os.fspath(tmp_path / "program")
    source.write_text(SOURCE, encoding="utf-8")
    command = [compiler, "-g", "-Wl,--build-id", os.fspath(source), "-o", program]
    subprocess.run(command, check=True, timeout=60)
    gsym.convert(program, f"{program}.gsym")
    return program


def rename(path: str, old: str, new: str) -> None:
    """Rename a function of a GSYM file."""
    with gsym.open(path) as reader:
        header, functions = reader.header, list(reader.functions())
    with gsym.Creator(base_address=header.base_address, uuid=header.uuid) as creator:
        for info in functions:
            creator.add(info._replace(name=new) if info.name == old else info)
        creator.save(path)


def test_a_sound_file_passes(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "sound.gsym"
    path.write_bytes(small_file(1, "little"))
    assert main(["verify", os.fspath(path)]) == 0
    assert capsys.readouterr().out == f"{path}: the structure is valid\n"


def test_findings_are_printed_with_their_offset(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "damaged.gsym"
    path.write_bytes(small_file(1, "little") + b"junk")
    assert main(["verify", os.fspath(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}: offset 0x")
    assert main(["verify", os.fspath(path), "--against", "unused"]) == 1


def test_a_file_that_its_binary_confirms_passes(program: str, capsys: Captured) -> None:
    assert main(["verify", f"{program}.gsym", "--against", program]) == 0
    captured = capsys.readouterr()
    assert "2 functions of 1 of 1 units compared" in captured.out
    assert captured.err == ""


def test_a_file_with_rewritten_paths_passes(program: str, tmp_path: Path) -> None:
    rule = (os.fspath(tmp_path), "/src")
    gsym.convert(program, f"{program}.gsym", path_map=(rule,))
    command = ["verify", f"{program}.gsym", "--against", program]
    assert main(command) == 1
    assert main([*command, "--path-map", "=".join(rule)]) == 0


def test_a_difference_is_printed_with_both_sides(
    program: str, capsys: Captured
) -> None:
    rename(f"{program}.gsym", "twice", "thrice\x1b")
    command = ["verify", f"{program}.gsym", "--against", program]
    for sampled in (command, [*command, "--sample", "1"]):
        assert main(sampled) == 1
        out = capsys.readouterr().out
        assert "name: twice in the binary, thrice\\x1b in the file" in out


def json_of(capsys: Captured, *arguments: str, status: int = 0) -> dict[str, Any]:
    """What `verify --json` prints: one line, and nothing but it."""
    assert main(["verify", "--json", *arguments]) == status
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("\n") == 1
    record: dict[str, Any] = json.loads(captured.out)
    return record


def test_json_has_what_the_text_has(program: str, capsys: Captured) -> None:
    path = f"{program}.gsym"
    alone = {"path": path, "valid": True, "errors": [], "unanswered": []}
    assert json_of(capsys, path) == {**alone, "comparison": None}
    found = json_of(capsys, path, "--against", program)
    comparison = found.pop("comparison")
    assert found == alone
    assert comparison.pop("others") > 0
    assert comparison == {
        "binary": program,
        "differences": [],
        "functions": 2,
        "units": 1,
        "units_in_all": 1,
        "undecided": 0,
        "unread": [],
        "uncompared": {},
        "notes": [],
    }


def test_json_has_differences_and_errors(
    program: str, tmp_path: Path, capsys: Captured
) -> None:
    path = f"{program}.gsym"
    with gsym.open(path) as reader:
        (twice,) = reader.find("twice")
    rename(path, "twice", "thrice")
    found = json_of(capsys, path, "--against", program, "--quiet", status=1)
    assert not found["valid"]
    assert found["comparison"]["differences"] == [
        {
            "address": twice.start,
            "subject": "name",
            "binary": "twice",
            "gsym": "thrice",
        }
    ]
    damaged = tmp_path / "damaged.gsym"
    damaged.write_bytes(small_file(1, "little") + b"junk")
    found = json_of(capsys, os.fspath(damaged), "--against", program, status=1)
    assert (found["valid"], found["comparison"]) == (False, None)
    assert [sorted(each) for each in found["errors"]] == [["offset", "reason"]]


def test_json_names_units_that_cannot_be_decoded(
    tmp_path: Path, capsys: Captured
) -> None:
    binary, path = tmp_path / "app", os.fspath(tmp_path / "app.gsym")
    main_unit = unit(function("f", 0x1000, 0x1010))
    binary.write_bytes(program_of(main_unit))
    gsym.convert(binary, path)
    image = program_of(replace(main_unit, version=9))
    binary.write_bytes(image)
    found = json_of(capsys, path, "--against", os.fspath(binary), status=1)
    (unread,) = found["comparison"]["unread"]
    assert (unread["path"], unread["offset"]) == ("", 0)
    assert "version" in unread["reason"]


def test_long_lists_are_cut(tmp_path: Path, capsys: Captured) -> None:
    with gsym.Creator() as creator:
        for number in range(60):
            info = gsym.FunctionInfo(0x1000 + 16 * number, 16, f"f{number}")
            row = gsym.LineEntry(info.start + 8, "a.c", 1)
            creator.add(info._replace(line_table=(row,)))
        path = os.fspath(tmp_path / "file.gsym")
        creator.save(path)
    data = bytearray((tmp_path / "file.gsym").read_bytes())
    # The first bytes of a record are the size: rows are now outside of it.
    for offset in (i for i in range(len(data)) if data[i : i + 4] == b"\x10\0\0\0"):
        data[offset] = 8
    (tmp_path / "file.gsym").write_bytes(data)
    assert main(["verify", path]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 51
    assert lines[-1] == "... and 10 more"


def test_a_missing_input_is_an_error(tmp_path: Path, capsys: Captured) -> None:
    missing = os.fspath(tmp_path / "missing")
    path = tmp_path / "sound.gsym"
    path.write_bytes(small_file(1, "little"))
    assert main(["verify", missing]) == 1
    assert main(["verify", os.fspath(path), "--against", missing]) == 1
    assert capsys.readouterr().err.count("No such file") == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a", "b"],
        ["a", "--sample", "3"],
        ["a", "--path-map", "x=y"],
        ["a", "--against", "b", "--sample", "0"],
        ["a", "--against", "b", "--path-map", "x"],
    ],
    ids=repr,
)
def test_wrong_command_lines_of_verify_are_refused(
    capsys: Captured, arguments: list[str]
) -> None:
    assert main(["verify", *arguments]) == 2
    assert "gsym verify: error: " in capsys.readouterr().err


def test_functions_that_could_not_be_compared_are_counted(
    tmp_path: Path, capsys: Captured
) -> None:
    nowhere = Form.sec_offset(0x7000)
    dies = (
        Die(Tag.subprogram, {At.name: "cut", At.ranges: nowhere}),
        Die(Tag.subprogram, {At.name: "too", At.ranges: nowhere}),
        Die(
            Tag.subprogram,
            {
                At.abstract_origin: Form.ref4(0x7000),
                At.low_pc: 0x1100,
                At.high_pc: Form.data4(16),
            },
        ),
        Die(Tag.subprogram, {At.name: "f", At.ranges: ranges((0x1000, 0x1010))}),
    )
    path = tmp_path / "app"
    path.write_bytes(program_of(unit(*dies, version=4)))
    gsym.convert(path, f"{path}.gsym")
    assert main(["verify", f"{path}.gsym", "--against", str(path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert "1 functions of 1 of 1 units compared" in printed
    uncompared = [line.partition(" (")[0] for line in printed if "not compared" in line]
    assert uncompared == [
        "2 functions not compared: a range list cannot be read",
        "1 function not compared: DW_AT_abstract_origin cannot be followed",
    ]


def test_functions_of_units_that_cannot_be_read_are_counted(
    tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "app"
    path.write_bytes(program_of(unit(function("f", 0x1000, 0x1010))))
    gsym.convert(path, f"{path}.gsym")
    sections = Dwarf([unit(function("f", 0x1000, 0x1010))]).sections()
    sections[".debug_info"] = b"\xff" * 16
    debug = [Section(name, data) for name, data in sections.items()]
    path.write_bytes(Elf([code_section(), *debug]).to_bytes())
    assert main(["verify", f"{path}.gsym", "--against", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "1 function not compared: not in any unit that can be decoded" in printed
    assert "none of its functions could be compared" in printed
