"""`gsym store verify`: is a store sound?"""

from __future__ import annotations

import json

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable, progress_for
from gsym.cli.verbs.store_options import STORE, open_store
from gsym.store.verification import verify_store

COMMAND = Command(
    "gsym store verify",
    "Check a store",
    (),
    (
        STORE,
        Option(
            "--repair",
            "remove damaged modules, links that lead nowhere and what killed "
            "processes left; make links that are missing",
        ),
        Option("--quick", "do not read all of each GSYM file"),
        Option("--json", "print one JSON object for each thing that is wrong"),
        Option("--quiet", "print what is wrong only", short="-q"),
    ),
    "The exit code is 1 if anything is wrong and was not repaired.",
)

EXIT_WRONG = 1


def run(arguments: list[str]) -> int:
    """Print what is wrong with the store; the exit code is 1 if anything still is."""
    values = COMMAND.parse(arguments)
    store = open_store(values)
    is_json = values.flag("--json")
    progress = None if values.flag("--quiet") else progress_for(store.path)
    found = wrong = 0
    for finding in verify_store(
        store,
        repair=values.flag("--repair"),
        quick=values.flag("--quick"),
        progress=progress,
    ):
        found += 1
        wrong += not finding.is_repaired
        if progress is not None:
            progress.clear()
        end = " (repaired)" if finding.is_repaired else ""
        text = printable(f"{finding.path}: {finding.reason}{end}")
        print(json.dumps(finding._asdict()) if is_json else text)
    if progress is not None:
        progress.clear()
    if not found and not is_json and not values.flag("--quiet"):
        print(f"{printable(store.path)}: the store is sound")
    return EXIT_WRONG if wrong else 0
