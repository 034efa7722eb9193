"""Small packaged programs that crash, answered as by gdb."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.differential.crashes import PROGRAMS, crash, judge, missing
from tests.differential.deaths import GDB

PATTERN = Path("/proc/sys/kernel/core_pattern")
NAMES = ("Node.js", "clang", "Git", "Perl")

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]  # runs programs


@pytest.mark.parametrize("name", NAMES)
def test_each_frame_is_answered_as_by_gdb(name: str, tmp_path: Path) -> None:
    (program,) = (each for each in PROGRAMS if each.name == name)
    lacks = missing(program._replace(needs=f"{program.needs} {GDB} eu-unstrip"))
    if lacks:
        pytest.skip(f"not installed: {lacks}")
    if not PATTERN.exists() or PATTERN.read_text().startswith(("|", "/")):
        pytest.skip("cores of this machine are not written where programs run")
    folder = tmp_path / "run"
    folder.mkdir()
    crashed = crash(program, folder)
    assert crashed is not None
    judged = judge(program, crashed, tmp_path / "store")
    assert judged.counts["others"] == 0
    assert judged.counts["same"] >= 3
    assert judged.crash != "wrong"
