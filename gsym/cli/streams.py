"""Lines and logs from files and pipes, read in blocks, also compressed ones.

A process may have written a line and wait for its answer: whatever has come is
answered, and the answers are flushed, before more is waited for.
"""

from __future__ import annotations

import os
import sys
from itertools import chain

from gsym.cli.terminal import standard_input
from gsym.errors import ErrorsOf, FormatError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Comes where nothing has come for a moment, again and again.
IDLE = b""
IDLE_AFTER = 0.2  # seconds
_PIECE_SIZE = 1 << 20
_BLOCK_SIZE = 1 << 21
_LEAST_SIZE = 1 << 12  # of a read after which there may be more
_LONGEST_LINE = 1 << 16


def answer_lines(source: int, answer: Callable[[bytes], bytes]) -> None:
    """Read all lines and have each answered as it comes.

    *answer* gets lines and returns what it leaves for later, the beginning of a line.
    That at the end gets a newline; so does one that is too long, which nobody means:
    what follows is another line.
    """
    rest = b""
    while block := _read(source, _BLOCK_SIZE):
        rest = _answer_all(answer, rest + block)
        if len(rest) > _LONGEST_LINE:
            rest = _answer_all(answer, rest + b"\n")
    if rest:
        _answer_all(answer, rest + b"\n")


def read_ready(source: int, size: int, patience: float) -> bytes | None:
    """The bytes that have come; b"" at the end.

    It waits *patience* seconds, and returns None where nothing has come.
    """
    if not _is_ready(source, patience):
        return None
    return _read(source, size)


def _answer_all(answer: Callable[[bytes], bytes], lines: bytes) -> bytes:
    rest = answer(lines)
    sys.stdout.buffer.flush()
    return rest


def _read(source: int, most: int) -> bytes:
    """At most so many bytes, b"" at the end; waits only for the first byte."""
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
    """Read as os.read() does, and wait also where the descriptor does not block."""
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


# ---- logs


def log_pieces(paths: Sequence[str]) -> Iterator[bytes]:
    """The bytes of all files, one after the other; IDLE where a pipe is silent.

    Args:
        paths: `-` is standard input; so it is without any.
    """
    for path in paths or ("-",):
        if path != "-":
            with ErrorsOf(path), open(path, "rb", buffering=0) as file:
                yield from _pieces_of(file.fileno(), path)
        else:
            yield from _pieces_of(standard_input().fileno(), "standard input")


def _pieces_of(source: int, path: str) -> Iterator[bytes]:
    pieces = _read_all(source)
    first = next((piece for piece in pieces if piece != IDLE), None)
    if first is None:
        return
    from gsym.containers.recognition import check_read, inflater_of, recognise

    if recognise(first) == "zip archive":
        check_read("zip archive", path)
    inflate = inflater_of(first)
    chained = chain((first,), pieces)
    if inflate is None:
        yield from chained
        return
    try:
        yield from inflate(chained)
    except ValueError as error:
        reason = f"what is compressed is damaged: {error}"
        raise FormatError(reason, path=path) from None


def _read_all(source: int) -> Iterator[bytes]:
    while True:
        piece = read_ready(source, _PIECE_SIZE, IDLE_AFTER)
        if piece is None:
            yield IDLE
        elif piece:
            yield piece
        else:
            return
