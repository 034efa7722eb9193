"""Fixed work takes no more instructions than when they were last counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.instruction_counts import AGAIN, compiler, counts_of, measure, slower
from tests.sanitizer import no_sanitizer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


def test_growth_beyond_the_margin_is_told() -> None:
    expected = {"slower": 1000, "faster": 1000, "equal": 1000}
    found = {"slower": 1051, "faster": 500, "equal": 1049}
    assert slower(expected, found) == ["slower: 1051 instructions, not 1000"]


@no_sanitizer
def test_the_engine_takes_no_more_instructions_than_recorded(tmp_path: Path) -> None:
    name = compiler()
    expected = counts_of(name)
    if not expected:
        pytest.skip(f"no counts for {name or 'an unknown compiler'}: {AGAIN}")
    found = measure(tmp_path)
    assert set(found) == set(expected), AGAIN
    assert not slower(expected, found), f"if this is intended, {AGAIN}"
