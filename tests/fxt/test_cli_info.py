"""`gsym trace info`: what a trace is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.fxt.traces import kernel_object, run
from tests.inputs.fxt import Words, stream

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


def info(capsys: Capture, *words: object) -> dict[str, Any]:
    assert run("info", "--json", *words) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


@pytest.mark.parametrize("verb", ["info", "blobs"])
def test_unknown_data_is_counted_by_every_verb(
    verb: str, trace: Path, capsys: Capture
) -> None:
    w = Words("little")
    body = w(7, 8) + w.argument(11, b"new", 5) + w.argument(1, b"old", 5, w(1)) + w(2)
    blob = w.large(1 << 40, w(0, 8, 9, 10))
    trace.write_bytes(w.magic() + w.event(0, 1, (0, 0, 0), body, 2) + blob)
    assert run(verb, "--strict", trace) == 0
    warnings = capsys.readouterr().err.splitlines()
    arguments = f"gsym: warning: {trace}: arguments of unknown types left out (1)"
    appended = f"gsym: warning: {trace}: words appended to known records left out (3)"
    if verb == "blobs":  # reads blobs only
        assert warnings == [appended.replace("(3)", "(1)")]
    else:
        assert warnings == [arguments, appended]
    if verb == "info":
        run(verb, "--json", trace)
        made = json.loads(capsys.readouterr().out)
        assert (made["unknown_arguments"], made["appended_words"]) == (1, 3)


def test_filters_restrict_what_is_described(trace: Path, capsys: Capture) -> None:
    made = info(capsys, trace, "--category", "io", "--process", "other")
    assert (made["begin_ns"], made["end_ns"]) == (2500, 5000)
    assert made["kinds"] == {"duration_begin": 1, "duration_end": 1}
    (process,) = made["processes"]
    assert process["name"] == "other"


def test_people_see_names_and_times(trace: Path, capsys: Capture) -> None:
    assert run("info", trace) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert "  time       0.000001000 s to 0.000005000 s, 0.000004000 s long" in lines
    assert "  process    70 app" in lines
    assert (
        "  provider   3 vehicle, 4 events, 1000000000 ticks per second, "
        "buffer full 1 times" in lines
    )
    assert "provider 3 (vehicle) dropped records" in output.err


def test_faults_are_listed_with_their_offsets(trace: Path, capsys: Capture) -> None:
    data = trace.read_bytes()
    trace.write_bytes(data[:-1])
    assert run("info", "--json", trace) == 0
    output = capsys.readouterr()
    (fault,) = json.loads(output.out)["faults"]
    assert f"at offset {fault['offset']:#x}" in output.err
    assert run("info", "--strict", trace) == 3


def test_a_trace_without_times_has_none(trace: Path, capsys: Capture) -> None:
    w = Words("little")
    trace.write_bytes(w.magic() + kernel_object(w, 1, 5, b"idle"))
    made = info(capsys, trace)
    assert made["begin_ns"] is None
    assert made["processes"] == [{"koid": 5, "name": "idle", "threads": []}]
    assert run("info", trace) == 0
    assert "time       none" in capsys.readouterr().out


def test_repeated_errors_are_summarised(trace: Path, capsys: Capture) -> None:
    w = Words("little")
    undefined = w.event(0, 1, (0, 5, 6), w(7, 8))
    trace.write_bytes(w.magic() + undefined * 4 + stream(b""))
    assert run("info", trace) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 6
    assert lines[-1].endswith("3 more errors")
