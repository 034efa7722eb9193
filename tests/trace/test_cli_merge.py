"""`gsym trace merge`: several traces as one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gsym.trace.fxt.reader import open_trace
from gsym.trace.fxt.records import Event
from tests.trace.traces import run, small_trace

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def traces(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.fxt", tmp_path / "b.fxt"]
    paths[0].write_bytes(small_trace("little"))
    paths[1].write_bytes(small_trace("big"))
    return paths


def events(path: Path) -> list[Event]:
    return [each for each in open_trace(path, strict=True) if isinstance(each, Event)]


def test_traces_are_merged_into_one(
    traces: list[Path], tmp_path: Path, capsys: Capture
) -> None:
    output = tmp_path / "all.fxt"
    assert run("merge", *traces, "-o", output) == 0
    said = capsys.readouterr()
    assert "2 providers" in said.out
    assert "vehicle (of" in said.out
    assert "was 3)" in said.out
    assert len(events(output)) == 2 * len(events(traces[0]))
    assert open_trace(output).byteorder == "little"


def test_the_report_of_a_merge_is_json(
    traces: list[Path], tmp_path: Path, capsys: Capture
) -> None:
    output = tmp_path / "all.fxt"
    words = (*traces, "-o", output, "--json", "--byteorder", "big", "--nanoseconds")
    assert run("merge", *words) == 0
    made = json.loads(capsys.readouterr().out)
    assert [each["old_id"] for each in made["providers"]] == [3, 3]
    assert len({each["id"] for each in made["providers"]}) == 2
    assert output.read_bytes()[:1] == b"\0"


def test_a_trace_may_be_merged_onto_itself(traces: list[Path], capsys: Capture) -> None:
    count = len(events(traces[0]))
    assert run("merge", *traces, "-o", traces[0]) == 0
    assert len(events(traces[0])) == 2 * count
    capsys.readouterr()


def test_json_needs_an_output_file(traces: list[Path], capsys: Capture) -> None:
    assert run("merge", traces[0], "--json") == 2
    assert "needs '-o FILE'" in capsys.readouterr().err
