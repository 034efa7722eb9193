"""Lines that come through a descriptor, read in blocks.

A process may have written a line and wait for its answer: whatever has come is
answered, and the answers are flushed, before more is waited for.
"""

from __future__ import annotations

import os
import sys

__all__ = ["answer_lines"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK_SIZE = 1 << 21
_LEAST_SIZE = 1 << 12  # of a read behind which there may be more


def answer_lines(source: int, answer: Callable[[bytes], bytes]) -> None:
    """Have all lines answered as they come.

    Args:
        source: The descriptor.
        answer: Answers what it gets on standard output and returns what it leaves for
            later, the beginning of a line; that at the end gets a newline.
    """
    rest = b""
    while block := _read(source):
        rest = _answer_all(answer, rest + block)
    if rest:
        _answer_all(answer, rest + b"\n")


def _answer_all(answer: Callable[[bytes], bytes], lines: bytes) -> bytes:
    try:
        return answer(lines)
    finally:
        sys.stdout.buffer.flush()


def _read(source: int) -> bytes:
    """What is there, at most a block, b"" at the end; waits only for the first byte."""
    block = os.read(source, _BLOCK_SIZE)
    if not _LEAST_SIZE <= len(block) < _BLOCK_SIZE:
        return block
    from select import select

    # A pipe gives less at a time than is worth to be looked up together.
    parts, size = [block], len(block)
    while size < _BLOCK_SIZE and select([source], [], [], 0)[0]:
        block = os.read(source, _BLOCK_SIZE - size)
        if not block:
            break
        parts.append(block)
        size += len(block)
    return b"".join(parts)
