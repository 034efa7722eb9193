"""Fixtures for tests of commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.gsymutil_runs import Run
from tests.hostile import small_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run `gsymutil` in this process."""
    return Run(capfdbinary)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the file `small` in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").write_bytes(small_file(1, "little"))
    return tmp_path
