"""Frames that other tools read, which are named, beside native frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

MONO = "  at App.Program.Main (System.String[] args) [0x00012] in "
GUID = "<a1b2c3d4e5f60718293a4b5c6d7e8f90>:0"
CASES = (
    ("at a.b.c(SourceFile:12)", "retrace"),
    ("at a.b.c(Unknown Source:12)", "retrace"),
    ("\tat com.app.Main.run(r8-map-id-0f2a:3)", "retrace"),
    ("\tat abc.def(PG:10)", "retrace"),
    (f"{MONO}{GUID}", "mono-symbolicate"),
    ('{"PRIORITY": "6", "MESSAGE": [46, 47, 97, 112]}', "journalctl"),
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


@pytest.mark.parametrize(
    ("data", "tool"),
    [
        (b"# compiler: R8\n# pg_map_id: 0f2a\ncom.app.Main -> a.a:\n", "retrace"),
        (b"BSJB\1\0\1\0\0\0\0\0\x0c\0\0\0PDB v1.0\0\0\0\0", "dotnet-stack"),
    ],
)
@pytest.mark.parametrize("verb", ["symbolicate", "convert"])
def test_a_file_that_another_tool_reads_is_refused(
    verb: str,
    data: bytes,
    tool: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert main([verb, str(path)]) == 1
    printed = capsys.readouterr()
    assert (printed.out, tool in printed.err) == ("", True)


def test_frames_of_native_aot_are_native(tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_text(
        "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\n"
        "FILE 0 a.c\nFUNC 1000 20 0 first\n1000 20 1 0\n"
    )
    text = "   at app!<BaseAddress>+0x1004\n"
    (frame,) = gsym.symbolicate(text, source=tmp_path).frames()
    assert frame.calls[0].name == "first"
