"""`gsym store gc`: a store is made smaller."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Option, UsageError
from gsym.cli.verbs.store_options import STORE, existing_store, read_size, size_text

COMMAND = Command(
    "gsym store gc",
    "Remove what was not used for longest",
    (),
    (
        STORE,
        Option(
            "--max-size",
            "bytes that all files may have together, such as 500M or 20G",
            metavar="N",
        ),
        Option("--json", "print one JSON object"),
    ),
    """\
A module that somebody works on stays. Readers that have a file open go on with it.""",
)


def run(arguments: list[str]) -> int:
    """Collect, and print the bytes before and after."""
    values = COMMAND.parse(arguments)
    wanted = values.text("--max-size")
    if wanted is None:
        raise UsageError("option '--max-size' is missing")
    done = existing_store(values).collect(read_size(wanted, "--max-size"))
    if values.flag("--json"):
        print(json.dumps(done._asdict()))
        return 0
    print(
        f"{done.removed:,} modules removed: "
        f"{size_text(done.size_before)} -> {size_text(done.size_after)}"
    )
    if done.locked:
        print(f"{done.locked:,} stay since somebody works on them")
    return 0
