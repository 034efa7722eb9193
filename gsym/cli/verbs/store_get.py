"""`gsym store get`: the GSYM file of a module."""

from __future__ import annotations

import sys

from gsym.cli.options import Command, Option
from gsym.cli.verbs.store_options import (
    MODULE,
    STORE,
    entry_record,
    existing_store,
    find_entry,
)
from gsym.errors import GsymError
from gsym.store.tree_export import copy_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.store.modules import Entry

COMMAND = Command(
    "gsym store get",
    "Find the GSYM file of a module",
    (MODULE,),
    (
        STORE,
        Option("--output", "copy the file to OUT", short="-o", metavar="OUT"),
        Option(
            "--original",
            "the file that the module was made from and that is kept: sym, ranges, "
            "debuginfo",
            metavar="KIND",
        ),
        Option("--json", "print one JSON object with all that is known"),
    ),
    """\
Prints the path of the file, which stays good until the module is replaced or removed.
The exit code is 1 if the store does not have the module.""",
)


def run(arguments: list[str]) -> int:
    """Print the path of the file, or copy it."""
    values = COMMAND.parse(arguments)
    store = existing_store(values)
    entry = find_entry(store, values.operand("MODULE"))
    path = _file(entry, values.text("--original"))
    output = values.text("--output")
    if output is not None:
        copy_file(path, output)
    if values.flag("--json"):
        import json

        print(json.dumps(entry_record(store, entry)))
    elif output is None:
        sys.stdout.write(f"{path}\n")
    return 0


def _file(entry: Entry, original: str | None) -> str:
    if original is None:
        return entry.path
    if original not in entry.originals:
        kept = ", ".join(entry.originals) or "none"
        reason = f"has no original of kind {original}; kept: {kept}"
        raise GsymError(reason, path=entry.path)
    return entry.originals[original]
