"""Stacks through functions that a linker has folded into one."""

from __future__ import annotations

import subprocess
from io import BytesIO
from typing import TYPE_CHECKING

import pytest

import gsym
from gsym.cli.main import main
from gsym.reports.passages import LongText
from gsym.reports.symbolicate import symbolicate_text
from tests.conftest import find_peer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PROGRAM = """
#include <stdlib.h>
#define CALL __attribute__((noinline)) int
CALL first(int x) { volatile int y = x; if (y > 100) abort(); return y * 3 + 1; }
CALL second(int x) { volatile int y = x; if (y > 100) abort(); return y * 3 + 1; }
CALL of_first(int x) { return first(x + 1) + 1; }
CALL of_second(int x) { return second(x + 2) + 2; }
CALL of_any(int (*f)(int), int x) { return f(x) + 5; }
int main(int n, char **v) {
    return of_first(n) + of_second(n) + of_any(n > 1 ? first : second, n);
}
"""
BUILD_ID = "5ca1ab1e" * 5
SAME = "t", "app.c", 4, 5


def _row(address: int, line: int, path: str = "app.c") -> gsym.LineEntry:
    return gsym.LineEntry(address, path, line)


def _function(
    start: int,
    name: str,
    merged: Sequence[gsym.FunctionInfo] = (),
    calls: str = "",
    path: str = "app.c",
) -> gsym.FunctionInfo:
    sites = (gsym.CallSite(8, 0, (calls,)),) if calls else ()
    rows = (_row(start, start & 0xFF, path),)
    return gsym.FunctionInfo(
        start, 16, name, rows, merged=tuple(merged), call_sites=sites
    )


def _answers(folder: Path, functions: Sequence[gsym.FunctionInfo], *at: int) -> str:
    with gsym.Creator(uuid=BUILD_ID) as creator:
        for each in functions:
            creator.add(each)
        creator.save(folder / "app.gsym")
    lines = [f"    #{n} 0x5550{each:x} (/x/app+{each:#x})" for n, each in enumerate(at)]
    given = LongText(BytesIO("\n".join(lines).encode()))
    columns, _ = symbolicate_text(given, "", source=str(folder))
    answer = str(gsym.symbolicate("\n".join(lines), source=folder))
    assert str(columns) == answer
    return answer


FOLDED = _function(0x1000, "first", [_function(0x1000, "second")])


@pytest.mark.parametrize(
    ("calls", "name", "note"),
    [
        ("first", "first", ""),
        ("second", "second", ""),
        ("^sec", "second", ""),
        ("(", "first", "; one of first, second"),
        ("other", "first", "; one of first, second"),
        ("", "first", "; one of first, second"),
    ],
)
def test_call_site_of_the_caller_chooses(
    tmp_path: Path, calls: str, name: str, note: str
) -> None:
    functions = [FOLDED, _function(0x1100, "caller", calls=calls)]
    first, *_ = _answers(tmp_path, functions, 0x1004, 0x1108).splitlines()
    assert first == f"    #0 0x55501004 {name} + 4 at app.c:? (app+0x4{note})"


def test_callers_are_chosen_first(tmp_path: Path) -> None:
    """A folded caller calls what the function that it is calls."""
    callers = [
        _function(0x1100, "of_first", calls="first"),
        _function(0x1100, "of_second", calls="second"),
    ]
    functions = [
        FOLDED,
        callers[0]._replace(merged=(callers[1],)),
        _function(0x1200, "main", calls="of_second"),
    ]
    lines = _answers(tmp_path, functions, 0x1004, 0x1108, 0x1208).splitlines()
    assert "second + 4" in lines[0]
    assert "of_second + 8" in lines[1]


def test_functions_of_one_name_are_told_apart_by_their_files(tmp_path: Path) -> None:
    same = _function(0x1000, "same", [_function(0x1000, "same", path="other.c")])
    assert "one of same in app.c, same in other.c" in _answers(tmp_path, [same], 0x1004)
    same = _function(0x1000, "same", [_function(0x1000, "same")])
    assert "(app+0x4)" in _answers(tmp_path, [same], 0x1004)


def test_only_some_of_many_are_named(tmp_path: Path) -> None:
    others = [_function(0x1000, f"other{n}") for n in range(5)]
    text = _answers(tmp_path, [_function(0x1000, "first", others)], 0x1004)
    assert "one of first, other0, other1, other2 and 2 more" in text


def test_doubts_about_a_reading_and_about_a_function_are_both_said(
    tmp_path: Path,
) -> None:
    _answers(tmp_path, [FOLDED, _function(0x1010, "last")], 0x1004)
    report = gsym.symbolicate("first+10 (app)\n", source=tmp_path)
    answer = "first + 10 at app.c:? (app+0xa; one of first, second) [ambiguous]"
    assert str(report) == f"{answer} (app)\n"
    (thread,) = report.to_dict()["threads"]
    assert thread["frames"][0]["folded"] == "one of first, second"


def test_strict_counts_one_of_several(tmp_path: Path) -> None:
    line = f"    #0 0x1 (/x/app+0x1004) (BuildId: {BUILD_ID})\n"
    (tmp_path / "log.txt").write_text(line)
    command = ["symbolicate", "--source", str(tmp_path), str(tmp_path / "log.txt")]
    for functions, status in (([FOLDED], 3), ([_function(0x1000, "first")], 0)):
        _answers(tmp_path, functions, 0x1004)
        assert main([*command, "--strict"]) == status
        assert main(command) == 0


@pytest.mark.parametrize(
    ("compiler", "linker", "note"),
    [
        (("gcc",), "gold", ""),
        (("clang-19", "clang"), "lld", "lines of first, which has the same code"),
    ],
)
def test_real_linker(
    tmp_path: Path,
    compiler: tuple[str, ...],
    linker: str,
    note: str,
) -> None:
    (tmp_path / "app.c").write_text(PROGRAM)
    program = tmp_path / "app"
    found = find_peer(*compiler)
    linker = find_peer(f"ld.{linker}", f"ld.{linker}-19").rpartition("ld.")[2]
    command = [found, "-g", "-O1", "-ffunction-sections", "-Wl,--icf=all", "app.c"]
    command += [f"-fuse-ld={linker}", "-o", str(program)]
    subprocess.run(command, cwd=tmp_path, check=True)
    gsym.convert(program, tmp_path / "app.gsym", call_sites=True, merged_functions=True)
    with gsym.open(tmp_path / "app.gsym") as reader:
        at = {each.name: each for each in reader.functions()}
        (same,) = (at[each] for each in ("first", "second") if each in at)
        for caller, name in (("of_first", "first"), ("of_second", "second")):
            (site,) = at[caller].call_sites
            lines = [
                f"    #0 0x1 ({program}+{same.start + 4:#x})",
                f"    #1 0x1 ({program}+{at[caller].start + site.return_offset:#x})",
            ]
            report = gsym.symbolicate("\n".join(lines), source=tmp_path)
            frame, _ = report.frames()
            assert frame.calls[0].name == name
            assert frame.folded == (note if name == "second" else "")
