"""Profiles of dhat (valgrind, and the library for Rust) -> `Profile`.

JSON with the places that allocate (`pps`), or that copy or count something, and the
frames of their stacks, which are texts: `0x1091E5: grab (app.c:8)`, or with
`(in /usr/bin/app)` where there are no lines. Frames of one address are inlined calls.

Source: valgrind, dhat/dh_main.c; github.com/nnethercote/dhat-rs, src/lib.rs.
"""

from __future__ import annotations

import re
from itertools import groupby

from gsym.lazy import regex
from gsym.profiles.json_input import read_node
from gsym.profiles.model import (
    Frame,
    ProfileBuilder,
    Thread,
    ValueType,
    placed_frame,
)
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.profiles.model import Profile
    from gsym.profiles.opening import ProfileOptions

_FRAME = regex(
    r"(?:0x(?P<address>[0-9a-fA-F]{1,16}): )?"
    r"(?:(?P<name>.*) \(in (?P<module>.*)\)|(?P<what>.*))",
    re.ASCII,
)
_COLUMN = regex(r"(:\d{1,9}):\d{1,9}\)$", re.ASCII)  # that Rust has after the line
_ROOT, _UNKNOWN = "[root]", "???"
# Of each value its member, and where it is called so the unit; ordered as pprof's are.
_HEAP = {
    "tbk": ValueType("alloc_objects", "count"),
    "tb": ValueType("alloc_space", "bytes"),
    "gbk": ValueType("peak_objects", "count"),
    "gb": ValueType("peak_space", "bytes"),
    "ebk": ValueType("inuse_objects", "count"),
    "eb": ValueType("inuse_space", "bytes"),
    "rb": ValueType("read_space", "bytes"),
    "wb": ValueType("written_space", "bytes"),
}
_DEFAULT = "tb"


def read_dhat(path: str, options: ProfileOptions) -> Profile:
    """The profile in a file of dhat."""
    whole = read_node(path, options.most_bytes)
    places = list(whole.get("pps").items())
    present = {name for place in places for name in place.fields()} | {_DEFAULT}
    kinds = {name: kind for name, kind in _HEAP.items() if name in present}
    mode = whole.get("mode").text()
    if mode not in {"", "heap", "rust-heap"}:
        # Bytes that are copied, or units of the program's own.
        unit = whole.get("bu").text() or "bytes"
        kinds = {"tbk": ValueType("events", "count"), _DEFAULT: ValueType(mode, unit)}
    builder = ProfileBuilder(tuple(kinds.values()))
    builder.profile.default_value = list(kinds).index(_DEFAULT)
    process = whole.get("pid").value
    thread = builder.thread(Thread(process, None)) if type(process) is int else None
    builder.profile.comments += filter(None, [whole.get("cmd").text()])
    lines = [_line(each.text()) for each in whole.get("ftbl").items()]
    for place in places:
        rows = [lines[each.index(len(lines))] for each in place.get("fs").items()]
        stack = []
        for address, group in groupby(filter(None, rows), lambda line: line.address):
            inlined = list(group)  # into the last
            mapping = builder.module(inlined[-1].module)
            frames = tuple(line.frame for line in inlined if line.frame is not None)
            stack.append(builder.location(address, mapping, frames=frames))
        nodes = [place.get(name) for name in kinds]
        values = (0 if each.value is None else int(each.number()) for each in nodes)
        builder.sample(builder.stack(stack), tuple(values), thread=thread)
        if place.get("acc").value is not None:
            builder.profile.lose("counts of accesses to each byte of blocks")
    return builder.profile


class _Line(NamedTuple):
    """A function at an address, and the module, of which only one is known."""

    address: int
    frame: Frame | None
    module: str


def _line(text: str) -> _Line | None:
    """The parts of a text; None of the root."""
    found = _FRAME.fullmatch(_COLUMN.sub(r"\1)", text))
    if found is None or text == _ROOT:
        return None
    what = found["name"] or found["what"] or ""
    frame = None if what == _UNKNOWN else placed_frame(what)
    return _Line(int(found["address"] or "0", 16), frame, found["module"] or "")
