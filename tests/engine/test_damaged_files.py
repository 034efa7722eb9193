"""Damaged files are read or refused as is recorded."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

from tests.freeze.damaged import damaged

pytestmark = pytest.mark.long

RECORD = Path(__file__).parents[1] / "golden/damaged.txt"


def test_damaged_files_have_the_recorded_outcomes() -> None:
    recorded = RECORD.read_text("utf-8").splitlines(keepends=True)
    changed = "".join(unified_diff(recorded, list(damaged()), n=0))
    assert not changed, (
        f"{changed}\npython -m tests.freeze.damaged SEED prints what becomes of each, "
        "and without SEED the record, tests/golden/damaged.txt"
    )
