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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3  # under --strict
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


def run_program(work: Callable[[], int], complain: Callable[[str], object]) -> int:
    """Do *work*, which gives the exit code, unless it fails.

    A reader of the output that goes away, as in `gsym dump FILE | head`, has seen
    enough: that is not a failure. SIGTERM ends the run like an error: files are closed,
    and temporary files are removed.

    Args:
        work: Prints to standard output.
        complain: Gets one line on what failed, after all output.

    Raises:
        SystemExit: The process received SIGTERM.
    """
    is_handled = _handle_sigterm()
    try:
        guard_terminals()
        return _run(work, complain)
    finally:
        unguard_terminals()
        if is_handled:
            _restore_sigterm()


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


def _handle_sigterm() -> bool:
    """Install a handler for SIGTERM; False if there is another one, or none can be."""
    if getsignal(SIGTERM) != SIG_DFL:
        return False
    try:
        signal(SIGTERM, _terminate)
    except ValueError:  # only the main thread can
        return False
    return True


def _restore_sigterm() -> None:
    if getsignal(SIGTERM) is _terminate:
        signal(SIGTERM, SIG_DFL)


# A traced program may fork: its children have nothing to clean up here.
os.register_at_fork(after_in_child=_restore_sigterm)


def _terminate(_number: int, _frame: object) -> None:
    signal(SIGTERM, SIG_DFL)  # a second signal ends the process at once
    raise SystemExit(EXIT_TERMINATED)
