"""Exceptions of static analyzers."""

from __future__ import annotations

import pytest

from tests.conftest import REPOSITORY

pytestmark = pytest.mark.no_engine


def test_exceptions_name_files_that_exist() -> None:
    text = (REPOSITORY / "tools/analyze/exceptions.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    assert len(rows) > 20
    for _tool, rule, pattern, reason in rows:
        assert rule
        assert any(REPOSITORY.glob(pattern)), pattern
        assert reason
