"""Examples of the manual: commands are understood, and programs run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import find_command
from gsym.cli.verbs import VERBS
from tests.companions import ID, debug_file
from tests.conftest import REPOSITORY, find_peer
from tests.http_server import Reply, Server
from tests.object_server import ObjectServer
from tests.project.test_readme import blocks, steps

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


# The pages, what their programs need, and those that other tests run.
GIVEN = """
import asyncio, os, gsym
jobs = [{"memoryMap": [["app", "0" * 33]], "stacks": [[[0, 1]]]}]
request, requests, url = {"jobs": jobs}, [{"jobs": jobs}], "SERVER"
build_id = gsym.open("stairs.gsym").uuid
"""
ROWS = """
import pyarrow
batch = pyarrow.record_batch({"build_id": [build_id], "address": [1]})
"""
RUN_ELSEWHERE = re.compile(
    r"^# Python API\n.*?(?=^## )|^## (Convert|Look up|Create)\n.*?(?=^## )",
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture
def stocked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the files that pages name."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "x")
    (tmp_path / "build").mkdir()
    for name in ("stairs", "build/libapp.so"):
        (tmp_path / name).write_bytes(debug_file(ID))
    gsym.convert("stairs", "stairs.gsym")
    (tmp_path / "crash.txt").write_text("./stairs(+0x1010)[0x555555555010]\n")
    (tmp_path / "app.log").write_text("nothing\n")
    return tmp_path


@pytest.mark.parametrize(
    ("page", "packages"),
    [
        ("api.md", ("obstore", "httpx2")),
        ("crash.md", ()),
        ("store.md", ("obstore",)),
        ("server.md", ("pyarrow", "requests")),
    ],
)
def test_programs_of_a_page_run_with_servers(
    page: str, packages: tuple[str, ...], stocked: Path
) -> None:
    for package in packages:
        pytest.importorskip(package, reason=f"{package} is not installed")
    running = pytest.importorskip("tests.server.running")
    text = (DOCS / page).read_text("utf-8")
    symbolizer = gsym.Symbolizer(gsym.Store(str(stocked / "store")))
    objects = {"/symbols/libapp.gsym": (stocked / "stairs.gsym").read_bytes()}
    with ObjectServer(objects) as bucket, running.RunningServer(symbolizer) as server:
        program = GIVEN + ROWS * (page == "server.md")
        for each in blocks("python", RUN_ELSEWHERE.sub("", text)):
            if re.search("^async with", each, re.MULTILINE):
                body = each.replace("\n", "\n    ")
                program += f"async def work():\n    {body}\nasyncio.run(work())\n"
            else:
                program += each
        for known, own in (
            ("?region=eu-west-1", f"?endpoint={bucket.url}&region=us-east-1"),
            ("https://symbolication.services.mozilla.com", server.url),
            ("https://symbols.mozilla.org", bucket.url),
            ("http://127.0.0.1:8000", server.url),
            ("SERVER", server.url),
            ("/srv/symbols", "symbols-of-servers"),
            ("1234", str(os.getpid())),
            ("0905AE80CEE75A33E3CAB61C274274DE0", gsym.identify("stairs").debug_id),
        ):
            program = program.replace(known, own)
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (0, ""), program


def printed(command: str, folder: Path) -> str:
    """What a command of a page prints."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.fixtures
def test_traces_print_what_is_shown(fixtures: Path, tmp_path: Path) -> None:
    shutil.copy(fixtures / "fxt/ocaml-trace-t2-2.fxt", tmp_path / "t2.fxt")
    text = (DOCS / "trace.md").read_text("utf-8")
    stacks, *_ = blocks("text", text)
    (tmp_path / "stacks.folded").write_text(stacks)
    shown = [step for block in blocks("console", text) for step in steps(block)]
    assert [lines for _, lines in shown].count([]) < len(shown) - 4
    for command, lines in shown:
        if lines:
            assert printed(command, tmp_path).splitlines() == lines, command
    (record,) = blocks("json", text)
    last = printed("gsym trace dump t2.fxt --json", tmp_path).splitlines()[-1]
    assert json.loads(last) == json.loads(record)


def test_logs_become_what_is_shown(tmp_path: Path) -> None:
    text = (DOCS / "markup.md").read_text("utf-8")
    markup, filtered, stack, answered = blocks("text", text)[:4]
    (command,) = blocks("sh", text)
    start, end = 0x1170, 0x2000
    inside = (gsym.Range(start + 25, end),)
    area = gsym.InlineInfo("area", "/src/main.c", 4, inside)
    code = gsym.FunctionInfo(
        start,
        end - start,
        "main",
        line_table=(gsym.LineEntry(start, "/src/geo.h", 8),),
        inline=gsym.InlineInfo("main", "", 0, (gsym.Range(start, end),), (area,)),
    )
    (tmp_path / "build").mkdir()
    for build_id in ("83238ab56ba10497", "160da11f"):
        with gsym.Creator(base_address=0, uuid=build_id) as creator:
            creator.add(code)
            creator.save(tmp_path / f"build/{build_id}.gsym")
    for log, expected in ((markup, filtered), (stack, answered)):
        (tmp_path / "app.log").write_text(log)
        assert printed(command, tmp_path) == expected


def test_the_calls_that_write_markup_compile(tmp_path: Path) -> None:
    (shown,) = blocks("c", (DOCS / "markup.md").read_text("utf-8"))
    include, calls = shown.split("\n\n", 1)
    variables = (
        "void *const *addresses, unsigned count, void *function, int variable,"
        "const gsym_markup_pair *registers, const char *name"
    )
    source = tmp_path / "calls.c"
    source.write_text(f"{include}\nvoid f({variables}) {{\n{calls}}}\n")
    folder = REPOSITORY / "gsym/include"
    options = ("-Werror", "-Wall", "-fsyntax-only", "-I", folder)
    subprocess.run([find_peer("cc"), *options, source], check=True)
