"""Every example of the manual pages does what a user expects: it ends well."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gsym
from gsym.cli.dropins import DROP_INS
from gsym.cli.grammar import split_words
from gsym.cli.main import find_command
from gsym.cli.shells.programs import commands, programs_of
from gsym.cli.verbs import VERBS
from tests.conftest import REPOSITORY, find_peer
from tests.inputs.core import small_core
from tests.project.test_page_examples import shell_lines
from tools.manual_sections import EXAMPLES, FILES, VARIABLES

pytestmark = pytest.mark.no_engine

SHOWN = [(name, command) for name, each in EXAMPLES.items() for command, _ in each]
# They need a server, a bucket, or a process of that number.
ONLY_READ = ("://", "--pid", "gsym serve --source")
TEXTS = {
    "crash.txt": "./app(+0x1139)[0x555555555139]\n",
    "log.txt": "read failed at 0x555555555139\n",
    "app.log": "{{{pc:0x1139}}}\n",
    "addresses.txt": "0x1139\n",
    "addresses.csv": "build_id,address\napp,0x1139\n",
    "stacks.txt": "main;a;b 3\nmain;c 4\n",
    "gsym.toml": "port = 8000\n",
}
PROGRAMS = {each.name: each for name in commands() for each in programs_of(name)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an input of each kind."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copy(REPOSITORY / "tools/demo/stairs.c", folder)
    compiler = find_peer("cc")
    subprocess.run(
        [compiler, "-g", "-O2", "-Wl,--build-id", "-o", "app", "stairs.c"],
        cwd=folder,
        check=True,
    )
    for name in ("build", "symbols"):
        (folder / name).mkdir()
        shutil.copy(folder / "app", folder / name)
    gsym.convert(folder / "app", folder / "app.gsym")
    gsym.convert(folder / "app", folder / "main.gsym", keep_functions=["^main$"])
    gsym.convert(folder / "app", folder / "rest.gsym", drop_functions=["^main$"])
    run("gsym symbfile extract app --kind ranges -o app.ranges.symbfile", folder)
    shutil.copy(folder / "app.ranges.symbfile", folder / "old.ranges.symbfile")
    with gsym.Tracer(folder / "app.fxt") as tracer, tracer.duration("disk", "read"):
        pass
    (folder / "core").write_bytes(small_core())
    for name, text in TEXTS.items():
        (folder / name).write_text(text)
    run("gsym store add app", folder)
    return folder


def run(command: str, folder: Path) -> None:
    commands = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    own = {"PATH": commands, "HOME": str(folder), "GSYM_STORE": str(folder / "store")}
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**os.environ, **own},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.long
@pytest.mark.parametrize(("program", "command"), SHOWN)
def test_an_example_runs(folder: Path, program: str, command: str) -> None:
    assert program in command
    if any(each in command for each in ONLY_READ):
        words = split_words(command.partition("gsym ")[2])
        size = program.count(" ")
        find_command(" ".join(words[:size])).parse(words[size:])
        return
    if program == "gsym batch":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    if program == "gsym serve":
        pytest.importorskip("starlette", reason="the extra server is not installed")
    run(command, folder)


ELSEWHERE = ("://", "--pid", "--kernel", "gsym serve", "debuginfod", "*.parquet")


@pytest.mark.long
@pytest.mark.parametrize(
    "page",
    [
        *("cli.md", "cli/convert.md", "cli/gsym-addr2line.md", "crash.md"),
        *("embedding.md", "sources.md", "store.md"),
    ],
)
def test_commands_of_a_page_run_in_their_order(folder: Path, page: str) -> None:
    for name in ("leveldbutil", "alpha", "bravo"):
        shutil.copy(folder / "build/app", folder / name)
    shutil.make_archive(str(folder / "symbols"), "zip", folder / "symbols")
    (folder / "binaries.txt").write_text("app alpha\n")
    identity = gsym.identify(folder / "app")
    names = (
        ("0905AE80CEE75A33E3CAB61C274274DE0", identity.debug_id),
        ("80ae0509e7ce335ae3cab61c274274de96049b64", identity.code_id.lower()),
        ("libapp.so", "app"),
    )
    lines = [
        line
        for line in shell_lines((REPOSITORY / "docs" / page).read_text("utf-8"))
        if "gsym" in line and not any(each in line for each in ELSEWHERE)
    ]
    assert lines
    for line in lines:
        command = line
        for known, own in names:
            command = command.replace(known, own)
        run(command, folder)


def test_every_verb_and_command_has_an_example() -> None:
    assert EXAMPLES.keys() == {
        *(f"gsym {verb}" for verb, (module, _) in VERBS.items() if module),
        *DROP_INS,
    }


@pytest.mark.parametrize("name", [*VARIABLES, *FILES])
def test_a_variable_or_file_is_that_of_a_command(name: str) -> None:
    users, _ = {**VARIABLES, **FILES}[name]
    for user in users:
        assert user in PROGRAMS or any(each.has(user) for each in PROGRAMS.values())
