"""The addresses that were looked at by hand."""

from __future__ import annotations

from tests.conftest import REPOSITORY
from tests.differential import verdicts
from tests.differential.differences import LLVM_SYMBOLIZER


def test_each_address_has_a_class_and_a_verdict() -> None:
    kept = verdicts.kept()
    assert len({(each.binary, each.address) for each in kept}) == verdicts.SIZE
    assert {each.right for each in kept} <= {"gsym", "both", "llvm-symbolizer"}
    assert all(each.evidence for each in kept)
    assert {each.kind for each in kept} <= {each.__name__ for each in LLVM_SYMBOLIZER}


def test_the_manual_shows_them() -> None:
    manual = (REPOSITORY / "docs/acceptance.md").read_text("utf-8")
    assert verdicts.section() in manual
