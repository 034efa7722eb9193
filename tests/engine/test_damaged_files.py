"""Damaged files are read or refused as is recorded."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.freeze.damaged import Outcome, Remark, damaged, summary

pytestmark = pytest.mark.slow

RECORD = Path(__file__).parents[1] / "golden/damaged.txt"


def test_damaged_files_have_the_recorded_outcomes() -> None:
    recorded = RECORD.read_text("utf-8").splitlines(keepends=True)
    changed = "".join(unified_diff(recorded, list(damaged()), n=0))
    assert not changed, (
        f"{changed}\npython -m tests.freeze.damaged SEED prints what becomes of each, "
        "and without SEED the record, tests/golden/damaged.txt"
    )


def test_the_record_has_answers_and_exceptions_but_no_reports_and_messages() -> None:
    def recorded(answer: str, remark: str, end: str = "FormatError") -> str:
        read = Outcome("whole", "converted", [answer, Remark(remark)])
        return summary("converted", [read, Outcome("0x1: end", end, [Remark(remark)])])

    line = recorded("same", "a report")
    assert line.startswith("1 converted, 1 refused (FormatError 1), hash ")
    assert recorded("same", "another report") == line
    assert recorded("other", "a report").split()[:-1] == line.split()[:-1]
    assert recorded("other", "a report") != line
    assert recorded("same", "a report", "EmptyError").startswith(
        "1 converted, 1 refused (E"
    )
