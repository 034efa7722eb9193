"""The installed commands: the function of each runs it and ends the process.

Two things that the interpreter does take a fifth of the time of a lookup, and are left
out: the collection of garbage while modules are imported, which make none, and the
release of all objects at the end, as the system takes back the memory. Functions that
are registered for the end of the process (`atexit`) are called.
"""

from __future__ import annotations

import gc

gc.disable()  # `run_program` enables it

import os  # noqa: E402 - these are the imports meant above
import sys  # noqa: E402
from atexit import _run_exitfuncs  # noqa: E402

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import NoReturn


def gsym() -> NoReturn:
    """Run the command `gsym`."""
    from gsym.cli.main import main

    _end_with(main())


def gsymutil() -> NoReturn:
    """Run the command `gsymutil`."""
    from gsym.cli.dropins.gsymutil import main

    _end_with(main())


def gsym_symbolizer() -> NoReturn:
    """Run the command `gsym-symbolizer`."""
    from gsym.cli.dropins.symbolizer import main

    _end_with(main())


def gsym_addr2line() -> NoReturn:
    """Run the command `gsym-addr2line`."""
    from gsym.cli.dropins.addr2line import main

    _end_with(main())


def _end_with(status: int) -> NoReturn:
    """End the process; as usual if other threads work, or output cannot be written."""
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(status)
    _run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        sys.exit(status)
    os._exit(status)
