"""Options that say where the modules of logs and profiles are."""

from __future__ import annotations

from gsym.cli.grammar import Values, usage_errors
from gsym.cli.options import STORE_TO_READ

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gsym.modules.finder import Finder
    from gsym.profiles.binaries import Binaries

# Options that name locations of files.
FILES = ("--gsym-dir", "--debug-file-directory", "--store", "--source")


def module_options(remark: str = "") -> str:
    """The options."""
    return f"""\
--gsym-dir DIR...  folder of GSYM files, debug files, binaries or Breakpad files, named
  by build id or otherwise
--debug-file-directory DIR...  folder of debug files by build id (default:
  /usr/lib/debug{remark})
{STORE_TO_READ}
--source SOURCE...  source of missing modules, which go into the store: a folder, URL,
  ..., as for 'gsym store prefetch'
--debuginfod  fetch missing modules from the servers in DEBUGINFOD_URLS into the store
--no-debuginfod  do not ask these servers (default)"""


SYMBOL_OPTIONS = module_options()


def open_folders(
    values: Values, sources: Sequence[str], *, is_local: bool = True
) -> Finder:
    """The modules in the folders and the store of a command line.

    Where it *is_local*, the debug files of this machine and the user's store are the
    defaults, and files are used at the paths that the log or profile has.
    """
    from gsym.containers import DEBUG_DIRECTORIES
    from gsym.modules.finder import find_in, open_store

    of_system = DEBUG_DIRECTORIES if is_local else ()
    path = values.text("--store")
    has_store = is_local or path is not None or sources
    return find_in(
        values.texts("--gsym-dir"),
        tuple(values.texts("--debug-file-directory")) or of_system,
        open_store(path, sources, data_symbols=True) if has_store else None,
        at_paths=is_local,
    )


def open_profile_modules(values: Values) -> tuple[Finder, Binaries]:
    """The modules and the binaries of a profile."""
    from gsym.profiles.binaries import Binaries

    sources = values.texts("--source")
    if values.flag("--debuginfod") and not values.flag("--no-debuginfod"):
        sources.append("debuginfod")
    with usage_errors("option '--source'"):
        modules = open_folders(values, sources)
    return modules, Binaries(modules)
