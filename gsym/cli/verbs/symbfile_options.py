"""The options of verbs that extract symbfiles."""

from __future__ import annotations

from gsym.cli.options import Option
from gsym.cli.search_options import SEARCH_OPTIONS, search_options
from gsym.symbfile.extraction import KINDS
from gsym.symbfile.names import STYLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.options import Values

NAMES = Option(
    "--names",
    "symblib: demangled, without template arguments (default); full: demangled; "
    "mangled: as the linker knows them",
    metavar="STYLE",
)
CONVERSION_OPTIONS = (
    Option("--arch", "slice of a fat file, such as arm64", metavar="NAME"),
    *SEARCH_OPTIONS,
    Option("--dwp", "package with the split units", metavar="FILE"),
    Option("--threads", "worker threads (default: one per core)", metavar="N"),
)

_CHOICES = {**{kind: (kind,) for kind in KINDS}, "both": KINDS}


def read_kinds(values: Values, default: str) -> tuple[str, ...]:
    """The kinds of records that `--kind` asks for.

    Raises:
        UsageError: There is no such kind.
    """
    return _CHOICES[values.choice("--kind", tuple(_CHOICES)) or default]


def extraction_options(values: Values) -> dict[str, Any]:
    """What a command line with `NAMES` and `CONVERSION_OPTIONS` asks for.

    Raises:
        UsageError: A value is none.
    """
    search = search_options(values)
    return {
        "names": values.choice("--names", tuple(STYLES)) or "symblib",
        "architecture": values.text("--arch"),
        "debug_directories": search.debug_directories,
        "debuginfod": search.debuginfod,
        "dwp": values.text("--dwp"),
        "threads": values.number("--threads", minimum=1),
    }
