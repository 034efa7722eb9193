"""The options that say where files are that belong to a binary."""

from __future__ import annotations

from gsym.cli.options import Option
from gsym.conversion.companions.elf import DEBUG_DIRECTORIES
from gsym.conversion.debug_info import SearchOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values

SEARCH_OPTIONS = (
    Option(
        "--debug-file-directory",
        "folder of installed debug files (default: /usr/lib/debug)",
        metavar="DIR",
        repeatable=True,
    ),
    Option(
        "--debuginfod",
        "fetch missing debug files from the servers in DEBUGINFOD_URLS",
    ),
)


def search_options(values: Values) -> SearchOptions:
    """What a command line with `SEARCH_OPTIONS` asks for."""
    directories = values.texts("--debug-file-directory")
    return SearchOptions(
        tuple(directories) or DEBUG_DIRECTORIES, values.flag("--debuginfod")
    )
