"""A run of one of the commands: how it ends becomes an exit code."""

from __future__ import annotations

import os
import sys

# The module `signal` would import `enum`, which takes longer than a lookup.
from _signal import (  # type: ignore[import-not-found]
    SIG_DFL,
    SIGTERM,
    getsignal,
    signal,
)

from gsym.cli.terminal import (
    describe,
    discard_output,
    flush_or_discard,
    guard_terminals,
    require_streams,
    unguard_terminals,
)
from gsym.errors import GsymError

__all__ = ["EXIT_FAILED", "EXIT_INTERRUPTED", "EXIT_TERMINATED", "run_program"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


def run_program(work: Callable[[], int], complain: Callable[[str], object]) -> int:
    """Do *work*, which gives the exit code, unless it fails.

    A reader of the output that goes away, as in `gsym dump FILE | head`, has seen
    enough: that is no failure. SIGTERM ends the run as an error does: what it has open
    is closed, and its temporary files are removed.

    Args:
        work: Prints to standard output.
        complain: Gets one line on what failed, behind all output.

    Raises:
        SystemExit: The process was told to end by SIGTERM.
    """
    is_heeded = _heed_termination()
    try:
        guard_terminals()
        return _run(work, complain)
    finally:
        unguard_terminals()
        if is_heeded:
            _heed_termination_no_more()


def _run(work: Callable[[], int], complain: Callable[[str], object]) -> int:
    try:
        require_streams()
        status = work()
        sys.stdout.flush()
    except BrokenPipeError:
        discard_output()
        return 0
    except (GsymError, OSError, MemoryError) as error:
        flush_or_discard()
        complain(describe(error))
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return status


def _heed_termination() -> bool:
    """Whether SIGTERM has a handler now that it did not have before."""
    if getsignal(SIGTERM) != SIG_DFL:
        return False
    try:
        signal(SIGTERM, _terminate)
    except ValueError:  # only the main thread can
        return False
    return True


def _heed_termination_no_more() -> None:
    if getsignal(SIGTERM) is _terminate:
        signal(SIGTERM, SIG_DFL)


# A program that is traced may fork: its children have nothing here to clean up.
os.register_at_fork(after_in_child=_heed_termination_no_more)


def _terminate(_number: int, _frame: object) -> None:
    signal(SIGTERM, SIG_DFL)  # who asks a second time does not want to wait
    raise SystemExit(EXIT_TERMINATED)
