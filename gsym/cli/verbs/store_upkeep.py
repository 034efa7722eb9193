"""`gsym store gc`, `verify`, `misses`: the upkeep of a store."""

from __future__ import annotations

import sys
import time

from gsym.cli.grammar import Command, Option, UsageError
from gsym.cli.options import JSON, QUIET, STORE
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import print_json, printable, progress_for
from gsym.cli.verbs.store import existing_store, open_store, size_text
from gsym.store.resolver import negative_cache_of
from gsym.store.verification import verify_store
from gsym.symbolication.conversion_cache import collect_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.cli.grammar import Values
    from gsym.store.sources.negative_cache import Miss


@Command(
    "gsym store gc",
    (),
    (
        STORE,
        Option(
            "--max-size",
            "total size of the files that stay, such as 500M or 20GiB",
            metavar="SIZE",
        ),
        Option(
            "--cache",
            "in place of a store collect the cache of files that were converted for "
            "binaries; without --max-size it is cleared",
        ),
        JSON,
    ),
    """\
Modules are removed until the store fits, those first that were not used for longest. A
module that is in use stays. Readers that have a file open go on with it.""",
)
def collect(values: Values) -> int:
    """Collect, and print the bytes before and after."""
    wanted = values.size("--max-size", minimum=0)
    if values.flag("--cache"):
        done, what = collect_cache(wanted or 0), "files"
    elif wanted is None:
        raise UsageError("option '--max-size' is missing")
    else:
        done, what = existing_store(values).collect(wanted), "modules"
    if values.flag("--json"):
        print_json(done._asdict())
        return 0
    print(
        f"{done.removed:,} {what} removed: "
        f"{size_text(done.size_before)} -> {size_text(done.size_after)}"
    )
    if done.locked:
        print(f"{done.locked:,} stay since they are in use")
    return 0


@Command(
    "gsym store verify",
    (),
    (
        STORE,
        Option(
            "--repair",
            "remove damaged modules, links that lead nowhere and what killed "
            "processes left; make links that are missing",
        ),
        Option("--quick", "do not read all of each GSYM file"),
        JSON,
        QUIET,
    ),
    "The exit code is 1 if anything is wrong and was not repaired.",
)
def verify(values: Values) -> int:
    """Print what is wrong with the store; the exit code is 1 if anything still is."""
    store = open_store(values)
    is_json = values.flag("--json")
    found = wrong = 0
    with progress_for(store.path, quiet=values.flag("--quiet")) as progress:
        for finding in verify_store(
            store,
            repair=values.flag("--repair"),
            quick=values.flag("--quick"),
            progress=progress.callback,
        ):
            found += 1
            wrong += not finding.is_repaired
            progress.clear()
            if is_json:
                print_json(finding._asdict())
                continue
            end = " (repaired)" if finding.is_repaired else ""
            print(printable(f"{finding.path}: {finding.reason}{end}"))
    if not found and not is_json and not values.flag("--quiet"):
        print(f"{printable(store.path)}: the store is sound")
    return EXIT_FAILED if wrong else 0


_MOST_SHOWN = 20
_ROOM = 4  # for modules that were added meanwhile


@Command(
    "gsym store misses",
    (),
    (
        STORE,
        Option("--limit", "show N modules (default: 20)", metavar="N"),
        JSON,
        Option("--clear", "forget all misses, so that sources are asked again"),
    ),
    """\
The module that was asked for most often comes first. Below it stands which sources were
asked, and what each of them said. A module that is in the store by now is left out.""",
)
def show_misses(values: Values) -> int:
    """Print the report, or forget what it is made from."""
    store = open_store(values)
    misses = negative_cache_of(store)
    if values.flag("--clear"):
        print(f"{misses.clear()} misses forgotten")
        return 0
    most = values.number("--limit", minimum=1, end=1_000_001) or _MOST_SHOWN
    found = (
        miss for miss in misses.most_missed(most * _ROOM) if store.get(miss.key) is None
    )
    for miss, _ in zip(found, range(most), strict=False):
        if values.flag("--json"):
            print_json(_record(miss))
        else:
            sys.stdout.writelines(_lines(miss))
    misses.close()
    return 0


def _lines(miss: Miss) -> Iterator[str]:
    key = miss.key
    name = key.debug_file or key.code_file or "-"
    identifier = key.debug_id or key.code_id
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(miss.last_asked))
    yield f"{miss.asked:>7} times, last {when}  {printable(f'{name} {identifier}')}\n"
    for attempt in miss.attempts:
        text = f"{attempt.source}: {attempt.outcome}: {attempt.detail}"
        yield f"        {printable(text)}\n"
    if not miss.attempts:
        yield "        no source was asked\n"


def _record(miss: Miss) -> dict[str, Any]:
    attempts = [
        {**attempt._asdict(), "time": when}
        for attempt, when in zip(miss.attempts, miss.times, strict=True)
    ]
    return {
        **miss.key._asdict(),
        "asked": miss.asked,
        "last_asked": miss.last_asked,
        "attempts": attempts,
    }
