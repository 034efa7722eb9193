"""The examples are built by the system's compilers, and give the same answers."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from tests.conftest import find_peer
from tests.libgsym.conftest import EXAMPLES, expected_frames, make, words_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.libgsym.conftest import Installed

pytestmark = [pytest.mark.slow, pytest.mark.no_engine]

STRICT = ("-Wall", "-Wextra", "-pedantic", "-Werror")
C = EXAMPLES / "c/source_of.c"
CXX = EXAMPLES / "cpp/source_of.cpp"


def build(installed: Installed, *command: object, folder: Path) -> None:
    words = words_of(*command)
    subprocess.run(words, cwd=folder, env=installed.environment, check=True)


def build_c(installed: Installed, folder: Path) -> Path:
    path = folder / "source_of"
    build(installed, "gcc", *STRICT, C, "-o", path, *installed.flags(), folder=folder)
    return path


def build_cxx(installed: Installed, folder: Path) -> Path:
    path = folder / "source_of"
    command = (find_peer("g++"), "-std=c++11", *STRICT, CXX, "-o", path)
    build(installed, *command, *installed.flags(), folder=folder)
    return path


def build_rust(installed: Installed, folder: Path) -> Path:
    find_peer("rustc")
    project = shutil.copytree(EXAMPLES / "rust", folder / "rust")
    build(installed, find_peer("cargo"), "build", "-q", "--offline", folder=project)
    return project / "target/debug/source_of"


def build_go(installed: Installed, folder: Path) -> Path:
    go, path = find_peer("go"), folder / "source_of"
    command = (go, "build", "-buildvcs=false", "-o", path, "./cmd/source_of")
    # Its cache is not aware of what pkg-config prints, but of this.
    environment = {"CGO_LDFLAGS": f"-L{installed.prefix / 'lib'}"}
    fresh = installed._replace(environment={**installed.environment, **environment})
    build(fresh, *command, folder=EXAMPLES / "go")
    return path


BUILDERS = {"c": build_c, "cpp": build_cxx, "rust": build_rust, "go": build_go}


@pytest.fixture(scope="module", params=BUILDERS)
def example(
    request: pytest.FixtureRequest,
    installed: Installed,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The example in one language, as a program."""
    folder = tmp_path_factory.mktemp(request.param)
    return BUILDERS[request.param](installed, folder)


def run(installed: Installed, program: Path, *words: object) -> str:
    """What it prints, in an environment with the library's path alone."""
    environment = {"LD_LIBRARY_PATH": installed.environment["LD_LIBRARY_PATH"]}
    done = subprocess.run(
        words_of(program, *words),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_example_prints_what_the_package_answers(
    installed: Installed, example: Path, program: Path, tmp_path: Path
) -> None:
    ours, theirs = tmp_path / "ours.gsym", tmp_path / "theirs.gsym"
    report = gsym.convert(program, ours, identity=False)
    counts = f"{report.functions} functions, {report.file_size} bytes\n"
    assert run(installed, example, "convert", program, theirs) == counts
    assert theirs.read_bytes() == ours.read_bytes()
    with gsym.open(ours) as reader:
        (measure,) = reader.find("measure")
        addresses = (measure.start, measure.start + 2, 0)
        words = [f"{address:x}" for address in addresses]
        frames = "".join(expected_frames(reader, address) for address in addresses)
        ranges = [
            info
            for n in range(len(reader))
            for info in reader.mapped.function_ranges(n)
        ]
    assert "area" in frames
    assert run(installed, example, "lookup", theirs, *words) == frames
    lines = {each.name: f"{each.start:#x} {each.size} {each.name}\n" for each in ranges}
    assert run(installed, example, "list", theirs) == "".join(lines.values())
    assert run(installed, example, "find", theirs, "main", "nope") == lines["main"]


def test_example_reports_file_reason_and_offset(
    installed: Installed, example: Path, tmp_path: Path
) -> None:
    missing, damaged = tmp_path / "missing", tmp_path / "damaged"
    damaged.write_bytes(b"MYSG\x01\x00\x04\x00")
    found = run(installed, example, "lookup", missing, "0")
    assert found == f"source_of: {missing}: cannot open: No such file or directory\n"
    found = run(installed, example, "lookup", damaged, "0")
    reason = "not enough data for a GSYM header at offset 8"
    assert found == f"source_of: {damaged}: {reason}\n"


def test_example_loads_no_python(installed: Installed, example: Path) -> None:
    done = subprocess.run(
        words_of(find_peer("ldd"), example),
        env=installed.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "libgsym.so.0" in done.stdout
    assert "python" not in done.stdout


def static_flags(folder: Path) -> list[str]:
    """What builds a program with the static library in *folder*."""
    archive = folder / "lib/libgsym.a"
    return words_of(f"-I{folder / 'include'}", archive, "-pthread", "-ldl")


def test_static_example_runs_where_nothing_else_is(
    installed: Installed, program: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    root.mkdir()
    command = words_of("gcc", "-static", C, "-o", root / "source_of")
    build(installed, *command, *static_flags(installed.prefix), folder=tmp_path)
    shutil.copy(program, root / "program")
    alone = [find_peer("unshare"), "--map-root-user", f"--root={root}", "/source_of"]
    probe = subprocess.run(alone, capture_output=True, check=False)
    if b"usage" not in probe.stderr:
        pytest.skip("this user may not change the root folder")
    for words, end in [
        (("convert", "/program", "/program.gsym"), " bytes\n"),
        (("find", "/program.gsym", "main"), " main\n"),
    ]:
        done = subprocess.run([*alone, *words], check=True, capture_output=True)
        assert done.stdout.decode().endswith(end)
    names = {path.name for path in root.iterdir()}
    assert names == {"program", "program.gsym", "source_of"}


@pytest.mark.parametrize("standard", ["c99", "c11", "c17", "c2x"])
@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_c_example_is_valid_in_every_standard(
    installed: Installed, compiler: str, standard: str, tmp_path: Path
) -> None:
    command = (find_peer(compiler), f"-std={standard}", *STRICT, "-fsyntax-only", C)
    build(installed, *command, *installed.flags()[:1], folder=tmp_path)


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++2b"])
@pytest.mark.parametrize("compiler", ["g++", "clang++-19"])
def test_cxx_example_is_valid_in_every_standard(
    installed: Installed, compiler: str, standard: str, tmp_path: Path
) -> None:
    command = (find_peer(compiler), f"-std={standard}", *STRICT, "-fsyntax-only", CXX)
    build(installed, *command, *installed.flags()[:1], folder=tmp_path)


def test_cmake_finds_both_libraries(
    installed: Installed, program: Path, tmp_path: Path
) -> None:
    cmake, folder = find_peer("cmake"), tmp_path / "build"
    prefix = f"-DCMAKE_PREFIX_PATH={installed.prefix}"
    options = ("-S", EXAMPLES / "cpp", "-B", folder, prefix)
    build(installed, cmake, "-Wno-dev", *options, folder=tmp_path)
    build(installed, cmake, "--build", folder, folder=tmp_path)
    for name in ("source_of", "source_of_static"):
        output = tmp_path / f"{name}.gsym"
        assert run(installed, folder / name, "convert", program, output)
        assert run(installed, folder / name, "find", output, "main").endswith(" main\n")


@pytest.mark.slow
def test_example_runs_clean_under_sanitizers(program: Path, tmp_path: Path) -> None:
    flags = "-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
    library = tmp_path / "library"
    make(library, f"CFLAGS={flags}")
    path, output = tmp_path / "source_of", tmp_path / "program.gsym"
    command = words_of("gcc", *flags.split(), C, "-o", path, *static_flags(library))
    subprocess.run(command, check=True)
    for words in (
        ("convert", program, output),
        ("list", output),
        ("find", output, "main"),
    ):
        subprocess.run(words_of(path, *words), check=True, capture_output=True)
