"""Filters of `gsym trace`: times, processes, threads, categories, names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from gsym.conditions import Moment, Patterns, parse_moment
from gsym.fxt.reader import open_trace
from gsym.fxt.records import Event
from tests.fxt.traces import run, small_trace

if TYPE_CHECKING:
    from pathlib import Path

    Capture = pytest.CaptureFixture[str]


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
        (["--from-time", "2.5us"], ["switch", "write"]),
        (["--from-time", "@3us"], ["read", "switch", "switch", "write"]),
        (["--to-time", "99999999999999999999s"], _ALL),
        (["--from-time", "99999999999999999999s"], []),
        (["--from-time", "@2500", "--to-time", "@2501"], ["read", "write"]),
        (["--name", "writ?", "--category", "[!u]o"], ["write", "write"]),
        (["--name", "w*"], ["write", "write", "object"]),
        (["--name", "read", "--name", "click"], ["click", "read"]),
        (["--category", "?o"], ["read", "write", "write"]),
        (["--process", "other"], ["write", "write", "object", "object"]),
        (["--process", "0x50"], ["write", "write", "object", "object"]),
        (
            ["--thread", "main", "--process", "app"],
            ["click", "switch", "switch", "object"],
        ),
        (["--process", "nobody"], []),
    ],
)
def test_a_filter_selects_records(
    words: list[str], expected: list[str], trace: Path, capsys: Capture
) -> None:
    full = {"switch": "context_switch", "object": "kernel_object"}
    found = chosen(capsys, trace, *words)
    assert found == [full.get(each, each) for each in expected]


def test_a_part_of_a_trace_is_a_trace(tmp_path: Path, capsys: Capture) -> None:
    whole, part = tmp_path / "whole.fxt", tmp_path / "part.fxt"
    whole.write_bytes(small_trace("big") * 2)
    assert run("convert", whole, "--name", "write", "-o", part) == 0
    assert "2 consecutive traces" in capsys.readouterr().err
    read = open_trace(part, strict=True)
    events = [each for each in read if isinstance(each, Event)]
    assert [(each.category, each.name) for each in events] == [("io", "write")] * 4
    assert read.byteorder == "big"


def test_a_profile_has_no_part_that_is_a_trace(tmp_path: Path, capsys: Capture) -> None:
    profile, part = tmp_path / "stacks.folded", tmp_path / "part.fxt"
    profile.write_text("main;work 3\n")
    assert run("convert", profile, "-o", part) == 2
    assert "only traces become fxt" in capsys.readouterr().err
    assert not part.exists()


@pytest.mark.parametrize(
    ("text", "moment"),
    {
        "12": Moment(12),
        "12ns": Moment(12),
        "1.5us": Moment(1500),
        "1.5ms": Moment(1_500_000),
        "1.000000001s": Moment(1_000_000_001),
        "0.9ns": Moment(0),
        "9" * 24: Moment(int("9" * 24)),
        "@7s": Moment(7_000_000_000, is_absolute=True),
    }.items(),
    ids=repr,
)
def test_a_moment_is_a_number_with_a_unit(text: str, moment: Moment) -> None:
    assert parse_moment(text) == moment


def test_an_invalid_time_is_refused(trace: Path, capsys: Capture) -> None:
    for text in ("", "s", "-1s", "1m", "1.s", ".5s", "1e3", "1 s", "@", "9" * 25):
        with pytest.raises(ValueError, match="invalid time"):
            parse_moment(text)
    assert run("dump", trace, "--from-time=1m") == 2
    assert "option '--from-time': invalid time '1m'" in capsys.readouterr().err


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
