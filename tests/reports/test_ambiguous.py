"""Lines of which two readings are as good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SYMBOLS = (
    "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\nFILE 0 a.c\n"
    "FUNC 1000 20 0 first\n1000 20 1 0\nFUNC 1020 200 0 second\n1020 200 2 0\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.sym").write_text(SYMBOLS)
    return tmp_path


def test_what_may_be_decimal_or_hexadecimal_is_ambiguous(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "stack.txt").write_text("second+15 (app)\n")
    (frame,) = gsym.symbolicate(folder / "stack.txt", source=folder).frames()
    assert frame.calls[0].name == "second"
    assert frame.reason == "ambiguous: it may also be app at 0x1035"
    command = ["symbolicate", str(folder / "stack.txt"), "--source", str(folder)]
    assert main([*command, "--strict"]) == 3
    assert "[ambiguous]" in capsys.readouterr().out


@pytest.mark.parametrize(
    "line", ["second+0x15 (app)", "second+1a (app)", "first+31 (app)"]
)
def test_one_reading_is_not(folder: Path, line: str) -> None:
    report = gsym.symbolicate(f"{line}\n", source=folder)
    (frame,) = report.frames()
    assert frame.calls
    assert frame.reason == ""
    assert "ambiguous" not in str(report)


def test_offsets_in_json_may_be_decimal(folder: Path) -> None:
    text = '{"stack": [{"mod": "app", "off": 4129}, {"mod": "app", "off": 4097}]}'
    report = gsym.symbolicate(text, source=folder)
    assert [each.calls[0].name for each in report.frames()] == ["second", "first"]


@pytest.mark.parametrize("line", ["first+0x0 [0x401050]", "#1 0x401050 first+0 (app)"])
def test_a_name_and_an_address_may_contradict(folder: Path, line: str) -> None:
    maps = "400000-402000 r-xp 00000000 00:00 0 /opt/app\n"
    report = gsym.symbolicate(f"{line}\n", source=folder, maps=maps)
    assert [each.calls[0].name for each in report.frames()] == ["first"]
    assert [each.reason for each in report.frames()] == [
        "ambiguous: it may also be app at 0x1050"
    ]
