"""Skipped tests: which reasons `.ci/run` allows."""

from __future__ import annotations

import re

import pytest

from tests.conftest import REPOSITORY, SKIPS, unexpected

pytestmark = pytest.mark.no_engine

TABLE = """\
stages	reason	why
first second	not installed: .*	later
second	no x	never
"""


@pytest.mark.parametrize(
    ("reason", "stage", "is_allowed"),
    [
        ("not installed: dwz", "first", True),
        ("not installed: dwz", "second", True),
        ("not installed: dwz", "third", False),
        ("is not installed: dwz", "first", False),
        ("no x", "first", False),
        ("no x", "second", True),
        ("no x, no y", "second", False),
    ],
)
def test_a_reason_is_allowed_in_the_stages_of_its_row(
    reason: str, stage: str, *, is_allowed: bool
) -> None:
    assert unexpected([reason], stage, TABLE) == ([] if is_allowed else [reason])


def test_stages_are_those_of_ci() -> None:
    run = (REPOSITORY / ".ci/run").read_text("utf-8")
    stages = re.findall(r"^tests (\w+) ", run, re.MULTILINE)
    rows = [line.split("\t") for line in SKIPS.read_text("utf-8").splitlines()]
    assert rows[0] == ["stages", "reason", "why"]
    for named, reason, why in rows[1:]:
        assert {*named.split()} <= {*stages}, reason
        assert re.compile(reason)
        assert why, reason
