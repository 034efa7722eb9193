"""`gsym dump`: all that a file says, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.model import FunctionInfo, InlineInfo, Range

if TYPE_CHECKING:
    from pathlib import Path

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_a_damaged_file_is_an_error_of_one_line(
    option: list[str], tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "cut.gsym"
    path.write_bytes(b"MYSG\x01\x00")
    assert main(["dump", *option, str(path)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"gsym: error: {path}: ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_very_deep_inlining_can_be_dumped(
    option: list[str], tmp_path: Path, capsys: Captured
) -> None:
    node: tuple[InlineInfo, ...] = ()
    where = (Range(0x1000, 0x1010),)
    for depth in range(3000, 0, -1):
        node = (InlineInfo(f"depth{depth}", "/a.c", depth, where, node),)
    path = str(tmp_path / "deep.gsym")
    with gsym.Creator() as creator:
        creator.add(
            FunctionInfo(0x1000, 0x10, "f", None, InlineInfo("f", "", 0, where, node))
        )
        creator.save(path)
    assert main(["dump", *option, path]) == 0
    assert "depth3000" in capsys.readouterr().out


def test_unknown_information_is_dumped_as_bytes(
    tmp_path: Path, capsys: Captured
) -> None:
    path = str(tmp_path / "extra.gsym")
    with gsym.Creator() as creator:
        creator.add(FunctionInfo(0x1000, 0x10, "f", extra={77: b"\x01\xff"}))
        creator.save(path)
    assert main(["dump", path]) == 0
    assert "  InfoType 77: 01ff\n" in capsys.readouterr().out
