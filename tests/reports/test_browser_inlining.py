"""Calls inlined into functions of a Firefox profile get rows of their own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gsym.memory.stack_parts import PROFILE
from gsym.model import Frame
from gsym.reports.report import Report, ReportFrame, ReportThread

INNER = Frame("inner", "", "a.h", 3, 0, inlined=True)
OUTER = Frame("outer", "", "a.c", 12, 16, inlined=False)


def profile() -> dict[str, Any]:
    """`0x10`, called by `main` and calling `leaf`; a marker is there as well."""
    stacks = {"prefix": [None, 0, 1], "frame": [0, 1, 2], "category": [7, 8, 9]}
    frames = {"address": [-1, 16, -1], "inlineDepth": [0, 0, 0], "func": [0, 1, 2]}
    functions = {"name": [0, 1, 2], "resource": [-1, 0, -1], "fileName": [None] * 3}
    return {
        "meta": {},
        "libs": [{"name": "app", "breakpadId": "A" * 32 + "0"}],
        "threads": [
            {
                "name": "main",
                "samples": {"stack": [2, 1, None, 0]},
                "markers": {"data": [{"cause": {"stack": 1}}, None]},
                "stackTable": {**stacks, "length": 3},
                "frameTable": {**frames, "line": [None] * 3, "length": 3},
                "funcTable": {**functions, "length": 3},
                "resourceTable": {"lib": [0], "length": 1},
                "stringArray": ["main", "0x10", "leaf"],
            }
        ],
    }


def answered(made: dict[str, Any], calls: tuple[Frame, ...]) -> dict[str, Any]:
    front, back = json.dumps(made).split("0x10")
    frame = ReportFrame("0x10", 0, 16, "", calls, 16)
    threads = (ReportThread("main", is_crashed=False, frames=(frame,)),)
    parts = (front, (0, 0), back)
    report = Report(PROFILE, "", threads, (), (), parts, is_verbatim=True)
    found: dict[str, Any] = json.loads(str(report))
    return found


def names_of(made: dict[str, Any], stack: int | None) -> list[str]:
    """The functions of a row of stacks, innermost first."""
    (thread,) = made["threads"]
    tables = {**made.get("shared", {}), **thread}
    names = []
    while stack is not None:
        frame = tables["stackTable"]["frame"][stack]
        function = tables["frameTable"]["func"][frame]
        name = tables["funcTable"]["name"][function]
        names.append(tables["stringArray"][name])
        stack = tables["stackTable"]["prefix"][stack]
    return names


@pytest.mark.parametrize("place", ["threads", "shared"])
def test_stacks_have_the_inlined_calls(place: str) -> None:
    made = profile()
    if place == "shared":
        (thread,) = made["threads"]
        names = [name for name in thread if name.endswith(("Table", "Array"))]
        made["shared"] = {name: thread.pop(name) for name in names}
    made = answered(made, (INNER, OUTER))
    (thread,) = made["threads"]
    deep = ["leaf", "inner", "outer", "main"]
    found = [names_of(made, stack) for stack in thread["samples"]["stack"]]
    assert found == [deep, deep[1:], [], deep[3:]]
    cause = thread["markers"]["data"][0]["cause"]["stack"]
    assert names_of(made, cause) == deep[1:]
    tables = {**made.get("shared", {}), **thread}
    stacks, frames = tables["stackTable"], tables["frameTable"]
    assert (stacks["length"], stacks["category"]) == (4, [7, 8, 8, 9])
    depths = [frames["inlineDepth"][frame] for frame in stacks["frame"]]
    assert depths == [0, 0, 1, 0]
    lines = [frames["line"][frame] for frame in stacks["frame"]]
    assert lines == [None, 12, 3, None]
    assert [frames["address"][frame] for frame in stacks["frame"]] == [-1, 16, 16, -1]


def test_the_newest_layout_has_distances_and_flags() -> None:
    made = profile()
    (thread,) = made["threads"]
    names = [name for name in thread if name.endswith(("Table", "Array"))]
    shared = made["shared"] = {name: thread.pop(name) for name in names}
    del shared["stackTable"]["prefix"], shared["resourceTable"]["lib"]
    del shared["frameTable"]["inlineDepth"]
    shared["stackTable"]["prefixOffset"] = [0, 1, 1]
    shared["frameTable"].update(lib=[0, 0, 0], flags=[0, 2, 0])
    made = answered(made, (INNER, OUTER))
    frames, stacks = (made["shared"][name] for name in ("frameTable", "stackTable"))
    assert stacks["prefixOffset"] == [0, 1, 1, 1]
    names = [made["shared"]["stringArray"][name] for name in (0, 1, 4, 2)]
    assert names == ["main", "outer", "inner", "leaf"]
    assert [frames["flags"][frame] for frame in stacks["frame"]] == [0, 18, 19, 0]


def test_without_inlined_calls_only_names_change() -> None:
    made, expected = profile(), profile()
    expected["threads"][0]["stringArray"][1] = "outer"
    assert answered(made, (OUTER,)) == expected
