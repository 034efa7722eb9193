"""The installed commands: the function of each runs it and ends the process.

Two things that the interpreter does take a fifth of the time of a lookup, and are left
out: the collection of garbage while modules are imported, which make none, and the
release of all objects at the end, as the system takes back the memory. Functions that
are registered for the end of the process (`atexit`) are called.
"""

from __future__ import annotations

import gc
import os
import sys
from atexit import _run_exitfuncs

from gsym import import_module

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def _command(module: str) -> Callable[[], NoReturn]:
    """A function that runs the `main` of a module."""

    def run_command() -> NoReturn:
        # Not at the import: processes that are spawned import this module, too.
        gc.disable()  # `run_program` enables it
        _end_with(import_module(f"gsym.cli.{module}").main())

    return run_command


gsym: Callable[[], NoReturn] = _command("main")
gsymutil: Callable[[], NoReturn] = _command("dropins.gsymutil")
gsym_symbolizer: Callable[[], NoReturn] = _command("dropins.symbolizer")
gsym_addr2line: Callable[[], NoReturn] = _command("dropins.addr2line")


def run() -> NoReturn:
    """Run the command that the first argument names, for the launcher (launcher/)."""
    commands = {
        "gsym": gsym,
        "gsymutil": gsymutil,
        "gsym-symbolizer": gsym_symbolizer,
        "gsym-addr2line": gsym_addr2line,
    }
    command = commands.get("".join(sys.argv[1:2]))
    if command is None:
        print(f"usage: gsym-python {'|'.join(commands)} ARGUMENT...", file=sys.stderr)
        _end_with(2)
    del sys.argv[1]
    command()


def _end_with(status: int) -> NoReturn:
    """End the process.

    As usual if other threads work, another program runs this one, or output cannot be
    written.
    """
    threading = sys.modules.get("threading")
    if threading is not None and threading.active_count() > 1:
        sys.exit(status)
    if "runpy" in sys.modules or sys.flags.inspect:  # python -m cProfile gsym ...
        sys.exit(status)
    _run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except OSError:
        sys.exit(status)
    os._exit(status)
