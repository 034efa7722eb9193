"""`gsym store gc`, `verify`, `misses`: the upkeep of a store."""

from __future__ import annotations

import time

from gsym.cli.grammar import Command, UsageError, Values
from gsym.cli.options import JSON, QUIET, STORE, show
from gsym.cli.program import EXIT_FAILED
from gsym.cli.terminal import print_json, printable, progress_for
from gsym.cli.verbs.store import attempt_lines, existing_store, open_store
from gsym.errors import AmbiguousModuleError
from gsym.modules.conversion_cache import collect_cache
from gsym.modules.resolver import negative_cache_of
from gsym.sizes import rounded_size
from gsym.store.verification import verify_store

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.modules.key import ModuleKey
    from gsym.store.directory import Store
    from gsym.store.sources.negative_cache import Miss


@Command(
    "gsym store gc",
    (
        STORE,
        """\
--max-size SIZE  maximum total size of the files, such as 500M or 20GiB
--max-age TIME  maximum time since a module was used, such as 30d or 12h
--min-free SIZE  minimum free space of the file system
--cache  collect the cache of converted binaries instead of a store; without --max-size,
  clear it""",
        JSON,
    ),
    """\
The least recently used modules are removed until the store fits. A module that is in
use is kept. Readers can continue to use an open file.""",
)
def collect(values: Values) -> int:
    """Collect, and print the bytes before and after."""
    wanted = values.size("--max-size", minimum=0)
    max_age = values.seconds("--max-age")
    min_free = values.size("--min-free", minimum=0)
    if values.flag("--cache"):
        done, what = collect_cache(wanted or 0), "files"
    elif wanted is None and max_age is None and min_free is None:
        raise UsageError("one of --max-size, --max-age and --min-free is required")
    else:
        store, what = existing_store(values), "modules"
        done = store.collect(wanted, max_age=max_age, min_free=min_free or 0)
    before, after = rounded_size(done.size_before), rounded_size(done.size_after)
    lines = [f"{done.removed:,} {what} removed: {before} -> {after}"]
    if done.locked:
        lines.append(f"{done.locked:,} kept because they are in use")
    if done.pending:
        pending = rounded_size(done.pending)
        lines.append(f"{pending} are freed when other processes close them")
    show(values, done._asdict(), lines)
    return 0


@Command(
    "gsym store verify",
    (
        STORE,
        """\
--repair  remove damaged modules, broken links and files left by killed processes;
  create missing links
--quick  do not read GSYM files completely""",
        JSON,
        QUIET,
    ),
    "The exit code is 1 if there are errors that were not repaired.",
)
def verify(values: Values) -> int:
    """Print the errors in the store; the exit code is 1 if not all were repaired."""
    store = open_store(values)
    is_json = values.flag("--json")
    found = remaining = 0
    with progress_for(store.path, quiet=values.flag("--quiet")) as progress:
        for finding in verify_store(
            store,
            repair=values.flag("--repair"),
            quick=values.flag("--quick"),
            progress=progress.callback,
        ):
            found += 1
            remaining += not finding.is_repaired
            progress.clear()
            if is_json:
                print_json(finding._asdict())
                continue
            end = " (repaired)" if finding.is_repaired else ""
            print(printable(f"{finding.path}: {finding.reason}{end}"))
    if not found and not is_json and not values.flag("--quiet"):
        print(f"{printable(store.path)}: the store is valid")
    return EXIT_FAILED if remaining else 0


_MAX_SHOWN = 20
_RESERVE = 4  # factor, for modules that were added meanwhile


@Command(
    "gsym store misses",
    (
        STORE,
        "--limit N  show N modules (default: 20)",
        JSON,
        "--clear  clear the negative cache: ask sources again",
    ),
    """\
Lists modules that no source had, the most requested first, with the answer of each
source. Modules that are now in the store are omitted.""",
)
def show_misses(values: Values) -> int:
    """Print the negative cache, or clear it."""
    store = open_store(values)
    misses = negative_cache_of(store)
    if values.flag("--clear"):
        print(f"{misses.clear()} misses removed")
        return 0
    most = values.number("--limit", minimum=1, end=1_000_001) or _MAX_SHOWN
    found = (
        miss
        for miss in misses.most_missed(most * _RESERVE)
        if not _is_there(store, miss.key)
    )
    for miss, _ in zip(found, range(most), strict=False):
        show(values, _record(miss), _lines(miss))
    misses.close()
    return 0


def _is_there(store: Store, key: ModuleKey) -> bool:
    """Whether a store has a module of a key, or several."""
    try:
        return store.get(key) is not None
    except AmbiguousModuleError:
        return True


def _lines(miss: Miss) -> Iterator[str]:
    key = miss.key
    name = key.debug_file or key.code_file or "-"
    identifier = key.debug_id or key.code_id
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(miss.last_asked))
    yield f"{miss.asked:>7} times, last {when}  {name} {identifier}"
    yield from attempt_lines(miss.attempts, 8)
    if not miss.attempts:
        yield "        no source was asked"


def _record(miss: Miss) -> dict[str, Any]:
    attempts = [
        {**attempt._asdict(), "time": when} for attempt, when, _ in miss.answers
    ]
    names = "debug_file", "debug_id", "code_file", "code_id"
    return {
        **{name: getattr(miss.key, name) for name in names},
        "asked": miss.asked,
        "last_asked": miss.last_asked,
        "attempts": attempts,
    }
