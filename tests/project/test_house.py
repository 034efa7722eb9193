"""The size of the project, tools/house.py: lines of folders and their budgets."""

from __future__ import annotations

import pytest

from tools import house

pytestmark = pytest.mark.no_engine

TABLE = "folder\tlines\treason\ngsym/cli\t100\t\ncsrc/pdb\t20\tmore kinds of records\n"


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        ({"gsym/cli": 100, "csrc/pdb": 3}, []),
        (
            {"gsym/cli": 101, "csrc/pdb": 20},
            ["gsym/cli: 101 lines, 1 more than its budget"],
        ),
        (
            {"gsym/cli": 1, "csrc/pdb": 1, "gsym/new": 1},
            ["gsym/new: no budget in tools/qa/lines.tsv"],
        ),
        ({"gsym/cli": 1}, ["csrc/pdb: a budget, but no such folder"]),
    ],
)
def test_a_folder_beyond_its_budget_is_named(
    found: dict[str, int], complaint: list[str]
) -> None:
    assert house.overruns(found, house.read_budgets(TABLE)) == complaint


def test_every_line_of_the_package_and_the_engine_is_in_a_folder() -> None:
    files = [*house.sources("csrc", ".c", ".h"), *house.sources("gsym", ".py")]
    assert sum(house.folders().values()) == house.lines(files)
