"""What the README and the page of the API show works when it is typed in."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from gsym.cli.main import find_command
from gsym.cli.verbs import VERBS
from tests.companions import ID, debug_file

pytestmark = pytest.mark.no_engine

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, page: str = README) -> list[str]:
    """Code blocks of a page marked with *language*."""
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def steps(console: str) -> list[tuple[str, list[str]]]:
    """(command, lines it is shown to print) of a console block."""
    found: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def shape(line: str) -> str:
    """*line* without what depends on machine, compiler and build."""
    line = re.sub(r"/\S*/(?=tools/)", "/", line)
    line = re.sub(r"build id [0-9a-f]+|no build id", "build id", line)
    return re.sub(r"\b(0x)?\d+(\.\d+)?\b(?! of \d+ units| units)", "N", line)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a fresh checkout, with the commands on the path."""
    shutil.copytree(ROOT / "tools/demo", tmp_path / "tools/demo")
    commands = Path(sys.executable).parent
    monkeypatch.setenv("PATH", str(commands), prepend=os.pathsep)
    monkeypatch.chdir(tmp_path)
    if shutil.which("cc") is None:
        pytest.skip("not installed: cc")
    if shutil.which("gsym") is None:
        pytest.skip("the package is not installed, so there is no gsym command")
    return tmp_path


def run(command: str) -> list[str]:
    process = subprocess.run(
        ["sh", "-c", command], check=True, capture_output=True, text=True
    )
    return process.stdout.splitlines()


ADDRESS = re.compile(r"^    #\d+ 0x[0-9a-f]+ +", re.MULTILINE)


def stack(report: str) -> list[tuple[str, str]]:
    """Functions and lines of the demo program in the frames of a report, in order."""
    pattern = re.compile(r"(\w+)(?:\(.*?\))?(?: \+ \d+)? at \S*orders\.cpp:(\d+)")
    return [(each[1], each[2]) for each in pattern.finditer(report)]


def test_the_stack_is_that_of_the_demo_program(checkout: Path) -> None:
    before, after = blocks("text")
    shown = stack(after)
    build = ["c++", "-g", "-O2", "-fsanitize=address", "tools/demo/orders.cpp"]
    if subprocess.run([*build, "-o", "orders"], check=False).returncode:
        pytest.skip("not installed: a C++ compiler with AddressSanitizer")
    crash = subprocess.run(
        ["./orders"],
        env={**os.environ, "ASAN_OPTIONS": "symbolize=0"},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    ).stderr
    assert len(ADDRESS.findall(before)) == len(ADDRESS.findall(after))
    assert stack(before) == []
    assert ADDRESS.search(crash)
    (checkout / "crash.txt").write_text(crash)
    found = stack("\n".join(run("gsym symbolicate crash.txt --source .")))
    # What is inlined is the choice of the compiler; lines of functions are not.
    assert set(found) <= set(shown) | {
        (name, line) for name, line in found if line > "1"
    }
    assert found[0] == shown[0]
    assert found[-1] == shown[-1]


def commands() -> list[str]:
    return [
        line.partition("#")[0].strip()
        for block in blocks("sh")
        for line in block.splitlines()
    ]


def test_each_kind_of_user_has_five_lines() -> None:
    _, *users = blocks("sh")
    (python,) = blocks("python")
    assert [len(each.splitlines()) for each in users] == [5, 5, 5]
    assert len(python.splitlines()) == 6  # one is empty


@pytest.mark.parametrize("command", [each for each in commands() if "gsym " in each])
def test_commands_are_understood(command: str) -> None:
    shown = re.sub(r"^[A-Z_]+=\S+ ", "", command.partition(" < ")[0])
    program, *words = shlex.split(shown)
    if program == "gsym":
        count = 2 if " ".join(words[:2]) in VERBS else 1
        find_command(" ".join(words[:count])).parse(words[count:])


def test_commands_for_builds_and_the_python_example_run(checkout: Path) -> None:
    (checkout / "build").mkdir()
    run("cc -g -O2 -o build/app tools/demo/stairs.c && cp build/app app")
    for command in commands():
        if re.match(r"gsym (convert|lookup|verify|embed) ", command):
            run(command)
    (example,) = blocks("python")
    printed = run(f"{sys.executable} -c {shlex.quote(example)}")
    assert any("stairs.c" in line for line in printed)
    assert (checkout / "app.gsym").exists()


@pytest.mark.long
def test_service_begins_as_shown(checkout: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    (command,) = (each for each in commands() if each.startswith("gsym serve --source"))
    local = command.replace("/srv/builds", ".").partition(" --source https:")[0]
    data = {"XDG_DATA_HOME": str(checkout / "data"), "GSYM_LOG_FORMAT": "text"}
    with subprocess.Popen(
        [*local.split(), "--port", "0"],
        cwd=checkout,
        env={**os.environ, **data},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("serving at http://127.0.0.1:")
        finally:
            process.terminate()


def test_the_calls_of_the_manual_run(checkout: Path) -> None:
    subprocess.run(
        ["cc", "-g", "-O2", "-o", "stairs", "tools/demo/stairs.c"], check=True
    )
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    example = blocks("python", page)[0]
    script = checkout / "example.py"
    script.write_text(example, encoding="utf-8")
    source, error = run(f"{sys.executable} example.py")
    assert source.endswith("tools/demo/stairs.c")
    assert error == "app.gsym: no function is selected"


def test_the_recipes_for_many_inputs_and_in_memory_run(
    tmp_path: Path,
) -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    section = page.partition("\n## Convert\n")[2].partition("\n## ")[0]
    (tmp_path / "stairs").write_bytes(debug_file(ID))
    with tarfile.open(tmp_path / "build.tar", "w") as archive:
        archive.add(tmp_path / "stairs", "stairs")
    start = "import gsym, tarfile\npaths = ['stairs', 'build.tar']"
    script = "\n".join([start, *blocks("python", section)])
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=True
    )
    first, second = result.stdout.decode().splitlines()
    assert re.fullmatch(r"stairs \d+", first)
    assert second.startswith("build.tar build.tar: offset 0x0: neither")
    assert (tmp_path / "app.gsym").read_bytes() == (
        tmp_path / "symbols/stairs.gsym"
    ).read_bytes()


def test_the_functions_of_the_manual_are_a_file_that_answers_as_shown() -> None:
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    section = page.partition("\n## Create\n")[2].partition("\n## ")[0]
    ((script,), (shown,)) = blocks("python", section), blocks("text", section)
    result = subprocess.run(
        [sys.executable, "-c", f"import gsym\n{script}"],
        capture_output=True,
        check=True,
    )
    assert result.stdout.decode() == shown


def test_the_recipes_for_columns_run() -> None:
    for package in ("numpy", "pyarrow", "polars", "duckdb"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    page = (ROOT / "docs/api.md").read_text(encoding="utf-8")
    section = page.partition("\n## Look up\n")[2].partition("\n## ")[0]
    recipes = blocks("python", section)
    start = (
        "import duckdb, gsym, polars\nfrom tests.handmade import START, file_bytes\n"
    )
    given = "reader = gsym.Reader(file_bytes())\naddresses = range(START, START + 9)\n"
    script = start + given + "\n".join(recipes)
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")


def anchors(page: Path) -> set[str]:
    """What the titles of a page are called in links."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize(
    "path",
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("*/README.md"),
        ROOT / "benchmarks/RESULTS.md",
        ROOT / "tests/differential/RESULTS.md",
    ],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_links_of_pages_outside_of_the_manual_lead_somewhere(path: Path) -> None:
    for name, anchor in LINK.findall(path.read_text(encoding="utf-8")):
        linked = path.parent / name if name else path
        assert linked.exists(), name
        assert not anchor or anchor in anchors(linked), anchor


def test_the_demo_ends_with_an_inline_chain() -> None:
    if not any(map(shutil.which, ("gcc", "clang"))):
        pytest.skip("no compiler that is known to inline")
    output = subprocess.run(
        [sys.executable, "tools/demo.py"],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
    ).stdout
    assert "step at " in output
    assert output.count("[inlined]") >= 3
    assert "Next, with your own binary" in output
