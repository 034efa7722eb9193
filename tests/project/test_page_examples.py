"""Examples of the manual: commands are understood, and programs run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.cli.main import find_command
from gsym.cli.verbs import VERBS
from tests.conftest import REPOSITORY, find_peer
from tests.http_server import Reply, Server
from tests.project.test_readme import blocks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.http_server import Answers

pytestmark = pytest.mark.no_engine

DOCS = REPOSITORY / "docs"
PAGES = sorted(path.relative_to(DOCS) for path in DOCS.rglob("*.md"))
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")
OPERATORS = {"|", "||", "&", "&&", ";", "<", ">", ">>"}


def shell_lines(page: str) -> Iterator[str]:
    """What a page shows as typed: console blocks, scripts, indented lines."""
    page = page.replace("\\\n", " ")
    for block in blocks("console", page):
        yield from re.findall(r"^\$ (.*)", block, re.MULTILINE)
    for block in (*blocks("sh", page), *blocks("bash", page), *INDENTED.findall(page)):
        yield from map(str.strip, block.splitlines())


def commands(page: str) -> Iterator[list[str]]:
    """The arguments of each `gsym` of these lines."""
    for line in shell_lines(page):
        if "gsym " not in line or "..." in line or "$(" in line:
            continue
        reader = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        reader.whitespace_split = True
        words: list[str] = []
        for word in (*reader, ";"):
            if word not in OPERATORS:
                words.append(word)
                continue
            while words and re.match(r"[A-Z_]+=", words[0]):
                del words[0]
            if words[:1] == ["gsym"]:
                yield words[1:]
            words = []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_commands_are_understood(page: Path) -> None:
    for arguments in commands((DOCS / page).read_text("utf-8")):
        count = 2 if " ".join(arguments[:2]) in VERBS else 1
        find_command(" ".join(arguments[:count])).parse(arguments[count:])


def test_commands_are_found() -> None:
    lines = "```console\n$ gsym lookup a 1 | gsym filter > b  # two\ngsym: no\n```\n"
    page = f"{lines}\n    gsym dump app\n\n```sh\nGSYM_STORE=s gsym stats a\n```\n"
    assert list(commands(page)) == [
        ["lookup", "a", "1"],
        ["filter"],
        ["stats", "a"],
        ["dump", "app"],
    ]


@pytest.mark.parametrize("page", ["fxt.md", "markup.md", "profiles.md", "symbfile.md"])
def test_programs_run(page: str, tmp_path: Path) -> None:
    """All of a page, one after the other, in a folder with the files that it names."""
    source = tmp_path / "app.c"
    source.write_text("int main(int n, char **v) { return v[n] == v[0]; }\n")
    subprocess.run([find_peer("cc"), "-g", source, "-o", tmp_path / "app"], check=True)
    (tmp_path / "stacks.folded").write_text("main;work 3\n")
    parts: dict[str, Answers] = {
        f"/api/symbols-{kind}": Reply(b'{"success": true}')
        for kind in ("ranges", "returnpads")
    }
    (tmp_path / "symbols").mkdir()
    text = (DOCS / page).read_text("utf-8")
    programs = blocks("python", text) + blocks("py", text)
    assert programs
    with Server(Reply(status=404), replies=parts) as server:
        for program in programs:
            script = f"address = 0x1000\n{program}"
            script = script.replace("https://symbols.example", server.url)
            done = subprocess.run(
                [sys.executable, "-c", script],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, (program, done.stderr)
