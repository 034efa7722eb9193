"""What the README and the page of the API show works when it is typed in."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import gsym
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


def places(lines: list[str]) -> set[tuple[str, int]]:
    """Functions and lines of the demo program that *lines* name."""
    pattern = re.compile(r"(\w+)(?: \+ \d+)?(?: at)? \S*stairs\.c:(\d+)")
    found = (pattern.search(line) for line in lines)
    return {(each[1], int(each[2])) for each in found if each is not None}


def places_of_main(path: Path) -> set[tuple[str, int]]:
    """All functions and lines of the code of `main`, for any compiler."""
    with gsym.open(path) as reader:
        (main,) = reader.find("main")
        answers = map(reader.lookup, range(main.start, main.start + main.size))
        return {
            (frame.name, frame.line)
            for answer in answers
            if answer is not None
            for frame in answer.frames
        }


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


def test_commands_print_the_output_shown(checkout: Path) -> None:
    console, _ = blocks("console")
    for command, shown in steps(console):
        printed = run(command)
        if command.startswith("gsym lookup"):
            # Which calls stand at an address is the compiler's choice.
            assert shape(printed[0]).startswith("N: ")
            assert places(shown)
            assert places(shown) <= places_of_main(checkout / "stairs.gsym")
        else:
            assert list(map(shape, printed)) == list(map(shape, shown)), command
    assert (checkout / "stairs.gsym").exists()


@pytest.mark.long
def test_service_answers_as_shown(checkout: Path) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    _, service = blocks("console")
    (_, (command, shown)) = steps(service)
    data = {"XDG_DATA_HOME": str(checkout / "data"), "GSYM_LOG_FORMAT": "text"}
    with subprocess.Popen(
        [*command.split(), "--port", "0"],
        cwd=checkout,
        env={**os.environ, **data},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            printed = [process.stderr.readline().rstrip("\n") for _ in shown]
        finally:
            process.terminate()
    assert list(map(shape, printed)) == list(map(shape, shown))


def test_a_log_of_addresses_gets_its_symbols(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (script,) = blocks("bash")
    monkeypatch.setenv("GSYM_STORE", str(checkout / "store"))
    shutil.copytree(ROOT / "docs/examples", checkout / "docs/examples")
    build, crash, look_up = script.splitlines()
    run(build)
    subprocess.run(["sh", "-c", crash], check=False)  # it crashes
    assert any("crash.c:" in line for line in run(look_up))


def test_the_python_example_runs(checkout: Path) -> None:
    subprocess.run(
        ["cc", "-g", "-O2", "-o", "stairs", "tools/demo/stairs.c"], check=True
    )
    (example,) = blocks("python")
    script = checkout / "example.py"
    script.write_text(example, encoding="utf-8")
    printed = run(f"{sys.executable} example.py")
    (shown,) = blocks("text")
    first, *frames, last = shown.splitlines()
    assert [shape(printed[0]), shape(printed[-1])] == [shape(first), shape(last)]
    assert places(frames) <= places_of_main(checkout / "stairs.gsym")
    assert places(printed) <= places_of_main(checkout / "stairs.gsym")
    console, _ = blocks("console")
    functions, size = re.findall(r"(\d+) functions, .*; (\d+) bytes", console)[0]
    assert first == f"{functions} functions, {size} bytes"  # of one program


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


def test_the_two_commands_are_targets_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
    (shell,) = blocks("sh")
    wanted = set(re.findall(r"^make (\w+)", shell, re.MULTILINE))
    assert wanted == {"demo", "test"}
    assert wanted <= targets


def test_the_files_that_are_linked_exist() -> None:
    links = set(re.findall(r"\]\(([\w/]+\.md)\)", README))
    assert "docs/differences.md" in links
    for link in links:
        assert (ROOT / link).is_file(), link


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
