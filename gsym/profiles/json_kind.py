"""Recognize profiles in JSON by the names of their members."""

from __future__ import annotations

import re

# By the names of members, of those within `shared` and of items of a list too.
_KINDS = {
    ".ph": "chrome",
    "$schema": "speedscope",
    "exporter": "speedscope",
    "activeProfileIndex": "speedscope",
    "profiles": "speedscope",
    "shared.frames": "speedscope",
    "meta": "firefox",
    "libs": "firefox",
    "threads": "firefox",
    "shared.stringArray": "firefox",
    "nodes": "cpuprofile",
    "timeDeltas": "cpuprofile",
    "traceEvents": "chrome",
    "stackFrames": "chrome",
    "displayTimeUnit": "chrome",
    "otherData": "chrome",
    "systemTraceEvents": "chrome",
    "metadata": "chrome",
}
_DEPTH = 2  # of these members
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*"?)(\s*:)?|([{\[])|([}\]])')


def json_kind(head: str) -> str:
    """Kind of the profile that a text in JSON begins; "" for any other text."""
    text = head.removeprefix("\ufeff")
    if not text.lstrip().startswith(("{", "[")):
        return ""
    names: list[str] = []  # of the members that are around
    for found in _TOKEN.finditer(text):
        string, colon, opening, _ = found.groups()
        if opening is not None:
            names.append("")
        elif string is None:
            names.pop()
            if not names:
                return ""
        elif colon is not None and len(names) <= _DEPTH:
            names[-1] = string.strip('"')
            kind = _KINDS.get(".".join(names))
            if kind is not None:
                return kind
    return ""
