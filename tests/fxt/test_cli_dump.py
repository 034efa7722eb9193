"""`gsym trace dump`: every record, as text and as JSON that loses nothing."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gsym.fxt.record_formats import RecordText, record_object
from gsym.fxt.records import Argument, Event
from tests.fxt.fxt_cases import ARGUMENTS, EVENTS, OTHERS, UNKNOWN, unknown_record
from tests.fxt.traces import run
from tests.inputs.fxt import Words, inline, stream

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]

CASES = {**EVENTS, **ARGUMENTS, **OTHERS}


def objects(capsys: Capture, *words: object) -> list[dict[str, Any]]:
    assert run("dump", "--json", *words) == 0
    return list(map(json.loads, capsys.readouterr().out.splitlines()))


def test_a_negative_duration_has_one_minus_sign() -> None:
    event = Event("duration_complete", 0, 7, 8, "", "e", end_ticks=0, ns=400, end_ns=0)
    assert RecordText().line(event).endswith("for -0.000000400")


def test_names_are_those_of_a_trace_and_several_in_a_file_are_reported(
    trace: Path, capsys: Capture
) -> None:
    w = Words("little")
    event = w.named_event(0, 1, b"e")
    named = w.record(7, 1 << 16 | inline(b"app") << 24, w(7) + stream(b"app"))
    trace.write_bytes(w.magic() + named + event + w.magic() + event)
    assert run("dump", trace) == 0
    found = capsys.readouterr()
    texts = [line.split()[3] for line in found.out.splitlines() if "instant" in line]
    assert texts == ["app(7)", "7"]
    assert found.err == (
        f"gsym: warning: {trace}: the file contains 2 consecutive traces\n"
    )


def test_every_record_is_an_object_with_its_own_fields(
    tmp_path: Path, capsys: Capture
) -> None:
    w = Words("big")
    path = tmp_path / "all.fxt"
    path.write_bytes(w.magic() + b"".join(make(w) for _, make in CASES.values()))
    _, *found = objects(capsys, path)
    for (expected, _), made in zip(CASES.values(), found, strict=True):
        for field, value in zip(expected._fields, expected, strict=True):
            if isinstance(value, (int, str)) and field not in {"offset", "provider"}:
                assert made[field] == value, (expected, field)


def test_every_record_is_a_line() -> None:
    records = [record for record, _ in CASES.values()]
    records += [unknown_record(name, Words("little")) for name in UNKNOWN]
    for record in records:
        line = RecordText().line(record)
        assert "\n" not in line
        assert line.startswith("0x")
        assert "None" not in line


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        (Argument("x", "double", float("nan")), "NaN"),
        (Argument("x", "double", float("inf")), "Infinity"),
        (Argument("x", "double", float("-inf")), "-Infinity"),
        (Argument("x", "blob", b"\xff\0"), "/wA="),
        (Argument("x", "int64", -(2**63)), -(2**63)),
        (Argument("x", "null", None), None),
        (Argument("x", "bool", True), True),  # noqa: FBT003 - that is the value
    ],
)
def test_values_without_a_json_type_survive(argument: Argument, value: object) -> None:
    record = Event("instant", 1, 2, 3, "c", "n", (argument,), ns=1)
    text = json.dumps(record_object(record), allow_nan=False)
    made = json.loads(text)["args"]
    assert made == [{"name": "x", "type": argument.type, "value": value}]


def test_invalid_utf8_is_kept_in_base64() -> None:
    record = Event("instant", 1, 2, 3, "a\udcff", "n", ns=1)
    made = record_object(record)
    assert made["category"] == "a\ufffd"
    assert base64.b64decode(made["category_base64"]) == b"a\xff"
    assert "name_base64" not in made
    json.dumps(made, ensure_ascii=False).encode()


def test_text_has_offset_time_names_and_arguments(trace: Path, capsys: Capture) -> None:
    assert run("dump", trace, "--category", "ui") == 0
    assert capsys.readouterr().out == (
        "0x00000028      0.000002000  instant            "
        f"app(70) main(71)  ui:click  size={2**64 - 1}\n"
    )


def test_control_characters_in_names_are_escaped(
    tmp_path: Path, capsys: Capture
) -> None:
    w = Words("little")
    path = tmp_path / "odd.fxt"
    path.write_bytes(w.magic() + w.named_event(0, 1, b"\x1b[31m\n"))
    assert run("dump", path) == 0
    _, line = capsys.readouterr().out.splitlines()
    assert r"\x1b[31m\x0a" in line


@pytest.mark.parametrize("words", [[], ["--process", "app"]])
def test_a_trace_is_read_from_standard_input(
    words: list[str], trace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = objects(capsys, trace, *words)
    given = io.TextIOWrapper(io.BytesIO(trace.read_bytes()))
    monkeypatch.setattr(sys, "stdin", given)
    assert objects(capsys, "-", *words) == expected


@pytest.mark.parametrize("words", [["--process", "app"]])
def test_an_error_in_standard_input_names_it(
    words: list[str], trace: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = io.BytesIO(trace.read_bytes()[:-8])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(damaged))
    assert run("dump", "--strict", "-", *words) == 3
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("gsym: warning: standard input: the trace ends")


def test_a_truncated_trace_is_dumped_up_to_its_end(
    trace: Path, capsys: Capture
) -> None:
    whole = objects(capsys, trace)
    data = trace.read_bytes()
    for size in range(9, len(data), 7):
        trace.write_bytes(data[:size])
        assert run("dump", "--json", trace) == 0
        output = capsys.readouterr()
        lines = list(map(json.loads, output.out.splitlines()))
        assert lines == whole[: len(lines)]
        is_between_records = any(each["offset"] == size for each in whole)
        assert ("at offset 0x" in output.err) != is_between_records


def test_strict_exits_with_3_on_an_error(trace: Path, capsys: Capture) -> None:
    data = trace.read_bytes()
    trace.write_bytes(data[:-8])
    assert run("dump", "--json", trace) == 0
    relaxed = capsys.readouterr()
    assert run("dump", "--json", "--strict", trace) == 3
    output = capsys.readouterr()
    assert output == relaxed
    assert "at offset 0x" in output.err
    trace.write_bytes(data)
    assert len(output.out.splitlines()) == len(objects(capsys, trace)) - 1


@pytest.mark.parametrize(
    ("content", "verb", "reason"),
    [
        (b"\x7fELF" + bytes(60), "dump", "unrecognized profile format"),
        (b"some text", "info", "unrecognized profile format"),
        (b"main;leaf 12", "blobs", "not a Fuchsia trace\n"),
    ],
)
def test_other_files_are_refused(
    content: bytes, verb: str, reason: str, tmp_path: Path, capsys: Capture
) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    assert run(verb, path) == 1
    assert f"gsym: error: {path}: {reason}" in capsys.readouterr().err


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    w = Words("little")
    path = tmp_path / "long.fxt"
    path.write_bytes(w.magic() + w.named_event(0, 1, b"an event") * 20000)
    command = [sys.executable, "-m", "gsym", "trace", "dump", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        assert p.stdout is not None
        assert p.stderr is not None
        p.stdout.readline()
        p.stdout.close()
        assert p.stderr.read() == b""
    assert p.returncode == 0
