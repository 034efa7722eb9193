"""Requests that are refused, each with its status and title."""

from __future__ import annotations

import json
from typing import Any

from tests.server.modules import XUL_ID

MODULES: Any = [["xul.pdb", XUL_ID]]
STACKS: Any = [[[0, 16]]]
NO_JSON = "Payload is not valid JSON"
TOO_MANY_JOBS = "please limit number of jobs in a single request to <= 10"


def job(stacks: Any = STACKS, modules: Any = MODULES) -> dict[str, Any]:
    return {"stacks": stacks, "memoryMap": modules}


def frame(*items: Any) -> dict[str, Any]:
    """A job with one frame."""
    return job([[list(items)]])


def text(value: str) -> bytes:
    """A job with one frame of index 0, whose offset is *value* as it stands."""
    return json.dumps(job([[[0, 987654]]])).replace("987654", value).encode()


BAD_MODULES = "job 0 has invalid modules: "
BAD_STACKS = "job 0 has invalid stacks: "
NO_PAIR = "module index 0 does not have a debug_filename and debug_id"
BAD_NAME = BAD_MODULES + "module index 0 has an invalid debug_filename"
BAD_ID = BAD_MODULES + "module index 0 has an invalid debug_id"
NO_CODE_IDS = "codeIds must be a list with an id for each module"
BAD_CODE_ID = "module index 0 has an invalid code id"
NO_FRAME = BAD_STACKS + "stack 0 frame 0 is not a list of two items"
BAD_INDEX = BAD_STACKS + "stack 0 frame 0 has an invalid module_index"
NO_MODULE = BAD_STACKS + "stack 0 frame 0 has a module_index that isn't in modules"
BAD_OFFSET = BAD_STACKS + "stack 0 frame 0 has an invalid module_offset"

# Both versions refuse these alike.
COMMON: list[tuple[Any, str]] = [
    (b"", NO_JSON),
    (b"{} {}", NO_JSON),
    (b"jobs=1&stacks=2", NO_JSON),
    (b"\xef\xbb\xbf{}", NO_JSON),
    ("{}".encode("utf-16"), NO_JSON),
    (b'{"a": "\xff"}', NO_JSON),
    (b"[" * 100_000, NO_JSON),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, NO_JSON),
    (b'{"a": ' + b"1" * 5000 + b"}", NO_JSON),
    ([], "job 0 is invalid"),
    ("jobs", "job 0 is invalid"),
    (b"null", "job 0 is invalid"),
    (b"7", "job 0 is invalid"),
    ({}, "job 0 is invalid: no stacks specified"),
    ({"stacks": []}, "job 0 is invalid: no memoryMap specified"),
    ({**job(), "codeIds": "AB"}, BAD_MODULES + NO_CODE_IDS),
    ({**job(), "codeIds": ["AB", "CD"]}, BAD_MODULES + NO_CODE_IDS),
    (job(modules={}), BAD_MODULES + "modules must be a list"),
    (job(modules=None), BAD_MODULES + "modules must be a list"),
    (job(stacks={}), BAD_STACKS + "stacks must be a list of lists"),
    (job(stacks=[]), BAD_STACKS + "no stacks specified"),
    (job(stacks=[[], {}]), BAD_STACKS + "stack 1 is not a list"),
    (job(stacks=[[1]]), NO_FRAME),
    (frame(0), NO_FRAME),
    (frame(0, 1, 2), NO_FRAME),
    (job([["ab"]]), NO_FRAME),
    (
        job([[[0, 1]], [[0, 1], [0, 2], [0]]]),
        BAD_STACKS + "stack 1 frame 2 is not a list of two items",
    ),
    (frame(0.0, 1), BAD_INDEX),
    (frame("0", 1), BAD_INDEX),
    (frame(True, 1), BAD_INDEX),
    (frame(-2, 1), NO_MODULE),
    (frame(1, 1), NO_MODULE),
    (frame(1 << 70, 1), NO_MODULE),
    (frame(0, 1.0), BAD_OFFSET),
    (frame(0, "0x1"), BAD_OFFSET),
    (frame(0, True), BAD_OFFSET),
    (frame(0, -2), BAD_OFFSET),
    (frame(-1, 1 << 64), BAD_OFFSET),
    (text("1e400"), BAD_OFFSET),
    (text("NaN"), BAD_OFFSET),
    (text("-Infinity"), BAD_OFFSET),
]

# Version 4 refuses these; version 5 answers the other modules.
BAD_MODULE: list[tuple[Any, str]] = [
    ({**job(modules=[["a", "1"]]), "codeIds": [None]}, BAD_MODULES + BAD_CODE_ID),
    ({**job(modules=[["a", "1"]]), "codeIds": ["A/B"]}, BAD_MODULES + BAD_CODE_ID),
    (job(modules=["ab"]), BAD_MODULES + NO_PAIR),
    (job(modules=[["a", "1", "2"]]), BAD_MODULES + NO_PAIR),
    (job(modules=[{"a": "1", "b": "2"}]), BAD_MODULES + NO_PAIR),
    (job(modules=[[None, "1"]]), BAD_NAME),
    *((job(modules=[[f"a{bad}b", "1"]]), BAD_NAME) for bad in "/\\%\0\n'\"$*?|"),
    (job(modules=[["\ud800", "1"]]), BAD_NAME),
    (job(modules=[["a", None]]), BAD_ID),
    (job(modules=[["a", "12-34"]]), BAD_ID),
    (job(modules=[["a", "1\n"]]), BAD_ID),
    (job(modules=[["a", "\u0661"]]), BAD_ID),
    (
        job(modules=[["a", "1"], ["b", "x"]]),
        BAD_MODULES + "module index 1 has an invalid debug_id",
    ),
]

# Version 5 takes these names, and refuses these stacks.
OF_VERSION_4: list[tuple[Any, str]] = [
    *((job(modules=[[f"a{bad}b", "1"]]), BAD_NAME) for bad in "[]:é"),
    (job([], [["a", "x"]]), BAD_ID),
    (job([[[9, 9]]], [["/", "1"]]), BAD_NAME),
]

V5: list[tuple[Any, str]] = [
    ({"jobs": [job()] * 11}, TOO_MANY_JOBS),
    ({"jobs": "12345678901"}, TOO_MANY_JOBS),
    ({"jobs": "1234567890"}, "job 0 is invalid"),
    ({"jobs": {"a": 1}}, "job 0 is invalid"),
    ({"jobs": ""}, "jobs must be a list"),
    ({"jobs": None}, "jobs must be a list"),
    ({"jobs": True}, "jobs must be a list"),
    (
        {"jobs": [job(stacks=[]), job(modules=3)]},
        "job 0 has invalid stacks: no stacks specified",
    ),
    ({"jobs": [None], **job()}, "job 0 is invalid"),
]

# The first job is answered.
BAD_JOB: list[tuple[Any, str]] = [
    ({"jobs": [job(), 1]}, "job 1 is invalid"),
    ({"jobs": [job(), {}]}, "job 1 is invalid: no stacks specified"),
    (
        {"jobs": [job(), {"stacks": 1}]},
        "job 1 is invalid: no memoryMap specified",
    ),
    (
        {"jobs": [job(), job(modules=3)]},
        "job 1 has invalid modules: modules must be a list",
    ),
    (
        {"jobs": [job(), job(stacks=[[], [[0, -9]]])]},
        "job 1 has invalid stacks: stack 1 frame 0 has an invalid module_offset",
    ),
]
