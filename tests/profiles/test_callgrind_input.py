"""Graphs of calls of callgrind become stacks with the same costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gsym.errors import FormatError
from gsym.profiles.opening import read_profile
from gsym.profiles.recognition import profile_kind
from gsym.profiles.top import top_rows

if TYPE_CHECKING:
    from pathlib import Path

    from gsym.profiles.model import Profile

pytestmark = pytest.mark.no_engine

# main calls left 3 times and right once; both call leaf.
GRAPH = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 4711
cmd: ./app
positions: line
events: Ir Dr

ob=(1) /opt/app
fl=(1) app.c
fn=(1) main
10 20 2
cfn=(2) left
calls=3 20
11 300 30
cfn=(3) right
calls=1 30
+1 101 11

fn=(2)
20 100 10
cfn=(4) leaf
calls=3 40
+2 200 20

fn=(3)
fi=(2) inlined.h
5 1 1
fe=(1)
cob=(2) /opt/lib.so
cfi=(3) lib.c
cfn=(5) other
calls=1 40
30 60 6
cfn=(4)
calls=1 40
31 40 4

fn=(4)
40 240 24

ob=(2)
fl=(3)
fn=(5)
40 60 6
"""


def read(folder: Path, text: str) -> Profile:
    path = folder / "callgrind.out.1"
    path.write_text(text)
    assert profile_kind(path) == "callgrind"
    return read_profile(path)


def stacks(profile: Profile, value: int = 0) -> dict[str, int]:
    found: dict[str, int] = {}
    for sample in profile.samples:
        names = ";".join(each.name for each in profile.frames_of(sample.stack)[::-1])
        found[names] = found.get(names, 0) + sample.values[value]
    return found


def test_the_costs_of_a_function_are_shared_among_its_callers(tmp_path: Path) -> None:
    profile = read(tmp_path, GRAPH)
    assert [each.type for each in profile.value_types] == ["Ir", "Dr"]
    assert stacks(profile) == {
        "main": 20,
        "main;left": 100,
        "main;right": 1,
        "main;right;other": 60,
        "main;left;leaf": 200,
        "main;right;leaf": 40,
    }
    assert stacks(profile, 1)["main;left;leaf"] == 20
    assert {each.name: each.total for each in top_rows(profile)}["main"] == 421
    assert profile.threads == [(4711, None, "", "")]
    assert profile.comments == ["cmd: ./app"]


def test_frames_have_the_lines_of_costs_and_calls(tmp_path: Path) -> None:
    profile = read(tmp_path, GRAPH)
    rows = {each.name: each.own for each in top_rows(profile, "line")}
    assert rows["inlined.h:5"] == 1
    assert rows["app.c:40"] == 240
    assert rows["lib.c:40"] == 60
    modules = {each.name: each.own for each in top_rows(profile, "module")}
    assert modules == {"app": 361, "lib.so": 60}
    lines = {each.frames[0].line for each in profile.locations if each.frames}
    assert {11, 12, 22, 30, 31} <= lines  # of the calls


def test_costs_beyond_all_calls_are_of_a_stack_of_their_own(tmp_path: Path) -> None:
    text = (
        "events: Ir\nfn=main\n1 5\ncfn=work\ncalls=1 2\n1 60\n"
        "fn=work\n2 70\ncfn=leaf\ncalls=1 3\n2 20\nfn=leaf\n3 20\n"
    )
    profile = read(tmp_path, text)
    assert stacks(profile) == {
        "main": 5,
        "work": 23,
        "work;leaf": 7,
        "main;work": 47,
        "main;work;leaf": 13,
    }


def test_a_callee_of_no_known_file_is_not_of_its_callers_file(tmp_path: Path) -> None:
    # valgrind's file of a program that calls a library without lines.
    text = (
        "events: Ir\nob=(1) app\nfl=(1) app.c\nfn=(1) main\n1 5\n"
        "cob=(2) lib.so\ncfi=(2) ???\ncfn=(2) each\ncalls=1 0\n1 60\n"
        "cob=(3) ???\ncfi=(2)\ncfn=(3) 0x4f2a10\ncalls=1 0\n1 7\n\n"
        "ob=(2)\nfl=(2)\nfn=(2)\n0 60\n\nob=(3)\nfn=(3)\n0 7\n"
    )
    profile = read(tmp_path, text)
    assert stacks(profile) == {"main": 5, "main;each": 60, "main;0x4f2a10": 7}
    modules = {each.name: each.own for each in top_rows(profile, "module")}
    assert modules == {"app": 5, "lib.so": 60, "(unknown)": 7}


def test_functions_without_costs_have_those_of_their_calls(tmp_path: Path) -> None:
    # A file of stackprof: methods in C have no costs; `each` calls its caller's block.
    text = (
        "creator: stackprof\nevents: Instructions\nsummary: 41\n"
        "fl=<cfunc>\nfn=Array#sort\n\nfl=a.rb\nfn=order\n3 1\n"
        "cfl=<cfunc>\ncfn=Array#sort\ncalls=35 2\n0 35\n"
        "cfl=<cfunc>\ncfn=Array#each\ncalls=40 2\n0 40\n"
        "cfl=\ncfn=(garbage collection)\ncalls=5 6\n0 5\n\n"
        "fl=<cfunc>\nfn=Array#each\ncfl=a.rb\ncfn=order\ncalls=40 2\n3 40\n\n"
        "fl=\nfn=(garbage collection)\ncfn=(marking)\ncalls=5 0\n0 5\n"
    )
    profile = read(tmp_path, text)
    own = {each.name: each.own for each in top_rows(profile) if each.own}
    assert own == {"order": 1, "Array#sort": 35, "(marking)": 5}


@pytest.mark.parametrize(
    ("short", "unit"),
    [("ms", "milliseconds"), ("us", "microseconds"), ("ns", "nanoseconds")],
)
def test_a_time_has_the_unit_that_the_file_says(
    tmp_path: Path, short: str, unit: str
) -> None:
    # As valgrind --collect-systime=msec, usec and nsec.
    head = f"event: sysTime : sysTime (elapsed {short})\nevents: Ir sysCount sysTime\n"
    profile = read(tmp_path, head + "fn=main\n1 5 1 375\n")
    assert [each.unit for each in profile.value_types] == ["count", "count", unit]


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("version: 1\ncreator: yappi\npid: 7\ncmd: app.py\n", "microseconds"),
        ("version: 1\n", "count"),  # lsprofcalltree has milliseconds
    ],
)
def test_ticks_of_yappi_are_microseconds(tmp_path: Path, head: str, unit: str) -> None:
    profile = read(tmp_path, head + "\nevents: Ticks\nfl=(1) a.py\nfn=(2) f\n2 7\n")
    assert [each.unit for each in profile.value_types] == [unit]


def test_the_first_event_is_shown_first_as_in_its_viewers(tmp_path: Path) -> None:
    assert read(tmp_path, "events: Ir DLmw\nfn=f\n2 7 1\n").default_value == 0


def test_recursion_adds_no_stack(tmp_path: Path) -> None:
    text = (
        "events: Ir\nfn=main\n1 5\ncfn=a\ncalls=1 2\n1 100\n"
        "fn=a\n2 30\ncfn=b\ncalls=4 3\n2 70\ncfn=a\ncalls=9 2\n2 500\n"
        "fn=b\n3 70\ncfn=a\ncalls=3 2\n3 60\n"
    )
    profile = read(tmp_path, text)
    assert stacks(profile) == {"main": 5, "main;a": 30, "main;a;b": 70}


def test_integers_add_up_however_many_ways_there_are(tmp_path: Path) -> None:
    levels, text = 16, "events: Ir\n"
    for level in range(levels):
        for name in ("a", "b"):
            text += f"fn={name}{level}\n1 7\n"
            if level + 1 < levels:
                whole = 7 * 2 ** (levels - level) - 7
                text += f"cfn=a{level + 1}\ncalls=1 1\n1 {whole}\n"
                text += f"cfn=b{level + 1}\ncalls=1 1\n1 {whole // 3}\n"
    profile = read(tmp_path, text)
    rows = top_rows(profile)
    assert {row.own for row in rows} == {7}
    assert len(rows) == 2 * levels
    # Ways beyond the limit are those of another one.
    assert list(profile.losses) == [
        "stacks of callgrind whose costs are added to another one of their function"
    ]


def test_totals_are_exact_where_lines_cannot_be_shared_evenly(tmp_path: Path) -> None:
    calls = "cfn=leaf\ncalls=1 1\n1 "
    text = (
        f"events: Ir\nfn=main\n1 1\ncfn=one\ncalls=1 1\n1 5\n{calls}6\n"
        f"fn=one\n1 1\n{calls}4\nfn=leaf\n1 1\n2 1\n3 1\n4 1\n5 1\n6 1\n7 4\n"
    )
    profile = read(tmp_path, text)
    assert stacks(profile) == {
        "main": 1,
        "main;one": 1,
        "main;leaf": 6,
        "main;one;leaf": 4,
    }


def test_names_that_are_addresses_are_looked_up(tmp_path: Path) -> None:
    text = "events: Ir\nob=/opt/no/app\nfn=0x00000000004fee40\n0 12\n"
    profile = read(tmp_path, text)
    assert profile.locations[0].address == 0x4FEE40
    assert profile.mappings[0].path == "/opt/no/app"
    assert profile.mappings[0].link_start == 0
    assert stacks(profile) == {"app!0x4fee40": 12}


def test_addresses_threads_and_parts(tmp_path: Path) -> None:
    text = (
        "version: 1\ncreator: callgrind\npid: 7\nthread: 2\npart: 1\n"
        "positions: instr line\nevents: Ir\nfn=(1) work\n0x401000 4 10\n+4 * 20\n"
        "totals: 30\npart: 2\nevents: Ir\nthread: 3\nfn=(1)\n0x401000 5 1\n"
        "jump=1 0x401010 6\nwhat is this\n"
    )
    profile = read(tmp_path, text)
    threads = {each.name: each.own for each in top_rows(profile, "thread")}
    assert threads == {"thread 2": 30, "thread 3": 1}
    lines = {each.name: each.own for each in top_rows(profile, "line")}
    assert lines == {"work": 31}  # without a file, a line is nothing
    assert {each.frames[0].line for each in profile.locations} == {4, 5}
    assert profile.losses == {"jumps": 1, "lines that are not understood": 1}


def test_a_number_may_have_thousands_of_digits(tmp_path: Path) -> None:
    profile = read(tmp_path, f"pid: {5000 * '1'}\nevents: Ir\nfn=main\n1 5\n")
    assert stacks(profile) == {"main": 5}


def test_a_text_without_costs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "callgrind.out"
    path.write_text("# callgrind format\nevents: Ir\n")
    with pytest.raises(FormatError, match="no costs of callgrind found"):
        read_profile(path)
