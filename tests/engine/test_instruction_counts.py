"""Fixed work takes the instructions that it took when somebody last looked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.instruction_counts import changes, compiler, measure, recorded
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long


def test_a_change_beyond_the_margin_is_told() -> None:
    expected = {"slower": 1000, "faster": 1000, "equal": 1000}
    found = {"slower": 1051, "faster": 949, "equal": 1049}
    assert changes(expected, found) == [
        "slower: 1051 instructions, not 1000",
        "faster: 949 instructions, not 1000",
    ]


@no_sanitizer
def test_the_engine_takes_the_instructions_that_are_recorded(tmp_path: Path) -> None:
    name = compiler()
    expected = {
        row.work: row.instructions for row in recorded() if row.compiler == name
    }
    if not expected:
        pytest.skip(f"no counts are recorded for {name or 'an unknown compiler'}")
    found = measure(tmp_path)
    assert set(found) == set(expected)
    assert not changes(expected, found), "python -m tests.instruction_counts rewrites"
