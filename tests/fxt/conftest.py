"""Fixtures for tests of traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fxt.traces import small_trace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A file with a small trace."""
    path = tmp_path / "small.fxt"
    path.write_bytes(small_trace())
    return path
