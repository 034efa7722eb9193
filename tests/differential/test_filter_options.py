"""Options for a log, given to llvm-symbolizer, `gsym-symbolizer` and `gsym filter`.

llvm-symbolizer ignores what is not an option; for `gsym filter` that are names of logs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gsym.cli import main
from gsym.cli.dropins import symbolizer
from tests.symbolizer_runs import LLVM_SYMBOLIZER, run_llvm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

FIRST = """\
int sink;
static inline __attribute__((always_inline)) int second(int x) {
  sink = x;
  return sink * 3;
}
int first(int x) {
  int y = second(x + 1);
  return y * 2 + sink;
}
"""
AREA = """\
namespace geo {
int volatile s;
int area(int w, int h) { s = w; return s * h; }
}
"""
LOG = """\
{{{{{{module:0:a.so:elf:abcdef}}}}}}
{{{{{{mmap:0x100000:0x100000:load:0:rx:0x0}}}}}}
{{{{{{bt:0:{first:#x}:pc}}}}}} {{{{{{pc:{first:#x}:pc}}}}}}
{{{{{{pc:{area:#x}:pc}}}}}} {{{{{{symbol:_Z1fv}}}}}}
"""
# A column, which GSYM files do not have; colours may be round it.
_COLUMN = re.compile(rb"(?<=:)((?:\x1b\[[0-9;]+m)?)[0-9]+((?:\x1b\[[0-9;]+m)? \()")
_SUGGESTION = re.compile(rb", did you mean '.*'\?")

# Words that all take alike; those with a fault end with a message.
SAME = (
    *("", "--color", "--color=always", "--color=never", "--color=auto"),
    *("--color --color=never", "--color=always --color=never"),
    *("--color=never --color", "-color", "-color=always", "--col=always"),
    *("--colour=always", "-f", "-f=none", "-f=short", "-fnone", "-f=none -f"),
    *("--functions", "--functions=none", "--functions=short", "--functions=linkage"),
    *("--functions=none --functions", "--functions --functions=none"),
    *("--functions=none --functions=short", "--func=none", "-functions=none"),
    *("-functions", "-C", "--demangle", "--no-demangle", "--no-demangle -C"),
    *("-C --no-demangle", "-demangle=false", "-demangle=true", "--demangle=false"),
    *("--no-demangle=1", "-i", "--inlines", "--no-inlines", "--inlining"),
    *("--inlining=false", "--inlining=true", "-inlining=false", "-s", "--basenames"),
    *("--relativenames -s", "--no-basenames", "-a", "--addresses"),
    *("--print-address", "-p", "--pretty-print", "-as", "-sC", "-Cs", "-asp", "-Csf"),
    *("-sf=none", "-fs", "-sx", "-sx=1", "--verbose", "--adjust-vma=0x10"),
    *("--adjust-vma 0x10", "--output-style=JSON", "--output-style=GNU"),
    *("--output-style GNU", "--output-style=bogus", "--print-source-context-lines=2"),
    *("--relative-address", "--skip-line-zero", "--no-untag-addresses", "--dia"),
    *("--untag-addresses", "--cache-size=100", "--default-arch=arm", "--dwp=x"),
    *("--dsym-hint=x.dSYM", "--disable-gsym", "--gsym-file-directory=x"),
    *("--gsym-file-directory x", "--debug-file-directory x"),
    *("--debug-file-directory", "--fallback-debug-path=x", "--fallback-debug-path x"),
    *("--no-debuginfod", "--obj=/nonexistent", "--build-id=abcdef", "--build-id=zz"),
    *("--build-id=ab --obj=x", "-e x", "-e=x", "-e", "--exe x", "-ae x", "-"),
    *("--bogus", "--bogus=1", "-x", "-z=1", "--filter-markup", "--no-filter-markup"),
    *("-filter-markup", "--color always", "--color never", "-f none", "-f short"),
    *("-f linkage", "--functions none", "--functions short", "--functions linkage"),
)
# For `gsym filter`, a value that it does not know is an error, and a word a log.
ONLY_SYMBOLIZER = (
    *("--color=bogus", "--color=", "--functions=bogus", "--functions=", "@options"),
    *("--functions= none", "--color= never", "x", "0x1000", "a.so 0x1000", "@none"),
    *("--adjust-vma=zz", "--print-source-context-lines=x", "--cache-size=x"),
    *("--dsym-hint=x", "--", "-- --color"),
)
# What GSYM files do not have, and what pprof says.
DIFFERENT = ("--relativenames", "-s --relativenames", "-inlining")


class Printed(NamedTuple):
    is_good: bool
    out: bytes
    err: bytes


def _printed(status: int, out: bytes, err: bytes) -> Printed:
    return Printed(status == 0, _COLUMN.sub(rb"\g<1>0\2", out), err)


@pytest.fixture(scope="module")
def folder(clang: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has a log, and the debug file of its module."""
    folder = tmp_path_factory.mktemp("filter")
    for name, text in (
        ("first.c", FIRST),
        ("area.cc", AREA),
        ("options", "-s -f=none"),
    ):
        (folder / name).write_text(text)
    path = folder / "symbols/.build-id/ab/cdef.debug"
    path.parent.mkdir(parents=True)
    options = ["-g", "-O1", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id=0xabcdef"]
    command = [clang, *options, "-o", str(path), "first.c", "area.cc"]
    subprocess.run(command, check=True, cwd=folder)
    listed = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
    at = {
        line.split()[2]: 0x100000 + int(line.split()[0], 16)
        for line in listed.stdout.splitlines()
        if len(line.split()) == 3
    }
    # A few bytes in, what is inlined has begun.
    log = LOG.format(first=at["first"] + 6, area=at["_ZN3geo4areaEii"])
    (folder / "log").write_text(log)
    return folder


@pytest.fixture
def symbols(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The option for the debug file, in a world without any other."""
    monkeypatch.setenv("GSYM_CACHE_DIR", str(folder / "cache"))
    monkeypatch.setenv("GSYM_STORE", str(folder / "none"))
    for name in ("DEBUGINFOD_URLS", "LLVM_SYMBOLIZER_OPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    with (folder / "log").open() as log:
        monkeypatch.setattr("sys.stdin", log)
        yield "--debug-file-directory=symbols"


@pytest.fixture
def theirs(
    symbols: str, folder: Path, llvm_symbolizer: None
) -> Callable[[str], Printed]:
    _ = llvm_symbolizer

    def run(words: str) -> Printed:
        command = ["--filter-markup", symbols, *words.split(" ")]
        log = (folder / "log").read_text()
        status, *printed = run_llvm(*filter(None, command), lines=log)
        out, err = (text.encode("utf-8", "surrogateescape") for text in printed)
        err = _SUGGESTION.sub(b"", err).replace(LLVM_SYMBOLIZER.encode(), b"")
        return _printed(status, out, err)

    return run


@pytest.fixture
def run_symbolizer(
    symbols: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[[str], Printed]:
    def run(words: str) -> Printed:
        os.lseek(sys.stdin.fileno(), 0, os.SEEK_SET)
        command = ["--filter-markup", symbols, *words.split(" ")]
        status = symbolizer.main(list(filter(None, command)))
        return _printed(status, *capfdbinary.readouterr())

    return run


@pytest.mark.parametrize("words", [*SAME, *ONLY_SYMBOLIZER])
def test_both_programs_print_what_llvm_symbolizer_prints(
    words: str,
    symbols: str,
    theirs: Callable[[str], Printed],
    run_symbolizer: Callable[[str], Printed],
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    expected = theirs(words)
    assert run_symbolizer(words) == expected
    if words in SAME:
        os.lseek(sys.stdin.fileno(), 0, os.SEEK_SET)
        command = ["filter", "--style=llvm", symbols, *words.split(" ")]
        status = main.main(list(filter(None, command)))
        ours = _printed(status, *capfdbinary.readouterr())
        assert ours[:2] == expected[:2]


@pytest.mark.parametrize("words", DIFFERENT)
def test_the_differences_that_are_listed(
    words: str,
    theirs: Callable[[str], Printed],
    run_symbolizer: Callable[[str], Printed],
) -> None:
    ours = run_symbolizer(words)
    assert b"first.c" in ours.out
    assert ours == run_symbolizer("")
    assert ours != run_symbolizer("-s")
    assert ours != theirs(words)
