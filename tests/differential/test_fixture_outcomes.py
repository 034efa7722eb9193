"""Every real file converts, or ends in an error that says what it lacks.

The table names each with its functions and those with lines, or with its error. It
records results of this program: review a line that changes; one that does not change is
not proved correct. A comparison with llvm-dwarfdump shows that no lines are lost.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.differential.line_coverage import LLVM_DWARFDUMP, cover
from tests.differential.outcomes import files, outcome, table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from _pytest.mark.structures import ParameterSet

TABLE = table()
WITH_LINES = [
    name
    for name, known in TABLE.items()
    if known.what.isdigit() and known.detail != "0" and not name.endswith(".sym")
]


def by_folder(names: Iterable[str]) -> list[ParameterSet]:
    """A parameter for each folder: one for each file would make three hundred tests."""

    def folder(name: str) -> str:
        return "/".join(Path(name).parent.parts[:3])

    groups = groupby(sorted(names, key=folder), folder)
    return [pytest.param(list(group), id=name) for name, group in groups]


def test_the_table_names_every_file_and_no_other(fixtures: Path) -> None:
    assert list(TABLE) == list(files(fixtures))


@pytest.mark.parametrize("names", by_folder(TABLE))
def test_each_file_ends_as_the_table_says(names: list[str], fixtures: Path) -> None:
    found = {name: outcome(fixtures / name) for name in names}
    assert found == {name: TABLE[name] for name in names}


@pytest.mark.parametrize("names", by_folder(WITH_LINES))
def test_each_function_with_lines_keeps_them(
    names: list[str], fixtures: Path, tmp_path: Path
) -> None:
    find_peer(LLVM_DWARFDUMP)
    for name in names:
        source, output = fixtures / name, tmp_path / "out.gsym"
        report = gsym.convert(source, output)
        found = cover(source, source, output)
        assert found.missing == [], name
        # A file with no DWARF of its own has it from another one.
        assert found.functions <= report.functions_with_lines, name
