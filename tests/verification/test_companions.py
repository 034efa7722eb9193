"""`compare` where the debug information of a binary stands in other files."""

from __future__ import annotations

import lzma
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.conversion.options import ConvertOptions
from tests.companions import (
    ID,
    ID_PATH,
    SHARED_NAME,
    altlink,
    debug_file,
    place,
    referring,
    shared,
    stripped,
)
from tests.inputs.elf import Elf, Section, Symbol, code_section
from tests.inputs.split_examples import build
from tests.referee.opening import compare

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inputs.encoding import ByteOrder


def test_the_debug_file_of_a_stripped_binary_is_compared(tmp_path: Path) -> None:
    binary = place(tmp_path / "app", stripped(build_id=ID))
    place(tmp_path / ID_PATH, debug_file(ID))
    search = ConvertOptions(debug_file_directories=(str(tmp_path),))
    report = gsym.convert(binary, debug_file_directories=search.debug_file_directories)
    output = report.outputs[0]
    found = compare(output, binary, search=search)
    assert (found.functions, found.symbols) == (1, 1)
    assert found.differences == []
    (difference,) = compare(output, binary).differences
    assert (difference.subject, difference.binary) == ("function", "(nothing)")


def test_the_commands_compare_it_too(tmp_path: Path) -> None:
    binary = place(tmp_path / "app", stripped(build_id=ID))
    place(tmp_path / ID_PATH, debug_file(ID))
    search = f"--debug-file-directory={tmp_path}"
    assert main(["convert", binary, "--verify", search]) == 0
    against = ["verify", f"{binary}.gsym", "--against", binary]
    assert main([*against, search]) == 0
    assert main(against) == 1


def test_the_longer_symbol_table_is_compared(tmp_path: Path) -> None:
    binary = place(tmp_path / "app", stripped(build_id=ID, symbols=()))
    symbols = (Symbol("of_debug_file", 0x1200, 0x10),)
    place(tmp_path / ID_PATH, debug_file(ID, symbols=symbols))
    search = ConvertOptions(debug_file_directories=(str(tmp_path),))
    report = gsym.convert(binary, debug_file_directories=search.debug_file_directories)
    found = compare(report.outputs[0], binary, search=search)
    assert (found.functions, found.symbols, found.differences) == (1, 1, [])


def test_symbols_within_a_binary_are_compared(tmp_path: Path) -> None:
    inner = Elf([code_section()], symbols=[Symbol("inner", 0x1100, 0x10)]).to_bytes()
    packed = Section(".gnu_debugdata", lzma.compress(inner))
    outer = [Symbol("outer", 0x1000, 0x10)]
    image = Elf([code_section(), packed], dynamic_symbols=outer).to_bytes()
    binary = place(tmp_path / "app", image)
    found = compare(gsym.convert(binary).outputs[0], binary)
    assert (found.symbols, found.differences) == (2, [])


@pytest.mark.parametrize("name", ["open@@V1", "read@V2", "f@plt", "@plt", "..@1.x"])
def test_symbols_are_compared_without_their_versions(name: str, tmp_path: Path) -> None:
    image = Elf([code_section()], symbols=[Symbol(name, 0x1000, 0x10)]).to_bytes()
    binary = place(tmp_path / "app", image)
    found = compare(gsym.convert(binary).outputs[0], binary)
    assert (found.symbols, found.differences) == (1, [])


def test_names_in_a_supplementary_file_are_compared(tmp_path: Path) -> None:
    binary = place(tmp_path / "app", referring(altlink("shared")))
    place(tmp_path / "shared", shared())
    output = gsym.convert(binary).outputs[0]
    assert compare(output, binary).differences == []
    place(tmp_path / "shared", shared(name="another"))
    (difference,) = compare(output, binary).differences
    assert (difference.binary, difference.gsym) == ("another", SHARED_NAME)


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [4, 5])
def test_split_units_are_compared(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    built = build("one", "two", version=version, byteorder=byteorder, separate=True)
    binary = place(tmp_path / "app", built.binary)
    for number, data in enumerate(built.splits):
        place(tmp_path / f"{number}.dwo", data)
    output = gsym.convert(binary).outputs[0]
    found = compare(output, binary)
    assert (found.functions, found.symbols, found.unread) == (2, 1, {})
    assert found.differences == []
    other = build("one", "2nd", version=version, byteorder=byteorder, separate=True)
    place(tmp_path / "1.dwo", other.splits[1])
    (difference,) = compare(output, binary).differences
    assert (difference.binary, difference.gsym) == ("2nd", "two")


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("version", [4, 5])
def test_packages_are_compared(
    version: int, byteorder: ByteOrder, tmp_path: Path
) -> None:
    built = build("one", "two", version=version, byteorder=byteorder)
    binary = place(tmp_path / "app", built.binary)
    place(tmp_path / "app.dwp", built.package)
    output = gsym.convert(binary).outputs[0]
    found = compare(output, binary)
    assert (found.functions, found.symbols, found.unread) == (2, 1, {})
    assert found.differences == []
    other = build("one", "2nd", version=version, byteorder=byteorder)
    package = place(tmp_path / "other.dwp", other.package)
    (difference,) = compare(
        output, binary, search=ConvertOptions(dwp=package)
    ).differences
    assert (difference.binary, difference.gsym) == ("2nd", "two")


def test_split_units_that_are_missing_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built = build("one", "two", separate=True)
    binary = place(tmp_path / "app", built.binary)
    place(tmp_path / "1.dwo", built.splits[1])
    gsym.convert(binary)
    verify = ["verify", f"{binary}.gsym", "--against", binary]
    assert main(verify) == 0
    printed = capsys.readouterr()
    assert "1 functions of 1 of 2 units compared" in printed.out
    assert "unit at 0x0 is not compared: its split unit was not found" in printed.err
    (tmp_path / "1.dwo").unlink()
    gsym.convert(binary)
    assert main(verify) == 1
    printed = capsys.readouterr()
    assert "0 functions of 0 of 2 units compared" in printed.out
    assert "none of its functions could be compared" in printed.out
    assert "warning: 2 units not compared" in printed.err
