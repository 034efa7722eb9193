"""A failure in a loop says which row it was at."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY
from tests.rows import rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.no_engine

CASES = [("a", 1), ("b", 2), ("c", 4)]


def check(limit: int) -> None:
    for name, number in CASES:
        for factor in range(2):
            assert number * factor < limit, name


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (1, ["name = 'a'", "number = 1", "factor = 1"]),
        (3, ["name = 'c'", "number = 4", "factor = 1"]),
    ],
)
def test_loops_of_a_function_that_a_test_calls(limit: int, expected: list[str]) -> None:
    with pytest.raises(AssertionError) as caught:
        check(limit)
    assert list(rows(caught.tb)) == expected


def search() -> None:
    for _earlier in range(3):
        pass
    for outer in "xyz":
        for inner in "pq":
            if (outer, inner) == ("y", "q"):
                raise KeyError


def count_down(left: int) -> None:
    while left > 0:
        left -= 1
        assert left != 1


def test_the_condition_of_a_loop_without_targets() -> None:
    with pytest.raises(AssertionError) as caught:
        count_down(5)
    assert list(rows(caught.tb)) == ["left = 1"]


def test_each_loop_around_the_line_and_no_other() -> None:
    with pytest.raises(KeyError) as caught:
        search()
    assert list(rows(caught.tb)) == ["outer = 'y'", "inner = 'q'"]


FAILING = f"""
from {__name__} import check
def test_of_rows():
    check(3)
"""


def test_the_report_has_the_row(tmp_path: Path) -> None:
    (tmp_path / "test_failing.py").write_text(FAILING)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "tests.conftest", "-c", "pyproject.toml", str(tmp_path)]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    _, _, report = done.stdout.partition(" row ")
    assert report.splitlines()[1:4] == ["name = 'c'", "number = 4", "factor = 1"]


def test_no_assertion_hides_its_cases_in_a_generator() -> None:
    """`assert all(...)` only says `False`; a list of what is wrong says which."""
    hidden = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in sorted((REPOSITORY / "tests").rglob("*.py"))
        for line in assertions_of_generators(path)
    ]
    assert hidden == []


def assertions_of_generators(path: Path) -> Iterator[int]:
    """Lines of assertions that all, or none, of what is generated hold."""
    text = path.read_text()
    if re.search(r"\b(all|any)\(", text) is None:
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assert) and hides_cases(node.test):
            yield node.lineno


def hides_cases(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(hides_cases, values))
        case ast.UnaryOp(op=ast.Not(), operand=call):
            return is_call(call, "any")
        case _:
            return is_call(test, "all")


def is_call(node: ast.expr, function: str) -> bool:
    match node:
        case ast.Call(
            func=ast.Name(id=name), args=[ast.GeneratorExp() | ast.ListComp()]
        ):
            return name == function
        case _:
            return False
