"""Source lines in reports: where they are found, how they are shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.modules.key import ModuleKey
from gsym.reports import source_lines
from gsym.reports.source_lines import (
    MAX_AROUND,
    MAX_LINE,
    LocalSources,
    SourceLines,
)
from gsym.writing.source_part import SourceFiles

if TYPE_CHECKING:
    from pathlib import Path

_SYMBOLS = """\
MODULE Linux x86_64 000000000000000000000000000000010 app
FILE 0 /build/src/main.c
FILE 1 /build/src/inline.h
INLINE_ORIGIN 0 inlined
FUNC 1000 20 0 main
INLINE 0 3 0 0 1008 8
1000 8 2 0
1008 8 1 1
1010 10 4 0
"""
_MAIN = "int main(void) {\n\tone();\n    two();\n    three();\n}\n"
_INLINE = "\x1b[31mred\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.sym").write_text(_SYMBOLS)
    source = tmp_path / "project" / "src"
    source.mkdir(parents=True)
    (source / "main.c").write_text(_MAIN)
    (source / "inline.h").write_text(_INLINE)
    return tmp_path


TEXT = "app+0x1000\n  app+0x1008\napp+0x1010\nlast\n"


def test_lines_follow_the_line_of_their_call(folder: Path) -> None:
    sources = [folder, folder / "project"]
    report = gsym.symbolicate(TEXT, source=sources, context=1, store=str(folder))
    assert str(report).splitlines() == [
        "main at /build/src/main.c:2 (app+0x1000)",
        "    1 | int main(void) {",
        "  > 2 | \tone();",
        "    3 |     two();",
        "  inlined at /build/src/inline.h:1 [inlined]",
        "    > 1 | \N{REPLACEMENT CHARACTER}[31mred",
        "  main + 8 at /build/src/main.c:3 (app+0x1008)",
        "      2 | \tone();",
        "    > 3 |     two();",
        "      4 |     three();",
        "main + 16 at /build/src/main.c:4 (app+0x1010)",
        "    3 |     two();",
        "  > 4 |     three();",
        "    5 | }",
        "last",
    ]
    assert " | " not in str(gsym.symbolicate(TEXT, source=sources, store=str(folder)))


def test_lines_stay_in_place_in_a_long_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = folder / "report.txt"
    noise = "nothing to see in this line\n"
    report.write_text((noise * 3 + "app+0x1000\n") * 2 + noise * 20_000)
    rule = f"/build={folder / 'project'}"
    options = [*("--context", "1"), *("--path-map", rule), *("--store", str(folder))]
    assert main(["symbolicate", str(report), *options]) == 0
    answer = [
        "main at /build/src/main.c:2 (app+0x1000)",
        "    1 | int main(void) {",
        "  > 2 | \tone();",
        "    3 |     two();",
    ]
    once = [*[noise.strip()] * 3, *answer]
    shown = capsys.readouterr().out.splitlines()
    assert shown == [*once, *once, *[noise.strip()] * 20_000]


def test_the_json_has_the_lines(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = folder / "report.txt"
    report.write_text(TEXT)
    arguments = [*("--store", str(folder / "store")), *("--context", "1"), "--json"]
    rule = f"/build={folder / 'project'}"
    assert main(["symbolicate", str(report), "--path-map", rule, *arguments]) == 0
    (thread, *_) = json.loads(capsys.readouterr().out)["threads"]
    call = thread["frames"][0]["calls"][0]
    assert call["file"] == "/build/src/main.c"
    assert call["source"]["first"] == 1
    assert call["source"]["lines"] == ["int main(void) {", "\tone();", "    two();"]
    assert main(["symbolicate", str(report), "--path-map", "x", *arguments]) == 2


def test_a_place_of_a_path_map_is_the_only_one(folder: Path) -> None:
    rules = [("/build", "/nowhere")]
    assert (
        LocalSources([str(folder / "project")], rules).read(
            ModuleKey(), "/build/src/main.c"
        )
        is None
    )
    fetched = LocalSources([], rules, lambda _key, path: path.encode())
    assert fetched.read(ModuleKey(), "/build/a") == b"/build/a"


@pytest.mark.parametrize("path", ["../../etc/passwd", "/x/../../etc/passwd"])
def test_no_file_outside_of_a_folder_is_read(folder: Path, path: str) -> None:
    (folder / "passwd").write_text("here")
    outside = LocalSources([str(folder / "project")]).read(ModuleKey(), path)
    assert outside != b"here"


def test_a_line_that_a_file_does_not_have_is_of_another_version(folder: Path) -> None:
    (folder / "project" / "src" / "main.c").write_text("one line\n")
    report = gsym.symbolicate(
        "app+0x1000", source=[folder, folder / "project"], context=3, store=str(folder)
    )
    (frame,) = report.frames()
    assert frame.sources == (None,)


def test_the_lines_around_a_call_are_limited(folder: Path) -> None:
    source = folder / "project" / "src" / "main.c"
    source.write_text("line\n" * 3 * MAX_AROUND)
    report = gsym.symbolicate(
        "app+0x1010",
        source=[folder, folder / "project"],
        context=2 * MAX_AROUND,
        store=str(folder),
    )
    (frame,) = report.frames()
    (context,) = frame.sources
    assert context is not None
    assert (context.first, len(context.lines)) == (1, frame.calls[0].line + MAX_AROUND)


def test_only_ends_of_lines_end_lines(folder: Path) -> None:
    source = folder / "project" / "src" / "main.c"
    source.write_bytes(b"\f one \v\x1c\x1d\x1e \xc2\x85 \xe2\x80\xa8\r\ntwo\n\nfour\n")
    report = gsym.symbolicate(
        TEXT, source=[folder, folder / "project"], context=0, store=str(folder)
    )
    assert [frame.sources for frame in report.frames() if frame.sources] == []
    report = gsym.symbolicate(
        TEXT, source=[folder, folder / "project"], context=1, store=str(folder)
    )
    context = next(report.frames()).sources[0]
    assert context is not None
    assert (context.first, context.lines[1:]) == (1, ("two", ""))


def test_long_lines_are_cut(folder: Path) -> None:
    source = folder / "project" / "src" / "main.c"
    source.write_text("x" * MAX_LINE + "\n" + "y" * (MAX_LINE + 1))
    report = gsym.symbolicate(
        "app+0x1000", source=[folder, folder / "project"], context=1, store=str(folder)
    )
    (frame,) = report.frames()
    (context,) = frame.sources
    assert context is not None
    assert context.lines == ("x" * MAX_LINE, "y" * (MAX_LINE - 3) + "...")


def test_all_lines_of_a_report_are_limited(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_lines, "MAX_SHOWN", 80)
    report = gsym.symbolicate(
        "app+0x1000\n" * 5,
        source=[folder, folder / "project"],
        context=1,
        store=str(folder),
    )
    shown = [frame.sources for frame in report.frames()]
    assert [each != (None,) for each in shown] == [True, True, False, False, False]
    (note,) = report.notes
    assert note.startswith("source lines of 3 calls are left out: ")


@pytest.mark.parametrize(
    ("embedded", "shown"),
    [("a\nb\nc\nd\n", ("b", "d")), ("a\nb\n", ("b", "    three();")), ("", None)],
)
def test_a_text_in_the_module_that_lacks_the_line_gives_way_to_the_file(
    embedded: str, shown: tuple[str, ...] | None, folder: Path
) -> None:
    texts = {"/build/src/main.c": embedded.encode()}
    local = LocalSources([str(folder / "project")])
    lines = SourceLines(local.read, 0, lambda _: SourceFiles(texts))
    report = gsym.symbolicate("app+0x1000\napp+0x1010\n", source=folder)
    found = [each.sources[-1] for each in lines.added(report).frames()]
    texts_of_lines = tuple(each.lines[0] for each in found if each is not None)
    assert texts_of_lines == (shown or ("\tone();", "    three();"))
