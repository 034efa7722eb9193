"""Sessions of the programs that start llvm-symbolizer.

Those of programs that are not at hand are replayed as they were recorded: the command
line, what is sent, and where the program stops reading. An ASan binary is the real one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

import gsym
from tests.cli.test_symbolizer import FUNCTION
from tests.conftest import find_peer
from tests.symbolizer_runs import COMMAND, install

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import IO

pytestmark = pytest.mark.long


class Session(NamedTuple):
    """How a program starts llvm-symbolizer, and what it asks: a line and its answer."""

    options: str
    asked: tuple[tuple[str, str], ...]


# `{}` stands for the module. Answers end with an empty line, or one line of JSON does.
SESSIONS = {
    # compiler-rt, sanitizer_symbolizer_posix_libcdep.cpp
    "sanitizer": Session(
        "--demangle --inlines --default-arch=x86_64",
        (
            (
                'CODE "{}" 0x1010\n',
                "inner(int)\n/src/b.h:3:0\nouter(int)\n/src/a.cc:11:0\n\n",
            ),
            ('CODE "{}" 0x1000\n', "outer(int)\n/src/a.cc:10:0\n\n"),
            ('DATA "{}" 0x4010\n', "??\n0 0\n??:?\n\n"),
            ('FRAME "{}" 0x1000\n', "??\n\n"),
            ('CODE "{}" 0x9000\n', "??\n??:0:0\n\n"),
        ),
    ),
    # The same of before 2020, as old sanitizers still ask.
    "old sanitizer": Session(
        "--inlining=true -demangle=true --default-arch=x86_64",
        (('CODE "{}" 0x1000\n', "outer(int)\n/src/a.cc:10:0\n\n"),),
    ),
    # compiler-rt, asan_symbolize.py
    "asan_symbolize.py": Session(
        "--functions=linkage --inlining --demangle --default-arch=x86_64",
        (
            (
                '"{}" 0x1010\n',
                "inner(int)\n/src/b.h:3:0\nouter(int)\n/src/a.cc:11:0\n\n",
            ),
        ),
    ),
    # pprof, internal/binutils/addr2liner_llvm.go
    "pprof": Session(
        "--inlining -demangle=false",
        (
            (
                "{} 0x1010\n",
                "_Z5inneri\n/src/b.h:3:0\n_Z5outeri\n/src/a.cc:11:0\n\n",
            ),
            ("{} 0x9000\n", "??\n??:0:0\n\n"),
            ("DATA {} 0x4010\n", "??\n0 0\n??:?\n\n"),
        ),
    ),
    # Perfetto, local_symbolizer.cc
    "perfetto": Session(
        "--output-style=JSON --demangle --inlines",
        (('CODE "{}" 0x1000\n', "outer(int)"),),
    ),
}


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = str(tmp_path / "module.gsym")
    with gsym.Creator() as creator:
        creator.add(FUNCTION)
        creator.save(path)
    return path


def answers(source: IO[str], *, is_json: bool) -> Iterator[str]:
    """What a program reads until it takes an answer for whole."""
    while True:
        text = source.readline()
        while not is_json and not text.endswith("\n\n"):
            line = source.readline()
            assert line, text
            text += line
        yield text


@pytest.mark.parametrize("name", SESSIONS)
def test_recorded_sessions_of_the_symbolizer_are_answered(
    name: str, module: str
) -> None:
    options, asked = SESSIONS[name]
    is_json = "JSON" in options
    with subprocess.Popen(
        [*COMMAND, *options.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        got = answers(process.stdout, is_json=is_json)
        for line, answer in asked:
            process.stdin.write(line.format(module))
            process.stdin.flush()
            text = next(got)
            if is_json:
                text = json.loads(text)["Symbol"][-1]["FunctionName"]
            assert text == answer
        process.stdin.close()
        assert process.wait(timeout=30) == 0


SOURCE = """\
#include <stdlib.h>
int table[4];
__attribute__((noinline)) static int read_freed(int *pointer) {
  return pointer[1];
}
int main(int argc, char **argv) {
  int *pointer = malloc(8);
  if (argc > 1) return table[argc + 2] + argv[0][0];
  free(pointer);
  return read_freed(pointer) + argc;
}
"""


@pytest.fixture(scope="module")
def asan_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that reads freed memory, or past the end of a table."""
    folder = tmp_path_factory.mktemp("asan")
    (folder / "bad.c").write_text(SOURCE)
    program = folder / "bad"
    command = [find_peer("clang-19"), "-g", "-O1", "-fsanitize=address", "bad.c"]
    done = subprocess.run(
        [*command, "-o", str(program)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no ASan here: {done.stderr.strip()[:200]}")
    return program


def report(program: Path, symbolizer: str, *arguments: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    environment["ASAN_SYMBOLIZER_PATH"] = symbolizer
    environment["ASAN_OPTIONS"] = "detect_leaks=0"
    done = subprocess.run(
        [str(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stderr


@pytest.mark.parametrize("arguments", [(), ("more",)])
def test_asan_reports_are_those_with_llvm(
    arguments: tuple[str, ...],
    asan_program: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if "LD_PRELOAD" in os.environ:
        pytest.skip("the engine has sanitizers, of which the program has its own")
    monkeypatch.setenv("GSYM_CACHE_DIR", str(tmp_path / "cache"))
    text = report(asan_program, str(install(tmp_path)), *arguments)
    frames = re.findall(r"^ +#\d+ 0x\w+ in (.*)$", text, re.MULTILINE)
    assert frames, text
    source = asan_program.parent / "bad.c"
    if arguments:
        assert frames[0] == f"main {source}:8"
        assert "global variable 'table'" in text
    else:
        assert frames[:2] == [f"read_freed {source}:4", f"main {source}:10"]
        assert f"main {source}:9" in frames
        assert f"main {source}:7" in frames
