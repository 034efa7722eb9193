"""A run of one of the commands: how it ends becomes an exit code."""

from __future__ import annotations

import sys

from gsym.cli.terminal import (
    describe,
    discard_output,
    flush_or_discard,
    require_streams,
)
from gsym.errors import GsymError

__all__ = ["EXIT_FAILED", "EXIT_INTERRUPTED", "run_program"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def run_program(work: Callable[[], int], complain: Callable[[str], object]) -> int:
    """Do *work*, which gives the exit code, unless it fails.

    A reader of the output that goes away, as in `gsym dump FILE | head`, has seen
    enough: that is no failure.

    Args:
        work: Prints to standard output.
        complain: Gets one line on what failed, behind all output.
    """
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
