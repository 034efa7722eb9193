"""Small files: one with a bit of everything, and records that no creator writes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import gsym
from tests import oracle

if TYPE_CHECKING:
    from collections.abc import Iterable

START = 0x1000
SIZE = 0x100

STRINGS = b"\0main\0one\0two\0/src\0a.c\0"
MAIN, ONE, TWO, SRC, A_C = (STRINGS.index(word) for word in STRINGS.split(b"\0")[1:-1])
FILES = ((0, 0), (SRC, A_C))
MISSING_FILE = 7


def file_of(*functions: oracle.FunctionInfo, **changes: object) -> oracle.GsymFile:
    file = oracle.GsymFile(1, "little", 2, START, b"", STRINGS, FILES, functions)
    return replace(file, **changes)  # type: ignore[arg-type]


def function_of(
    rows: tuple[oracle.LineRow, ...] | None = None,
    inline: oracle.InlineInfo | None = None,
    **changes: object,
) -> oracle.FunctionInfo:
    function = oracle.FunctionInfo(START, SIZE, MAIN, rows, inline)
    return replace(function, **changes)  # type: ignore[arg-type]


def inlined(call_file: int, call_line: int = 30) -> oracle.InlineInfo:
    """`one`, inlined at START + 0x10 into `main`."""
    child = oracle.InlineInfo(
        ((START + 0x10, START + 0x20),), ONE, call_file, call_line
    )
    return oracle.InlineInfo(((START, START + SIZE),), MAIN, 0, 0, (child,))


def info(kind: int, payload: bytes, size: int | None = None) -> bytes:
    length = len(payload) if size is None else size
    return kind.to_bytes(4, "little") + length.to_bytes(4, "little") + payload


HEAD = SIZE.to_bytes(4, "little") + MAIN.to_bytes(4, "little")
END = info(0, b"")


def frame_text(frame: gsym.Frame) -> str:
    text = frame.name
    if frame.offset:
        text += f" + {frame.offset}"
    if frame.directory or frame.filename:
        text += f" @ {frame.path}:{frame.line}"
    return text + (" [inlined]" if frame.inlined else "")


UUID = bytes(range(20))
LINES = (
    gsym.LineEntry(START, "/src/a.c", 5),
    gsym.LineEntry(START + 8, "b.h", 30),
)
CALL = gsym.InlineInfo("one", "/src/a.c", 7, (gsym.Range(START + 8, START + 12),))
FUNCTIONS = (
    gsym.FunctionInfo(
        *(START, 16, "main", LINES),
        gsym.InlineInfo("main", "", 0, (gsym.Range(START, START + 16),), (CALL,)),
        (gsym.FunctionInfo(START, 16, "twin"), gsym.FunctionInfo(START, 16, "main")),
        (gsym.CallSite(4, 1, ("callee",)),),
        {9: b"kept"},
    ),
    gsym.FunctionInfo(START + 0x20, 0, "symbol"),
    gsym.FunctionInfo(START + 0x40, 8, "main"),
)


def file_bytes(
    functions: Iterable[gsym.FunctionInfo] = FUNCTIONS, version: int = 1
) -> bytes:
    with gsym.Creator(version=version, uuid=UUID) as creator:
        for function in functions:
            creator.add(function)
        return creator.to_bytes()
