"""Options that say where the modules of logs and profiles are."""

from __future__ import annotations

from gsym.cli.grammar import Option
from gsym.cli.options import STORE_TO_READ

# Options that name locations of files.
FILES = ("--gsym-dir", "--debug-file-directory", "--store", "--source")


def module_options(remark: str = "") -> tuple[Option, ...]:
    """The options.

    Args:
        remark: Text after their defaults.
    """
    return (
        Option(
            "--gsym-dir",
            "folder of GSYM files, debug files, binaries or Breakpad files, named by "
            "build id or otherwise",
            metavar="DIR",
            repeatable=True,
        ),
        Option(
            "--debug-file-directory",
            "folder of debug files by build id (default: /usr/lib/debug" + remark + ")",
            metavar="DIR",
            repeatable=True,
        ),
        STORE_TO_READ,
        Option(
            "--source",
            "source of missing modules, which go into the store: a folder, URL, ..., "
            "as for 'gsym store prefetch'",
            metavar="SOURCE",
            repeatable=True,
        ),
        Option(
            "--debuginfod",
            "fetch missing modules from the servers in DEBUGINFOD_URLS into the store",
        ),
        Option("--no-debuginfod", "do not ask these servers (default)"),
    )


SYMBOL_OPTIONS = module_options()
