"""`gsym store export`: modules of a store for other tools."""

from __future__ import annotations

import sys

from gsym.cli.options import Command, Option, UsageError
from gsym.cli.terminal import describe, printable
from gsym.cli.verbs.store_options import NAMES, STORE, existing_store, selected_entries
from gsym.store.tree_export import export_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.errors import FormatError

COMMAND = Command(
    "gsym store export",
    "Write the modules of a store for other tools",
    (NAMES,),
    (
        STORE,
        Option(
            "--output",
            "folder, or archive (.zip, .tar, .tar.gz, .tar.xz) to write",
            short="-o",
            metavar="OUT",
        ),
        Option(
            "--format",
            "breakpad: .sym files (default); gsym: GSYM files",
            metavar="NAME",
        ),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
Files stand as symbol servers have them: NAME/DEBUGID/NAME.sym. A Breakpad file that
is kept with its module is written as it is, with its unwind records; others are made
of the GSYM file. The exit code is 1 if a module could not be written.""",
)

EXIT_FAILED = 1
_KINDS = {"breakpad": "sym", "gsym": "gsym"}


def run(arguments: list[str]) -> int:
    """Write the modules; a line for each."""
    values = COMMAND.parse(arguments)
    output = values.text("--output")
    if output is None:
        raise UsageError("option '--output' is missing")
    kind = _KINDS.get(values.text("--format") or "breakpad")
    if kind is None:
        raise UsageError("option '--format': choose breakpad or gsym")
    problems: list[FormatError] = []
    store = existing_store(values)
    entries = selected_entries(store, values.operands("NAME"), problems)
    is_whole = True
    for module in export_modules(entries, output, kind=kind):
        if module.reason:
            is_whole = False
            text = printable(f"{module.path}: {module.reason}")
            print(f"gsym store export: {text}", file=sys.stderr)
        elif not values.flag("--quiet"):
            print(printable(module.path))
    for problem in problems:
        print(f"gsym store export: {describe(problem)}", file=sys.stderr)
    return 0 if is_whole and not problems else EXIT_FAILED
