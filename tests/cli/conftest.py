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


@pytest.fixture(autouse=True)
def empty_folder(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty current folder: commands without `--source` search the current one.

    Another test may write a file into the checkout meanwhile.
    """
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the file `small` in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").write_bytes(small_file(1, "little"))
    return tmp_path
