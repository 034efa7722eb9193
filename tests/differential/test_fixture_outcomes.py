"""Every real file converts, or ends in an error that says what it lacks.

The table names each with its functions and those with lines, or with its error. That
no lines are lost on the way is held to llvm-dwarfdump.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential.line_coverage import LLVM_DWARFDUMP, cover
from tests.differential.outcomes import files, outcome, table

if TYPE_CHECKING:
    from pathlib import Path

TABLE = table()
WITH_LINES = [
    name
    for name, known in TABLE.items()
    if known.what.isdigit() and known.detail != "0" and not name.endswith(".sym")
]


def test_the_table_names_every_file_and_no_other(fixtures: Path) -> None:
    assert list(TABLE) == list(files(fixtures))


@pytest.mark.parametrize("name", TABLE)
def test_each_file_ends_as_the_table_says(name: str, fixtures: Path) -> None:
    assert outcome(fixtures / name) == TABLE[name]


@pytest.mark.parametrize("name", WITH_LINES)
def test_each_function_with_lines_keeps_them(
    name: str, fixtures: Path, tmp_path: Path
) -> None:
    find_peer(LLVM_DWARFDUMP)
    source, output = fixtures / name, tmp_path / "out.gsym"
    report = gsym.convert(source, output)
    found = cover(source, source, output)
    assert found.missing == []
    # A file with no DWARF of its own has it from another one.
    assert found.functions <= report.functions_with_lines
