"""`gsym store prefetch`: modules of a list, fetched before somebody asks for them."""

from __future__ import annotations

import json
import sys
from functools import partial

from gsym.cli.options import Command, Operand, Option
from gsym.cli.source_options import (
    SOURCE,
    TRANSFER_OPTIONS,
    open_sources,
    source_opener,
)
from gsym.cli.terminal import printable, progress_for
from gsym.cli.verbs.module_list import read_module_list
from gsym.cli.verbs.store_options import DATA_SYMBOLS, STORE, open_store
from gsym.store.adding import add_file
from gsym.store.resolver import Resolver
from gsym.store.tree_adding import in_parallel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.modules import ModuleKey, Resolution
    from gsym.store.sources.negative_cache import NegativeCache

COMMAND = Command(
    "gsym store prefetch",
    "Fetch the modules of a list into a store",
    (
        Operand(
            "LIST",
            "file with lines NAME ID, NAME/ID or ID, or with JSON of a symbolication "
            "request; - for standard input",
        ),
    ),
    (
        STORE,
        SOURCE,
        *TRANSFER_OPTIONS,
        Option("--jobs", "look for N modules at a time (default: 8)", metavar="N"),
        DATA_SYMBOLS,
        Option("--retry", "ask again for what was not found lately"),
        Option("--strict", "exit with 3 if a module was not found"),
        Option("--json", "print one JSON object a module"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
Of a module that is not found all sources are named with what each of them said. What
was not found is remembered for a while, also by servers of the same store. Modules that
are there stay as they are.""",
)

EXIT_MISSES = 3
_JOBS = 8


def run(arguments: list[str]) -> int:
    """Resolve all modules; a line for each, then the counts."""
    values = COMMAND.parse(arguments)
    modules = read_module_list(_read(values.operand("LIST")))
    store = open_store(values)
    progress = None if values.flag("--quiet") else progress_for(store.path)
    counts = {"there": 0, "fetched": 0, "missing": 0}
    jobs = values.number("--jobs", minimum=1, end=257) or _JOBS
    with source_opener(values) as opener:
        add = partial(add_file, data_symbols=values.flag(DATA_SYMBOLS.name))
        resolver = Resolver(store, open_sources(values, opener), add=add)
        if values.flag("--retry"):
            for keys in modules:
                _forget(resolver.misses, keys)
        answers = in_parallel(lambda keys: _resolve(resolver, keys), modules, jobs)
        for done, (keys, resolution) in enumerate(answers, 1):
            outcome = _outcome(resolution)
            counts[outcome] += 1
            if progress is not None:
                progress.clear()
            if values.flag("--json"):
                print(json.dumps(_record(keys[0], outcome, resolution)))
            elif not values.flag("--quiet"):
                sys.stdout.writelines(_lines(keys[0], outcome, resolution))
            if progress is not None:
                progress(done, len(modules))
        resolver.misses.close()
    if progress is not None:
        progress.clear()
    if not values.flag("--quiet") and not values.flag("--json"):
        counted = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        print(f"{len(modules)} modules: {counted}")
    return EXIT_MISSES if values.flag("--strict") and counts["missing"] else 0


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _forget(misses: NegativeCache, keys: list[ModuleKey]) -> None:
    for key in keys:
        misses.forget(key)


def _resolve(resolver: Resolver, keys: list[ModuleKey]) -> Resolution:
    """The first that is found of what a module may be, or else what its first is."""
    found = [resolver.resolve(keys[0])]
    for key in keys[1:]:
        if found[-1].entry is None:
            found.append(resolver.resolve(key))
    return found[-1] if found[-1].entry is not None else found[0]


def _outcome(resolution: Resolution) -> str:
    if resolution.entry is None:
        return "missing"
    return "there" if resolution.is_cached else "fetched"


def _name(key: ModuleKey) -> str:
    name, identifier = key.debug_file or key.code_file, key.debug_id or key.code_id
    return f"{name}/{identifier}" if name else identifier


def _lines(key: ModuleKey, outcome: str, resolution: Resolution) -> Iterator[str]:
    yield f"{outcome:<7}  {printable(_name(key))}\n"
    if outcome != "there":
        for attempt in resolution.attempts:
            text = f"{attempt.source}: {attempt.outcome}: {attempt.detail}"
            yield f"         {printable(text)}\n"


def _record(key: ModuleKey, outcome: str, resolution: Resolution) -> dict[str, Any]:
    return {
        **key._asdict(),
        "outcome": outcome,
        "path": resolution.entry.path if resolution.entry else None,
        "attempts": [each._asdict() for each in resolution.attempts],
    }
