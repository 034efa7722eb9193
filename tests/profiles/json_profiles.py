"""Small files of other profilers: two functions, `main` and, below it, `leaf`."""

from __future__ import annotations

from typing import Any


def chrome(*events: dict[str, Any]) -> dict[str, Any]:
    """A trace of Chrome; each event is of process 1 and thread 2, unless it says so."""
    made = [{"pid": 1, "tid": 2, "cat": "app", **event} for event in events]
    return {"traceEvents": made}


def call(number: int, name: str, children: tuple[int, ...] = ()) -> dict[str, Any]:
    """A node of a profile of V8."""
    frame = {"functionName": name, "url": "app.js", "lineNumber": number - 1}
    return {"id": number, "callFrame": frame, "children": list(children)}


CHROME = chrome(
    {"ph": "X", "name": "main", "ts": 10, "dur": 100},
    {"ph": "B", "name": "leaf", "ts": 20},
    {"ph": "E", "ts": 50.5},
)
CPUPROFILE = {
    "nodes": [call(1, "(root)", (2,)), call(2, "main", (3,)), call(3, "leaf")],
    "startTime": 1000,
    "endTime": 1600,
    "samples": [2, 3, 3],
    "timeDeltas": [100, 200, 50],
}
SPEEDSCOPE = {
    "$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {
        "frames": [{"name": "main", "file": "a.c", "line": 3}, {"name": "leaf"}]
    },
    "profiles": [
        {
            "type": "evented",
            "name": "worker",
            "unit": "milliseconds",
            "startValue": 0,
            "endValue": 10,
            "events": [
                {"type": "O", "frame": 0, "at": 1},
                {"type": "O", "frame": 1, "at": 2},
                {"type": "C", "frame": 1, "at": 5.5},
                {"type": "C", "frame": 0, "at": 6},
            ],
        }
    ],
}


def firefox() -> dict[str, Any]:
    """A processed profile: `leaf`, inlined into `main` at one address of a library."""
    return {
        "meta": {"version": 29, "preprocessedProfileVersion": 48, "startTime": 1},
        "libs": [{"name": "app", "path": "/opt/app", "codeId": "ab" * 20}],
        "threads": [
            {
                "name": "worker",
                "processName": "app",
                "pid": "7",
                "tid": 9,
                "samples": {"stack": [1, 0, None], "time": [1, 2.5, 3], "weight": None},
                "stackTable": {"prefix": [None, 0], "frame": [0, 1]},
                "frameTable": {
                    "address": [16, 16],
                    "inlineDepth": [0, 1],
                    "func": [0, 1],
                    "line": [5, None],
                },
                "funcTable": {
                    "name": [0, 1],
                    "resource": [0, 0],
                    "fileName": [2, None],
                },
                "resourceTable": {"lib": [0]},
                "stringArray": ["main", "leaf", "a.c"],
            }
        ],
    }


def newer_firefox() -> dict[str, Any]:
    """The same in version 75: shared tables, distances, flags and libraries of frames.

    Source: the upgraders of the Firefox Profiler, `processed-profile-versioning`.
    """
    made = firefox()
    made["meta"]["preprocessedProfileVersion"] = 75
    (thread,) = made["threads"]
    names = ("stackTable", "frameTable", "funcTable", "resourceTable", "stringArray")
    shared = made["shared"] = {name: thread.pop(name) for name in names}
    del shared["stackTable"]["prefix"], shared["resourceTable"]["lib"]
    del shared["frameTable"]["inlineDepth"], shared["funcTable"]["fileName"]
    shared["stackTable"]["prefixOffset"] = [0, 1]
    shared["frameTable"].update(lib=[0, 0], flags=[2 + 16, 1 + 2], line=[5, 0])
    shared["funcTable"].update(source=[0, 0], flags=[4 + 8, 4])
    shared["sources"] = {"filename": [2]}
    return made


HEAPPROFILE: dict[str, Any] = {
    "head": {
        "callFrame": {"functionName": "(root)", "url": "", "lineNumber": -1},
        "selfSize": 0,
        "id": 1,
        "children": [
            {
                "callFrame": {"functionName": "f", "url": "a.js", "lineNumber": 2},
                "selfSize": 40,
                "id": 2,
                "children": [],
            }
        ],
    },
    "samples": [{"size": 40, "nodeId": 2, "ordinal": 1}],
}
