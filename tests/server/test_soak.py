"""A short soak: every answer right, whatever goes wrong beside it.

Time decides nothing here; `python -m benchmarks.soak` holds the server to its speed.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from benchmarks.breakpad_tree import place
from benchmarks.faulty_upstream import FAULTS
from benchmarks.soak import Plan, run
from tests.symbol_files import symbols

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.breakpad_tree import SymbolFile
    from benchmarks.soak import Outcome

pytestmark = [pytest.mark.confined, pytest.mark.slow]

MODULES = 3


@pytest.fixture
def files(tmp_path: Path) -> list[SymbolFile]:
    found = []
    for number in range(MODULES):
        path = tmp_path / f"{number}.sym"
        path.write_bytes(symbols(number, functions=50))
        found.append(place(path, tmp_path / "symbols"))
    return found


def soak(files: list[SymbolFile], folder: Path, *, faults: bool) -> Outcome:
    plan = Plan(4, 16, 2, 0.3, faults, pool=20, peak_seconds=0.5)
    outcome = run(files, folder, plan)
    shutil.rmtree(folder / "store")
    return outcome


def test_answers_under_load_are_correct(
    files: list[SymbolFile], tmp_path: Path
) -> None:
    outcome = soak(files, tmp_path, faults=False)
    assert set(outcome.stored.statuses) == {200}
    assert outcome.stored.statuses[200] > MODULES
    assert outcome.stored.wrong == 0


def test_stored_modules_are_answered_during_failures(
    files: list[SymbolFile], tmp_path: Path
) -> None:
    outcome = soak(files, tmp_path, faults=True)
    assert set(outcome.stored.statuses) == {200}
    assert outcome.stored.wrong == 0
    assert outcome.cold.wrong == 0
    assert outcome.victim.wrong == 0
    assert {*outcome.victim.statuses} == {200}
    assert outcome.faults["file: truncate"]
    assert outcome.restarts
    assert outcome.hung_up
    assert sum(outcome.faults.values()) >= len(FAULTS) // 2
    assert outcome.recovery < 60  # it came
