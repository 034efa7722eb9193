"""Filters of `gsym trace`: times, processes, threads, categories, names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gsym.trace.selection import Moment, Patterns, parse_moment
from tests.trace.traces import run, small_trace

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "small.fxt"
    path.write_bytes(small_trace())
    return path


def chosen(capsys: Capture, trace: Path, *words: str) -> list[str]:
    """What stands for the records that are chosen: names of events, kinds of others."""
    assert run("dump", "--json", trace, *words) == 0
    made = map(json.loads, capsys.readouterr().out.splitlines())
    return [
        each["name"] if each["record"] == "event" else each["record"] for each in made
    ]


_ALL = ["click", "read", "write", "switch", "switch", "write"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--from-time", "1500ns"], ["read", "write", "switch", "switch", "write"]),
        (["--from-time", "2.5us"], ["switch", "write"]),
        (["--from-time", "@3us"], ["read", "switch", "switch", "write"]),
        (["--from-time", "2501"], ["switch", "write"]),
        (["--to-time", "99999999999999999999s"], _ALL),
        (["--from-time", "99999999999999999999s"], []),
        (["--to-time", "@0"], []),
        (["--name", "[rc]*"], ["click", "read"]),
        (["--name", "writ?", "--category", "[!u]o"], ["write", "write"]),
        (["--to-time", "1us"], ["read"]),
        (["--to-time", "1.001us"], ["click", "read"]),
        (["--from-time", "@2500", "--to-time", "@2501"], ["read", "write"]),
        (["--to-time", "@1000ns"], []),
        (["--name", "w*"], ["write", "write", "object"]),
        (["--name", "read", "--name", "click"], ["click", "read"]),
        (["--name", "re"], []),
        (["--category", "?o"], ["read", "write", "write"]),
        (["--category", "io", "--name", "r*"], ["read"]),
        (["--category", "IO"], []),
        (["--process", "other"], ["write", "write", "object", "object"]),
        (["--process", "80"], ["write", "write", "object", "object"]),
        (["--process", "0x50"], ["write", "write", "object", "object"]),
        (["--thread", "worker"], ["read", "switch", "switch", "object"]),
        (["--thread", "72"], ["read", "switch", "switch", "object"]),
        (
            ["--thread", "main", "--process", "app"],
            ["click", "switch", "switch", "object"],
        ),
        (["--process", "nobody"], []),
    ],
)
def test_a_filter_chooses_records(
    words: list[str], expected: list[str], trace: Path, capsys: Capture
) -> None:
    full = {"switch": "context_switch", "object": "kernel_object"}
    found = chosen(capsys, trace, *words)
    assert found == [full.get(each, each) for each in expected]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0", Moment(0)),
        ("12", Moment(12)),
        ("12ns", Moment(12)),
        ("1.5us", Moment(1500)),
        ("1.5ms", Moment(1_500_000)),
        ("1.000000001s", Moment(1_000_000_001)),
        ("0.9ns", Moment(0)),
        ("@7s", Moment(7_000_000_000, is_absolute=True)),
    ],
)
def test_a_moment_is_a_number_with_a_unit(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


@pytest.mark.parametrize(
    "text", ["", "s", "-1s", "1m", "1.s", ".5s", "1e3", "1 s", "@"]
)
def test_other_texts_are_no_moments(text: str, trace: Path, capsys: Capture) -> None:
    with pytest.raises(ValueError, match="invalid time"):
        parse_moment(text)
    assert run("dump", trace, f"--from-time={text}") == 2
    assert f"option '--from-time': invalid time '{text}'" in capsys.readouterr().err


def test_the_longest_number_is_a_moment_and_a_longer_one_none() -> None:
    assert parse_moment("9" * 24).ns == int("9" * 24)
    with pytest.raises(ValueError, match="invalid time"):
        parse_moment("9" * 25)


def test_patterns_match_names_or_koids() -> None:
    patterns = Patterns(["ma*", "17", "0x20"])
    assert patterns.match("main")
    assert patterns.match(None, 17)
    assert patterns.match("else", 32)
    assert patterns.match("17", 3)
    assert not patterns.match("domain", 3)
    assert not patterns.match(None)


def test_no_patterns_match_all() -> None:
    assert Patterns([]).match(None)
    assert not Patterns([])
