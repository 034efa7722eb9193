"""`gsym trace stats` and `blobs`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, strategies as st

from gsym.fxt.blobs import Stream, blob_file_names
from gsym.fxt.records import (
    LargeBlob,
)
from gsym.fxt.writer import encode
from tests.fxt.traces import run
from tests.inputs.fxt import Words, inline, stream

if TYPE_CHECKING:
    Capture = pytest.CaptureFixture[str]


def figures(capsys: Capture, *words: object) -> dict[str, Any]:
    assert run("stats", "--json", *words) == 0
    made: dict[str, Any] = json.loads(capsys.readouterr().out)
    return made


def test_records_bytes_and_events_are_counted(trace: Path, capsys: Capture) -> None:
    made = figures(capsys, trace)
    assert made["bytes"] == made["file_size"] == trace.stat().st_size
    assert made["records"] == 15
    assert made["kinds"]["context_switch"] == {"records": 2, "bytes": 64}
    events = {
        (e["category"], e["name"], e["kind"]): e["events"] for e in made["events"]
    }
    assert events == {
        ("ui", "click", "instant"): 1,
        ("io", "read", "duration_complete"): 1,
        ("io", "write", "duration_begin"): 1,
        ("io", "write", "duration_end"): 1,
    }
    assert {event["provider"] for event in made["events"]} == {3}
    of_events = ("instant", "duration_complete", "duration_begin", "duration_end")
    bytes_of_kinds = sum(made["kinds"][kind]["bytes"] for kind in of_events)
    assert sum(event["bytes"] for event in made["events"]) == bytes_of_kinds


def test_filters_restrict_the_counts(trace: Path, capsys: Capture) -> None:
    made = figures(capsys, trace, "--category", "io", "--name", "r*")
    assert made["records"] == 1
    assert made["kinds"] == {"duration_complete": {"records": 1, "bytes": None}}


def test_unmatched_events_are_counted(trace: Path, capsys: Capture) -> None:
    assert figures(capsys, trace, "--unmatched")["unmatched"] == {}
    w = Words("little")
    trace.write_bytes(
        w.magic()
        + w.named_event(2, 1, b"begun")
        + w.named_event(7, 2, b"ended", w(5))
        + w.named_event(8, 3, b"flow", w(6))
    )
    assert figures(capsys, trace, "--unmatched")["unmatched"] == {
        "duration_begin": 1,
        "async_end": 1,
        "flow_begin": 1,
    }
    assert run("stats", trace, "--unmatched") == 0
    assert "1 async_end without the other half" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "offset 0x0: the file is empty"), (b"some text\n", "unrecognized")],
)
def test_a_pipe_without_a_trace_is_refused(
    data: bytes, reason: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert run("stats", "-") == 1
    assert f"standard input: {reason}" in capsys.readouterr().err


def blob(w: Words, name: bytes, data: bytes, kind: int = 1) -> bytes:
    header = inline(name) << 16 | len(data) << 32 | kind << 48
    return w.record(5, header, stream(name) + stream(data))


def test_blobs_of_one_name_are_one_file(
    trace: Path, tmp_path: Path, capsys: Capture
) -> None:
    w = Words("little")
    trace.write_bytes(
        w.magic()
        + w.provider_info(1, b"one")
        + blob(w, b"log", b"first ")
        + blob(w, b"../../evil", b"x", 3)
        + blob(w, b"log", b"second")
    )
    folder = tmp_path / "deep" / "blobs"
    assert run("blobs", "--json", "--extract", folder, trace) == 0
    made = list(map(json.loads, capsys.readouterr().out.splitlines()))
    assert [(each["name"], each["type"], each["size"]) for each in made] == [
        ("log", "data", 12),
        ("../../evil", "perfetto", 1),
    ]
    assert {path.name for path in folder.iterdir()} == {
        "1.log",
        "1._._.._evil.perfetto-trace",
    }
    assert (folder / "1.log").read_bytes() == b"first second"
    assert Path(made[0]["path"]).read_bytes() == b"first second"
    assert run("blobs", trace, "--name", "log") == 0
    assert capsys.readouterr().out == "   1  data                   12 bytes  log\n"


def test_each_large_blob_is_a_file_of_its_own(
    trace: Path, tmp_path: Path, capsys: Capture
) -> None:
    blobs = [LargeBlob("a", "b", data) for data in (b"one", b"two", b"three")]
    trace.write_bytes(b"".join(encode(blobs)))
    assert run("blobs", "--extract", tmp_path / "blobs", trace) == 0
    made = {path.name: path.read_bytes() for path in (tmp_path / "blobs").iterdir()}
    assert made == {"a.b": b"one", "a.b.2": b"two", "a.b.3": b"three"}
    assert capsys.readouterr().out.count(" bytes  a:b -> ") == 3


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(0, 3),
            st.sampled_from(["", ".", "..", "a/b", "A"]),
            st.text(max_size=150) | st.sampled_from(["..", "/etc/passwd", "-rf", "a"]),
            st.sampled_from([None, 1, 3]),
        ),
        max_size=6,
    )
)
def test_no_blob_is_written_outside_its_folder(
    streams: list[tuple[int | None, str, str, int | None]],
) -> None:
    names = blob_file_names([Stream(*each, ()) for each in streams])
    assert len({name.lower() for name in names}) == len(streams)
    for name in names:
        assert Path(name).name == name
        assert not name.startswith((".", "-"))
        assert len(name.encode()) < 200
