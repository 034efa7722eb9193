"""Random files and random requests: answers are those of offline lookups."""

from __future__ import annotations

import json
import tempfile
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

import gsym
from gsym.api.request import RequestLimits, read_v4, read_v5
from gsym.api.response import answer_v4, answer_v5
from gsym.api.symbolication import Symbolication
from gsym.engine.demangling import demangle
from gsym.modules.key import ModuleKey
from gsym.modules.symbolizer import Symbolizer
from gsym.store.entries import Entry
from tests.server.modules import KnownModules
from tests.strategies import function_lists

LIMITS = RequestLimits()
FIRST, SECOND, MISSING = "A" * 33, "b" * 33, "C" * 33
MODULES = [("a.pdb", FIRST), ("b.so", SECOND), ("c", MISSING), ("", FIRST), ("d", "1")]
_END = 1 << 64


def text(raw: str) -> str:
    """A name as JSON can hold it."""
    return raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def expected_frame(
    number: int, asked: tuple[int, int], readers: dict[str, gsym.Reader]
) -> dict[str, Any]:
    """What a frame of `MODULES` is, by single lookups."""
    index, offset = asked
    name, debug_id = MODULES[index] if index >= 0 else ("", "")
    frame: dict[str, Any] = {
        "frame": number,
        "module": name or "<unknown>",
        "module_offset": hex(offset),
    }
    reader = readers.get(debug_id.upper()) if name else None
    if reader is None:
        return frame
    if debug_id == FIRST:
        frame["module"] = "a.dll"
    address = reader.header.base_address + offset
    if offset < 0 or address >= _END:
        return frame
    lookup = reader.lookup(address)
    if lookup is None:
        return frame
    *inner, outer = lookup.frames
    frame["function_offset"] = hex(outer.offset)
    if lookup.function.size:
        frame["function_size"] = hex(lookup.function.size)
    frame |= expected_place(outer)
    if inner:
        frame["inlines"] = [expected_place(call) for call in inner]
    return frame


def expected_place(frame: gsym.Frame) -> dict[str, Any]:
    place: dict[str, Any] = {"function": text(demangle(frame.name))}
    if frame.path:
        place["file"] = text(frame.path)
        if frame.line:
            place["line"] = frame.line
    return place


@st.composite
def offsets_in(draw: st.DrawFn, functions: list[gsym.FunctionInfo], base: int) -> int:
    """An offset near a function, or any."""
    is_near: bool = draw(st.booleans())
    if functions and is_near:
        function = draw(st.sampled_from(functions))
        step = draw(st.integers(-2, min(function.size, 1 << 32) + 2))
        return max(-1, min(function.start + step - base, _END - 1))
    return draw(st.integers(-1, _END - 1))


@pytest.mark.slow
@given(st.data())
def test_answers_are_those_of_offline_lookups(data: st.DataObject) -> None:
    first, second = data.draw(function_lists()), data.draw(function_lists())
    base = min((function.start for function in first), default=0)
    bases = {FIRST: base, SECOND.upper(): 0}
    with tempfile.TemporaryDirectory() as folder:
        readers, entries = {}, []
        for debug_id, functions in ((FIRST, first), (SECOND.upper(), second)):
            path = f"{folder}/{debug_id[0]}.gsym"
            with gsym.Creator(version=2, base_address=bases[debug_id]) as creator:
                for function in functions:
                    creator.add(function)
                creator.save(path)
            readers[debug_id] = gsym.open(path)
            code_file = "a.dll" if debug_id == FIRST else ""
            identity = ModuleKey(debug_id=debug_id, code_file=code_file)
            entries.append(Entry(path, identity))
        near: dict[int, tuple[list[gsym.FunctionInfo], int]]
        near = {0: (first, base), 1: (second, 0)}
        frames = st.integers(-1, len(MODULES) - 1).flatmap(
            lambda index: st.tuples(
                st.just(index), offsets_in(*near.get(index, ([], 0)))
            )
        )
        stacks = st.lists(st.lists(frames, max_size=12), min_size=1, max_size=4)
        jobs: list[dict[str, Any]] = [
            {"stacks": each, "memoryMap": MODULES}
            for each in data.draw(st.lists(stacks, max_size=3))
        ]
        symbolizer = Symbolizer(KnownModules(*entries))

        work = Symbolication(read_v5(json.dumps({"jobs": jobs}).encode(), LIMITS))
        work.open_all(symbolizer)
        at_once = data.draw(st.sampled_from([1, 3, 1 << 16]))
        with patch("gsym.api.symbolication._MOST_AT_ONCE", at_once):
            results = json.loads(bytes(answer_v5(work)))["results"]
        assert len(results) == len(jobs)
        for job, result in zip(jobs, results, strict=True):
            assert result["stacks"] == [
                [
                    expected_frame(number, frame, readers)
                    for number, frame in enumerate(stack)
                ]
                for stack in job["stacks"]
            ]
        for job, result in zip(jobs, results, strict=True):
            check_version_4(job, result, symbolizer)


def check_version_4(
    job: dict[str, Any], result: dict[str, Any], symbolizer: Symbolizer
) -> None:
    """Version 4 says the same in fewer words."""
    work = Symbolication(read_v4(json.dumps(job).encode(), LIMITS))
    work.open_all(symbolizer)
    with patch("gsym.api.symbolication._MOST_AT_ONCE", 2):
        answer = json.loads(answer_v4(work))
    assert answer["symbolicatedStacks"] == [
        [
            f"{frame.get('function', frame['module_offset'])} (in {frame['module']})"
            for frame in stack
        ]
        for stack in result["stacks"]
    ]
    used = {index for stack in job["stacks"] for index, _ in stack}
    expected = [True, True, False, None, False]
    assert answer["knownModules"] == [
        state if index in used else None for index, state in enumerate(expected)
    ]
