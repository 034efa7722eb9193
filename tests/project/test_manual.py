"""Pages of the manual, followed command by command, and the site made of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import REPOSITORY, find_peer
from tests.http_server import Reply, Server, files_of
from tests.project.test_readme import blocks, run, shape, steps
from tests.server.page_browser import Visit, open_browser
from tools.manual_parts import filled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.http_server import Answers

pytestmark = pytest.mark.no_engine

DOCS = REPOSITORY / "docs"
OWN = re.compile(r"\./meter\(\+(0x[0-9a-f]+)\)")
VARIABLE = re.compile(r'environ\w*(?:\.get\(|\[|, )"([A-Z][A-Z_]+)"')


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, empty, with the commands on the path and a store."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    for program in ("cc", "gsym"):
        find_peer(program)
    return tmp_path


def comparable(line: str) -> str:
    """*line* without what depends on compiler and folder; lines of the source stay."""
    line = re.sub(r"/\S*/(?=meter\.c:)|\b[0-9A-F]{33}\b|0x[0-9a-f]+", "", line)
    line = re.sub(r"(?<=\+ )\d+", "", line).rstrip()
    return line if re.match(r"\s*\w+ (\+  at |\d)", line) else shape(line)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_every_command_of_the_tutorial_prints_what_is_shown(folder: Path) -> None:
    find_peer("strip")
    tutorial = page("tutorial.md")
    (program,), (script,) = blocks("c", tutorial), blocks("python", tutorial)
    (folder / "meter.c").write_text(program)
    (folder / "culprit.py").write_text(script)
    addresses: dict[str, str] = {}
    for command, shown in steps("".join(blocks("console", tutorial))):
        for known, own in addresses.items():
            command = command.replace(known, own)  # noqa: PLW2901 - as it is typed
        printed = run(f"{command} || test $? = 139")
        # Those of the C library depend on the system.
        ours, theirs = (
            [comparable(line) for line in lines if "libc" not in line]
            for lines in (printed, shown)
        )
        assert ours == theirs, command
        if command == "cat crash.txt":
            own_ones, known_ones = (
                OWN.findall("\n".join(each)) for each in (printed, shown)
            )
            addresses = dict(zip(known_ones, own_ones, strict=True))


def told(line: str) -> str:
    """What *line* says, without ids and addresses."""
    return re.sub(r"id is \w+, not \w+|0x\w+(-0x\w+)?", "", line).rstrip()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")
def test_what_troubles_print_is_what_the_page_shows(folder: Path) -> None:
    find_peer("strip")
    shutil.copytree(REPOSITORY / "tools/demo", folder / "tools/demo")
    for block in blocks("console", page("troubleshooting.md")):
        for command, shown in steps(block):
            done = subprocess.run(
                ["sh", "-c", f"exec 2>&1; {command}"],
                capture_output=True,
                text=True,
                check=False,
            )
            printed = {told(line) for line in done.stdout.splitlines()}
            assert [line for line in shown if told(line) not in printed] == [], command
            assert done.stdout or not command.startswith("gsym lookup"), command


@pytest.fixture
def stairs(folder: Path) -> str:
    """The address of `main` in the program of the page of migrations."""
    shutil.copytree(REPOSITORY / "tools/demo", folder / "tools/demo")
    (compile_it,), *_ = map(steps, blocks("console", page("migration.md")))
    run(compile_it[0])
    (found,) = run("gsym find stairs main")
    return found.partition("-")[0]


@pytest.mark.parametrize("tool", ["llvm-gsymutil", "addr2line", "llvm-symbolizer"])
def test_both_commands_of_a_migration_print_the_same(stairs: str, tool: str) -> None:
    section = page("migration.md").partition(f"\n## {tool}\n")[2]
    commands = [command for command, _ in steps(blocks("console", section)[0])]
    program = find_peer(tool, f"{tool}-22")
    printed = [
        run(re.sub(f"^{tool} ", f"{program} ", command).replace("0x1067", stairs))
        for command in commands
    ]
    half = len(printed) // 2
    assert any(printed[-1])
    assert printed[:half] == printed[half:]


def test_both_programs_of_a_migration_print_the_same(stairs: str) -> None:
    pytest.importorskip("symbolic", reason="symbolic is not installed")
    programs = [
        text.replace("0x1067", stairs).replace("x86_64", os.uname().machine)
        for text in blocks("python", page("migration.md"))
    ]
    theirs, ours = (
        subprocess.run(
            [sys.executable, "-c", text], check=True, capture_output=True, text=True
        ).stdout
        for text in programs
    )
    assert "stairs.c" in ours
    assert ours == theirs


@pytest.mark.usefixtures("folder")
def test_the_server_takes_the_settings_of_the_migration() -> None:
    pytest.importorskip("starlette", reason="the extra server is not installed")
    section = page("migration.md").partition("\n## eliot\n")[2]
    ((command, _),) = steps(blocks("console", section)[0])
    settings = run(command)
    assert 'sources = ["https://symbols.mozilla.org/"]' in settings
    named = re.findall(r"`GSYM_([A-Z_]+)`", section)
    known = {line.partition(" = ")[0].upper() for line in settings}
    assert set(named) <= known


def test_every_variable_that_is_read_is_in_the_manual() -> None:
    sources = (path.read_text() for path in (REPOSITORY / "gsym").rglob("*.py"))
    read = {name for text in sources for name in VARIABLE.findall(text)}
    assert {"GSYM_STORE", "DEBUGINFOD_URLS"} <= read
    named = set(re.findall(r"[A-Z][A-Z_]+", filled(page("configuration.md"))))
    assert read - {"HOME", "PATH", "USER"} <= named


def test_the_diagrams_are_those_of_their_tool() -> None:
    command = [sys.executable, str(REPOSITORY / "tools/diagrams.py"), "--check"]
    done = subprocess.run(command, check=False)
    assert done.returncode == 0, "run tools/diagrams.py"


@pytest.fixture(scope="module")
def built() -> Path:
    """The manual as HTML."""
    folder = DOCS / "_build"
    if not (folder / "index.html").exists():
        pytest.skip("`make docs` was not run")
    return folder


@pytest.fixture(scope="module")
def site(built: Path) -> Iterator[Visit]:
    """It in a browser as wide as a phone, from a file server."""
    opened = contextmanager(open_browser)
    no_icon: dict[str, Answers] = {"/favicon.ico": Reply(status=204)}
    with Server(files_of(built), replies=no_icon) as server, opened() as browser:
        yield Visit(browser, server.url, viewport={"width": 390, "height": 844})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("pclntab", "Inputs"),
        ("inlined", "Concepts"),
        ("addr2line", "Migration from other tools"),
        ("no line numbers", "No answer? No line? Wrong line?"),
    ],
)
def test_a_term_is_found_by_the_search_of_the_site(
    site: Visit, asked: str, title: str
) -> None:
    site.renew()
    site.open(f"search.html?q={asked.replace(' ', '+')}")
    found = site.page.locator("#search-results li > a")
    found.get_by_text(title, exact=True).first.wait_for()
    # A reader without a network has all of it.
    assert [url for url in site.asked if not url.startswith(site.url)] == []
    assert site.faults == []


CUT = """() => [...document.querySelectorAll("article pre")]
    .filter(block => !block.closest(".highlight-none"))
    .filter(block => block.scrollWidth > block.clientWidth + 1)
    .map(block => block.innerText)"""


@pytest.mark.slow
def test_no_code_of_the_site_is_cut_off(site: Visit, built: Path) -> None:
    site.renew()
    cut = []
    for path in sorted(built.rglob("*.html")):
        url = f"{site.url}/{path.relative_to(built)}"
        site.page.goto(url, wait_until="domcontentloaded")
        cut += site.page.evaluate(CUT)
    assert cut == []


@pytest.mark.slow
def test_no_page_of_the_site_is_wider_than_a_phone(site: Visit, built: Path) -> None:
    site.renew()
    pages = sorted(path.relative_to(built) for path in built.rglob("*.html"))
    assert len(pages) > 50
    wide = []
    for path in pages:
        site.page.goto(f"{site.url}/{path}", wait_until="domcontentloaded")
        if site.width() > 390:
            wide.append(path.name)
    assert wide == []
    assert site.faults == []


def test_every_page_is_in_the_sidebar_under_a_caption() -> None:
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page("index.md"), re.DOTALL)
    listed = re.findall(r"^(?:.*<)?([a-z]+)>?$", "\n".join(trees), re.MULTILINE)
    written = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert sorted(listed) == sorted(written)
    assert [tree for tree in trees if ":caption:" not in tree] == []
