"""Every verb of `gsym trace` takes every input that it can make sense of."""

from __future__ import annotations

import gzip
import json
import sys
from typing import TYPE_CHECKING

import pytest

from gsym.fxt.reader import open_trace
from gsym.fxt.records import Event
from gsym.profiles.opening import KINDS
from tests.fxt.traces import profile_trace, run, small_trace
from tests.profiles.test_opening import FORMS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

INPUTS = {**FORMS, "fxt": profile_trace("ab" * 20, 0, [(1000, 1, (0x10, 0x20))])}
DURATIONS = small_trace()
VERBS = {
    "info": (),
    "stats": (),
    "dump": (),
    "top": (),
    "flame": ("-o", "page.html"),
    "symbolize": ("--to", "collapsed"),
    **{
        f"convert {form}": ("--to", form, "-o", "made")
        for form in ("chrome", "pprof", "speedscope", "firefox", "collapsed")
    },
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSYM_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def test_there_is_an_input_of_each_kind() -> None:
    assert INPUTS.keys() == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_takes_each_input(kind: str, verb: str, tmp_path: Path) -> None:
    path = tmp_path / "input.gz"
    path.write_bytes(gzip.compress(INPUTS[kind]))
    assert run(verb.split(maxsplit=1)[0], path, *VERBS[verb]) == 0


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_takes_a_trace_of_durations_compressed_by_zstd(
    verb: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.fxt.zst"
    path.write_bytes(zstd.compress(DURATIONS))
    assert run(verb.split(maxsplit=1)[0], path, *VERBS[verb]) == 0


def test_info_of_a_profile_describes_it(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(FORMS["firefox"])
    assert run("info", path) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{path}",
        f"  profile    firefox, {len(FORMS['firefox'])} bytes",
        "  time       0.001000000 s to 0.003000000 s, 0.002000000 s long",
        "  values     samples (count): 3",
        "  samples    3, 3 stacks, 2 locations, 2 with functions",
        f"  module     /opt/app {'ab' * 20}, 2 locations",
        "  process    7 app",
        "    thread     9 worker                             3 samples",
    ]
    assert run("info", path, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["modules"][0]["build_id"] == "ab" * 20
    assert made["processes"][0]["threads"][0]["samples"] == 3


def test_stats_of_a_profile_sum_its_values(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(FORMS["cpuprofile"])
    assert run("stats", path) == 0
    told = capsys.readouterr().out
    assert "3 samples, 1.7 locations deep on average, at most 2" in told
    assert "500.00 us  100.0 %  (unknown)" in told
    assert run("stats", path, "--json") == 0
    assert json.loads(capsys.readouterr().out)["totals"] == [3, 500000]
    assert run("stats", path, "--unmatched") == 2


def test_dump_of_a_profile_has_a_line_for_each_sample(
    tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "profile.json"
    path.write_bytes(FORMS["chrome"])
    assert run("dump", path) == 0
    assert capsys.readouterr().out.splitlines() == [
        "   0.000010000  1 2  time=10000  main",
        "   0.000020000  1 2  time=30500  main;leaf",
        "   0.000050500  1 2  time=59500  main",
    ]
    assert run("dump", path, "--json", "--name", "leaf") == 0
    (line,) = capsys.readouterr().out.splitlines()
    made = json.loads(line)
    assert made["values"] == {"time": 30500}
    names = [each["frames"][0]["name"] for each in made["stack"]]
    assert names == ["leaf", "main"]


def test_durations_of_a_trace_are_stacks(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "trace.fxt"
    path.write_bytes(DURATIONS)
    assert run("top", path, "--json") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["value"] == {"type": "time", "unit": "nanoseconds"}
    assert made["total"] == sum(row["own"] for row in made["rows"]) > 0
    assert run("convert", path, "--to", "speedscope") == 0
    profiles = json.loads(capsys.readouterr().out)["profiles"]
    assert {profile["unit"] for profile in profiles} == {"nanoseconds"}


def test_durations_are_not_written_twice(tmp_path: Path) -> None:
    path, made = tmp_path / "trace.fxt", tmp_path / "made.json"
    path.write_bytes(DURATIONS)
    assert run("convert", path, "-o", made) == 0
    recorded = [each for each in open_trace(path) if isinstance(each, Event)]
    events = json.loads(made.read_text())["traceEvents"]
    names = [each["name"] for each in events if each["ph"] == "B"]
    kinds = {"duration_begin", "duration_complete"}
    assert sorted(names) == sorted(e.name for e in recorded if e.kind in kinds)
