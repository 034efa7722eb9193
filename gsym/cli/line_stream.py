"""Lines that come through a descriptor, read in blocks.

A process may have written a line and wait for its answer: whatever has come is
answered, and the answers are flushed, before more is waited for.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_BLOCK_SIZE = 1 << 21
_LEAST_SIZE = 1 << 12  # of a read behind which there may be more
_LONGEST_LINE = 1 << 16


def answer_lines(source: int, answer: Callable[[bytes], bytes]) -> None:
    """Have all lines answered as they come.

    Args:
        source: The descriptor.
        answer: Answers what it gets on standard output and returns what it leaves for
            later, the beginning of a line. That at the end gets a newline; so does one
            that is too long, which nobody means: what follows is another line.
    """
    rest = b""
    while block := _read(source, _BLOCK_SIZE):
        rest = _answer_all(answer, rest + block)
        if len(rest) > _LONGEST_LINE:
            rest = _answer_all(answer, rest + b"\n")
    if rest:
        _answer_all(answer, rest + b"\n")


def read_ready(source: int, size: int, patience: float) -> bytes | None:
    """What has come; b"" at the end.

    Args:
        source: The descriptor.
        size: How many bytes at most.
        patience: Seconds to wait for it; None is the answer where nothing has come.
    """
    if not _is_ready(source, patience):
        return None
    return _read(source, size)


def _answer_all(answer: Callable[[bytes], bytes], lines: bytes) -> bytes:
    rest = answer(lines)
    sys.stdout.buffer.flush()
    return rest


def _read(source: int, most: int) -> bytes:
    """What is there, at most so much, b"" at the end; waits only for the first byte."""
    block = _read_once(source, most)
    if not _LEAST_SIZE <= len(block) < most:
        return block
    # A pipe gives less at a time than is worth to be looked up together.
    parts, size = [block], len(block)
    while size < most and _is_ready(source, 0):
        block = _read_once(source, most - size)
        if not block:
            break
        parts.append(block)
        size += len(block)
    return b"".join(parts)


def _read_once(source: int, size: int) -> bytes:
    """As os.read(), which does not wait where somebody made the descriptor so."""
    while True:
        try:
            return os.read(source, size)
        except BlockingIOError:  # noqa: PERF203 - after which it is tried again
            _is_ready(source, None)


def _is_ready(source: int, timeout: float | None) -> bool:
    """Whether a read would not wait, within *timeout* seconds; None: it will not."""
    import select

    if not hasattr(select, "poll"):
        return bool(select.select([source], [], [], timeout)[0])
    # select() takes no descriptor from 1024 on.
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))
