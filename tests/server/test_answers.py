"""What is answered, key by key."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from gsym.modules.symbolizer import Symbolizer
from tests.server.modules import LIB_ID, MISSING_ID, XUL_ID, KnownModules
from tests.server.running import RunningServer

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.long

MAP = [["xul.pdb", XUL_ID], ["libdemo.so", LIB_ID], ["wntdll.pdb", MISSING_ID]]
XUL, LIB, NT = (f"{name}/{debug_id}" for name, debug_id in MAP)


def frames_of(server: RunningServer, *frames: tuple[int, int]) -> list[dict[str, Any]]:
    answer = server.post({"stacks": [frames], "memoryMap": MAP})
    assert answer.status == 200
    (result,) = answer.json["results"]
    (stack,) = result["stacks"]
    return list(stack)


def frame_of(server: RunningServer, index: int, offset: int) -> dict[str, Any]:
    (frame,) = frames_of(server, (index, offset))
    assert frame.pop("frame") == 0
    return frame


def test_a_frame_of_a_module_whose_base_is_not_0(server: RunningServer) -> None:
    assert frame_of(server, 0, 0x1004) == {
        "module": "xul.dll",
        "module_offset": "0x1004",
        "function": "a::outer()",
        "function_offset": "0x4",
        "function_size": "0x100",
        "file": "/src/a.cpp",
        "line": 10,
    }


def test_an_offset_beyond_all_addresses_does_not_affect_others(
    server: RunningServer,
) -> None:
    nowhere, known = frames_of(server, (0, (1 << 64) - 1), (0, 0x1004))
    assert "function" not in nowhere
    assert known["function"] == "a::outer()"


def test_inlined_calls_come_innermost_first_without_the_outer_function(
    server: RunningServer,
) -> None:
    expected = {
        "module": "xul.dll",
        "module_offset": "0x1015",
        "function": "a::outer()",
        "function_offset": "0x15",
        "function_size": "0x100",
        "file": "/src/a.cpp",
        "line": 12,
        "inlines": [
            {"function": "innermost", "file": "/src/c.h", "line": 7},
            {"function": "a::inner(int)", "file": "/src/b.h", "line": 30},
        ],
    }
    frame = frame_of(server, 0, 0x1015)
    assert frame == expected
    assert list(frame) == list(expected), "in the order of the reference"


def test_unknown_values_have_no_key(server: RunningServer) -> None:
    assert frame_of(server, 1, 0x404) == {
        "module": "libdemo.so",
        "module_offset": "0x404",
        "function": "main",
        "function_offset": "0x4",
        "function_size": "0x20",
    }
    assert frame_of(server, 0, 0x3000) == {
        "module": "xul.dll",
        "module_offset": "0x3000",
    }


@pytest.mark.parametrize(
    ("index", "offset", "module", "shown"),
    [
        (-1, 5, "<unknown>", "0x5"),
        (-1, -1, "<unknown>", "-0x1"),
        (-1, (1 << 64) - 1, "<unknown>", "0xffffffffffffffff"),
        (0, -1, "xul.dll", "-0x1"),
        (0, (1 << 64) - 1, "xul.dll", "0xffffffffffffffff"),
        (0, (1 << 64) - 0x180000000, "xul.dll", "0xfffffffe80000000"),
        (1, -1, "libdemo.so", "-0x1"),
        (1, 0, "libdemo.so", "0x0"),
        (2, 0x10, "wntdll.pdb", "0x10"),
    ],
)
def test_a_frame_without_a_function_has_a_module_and_its_offset(
    server: RunningServer, index: int, offset: int, module: str, shown: str
) -> None:
    assert frame_of(server, index, offset) == {
        "module": module,
        "module_offset": shown,
    }


def test_frames_are_numbered_and_stay_in_their_order(server: RunningServer) -> None:
    asked = [(1, 0x404), (0, -1), (-1, 7), (0, 0x1004), (1, 0x404), (2, 1), (0, -1)]
    frames = frames_of(server, *asked)
    assert [frame["frame"] for frame in frames] == list(range(len(asked)))
    assert [frame["module_offset"] for frame in frames] == [
        "0x404",
        "-0x1",
        "0x7",
        "0x1004",
        "0x404",
        "0x1",
        "-0x1",
    ]
    assert [frame.get("function") for frame in frames] == [
        "main",
        None,
        None,
        "a::outer()",
        "main",
        None,
        None,
    ]


def test_modules_are_found_missing_or_unused(server: RunningServer) -> None:
    jobs = [
        {"stacks": [[[0, 1], [2, 1]]], "memoryMap": MAP},
        {"stacks": [[]], "memoryMap": [*MAP, ["", ""], ["a", ""], ["", "0"]]},
    ]
    first, second = server.post({"jobs": jobs}).json["results"]
    assert first["found_modules"] == {XUL: True, LIB: None, NT: False}
    # The table is that of the whole request.
    assert second["found_modules"] == {
        **first["found_modules"],
        "/": None,
        "a/": None,
        "/0": None,
    }


def test_a_module_without_a_name_is_unknown(
    server: RunningServer,
) -> None:
    body = {"stacks": [[[0, 16], [1, 17]]], "memoryMap": [["", XUL_ID], ["x", ""]]}
    (result,) = server.post(body).json["results"]
    assert result["stacks"] == [
        [
            {"frame": 0, "module": "<unknown>", "module_offset": "0x10"},
            {"frame": 1, "module": "x", "module_offset": "0x11"},
        ]
    ]
    assert result["found_modules"] == {f"/{XUL_ID}": None, "x/": None}


def test_a_module_listed_twice_has_one_key(server: RunningServer) -> None:
    body = {"stacks": [[[1, 0x404], [0, 0x404]]], "memoryMap": [MAP[1], MAP[1]]}
    (result,) = server.post(body).json["results"]
    assert result["found_modules"] == {LIB: True}
    assert [frame["function"] for frame in result["stacks"][0]] == ["main", "main"]


def test_ids_are_case_insensitive_and_returned_unchanged(
    server: RunningServer,
) -> None:
    body = {"stacks": [[[0, 0x404]]], "memoryMap": [["libdemo.so", LIB_ID.lower()]]}
    (result,) = server.post(body).json["results"]
    assert result["found_modules"] == {f"libdemo.so/{LIB_ID.lower()}": True}
    assert result["stacks"][0][0]["function"] == "main"


@pytest.mark.parametrize("debug_id", ["1", "0" * 50])
def test_an_invalid_id_is_a_missing_module(
    server: RunningServer, debug_id: str
) -> None:
    body = {"stacks": [[[0, 1], [1, 0x404]]], "memoryMap": [["x", debug_id], MAP[1]]}
    (result,) = server.post(body).json["results"]
    assert result["found_modules"] == {f"x/{debug_id}": False, LIB: True}
    ((error,),) = result["module_errors"].values()
    assert error["name"] == "InvalidBreakpadId"
    assert debug_id in error["message"]


def test_a_missing_module_has_the_errors_of_its_sources(server: RunningServer) -> None:
    body = {"stacks": [[[0, 1], [2, 1]]], "memoryMap": MAP}
    (result,) = server.post(body).json["results"]
    assert result["module_errors"] == {
        NT: [{"name": "ModuleMissing", "message": "here: no such file"}]
    }
    found = server.post({"stacks": [[[0, 1]]], "memoryMap": MAP})
    assert "module_errors" not in found.json["results"][0]


def test_errors_of_sources_can_be_switched_off(modules: KnownModules) -> None:
    with RunningServer(Symbolizer(modules), module_errors=False) as quiet:
        answer = quiet.post({"stacks": [[[2, 1]]], "memoryMap": MAP})
    (result,) = answer.json["results"]
    assert result["found_modules"][NT] is False
    assert "module_errors" not in result


def test_version_4_shows_calls_in_modules(server: RunningServer) -> None:
    stacks = [
        [[0, 0x1015], [1, 0x404], [0, 0x3000]],
        [],
        [[-1, 5], [2, 0x3E8], [0, -1], [-1, -1]],
    ]
    answer = server.post({"stacks": stacks, "memoryMap": MAP}, "/symbolicate/v4")
    assert answer.json == {
        "symbolicatedStacks": [
            ["a::outer() (in xul.dll)", "main (in libdemo.so)", "0x3000 (in xul.dll)"],
            [],
            [
                "0x5 (in <unknown>)",
                "0x3e8 (in wntdll.pdb)",
                "-0x1 (in xul.dll)",
                "-0x1 (in <unknown>)",
            ],
        ],
        "knownModules": [True, True, False],
    }


@pytest.mark.parametrize("value", ["1", "false"])
def test_debug_reports_times_and_counts(server: RunningServer, value: str) -> None:
    jobs = [{"stacks": [[[0, 1], [2, 1]]], "memoryMap": MAP}] * 2
    debug = server.post({"jobs": jobs}, Debug=value).json["debug"]
    assert debug["time"] > 0
    assert debug["modules"] == {"count": 4, "stacks_per_module": {XUL: 2, NT: 2}}
    assert debug["cache_lookups"]["count"] == 2
    assert debug["cache_lookups"]["hits"] == 1
    assert debug["downloads"]["count"] == 0
    assert set(debug) >= {"parse_sym", "save_symcache"}


def test_the_debug_section_is_optional(server: RunningServer) -> None:
    body: Any = {"stacks": [[]], "memoryMap": []}
    assert set(server.post(body).json) == {"results"}
    assert set(server.post(body, Debug="").json) == {"results"}
    assert "debug" not in server.post(body, "/symbolicate/v4", Debug="1").json


def test_paths_are_mapped_for_clients(modules: KnownModules) -> None:
    rules: dict[str, Any] = {
        "path_map": ["/src/b=/elsewhere/b"],
        "source_map": ["/src/=hg:hg.mozilla.org/mozilla-central:{path}:abc"],
    }
    with RunningServer(Symbolizer(modules), **rules) as mapping:
        frame = frame_of(mapping, 0, 0x1015)
    assert frame["file"] == "hg:hg.mozilla.org/mozilla-central:a.cpp:abc"
    assert [call["file"] for call in frame["inlines"]] == [
        "hg:hg.mozilla.org/mozilla-central:c.h:abc",
        "/elsewhere/b.h",
    ]


def test_a_damaged_file_is_a_missing_module(
    modules: KnownModules, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.gsym"
    bad.write_bytes(b"no gsym at all")
    entry = modules.entries[LIB_ID]._replace(path=str(bad))
    with RunningServer(Symbolizer(KnownModules(entry))) as damaged:
        answer = damaged.post({"stacks": [[[1, 0x404]]], "memoryMap": MAP})
    (result,) = answer.json["results"]
    assert result["found_modules"][LIB] is False
    assert result["module_errors"][LIB][0]["name"] == "FileRefused"


@pytest.mark.parametrize("version", ["v4", "v5"])
def test_the_size_of_a_response_is_limited(
    modules: KnownModules, server: RunningServer, version: str
) -> None:
    body = {"stacks": [[[0, 0x1015]] * 40], "memoryMap": MAP}
    path = f"/symbolicate/{version}"
    (whole,) = [*server.post(body, path).json.values()][:1]
    assert len(json.dumps(whole)) > 600  # so there is much to be refused
    statuses = {}
    for most in (600, 100_000):
        with RunningServer(Symbolizer(modules), max_answer=most) as small:
            answer = small.post(body, path)
            statuses[most] = answer.status
            if answer.status == 413:
                assert answer.title == (
                    f"please ask for less: the answer has more than {most} bytes"
                )
    assert statuses == {600: 413, 100_000: 200}


def test_a_request_of_older_profilers_has_a_stack_for_each_module(
    server: RunningServer,
) -> None:
    modules = [
        [name, MISSING_ID] for name in ("libstdc++.so.6", "AppKit", "a.amd64.pdb")
    ]
    modules[1:1] = [["xul.pdb", XUL_ID], ["libdemo.so", LIB_ID]]
    stacks = [[[at, 0x1000], [at, 0x400]] for at in range(len(modules))]
    (result,) = server.post({"memoryMap": modules, "stacks": stacks}).json["results"]
    assert list(result["found_modules"]) == ["/".join(each) for each in modules]
    shown = [[frame.get("function") for frame in stack] for stack in result["stacks"]]
    expected: list[list[str | None]] = [[None, None] for _ in modules]
    expected[1:3] = [["a::outer()", None], [None, "main"]]
    assert shown == expected


def test_a_stack_of_many_frames_is_symbolicated(server: RunningServer) -> None:
    frames = frames_of(server, *((0, offset) for offset in range(10_000)))
    known = [at for at, frame in enumerate(frames) if frame.get("function")]
    assert known == [*range(0x1000, 0x1100), *range(0x2000, 0x2010)]
