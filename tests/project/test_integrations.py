"""The files in integrations/, each used by its build system."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import gsym
from tests.conftest import REPOSITORY, find_peer

pytestmark = [pytest.mark.long, pytest.mark.no_engine]

INTEGRATIONS = REPOSITORY / "integrations"
SOURCE = "int f(int a) { return a + 1; }\nint main(void) { return f(1); }\n"
CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(app C)
find_package(GsymConvert REQUIRED)
add_executable(app app.c)
target_compile_options(app PRIVATE -g -gsplit-dwarf)
add_library(part SHARED app.c)
target_compile_options(part PRIVATE -g)
install(TARGETS app part)
gsym_convert(app {keywords})
gsym_convert(part)
"""
MESON = """\
project('app', 'c')
app = executable('app', 'app.c', c_args: ['-g', '-gsplit-dwarf'], install: true)
"""
NINJA = """\
include gsym.ninja
rule cc
  command = cc -g -gsplit-dwarf -c $in -o $out
rule link
  command = cc $in -o $out
build app.o: cc app.c
build app: link app.o
build app.gsym: gsym app
"""
MAKE = """\
all: app.gsym
app: app.o
\tcc $< -o $@
app.o: app.c
\tcc -g -gsplit-dwarf -c $< -o $@
include gsym.mk
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a program and the files of integrations/."""
    (tmp_path / "app.c").write_text(SOURCE)
    for path in INTEGRATIONS.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


def run(folder: Path, *command: str) -> str:
    """What *command* prints; `gsym` is the one of this Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def has_lines(path: Path) -> bool:
    with gsym.open(path) as reader:
        (found,) = reader.find("f")
        answer = reader.lookup(found.start)
    return answer is not None and answer.frames[0].filename == "app.c"


def make_newer(path: Path) -> None:
    """As if *path* had been written after all that was built."""
    later = max(each.stat().st_mtime for each in path.parent.iterdir()) + 10
    os.utime(path, (later, later))


def is_made_again(file: Path, folder: Path, *build: str) -> bool:
    """Whether *build* writes *file*, which must not change otherwise."""
    before = file.stat().st_mtime_ns
    run(folder, *build)
    return file.stat().st_mtime_ns != before


# ---- CMake


@pytest.fixture(params=["Ninja", "Unix Makefiles"])
def generator(request: pytest.FixtureRequest) -> str:
    find_peer("cmake")
    find_peer("ninja" if request.param == "Ninja" else "make")
    return str(request.param)


def configure(project: Path, generator: str, keywords: str) -> None:
    (project / "CMakeLists.txt").write_text(CMAKE.format(keywords=keywords))
    module = f"-DGsymConvert_DIR={project}"
    run(project, "cmake", "-S", ".", "-B", "out", "-G", generator, module)
    run(project, "cmake", "--build", "out")


def test_cmake_converts_after_the_link_and_installs(
    project: Path, generator: str
) -> None:
    configure(project, generator, "DESTINATION share/symbols OPTIONS --call-sites")
    assert has_lines(project / "out/app.gsym")
    assert has_lines(project / "out/libpart.so.gsym")
    run(project, "cmake", "--install", "out", "--prefix", "root")
    assert has_lines(project / "root/share/symbols/app.gsym")
    (library,) = (project / "root").rglob("libpart.so.gsym")
    assert (library.parent / "libpart.so").exists()
    make_newer(project / "app.c")
    build = ("cmake", "--build", "out")
    assert is_made_again(project / "out/app.gsym", project, *build)
    run(project, *build, "--target", "clean")
    assert not [*(project / "out").rglob("*.gsym")]


def test_cmake_converts_again_when_split_units_change(
    project: Path, generator: str
) -> None:
    configure(project, generator, "DEPFILE")
    file, build = project / "out/app.gsym", ("cmake", "--build", "out")
    assert has_lines(file)
    assert not is_made_again(file, project, *build)
    (units,) = (project / "out").rglob("*.dwo")
    later = file.stat().st_mtime + 10
    os.utime(units, (later, later))
    assert is_made_again(file, project, *build)


def test_cmake_refuses_an_unknown_keyword(project: Path) -> None:
    find_peer("cmake")
    text = CMAKE.format(keywords="DEPFIEL")
    (project / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", ".", "-B", "out", f"-DGsymConvert_DIR={project}"]
    command += [f"-DGSYM_PROGRAM={Path(sys.executable).parent / 'gsym'}"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "gsym_convert: unknown: DEPFIEL" in done.stderr


# ---- others


def test_meson_converts_and_installs(project: Path) -> None:
    find_peer("meson")
    find_peer("ninja")
    snippet = (project / "meson.build").read_text()
    (project / "meson.build").write_text(MESON + snippet)
    run(project, "meson", "setup", "out", "--prefix", str(project / "root"))
    run(project, "meson", "compile", "-C", "out")
    file = project / "out/app.gsym"
    assert has_lines(file)
    build = ("meson", "compile", "-C", "out")
    assert not is_made_again(file, project, *build)
    (units,) = (project / "out").rglob("*.dwo")
    make_newer(units)
    assert is_made_again(file, project, *build)
    run(project, "meson", "install", "-C", "out")
    assert has_lines(project / "root/bin/app.gsym")


@pytest.mark.parametrize(
    ("tool", "name", "text"),
    [("ninja", "build.ninja", NINJA), ("make", "Makefile", MAKE)],
)
def test_a_rule_converts_again_when_split_units_change(
    project: Path, tool: str, name: str, text: str
) -> None:
    find_peer(tool)
    (project / name).write_text(text)
    run(project, tool)
    file = project / "app.gsym"
    assert has_lines(file)
    assert not is_made_again(file, project, tool)
    (units,) = project.glob("*.dwo")
    make_newer(units)
    assert is_made_again(file, project, tool)
    units.unlink()  # without a rule for it, neither stops
    run(project, tool)
