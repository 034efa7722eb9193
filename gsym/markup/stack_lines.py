"""Lines of a log with stacks that are not markup: those of sanitizers, backtrace().

They are found by an offset in a module, `+0x1189` or `+ 0x1189`; lines beside them with
other addresses belong to the same stack.
"""

from __future__ import annotations

from gsym.engine.native import ffi, lib
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Protocol

    AnswersLines = Callable[[bytes], "AnsweredStack"]
    """Answers the next lines of a stack."""

    class StackAnswers(Protocol):
        """Answers stacks, as `LogStacks` does."""

        def begin(
            self, before: bytes, prefix_of: Callable[[bytes], bytes]
        ) -> AnswersLines:
            """The object that answers the lines of a stack.

            Lines *before* it may have the ids of modules. *prefix_of* returns the part
            of a line that is repeated on each line of its answer.
            """

        def summary(self) -> list[str]:
            """A sentence about unresolved frames for each module."""

        def doubts(self) -> list[str]:
            """A sentence about each module whose file may be of another build."""


class AnsweredStack(NamedTuple):
    """Lines with answers."""

    text: bytes  # the lines
    # for each frame the number of its line, the bytes before it in the line, and its
    # description in JSON
    frames: tuple[tuple[int, int, dict[str, Any]], ...]


_PLUS, _ADDRESS, _MARKUP = b"+", b"0x", b"{{{"
_LOOK_BACK = 1 << 16  # bytes before a stack that may have the ids of its modules
_ID = b"build-id"


def find_stacks(
    lines: bytes, at: int, end: int, *, is_inside: bool
) -> Iterator[tuple[int, int]]:
    """Start and end of the stacks in complete lines."""
    if is_inside and (stop := _end_of_stack(lines, at, end)) > at:
        yield at, stop
        at = stop
    hit = lines.find(_PLUS, at, end)
    if hit < 0:
        return
    block = ffi.from_buffer(lines)
    while (hit := hit + lib.gsym_text_find_offset(block + hit, end - hit)) < end:
        begin = lines.rfind(b"\n", at, hit) + 1 or at
        stop = hit = lines.find(b"\n", hit, end) + 1 or end
        if lines.find(_MARKUP, begin, stop) < 0:
            while begin > at:
                before = lines.rfind(b"\n", at, begin - 1) + 1 or at
                if not _has_address(lines, before, begin):
                    break
                begin = before
            at = hit = _end_of_stack(lines, stop, end)
            yield begin, at


def lines_before(lines: bytes, begin: int) -> bytes:
    """The lines before a stack, if they may have ids of modules."""
    start = max(begin - _LOOK_BACK, 0)
    return lines[start:begin] if lines.find(_ID, start, begin) >= 0 else b""


def _end_of_stack(lines: bytes, at: int, end: int) -> int:
    """The end of the lines with addresses from *at* on."""
    while at < end:
        after = lines.find(b"\n", at, end) + 1 or end
        if not _has_address(lines, at, after):
            break
        at = after
    return at


def _has_address(lines: bytes, at: int, end: int) -> bool:
    return lines.find(_ADDRESS, at, end) >= 0 > lines.find(_MARKUP, at, end)
