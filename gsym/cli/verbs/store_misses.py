"""`gsym store misses`: the modules that were asked for most often and not found."""

from __future__ import annotations

import json
import sys
import time

from gsym.cli.options import Command, Option
from gsym.cli.terminal import printable
from gsym.cli.verbs.store_options import STORE, open_store
from gsym.store.resolver import negative_cache_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from gsym.store.sources.negative_cache import Miss

COMMAND = Command(
    "gsym store misses",
    "Show the modules that were asked for and not found",
    (),
    (
        STORE,
        Option("--limit", "show N modules (default: 20)", metavar="N"),
        Option("--json", "print one JSON object a module"),
        Option("--clear", "forget all misses, so that sources are asked again"),
    ),
    """\
The module that was asked for most often comes first. Below it stands which sources were
asked, and what each of them said. A module that is in the store by now is left out.""",
)

_MOST_SHOWN = 20
_ROOM = 4  # for modules that were added meanwhile


def run(arguments: list[str]) -> int:
    """Print the report, or forget what it is made from."""
    values = COMMAND.parse(arguments)
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
            print(json.dumps(_record(miss)))
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
