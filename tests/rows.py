"""What a failing test was at: the targets of the loops around the line that failed.

A test that loops over cases needs no message at each assertion: the report of its
failure has a section that names the row, also where a function that it calls loops.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

TESTS = Path(__file__).parent
MAX_LENGTH = 1000  # of the text of a value


class Loop(NamedTuple):
    """The lines of a loop, and the names that have another value each time."""

    first: int
    last: int
    names: tuple[str, ...]


@cache
def loops(path: str) -> list[Loop]:
    """All loops of a file, outer ones first; `while` has the names of its condition."""
    tree = ast.parse(Path(path).read_text("utf-8"))
    found = [
        Loop(
            node.body[0].lineno,
            node.body[-1].end_lineno or node.body[-1].lineno,
            tuple(each.id for each in ast.walk(names) if isinstance(each, ast.Name)),
        )
        for node in ast.walk(tree)
        if isinstance(node, ast.For | ast.AsyncFor | ast.While)
        for names in (node.test if isinstance(node, ast.While) else node.target,)
    ]
    return sorted(found)


def row_of(frame: FrameType, line: int) -> Iterator[str]:
    """The values in the loops around a line that a frame is at."""
    for loop in loops(frame.f_code.co_filename):
        if not loop.first <= line <= loop.last:
            continue
        for name in loop.names:
            # A loop around a function that is defined in it is no loop of its frame.
            if name in frame.f_locals:
                text = repr(frame.f_locals[name])
                if len(text) > MAX_LENGTH:
                    text = f"{text[:MAX_LENGTH]}..."
                yield f"{name} = {text}"


def rows(traceback: TracebackType | None) -> Iterator[str]:
    """The rows of a failure, outer frames first."""
    while traceback is not None:
        frame = traceback.tb_frame
        if TESTS in Path(frame.f_code.co_filename).parents:
            yield from row_of(frame, traceback.tb_lineno)
        traceback = traceback.tb_next
