"""The limits that the manual lists are those of the code.

Above the declaration of a limit stands a comment that names its row: `Limit: TITLE`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.no_engine

MARK = re.compile(r"\bLimit: (.+?)(?: \*/)?\n(.+)\n")
NUMBER = re.compile(r"\b(\d[\d_]*)u?\b(?: << (\d+))?")
AMOUNT = re.compile(r"(\d[\d,]*)(?: ([KMG])iB)?")
UNITS = {"": 0, "K": 10, "M": 20, "G": 30}


class Bound(NamedTuple):
    """A factor of 0: what the input has does not matter."""

    floor: int
    factor: int


def declared() -> dict[str, set[Bound]]:
    """By title; a second decoder may declare a limit again."""
    found: dict[str, set[Bound]] = {}
    for pattern in ("csrc/**/*.[ch]", "gsym/**/*.py"):
        for path in REPOSITORY.glob(pattern):
            for title, line in MARK.findall(path.read_text(encoding="utf-8")):
                value = re.sub(r"^.*?(?:=|\(|#define \w+)", "", line)
                floor, factor, *_ = [
                    int(each) << int(shift or 0)
                    for each, shift in NUMBER.findall(value)
                ] + [0]
                found.setdefault(title, set()).add(Bound(floor, factor))
    return found


def amount(cell: str) -> int:
    found = AMOUNT.match(cell)
    if found is None:
        assert cell == "none"
        return 0
    return int(found[1].replace(",", "")) << UNITS[found[2] or ""]


def listed() -> list[tuple[str, Bound]]:
    """The limits of the manual, without those of the formats."""
    text = (REPOSITORY / "tools/qa/limits.tsv").read_text(encoding="utf-8")
    _, *rows = (line.split("\t") for line in text.splitlines())
    return [
        (title, Bound(amount(floor), amount(factor)))
        for kind, title, floor, factor, _ in rows
        if kind != "formats"
    ]


def test_the_manual_lists_each_limit_with_its_floor_and_factor() -> None:
    rows = listed()
    assert dict(rows) == {title: min(bounds) for title, bounds in declared().items()}
    assert len(rows) == len(dict(rows))


def test_a_limit_that_is_declared_twice_is_the_same() -> None:
    assert [title for title, bounds in declared().items() if len(bounds) > 1] == []


def test_each_floor_with_a_factor_is_declared_as_a_limit() -> None:
    """A macro without a title would be in no row."""
    for path in REPOSITORY.glob("csrc/**/*.[ch]"):
        text = path.read_text(encoding="utf-8")
        if path.name == "limit.h":
            continue
        titled = sum("LIMIT(" in line for _, line in MARK.findall(text))
        assert len(re.findall(r"^LIMIT\(", text, re.MULTILINE)) == titled, path
