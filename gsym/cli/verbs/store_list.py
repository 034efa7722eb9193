"""`gsym store list`: the modules of a store."""

from __future__ import annotations

import sys
import time

from gsym.cli.options import Command, Option
from gsym.cli.terminal import describe, printable
from gsym.cli.verbs.store_options import (
    NAMES,
    STORE,
    entry_record,
    existing_store,
    selected_entries,
    size_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gsym.errors import FormatError
    from gsym.store.directory import Store
    from gsym.store.modules import Entry

COMMAND = Command(
    "gsym store list",
    "List the modules of a store",
    (NAMES,),
    (
        STORE,
        Option("--json", "print one JSON object a line"),
    ),
    "Modules come in the order of their names. The exit code is 1 if one is damaged.",
)

EXIT_DAMAGED = 1
_HEADS = ("NAME", "DEBUG ID", "OS", "ARCH", "FUNCTIONS", "SIZE", "LAST USED", "SOURCE")
_TO_THE_RIGHT = {"FUNCTIONS", "SIZE"}


def run(arguments: list[str]) -> int:
    """Print a line for each module."""
    values = COMMAND.parse(arguments)
    store = existing_store(values)
    problems: list[FormatError] = []
    entries = list(selected_entries(store, values.operands("NAME"), problems))
    entries.sort(key=lambda entry: (entry.identity.debug_file.lower(), entry.identity))
    if values.flag("--json"):
        import json

        for entry in entries:
            print(json.dumps(entry_record(store, entry)))
    else:
        sys.stdout.writelines(f"{line}\n" for line in _table(store, entries))
    for problem in problems:
        print(f"gsym store list: {describe(problem)}", file=sys.stderr)
    return EXIT_DAMAGED if problems else 0


def _table(store: Store, entries: Iterable[Entry]) -> Iterator[str]:
    rows = [_HEADS, *(_row(store, entry) for entry in entries)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.rjust(width) if head in _TO_THE_RIGHT else cell.ljust(width)
            for head, cell, width in zip(_HEADS, row, widths, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _row(store: Store, entry: Entry) -> tuple[str, ...]:
    identity = entry.identity
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(store.last_used(entry)))
    return (
        printable(identity.debug_file) or "-",
        identity.debug_id,
        printable(identity.os) or "-",
        printable(identity.architecture) or "-",
        f"{entry.quality.functions:,}",
        size_text(entry.size),
        used,
        printable(entry.source) or "-",
    )
