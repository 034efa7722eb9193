"""Frames that other tools read, which are named, beside native frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym

if TYPE_CHECKING:
    from pathlib import Path

MONO = "  at App.Program.Main (System.String[] args) [0x00012] in "
GUID = "<a1b2c3d4e5f60718293a4b5c6d7e8f90>:0"
CASES = (
    ("at a.b.c(SourceFile:12)", "retrace"),
    ("at a.b.c(Unknown Source:12)", "retrace"),
    ("\tat com.app.Main.run(r8-map-id-0f2a:3)", "retrace"),
    (f"{MONO}{GUID}", "mono-symbolicate"),
    ("   at App.Main(String[] args) in App.dll:token 0x6000001+0x12", "dotnet-stack"),
)


@pytest.mark.parametrize(("line", "tool"), CASES)
def test_the_tool_is_named(line: str, tool: str, tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_text(
        "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\n"
        "FILE 0 a.c\nFUNC 1000 20 0 first\n1000 20 1 0\n"
    )
    text = f"#00 pc 0000000000001004  /lib/app\n{line}\n"
    report = gsym.symbolicate(text, source=tmp_path)
    (note,) = report.notes
    assert tool in note
    (frame,) = report.frames()
    assert frame.calls[0].name == "first"
    assert str(report).endswith(f"{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "at java.lang.Thread.run(Unknown Source)",
        "at app.Main.run(Main.java:12)",
        "at App.Main(String[] args) in /src/App.cs:line 12",
    ],
)
def test_what_is_readable_is_not_named(line: str) -> None:
    assert gsym.symbolicate(f"{line}\n").notes == ()
