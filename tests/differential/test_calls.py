"""The calls in real code: those of llvm-objdump, as far as they are in functions."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.symbfile.calls import find_calls
from tests.conftest import find_peer
from tests.differential.peers import LLVM_OBJDUMP, objdump_calls, run
from tests.differential.programs import SOURCES
from tests.differential.targets import TARGETS, executable

if TYPE_CHECKING:
    from pathlib import Path

    from tests.differential.targets import Target

FIXTURES = ("inline", "inline-no-tco", "go-1.20.14", "go-1.22.12", "go-1.24.0")
BUILDS = (
    ("gcc", "shapes.c", "-O2"),
    ("gcc", "shapes.c", "-O0"),
    ("gcc", "shapes.c", "-O3 -march=x86-64-v4 -ffunction-sections"),
    ("gcc", "calls.c", "-O2"),
    ("gcc", "calls.c", "-O3 -fcf-protection -fno-plt"),
    ("clang-19", "calls.c", "-O2"),
    ("g++", "shapes.cc", "-O2"),
    ("g++", "shapes.cc", "-O2 -static"),
    ("clang-19", "shapes.c", "-O2 -mtune=native"),
    ("clang++-19", "shapes.cc", "-O3 -mavx512f -mavx512vl"),
)
OPEN_END = 1 << 64
MACHINES = ("x86_64", "aarch64", "arm64")


def end_of_function(reader: gsym.Reader, address: int) -> int:
    """The end of what the file has at an address; 0 where there is nothing."""
    found = reader.lookup(address)
    if found is None:
        return 0
    start, size = found.function.start, found.function.size
    return start + size if size else OPEN_END


def compare(binary: Path, output: Path) -> None:
    """Each call in a function is found, and nothing else."""
    find_peer(LLVM_OBJDUMP)
    gsym.convert(binary, output)
    with gsym.open(output) as reader:
        calls = find_calls(reader, binary)
        expected = {
            behind
            for address, behind in objdump_calls(binary).items()
            if behind <= end_of_function(reader, address)
        }
    found = {
        behind
        for at, (_, behind) in enumerate(calls)
        if calls.columns.has_line[at]  # or it is the exit of goroutines
    }
    assert found == expected
    assert len(expected) > 0


@pytest.mark.parametrize("name", FIXTURES)
def test_the_calls_of_a_fixture(name: str, fixtures: Path, tmp_path: Path) -> None:
    compare(fixtures / "symblib" / name, tmp_path / "out.gsym")


def build(chosen: tuple[str, str, str], folder: Path) -> Path:
    """One of BUILDS; the test is skipped where it cannot be built."""
    compiler, source, options = chosen
    program = folder / "program"
    command = [find_peer(compiler), "-g", *options.split(), str(SOURCES / source)]
    try:
        run(*command, "-o", str(program))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"not built here: {error.stderr.strip()[:200]}")
    return program


@pytest.mark.parametrize("chosen", BUILDS, ids=" ".join)
def test_the_calls_of_a_program_built_here(
    chosen: tuple[str, str, str], tmp_path: Path
) -> None:
    compare(build(chosen, tmp_path), tmp_path / "out.gsym")


@pytest.mark.parametrize(
    "target",
    [each for each in TARGETS if any(name in each.title for name in MACHINES)],
    ids=lambda target: target.title,
)
def test_the_calls_of_code_for_other_machines(target: Target, tmp_path: Path) -> None:
    compare(executable(target, tmp_path).binary, tmp_path / "out.gsym")
