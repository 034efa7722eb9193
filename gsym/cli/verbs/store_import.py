"""`gsym store import`: a tree or a bucket of debug files -> modules of a store."""

from __future__ import annotations

import json
import sys
from collections import Counter

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.source_options import TRANSFER_OPTIONS, transfer_limits
from gsym.cli.terminal import printable
from gsym.cli.verbs.store_options import DATA_SYMBOLS, STORE, open_store
from gsym.store.importing import import_all, open_import_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.store.tree_adding import FileOutcome

COMMAND = Command(
    "gsym store import",
    "Put all modules of a symbol tree or a bucket into a store",
    (Operand("PLACE", "folder, other store, or s3://..., gs://..., az://..."),),
    (
        STORE,
        *(each for each in TRANSFER_OPTIONS if each.metavar),
        Option("--jobs", "take N files at a time (default: one per core)", metavar="N"),
        Option("--again", "take files again that are done"),
        Option("--keep-original", "keep a copy of each file with its module"),
        DATA_SYMBOLS,
        Option("--json", "print one JSON object a file"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
What is done is written down in the store: an import that was broken off goes on where
it was when it is called again. Files that failed or changed are taken again. The exit
code is 1 if a file failed.""",
)

EXIT_FAILED = 1


def run(arguments: list[str]) -> int:
    """Import all files; a line for each module that is new, then the counts."""
    values = COMMAND.parse(arguments)
    try:
        place = open_import_place(values.operand("PLACE"), transfer_limits(values))
    except ValueError as error:
        raise UsageError(f"PLACE: {error}") from None
    counts: Counter[str] = Counter()
    for outcome in import_all(
        open_store(values),
        place,
        jobs=values.number("--jobs", minimum=1, end=257),
        is_repeated=values.flag("--again"),
        keep_original=values.flag("--keep-original"),
        data_symbols=values.flag(DATA_SYMBOLS.name),
    ):
        counts[outcome.outcome] += 1
        if outcome.outcome == "failed":
            reason = printable(f"{outcome.path}: {outcome.reason}")
            print(f"gsym store import: {reason}", file=sys.stderr)
        if values.flag("--json"):
            print(json.dumps(_record(outcome)))
        elif not values.flag("--quiet") and outcome.outcome in {"added", "replaced"}:
            print(f"{outcome.outcome:<8}  {printable(outcome.path)}")
    if not values.flag("--quiet") and not values.flag("--json"):
        counted = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"{place.name}: {counted or 'no files'}")
    return EXIT_FAILED if counts["failed"] else 0


def _record(outcome: FileOutcome) -> dict[str, str | None]:
    return {
        "path": outcome.path,
        "outcome": outcome.outcome,
        "reason": outcome.reason,
        "debug_id": outcome.entry.identity.debug_id if outcome.entry else None,
    }
