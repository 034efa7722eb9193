"""A short soak: every answer right, whatever goes wrong beside it.

Time decides nothing here; `python -m benchmarks.soak` holds the server to its speed.
"""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

from benchmarks.breakpad_tree import place
from benchmarks.faulty_upstream import FAULTS
from benchmarks.http_load import Answer
from benchmarks.soak import Plan, run
from benchmarks.soak_load import Tally
from tests import soak as long_soak
from tests.symbol_files import symbols

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.breakpad_tree import SymbolFile
    from benchmarks.soak import Outcome

pytestmark = pytest.mark.confined

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


@pytest.mark.slow
def test_answers_under_load_are_correct(
    files: list[SymbolFile], tmp_path: Path
) -> None:
    outcome = soak(files, tmp_path, faults=False)
    assert set(outcome.stored.statuses) == {200}
    assert outcome.stored.statuses[200] > MODULES
    assert outcome.stored.wrong == 0


@pytest.mark.slow
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


class Answering:
    """A client whose requests have these answers."""

    def __init__(self, *answers: tuple[int, bytes]) -> None:
        self._answers = list(answers)

    async def ask(self, message: bytes) -> Answer:
        del message
        return Answer(*self._answers.pop(0), 0.0)


HUNG_UP = (0, b"ConnectionResetError: hung up")
REFUSED = (0, b"ConnectionRefusedError: refused")
RIGHT = (200, b"")


def tally_of(*answers: tuple[int, bytes]) -> Tally:
    """The tally of a client that sends once more what has no answer."""
    tally, client = Tally(), Answering(*answers)
    requests = len(answers) - sum(each[0] == 0 for each in answers) // 2

    async def ask() -> None:
        for _ in range(requests):
            await tally.ask(client, b"")  # type: ignore[arg-type] # duck-typed

    asyncio.run(ask())
    return tally


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([RIGHT] * 99 + [HUNG_UP] * 2, ""),
        ([RIGHT] * 98 + [HUNG_UP] * 2, "1 of 99 requests .*1 ConnectionResetError: hu"),
        ([RIGHT] * 9 + [REFUSED] * 20, ""),
        (
            [RIGHT] * 98 + [HUNG_UP] * 2 + [REFUSED] * 4,
            "1 of 99 requests .* and 2 more met no worker",
        ),
        ([REFUSED] * 4, "0 of 0 requests"),
        ([RIGHT] * 999 + [(503, b"")], "503"),
    ],
)
def test_the_soak_fails_where_requests_have_no_answer(
    answers: list[tuple[int, bytes]], problem: str
) -> None:
    tally = tally_of(*answers)
    if not problem:
        long_soak.check(tally)
        return
    with pytest.raises(AssertionError, match=problem):
        long_soak.check(tally)
