"""The sweep over small programs: it agrees where it should, and sees what is wrong."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.conftest import find_peer
from tests.differential import sweep
from tests.differential.peers import LLVM_SYMBOLIZER, Frame
from tests.differential.targets import Program, make

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.quick

GCC = sweep.Toolchain("elf", "x86-64", "gcc", (sweep.BFD,))
OURS = (Frame("g", "/a/b.h", 3), Frame("f", "/a/b.c", 9))
OTHER_LINE = (OURS[0]._replace(line=4), OURS[1])
OUTER_ONLY = (Frame("f", "/a/b.h", 3),)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    for tool in ("gcc", sweep.BFD, *sweep.READERS, "readelf"):
        find_peer(tool)
    job = sweep.Job(GCC, "C", "-O2 -gdwarf-5")
    return sweep.build(job, sweep.BFD, tmp_path_factory.mktemp("program"))


def test_every_byte_of_a_program_is_answered_as_two_of_three_say(
    program: Program,
) -> None:
    found = sweep.sweep(program, "program")
    assert found.readers == set(sweep.READERS)
    assert found.equal > found.addresses / 2 > 100
    assert found.unexplained == []
    counted = found.equal + found.alone + found.classes.total()
    assert counted == found.addresses


def test_lost_lines_are_unexplained(program: Program, tmp_path: Path) -> None:
    stripped = tmp_path / "program"
    make(find_peer("strip"), "-g", "-o", str(stripped), str(program.binary),
               folder=tmp_path)  # fmt: skip
    found = sweep.sweep(Program(stripped, program.judge), "stripped")
    assert found.classes[""] > found.addresses / 2
    assert found.unexplained[0].startswith("stripped: ")


def test_what_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert sweep.BFD in sweep.missing_tools()
    job = sweep.Job(GCC._replace(compiler="no-such-gcc"), "C", "-O2 -g")
    assert sweep.swept(job) == [(sweep.BFD, "not installed: no-such-gcc")]


@pytest.mark.parametrize(
    ("said", "against"),
    [
        ((OURS, OURS, OURS), ""),
        ((OURS, OTHER_LINE, OUTER_ONLY), ""),
        ((OTHER_LINE, OURS, OTHER_LINE), "ac"),
        ((OURS, OUTER_ONLY, OUTER_ONLY), "bc"),
        ((OURS, (), ()), "bc"),
        ((OTHER_LINE, (*OTHER_LINE, Frame("main", "/a/m.c", 1)), OURS), "ab"),
        ((OTHER_LINE,), "a"),
        ((), ""),
    ],
)
def test_two_readers_against_us(
    said: tuple[tuple[Frame, ...], ...], against: str
) -> None:
    answers = dict(zip("abc", said, strict=False))
    assert "".join(sweep.against_us(OURS, answers)) == against


def test_a_name_chooses_programs_and_linkers() -> None:
    chosen = sweep.matching(["elf i386 ld.gold", "pe arm "])
    rows = {
        each.toolchain.row(link) for each in chosen for link in each.toolchain.linkers
    }
    assert rows == {("elf", "i386", "ld.gold"), ("pe", "arm", "ld.lld-22")}
    assert sweep.matching([]) == list(sweep.JOBS)
    assert LLVM_SYMBOLIZER in sweep.READERS
