"""A program that is run for a dump: its input, its first line, its time."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress

__all__ = ["HookError", "run_hook"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_LINE = 4096
_PIECE_SIZE = 1 << 16
_LOOK_AFTER = 0.2  # seconds


class HookError(Exception):
    """A hook gave no answer; the text says why."""


def run_hook(command: Sequence[str], data: bytes, seconds: float) -> bytes:
    """The first line that a program prints, of which 4096 bytes count.

    It is run without a shell. What it prints besides is read and dropped; when it is
    done, or its time is over, all is ended that it started and that has not left its
    session.

    Args:
        command: The program and its arguments.
        data: Its standard input. It need not read it.
        seconds: How long it may take.

    Raises:
        HookError: It took too long, or ended with a failure.
        OSError: It cannot be started.
    """
    end = time.monotonic() + seconds
    with subprocess.Popen(  # noqa: S603 - what the user asks to be run
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        bufsize=0,
    ) as process:
        try:
            line = _first_line(process, data, end)
            status = process.wait(max(end - time.monotonic(), 0))
        except (TimeoutError, subprocess.TimeoutExpired):
            reason = f"{command[0]} took more than {seconds:g} seconds"
            raise HookError(reason) from None
        finally:
            # The group of a program that has ended keeps its number while one lives.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    if status:
        raise HookError(f"{command[0]} ended with {status}")
    return line


def _first_line(process: subprocess.Popen[bytes], data: bytes, end: float) -> bytes:
    """What a process prints up to the end of its first line, once it prints no more.

    Raises:
        TimeoutError: It is not done at *end*.
    """
    assert process.stdin is not None  # noqa: S101 - for the types
    assert process.stdout is not None  # noqa: S101
    source, target = process.stdout.fileno(), process.stdin.fileno()
    line, is_whole, sent = b"", False, 0
    os.set_blocking(target, False)
    with selectors.DefaultSelector() as streams:
        streams.register(source, selectors.EVENT_READ)
        streams.register(target, selectors.EVENT_WRITE)
        while time.monotonic() < end:
            for key, _ in streams.select(min(end - time.monotonic(), _LOOK_AFTER)):
                if key.fd == target:
                    sent += _send(target, data[sent : sent + _PIECE_SIZE])
                    if sent >= len(data):
                        streams.unregister(target)
                        process.stdin.close()
                    continue
                piece = os.read(source, _PIECE_SIZE)
                if not piece:
                    return line
                if not is_whole:
                    line, newline, _ = (line + piece).partition(b"\n")
                    is_whole = bool(newline) or len(line) >= _LONGEST_LINE
                    line = line[:_LONGEST_LINE].removesuffix(b"\r")
            # What it started may go on with the same output.
            if is_whole and process.poll() is not None:
                return line
    raise TimeoutError


def _send(pipe: int, piece: bytes) -> int:
    """How many bytes were taken; all, where nobody reads them any more."""
    try:
        return os.write(pipe, piece)
    except BlockingIOError:
        return 0
    except BrokenPipeError:
        return 1 << 62
