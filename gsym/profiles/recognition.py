"""Recognize profiles by their contents.

Source of the first fields of the protobuf formats: `gsym.profiles.protobuf`.
"""

from __future__ import annotations

import os
import re
import struct

from gsym.containers.recognition import TRACE_MAGICS
from gsym.errors import FormatError
from gsym.fxt.recognition import is_trace
from gsym.lazy import regex
from gsym.profiles.foreign import require_known, require_known_text
from gsym.profiles.input_bytes import (
    SLABS_MAGIC,
    read_inflated,
    read_pieces,
    text_decoder,
)
from gsym.profiles.perf_layout import is_perf_script

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

PERF_DATA_MAGICS = {b"PERFILE2": "<", b"2ELIFREP": ">"}
"""The first bytes, and the byte order that they stand for."""

SIZE_BYTES = 4  # of a size before a message, as collectors of OpenTelemetry write it
_MAX_LINES = 256
_HEAD_BYTES = 1 << 20
_MAX_FIELDS = 1 << 16
_FIRST = 1  # in pprof types of values, of numbers; in OTLP resources, of messages
_LAST_OF_OTLP = 2
_LAST_INSIDE = 3  # the greatest number in a first message, that of a resource's schema

ADDRESS = regex(r"(?:0[xX])?(?P<address>[0-9a-fA-F]{1,16})", re.ASCII)
MODULE_OFFSET = regex(r"(?P<module>.+)\+0[xX](?P<address>[0-9a-fA-F]{1,16})", re.ASCII)
ID_ADDRESS = regex(
    r"(?P<build_id>(?:[0-9a-fA-F]{2}){4,64}):0[xX](?P<address>[0-9a-fA-F]{1,16})",
    re.ASCII,
)
GO_HEAP = regex(
    r"heap profile: +\d+: +\d+ \[ *\d+: +\d+\] @ "
    r"(?P<kind>heap[a-z]*(?:_v2)?)(?:/(?P<rate>\d{1,18}))?",
    re.ASCII,
)
GO_COUNTS = regex(r"(?P<kind>[\w./-]{1,64}) profile: total \d+\s*$", re.ASCII)
GO_WAITS = regex(r"--- ?(?:contention|mutex)\b")
JEMALLOC_HEAP = regex(r"heap_v2/(?P<rate>\d{1,18})", re.ASCII)
# Of its head; other tools write these without a first line that names the format.
CALLGRIND_LINE = regex(
    r"# callgrind format|creator: (?:callgrind|xdebug|yappi)|events: \w"
)
_CALLGRIND_HEAD = 16
NUMBER = r"-?[0-9]{1,18}(?:\.[0-9]{0,18})?(?:[eE][+-]?[0-9]{1,2})?"
COLLAPSED_STACK = regex(
    rf"(?P<frames>(?:.*\S)?)[ \t]+(?P<values>{NUMBER}(?:,{NUMBER})*)", re.ASCII
)
AUSTIN_THREAD = regex(
    r"P(?P<process>\d{1,10});T(?:\d{1,10}:)?(?P<thread>\d{1,10})(?:;|$)", re.ASCII
)
COMMENT = "#"  # austin writes about itself


def profile_kind(path: str | os.PathLike[str]) -> str:
    """The format of a regular file, of `opening.KINDS`; "" for an unknown one."""
    name = os.fspath(path)
    pieces = read_pieces(name)
    head = next(pieces, b"")
    require_known(head, name)
    found = _binary_kind(head, name)
    if found is not None:
        return found
    is_whole = next(pieces, None) is None
    text = text_decoder(head).decode(head)
    if text.lstrip().startswith("{"):
        require_known_text(text, name)
    kind = json_kind(text) or _text_kind(text, is_whole=is_whole)
    if kind:
        return kind
    kind = message_kind(head, is_whole=is_whole) or ("fxt" if is_trace(head) else "")
    sized = sized_message(head)
    if not kind and sized is not None:
        kind = message_kind(sized, is_whole=len(sized) < len(head) - SIZE_BYTES)
    if kind or is_whole or b"\0" not in head:
        return kind
    return message_kind(read_inflated(name), is_whole=True)


def _binary_kind(head: bytes, name: str) -> str | None:
    """The format of a file that begins with a magic number; None for others."""
    if head.startswith(TRACE_MAGICS):
        return "fxt"  # whatever follows: damaged traces are read
    if head.startswith(tuple(PERF_DATA_MAGICS)):
        return "perf.data"
    if head.startswith(SLABS_MAGIC):
        from gsym.profiles.json_input import root_text  # which imports more

        text = root_text(head, _HEAD_BYTES)
        return json_kind(text or root_text(read_inflated(name), _HEAD_BYTES))
    return None if word_layout(head) is None else "gperftools"


def _text_kind(text: str, *, is_whole: bool) -> str:
    """Format of the lines of a text; "" for none."""
    lines = text.split("\n")
    first_lines = lines[:_MAX_LINES]
    if any(form.match(lines[0]) for form in (GO_HEAP, JEMALLOC_HEAP)):
        return "heap"
    if any(form.match(lines[0]) for form in (GO_COUNTS, GO_WAITS)):
        return "go"
    if any(map(CALLGRIND_LINE.match, first_lines[:_CALLGRIND_HEAD])):
        return "callgrind"
    if is_perf_script(first_lines):
        return "perf script"
    if is_address_list(first_lines):
        return "addresses"
    is_cut = not is_whole and len(lines) <= _MAX_LINES
    complete = first_lines[:-1] if is_cut else first_lines
    return "collapsed" if "\0" not in text and is_collapsed(complete) else ""


_HEAD_WORDS = 5  # 0, 3, 0, the period, 0


def word_layout(data: bytes) -> str | None:
    """The order and size of the words of a CPU profile of gperftools, by its head."""
    for layout in ("<Q", ">Q", "<I", ">I"):
        size = struct.calcsize(layout)
        if len(data) >= _HEAD_WORDS * size:
            head = struct.unpack_from(f"{layout[0]}{_HEAD_WORDS}{layout[1]}", data)
            if head[:3] == (0, 3, 0) and head[3] and head[4] == 0:
                return layout
    return None


def sized_message(data: bytes) -> bytes | None:
    """The first bytes of a message that follows its size; None without one."""
    size = int.from_bytes(data[:SIZE_BYTES], "big")
    message = data[SIZE_BYTES : SIZE_BYTES + size]
    return message if message and data[0] == 0 else None


def message_kind(data: bytes, *, is_whole: bool) -> str:
    """Protobuf message that begins like this; "" for none, or if it is uncertain."""
    from gsym.profiles.protobuf import (  # not loaded for texts
        LENGTH_DELIMITED,
        PPROF_TYPES,
        VARINT,
        each_field,
    )

    is_pprof = False
    try:
        for number, field in enumerate(each_field(data)):
            if number == _MAX_FIELDS:
                return "pprof"  # OTLP has not as many without a resource
            if field.wire_type not in PPROF_TYPES.get(field.number, ()):
                return ""
            if field.number == _FIRST and field.content < field.end:
                parts = each_field(data[field.content : field.end])
                keys = {(part.number <= _LAST_INSIDE, part.wire_type) for part in parts}
                kinds = {(True, VARINT): "pprof", (True, LENGTH_DELIMITED): "otlp"}
                return kinds.get(keys.pop(), "") if len(keys) == 1 else ""
            is_pprof |= field.number > _LAST_OF_OTLP
    except FormatError:
        return ""
    return ("pprof" if is_pprof else "otlp") if is_whole else ""


def is_address_list(lines: Iterable[str]) -> bool:
    """Whether the first line that is not blank is an address."""
    first = next(iter(stack_lines(lines)), "")
    forms = ADDRESS, ID_ADDRESS, MODULE_OFFSET
    return any(form.fullmatch(first) for form in forms)


def is_collapsed(lines: Iterable[str]) -> bool:
    """Whether most complete lines are stacks with a value, some of several frames."""
    texts = stack_lines(lines)
    stacks = list(filter(None, map(COLLAPSED_STACK.fullmatch, texts)))
    calls = sum(";" in found["frames"] for found in stacks)
    return len(texts) < 2 * len(stacks) and 0 < len(stacks) <= 2 * calls


def stack_lines(lines: Iterable[str]) -> list[str]:
    """The lines of collapsed stacks, which are neither blank nor comments."""
    texts = (line.strip() for line in lines)
    return [text for text in texts if text and not text.startswith(COMMENT)]


# The names of members, also of those within `shared`, `head` and items of a list.
_MEMBERS = {
    "chrome": ".ph displayTimeUnit metadata.source otherData stackFrames "
    "systemTraceEvents traceEvents",
    "speedscope": "$schema activeProfileIndex exporter profiles shared.frames",
    "firefox": "libs meta shared.stringArray threads",
    "heapprofile": "head.callFrame head.selfSize",
    "cpuprofile": "head.functionName head.hitCount head.url nodes timeDeltas",
    "dhat": "dhatFileVersion",
    "otlp": "dictionary.mappingTable dictionary.stringTable resourceProfiles "
    "resource_profiles",
}
_KINDS = {name: kind for kind, names in _MEMBERS.items() for name in names.split()}
_DEPTH = 2  # of these members
_TOKEN = regex(r'("(?:[^"\\]|\\.)*"?)(\s*:)?|([{\[])|([}\]])')


def json_kind(text: str) -> str:
    """Kind of a profile in JSON that begins like this; "" for other texts and JSON."""
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
