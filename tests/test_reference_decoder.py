"""The decoder behind `compare` and the engine agree on inputs made to be difficult."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.verification import compare
from tests.test_dwarf_differential import CASES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conversions import Case

# pyelftools does not get past what these hold.
UNREADABLE = {"all forms of version 5 at once"}


def test_the_cases_that_pyelftools_cannot_read_exist() -> None:
    assert {case.name for case in CASES} >= UNREADABLE


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_second_opinion_agrees_on_every_case(case: Case, tmp_path: Path) -> None:
    binary, path = tmp_path / "input", tmp_path / "input.gsym"
    binary.write_bytes(case.image)
    gsym.convert(os.fspath(binary), os.fspath(path), **case.options)
    found = compare(os.fspath(path), os.fspath(binary))
    assert bool(found.unread) == (case.name in UNREADABLE)
    assert found.differences == []
