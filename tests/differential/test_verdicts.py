"""The addresses that were looked at by hand."""

from __future__ import annotations

from benchmarks.markdown import region_in
from tests.differential import record, verdicts
from tests.differential.differences import LLVM_SYMBOLIZER
from tests.differential.peers import Frame


def test_each_address_has_a_class_and_a_verdict() -> None:
    kept = verdicts.kept()
    assert len({(each.binary, each.address) for each in kept}) == verdicts.SIZE
    assert {each.right for each in kept} <= {"gsym", "both", "llvm-symbolizer"}
    assert [each for each in kept if not each.evidence] == []
    assert {each.kind for each in kept} <= {each.__name__ for each in LLVM_SYMBOLIZER}


def test_the_record_shows_them_and_has_a_summary() -> None:
    assert verdicts.section() in record.read()
    assert region_in(record.read(), "summary") == record.summary(record.read())


def test_the_first_frame_that_differs_is_kept_without_its_middle() -> None:
    same = Frame("same", "/a/b.c", 3)
    long, other = (Frame("x" * 200 + end, "/a/b.c", 4) for end in ("D1Ev", "D2Ev"))
    start = "x" * 60
    assert verdicts.first_difference((same, long), (same, other)) == (
        f"{start}...{'x' * 30}D1Ev b.c:4",
        f"{start}...{'x' * 30}D2Ev b.c:4",
    )
    assert verdicts.first_difference((same,), ()) == ("same b.c:3", "??")
    assert verdicts.first_difference((same, long), (same,))[1] == ""
    moved = same._replace(path="/b.c")
    assert verdicts.first_difference((same,), (moved,)) == ("same b.c:3",) * 2
