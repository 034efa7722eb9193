"""Every recorded report of lines, behind the prefixes of logs and in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.reports.recorded import (
    BUILD_ID,
    DEBUG_ID,
    MODULES,
    RECORDED,
    Recorded,
    symbols,
)
from tests.reports.test_recorded import answered, modules

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["modules"]

PREFIXES = (
    "Nov 23 08:00:01 host app[123]: ",
    "2026-11-23T08:00:01.123456Z stderr F ",
    "app-1  | ",
    "> ",
    "[2026-11-23 08:00:01.123] [error] ",
    "11-23 08:00:01.123  4711  4712 E App     : ",
)
# No logger's: that lines have them in common tells that they are prefixes.
SHARED = ("12: ", "[ 55%] ")
WITH_WORDS = ("ERROR:app.core:", "[1,0]<stderr>:", "app.log:12:", "web-5d9c app ")
TAKE_WORDS = {"typed", "wine", "visual-studio"}
"""Reports of which a word before an address may be anything else."""
DOCUMENTS = re.compile(r"\s*[{\[]|.*\{\{\{", re.DOTALL)
LINES = [each for each in RECORDED if not DOCUMENTS.match(each.text)]
# In a Windows path, a backslash before n may be a part of the path.
WITHOUT_DRIVES = [each for each in LINES if not re.search(r"[A-Za-z]:\\", each.text)]


# Of packages of npm, pnpm, Homebrew and Nix, and of games
FOLDERS = (
    "/app/node_modules/@img/sharp-linux-x64/lib/",
    "/app/node_modules/.pnpm/@img+sharp@0.33.5_react@18.2.0/node_modules/",
    "/opt/homebrew/Cellar/openssl@3/3.2.1/lib/",
    "/nix/store/00bgd045z0d4icpbc2yyz4gx48ak44la-net-tools-1.60_p2017/",
    "/srv/c+d/",
    "/srv/My Games/Counter-Strike 2/game/bin/",
)
NAMES = (
    *("clang++-19", "python3.11", "7z", "2048", "deadbeef", "libfoo-1.2.so", "app.js"),
    *("rust-app-0123456789abcdef", "in", "node", "com.example.app", "core"),
)
ENDS_NOWHERE = {"musl", "harmony", "in-files"}
"""Reports that do not tell where a path with blanks ends."""
IN_FOLDERS = [
    pytest.param(case, folder, id=f"{case.name}-{folder}")
    for case in LINES
    for folder in FOLDERS
    if "/opt/" in case.text and not (" " in folder and case.name in ENDS_NOWHERE)
]


def known(answer: str) -> list[str]:
    """The answers that are known, in order."""
    return [each for each in answer.split() if each != "-"]


def is_same(case: Recorded, text: str, modules: Path) -> None:
    """Check that a text has the answers of a report, and comes back as it was."""
    report = gsym.symbolicate(text, source=modules, store=str(modules / "none"))
    assert known(answered(report)) == known(case.expected)
    texts = [
        part if isinstance(part, str) else report.threads[part[0]].frames[part[1]].text
        for part in report.parts
    ]
    assert "".join(texts) == text


@pytest.mark.parametrize("prefix", [*PREFIXES, *SHARED])
@pytest.mark.parametrize("case", LINES, ids=lambda case: case.name)
def test_a_prefix_changes_no_answer(case: Recorded, prefix: str, modules: Path) -> None:
    lines = case.text.rstrip("\n").split("\n")
    is_same(case, "".join(f"{prefix}{line}\n" for line in lines), modules)


@pytest.mark.parametrize("prefix", WITH_WORDS)
@pytest.mark.parametrize(
    "case",
    [each for each in LINES if each.name not in TAKE_WORDS],
    ids=lambda case: case.name,
)
def test_words_that_lines_begin_with_change_no_answer(
    case: Recorded, prefix: str, modules: Path
) -> None:
    test_a_prefix_changes_no_answer(case, prefix, modules)


@pytest.mark.parametrize(("case", "folder"), IN_FOLDERS)
def test_a_folder_changes_no_answer(case: Recorded, folder: str, modules: Path) -> None:
    is_same(case, case.text.replace("/opt/", folder), modules)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_changes_no_answer(name: str, tmp_path: Path) -> None:
    text = symbols("Linux", DEBUG_ID, name, BUILD_ID)
    for path, other in {**MODULES, "linux/app.sym": text}.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(other)
    for case in LINES:
        if re.search(r"/opt/app(?![\w.])", case.text):
            words = r"(?<=/opt/)app(?![\w.])|(?<![\w/.])app(?=[!+( ])"
            is_same(case, re.sub(words, name, case.text), tmp_path)


@pytest.mark.parametrize("between", [r"\n", "#012", "\r"])
@pytest.mark.parametrize("case", WITHOUT_DRIVES, ids=lambda case: case.name)
def test_one_line_has_all_answers(case: Recorded, between: str, modules: Path) -> None:
    lines = case.text.rstrip("\n").split("\n")
    is_same(case, f"{PREFIXES[0]}{between.join(lines)}\n", modules)


def test_there_are_many_reports() -> None:
    assert len(LINES) > 40


def test_continuation_lines_repeat_the_prefix(tmp_path: Path) -> None:
    (tmp_path / "app.sym").write_text(
        "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 app\n"
        "FILE 0 a.c\nINLINE_ORIGIN 0 inner\nFUNC 1000 100 0 outer\n"
        "INLINE 0 9 0 0 1000 10\n1000 100 5 0\n"
    )
    for prefix in PREFIXES:
        text = f"{prefix}   #1 0x55d1c0ffe004 (app+0x1004)\n"
        lines = str(gsym.symbolicate(text, source=tmp_path)).splitlines()
        assert len(lines) == 2
        assert lines[1].startswith(f"{prefix}    ")
        assert "outer" in lines[1]
