"""A run of one of the commands: how it ends becomes an exit code."""

from __future__ import annotations

import gc
import os
import sys

# The module `signal` would import `enum`, which takes longer than a lookup.
from _signal import SIG_DFL, SIGTERM, getsignal, signal  # type: ignore[import-not-found]

from gsym.cli import terminal
from gsym.cli.grammar import HelpRequested, UsageError
from gsym.errors import GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INCOMPLETE = 3  # under --strict
EXIT_INTERRUPTED = 130
EXIT_TERMINATED = 143


def run_program(
    argv: list[str] | None,
    read: Callable[[list[str]], tuple[Callable[[Any], int | None], Any]],
    complain: Callable[[Exception, list[str]], int],
) -> int:
    """Read a command line, by default that of the process, and do what it asks for.

    A closed pipe, as in `gsym dump FILE | head`, is not a failure. SIGTERM ends the run
    like an error: files are closed, and temporary files are removed. *read* returns the
    function to call and its argument, or raises `HelpRequested`; the function prints to
    standard output and returns the exit code. *complain* prints an error, after all
    output, and returns the exit code.

    Raises:
        SystemExit: The process received SIGTERM.
    """
    arguments = sys.argv[1:] if argv is None else argv
    is_handled = _handle_sigterm()
    try:
        terminal.guard_terminals()
        terminal.require_streams()
        try:
            work, values = read(arguments)
        except HelpRequested as request:
            work, values = print, str(request).removesuffix("\n")
        if not gc.isenabled():  # as `commands` leaves it
            gc.freeze()  # modules live as long as the process
            gc.enable()
        status = work(values) or 0
        sys.stdout.flush()
    except BrokenPipeError:
        terminal.discard_output()
        return 0
    except (GsymError, UsageError, OSError, MemoryError) as error:
        return complain(terminal.flush_or_discard(error), arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    finally:
        terminal.unguard_terminals()
        if is_handled:
            _restore_sigterm()
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
