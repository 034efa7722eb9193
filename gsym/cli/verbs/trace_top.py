"""`gsym trace top`: where the time of a profile went, and that of threads."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command
from gsym.cli.verbs.trace_input import warn
from gsym.cli.verbs.trace_modules import SYMBOL_OPTIONS, symbolize_profile
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, JSON, STRICT
from gsym.cli.verbs.trace_profile import (
    PROFILE,
    PROFILE_OPTIONS,
    VALUE,
    ProfileInput,
    chosen_value,
    open_profile_input,
    tell_losses,
)
from gsym.cli.verbs.trace_tables import (
    BY,
    LIMIT,
    amount,
    chosen_group,
    print_table,
    row_limit,
    share,
)
from gsym.trace.fxt.objects import PROCESS, THREAD
from gsym.trace.profiles.top import sparkline, top_rows, without_line
from gsym.trace.scheduling import SCHEDULING_KINDS, scheduled_threads
from gsym.trace.selection import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.trace.profiles.model import Profile

COMMAND = Command(
    "gsym trace top",
    "Show where the time of a profile or a trace went",
    (PROFILE,),
    (
        BY,
        LIMIT,
        JSON,
        VALUE,
        *SYMBOL_OPTIONS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
own is what samples had in their innermost function, total what had it anywhere in their
stacks. Bars show the total over time. Of a trace with context switches a second table
has the time that threads ran, were ready to run, and waited.""",
)

_BARS = 16


def run(arguments: list[str]) -> int:
    """Print the tables of one file."""
    values = COMMAND.parse(arguments)
    by, limit = chosen_group(values), row_limit(values)
    with open_profile_input(values) as source:
        profile = source.read()
        threads = _threads(source)
        if not threads:
            source.require_samples(profile)
        symbolize_profile(profile, values)
        source.select(profile)
        value = chosen_value(profile, values)
        if values.flag("--json"):
            print(json.dumps(_object(profile, by, value, threads)))
        else:
            _print_samples(profile, by, value, limit)
            _print_threads(threads, limit)
        if by == "line":
            _warn_of_missing_lines(profile, value, source.name)
        tell_losses(profile, {}, source.name, "a profile")
    return 0


def _warn_of_missing_lines(profile: Profile, value: int, name: str) -> None:
    """Report the share of samples whose rows are functions, not lines."""
    missing = without_line(profile, value)
    if missing:
        total = sum(sample.values[value] for sample in profile.samples)
        part = f"{share(missing, total)} of the samples"
        warn(f"{name}: {part} have no known line: their rows name functions")


def _threads(source: ProfileInput) -> list[dict[str, Any]]:
    """What became of the threads of a trace, with their names."""
    if source.trace is None:
        return []
    counts = source.trace.counts().records
    if not any(counts[kind] for kind in SCHEDULING_KINDS):
        return []
    objects = source.trace.survey().objects
    wanted = source.selection
    processes, names = Patterns(wanted.processes), Patterns(wanted.threads)
    # What is said of other threads tells what a thread did in between.
    source.trace.selection = wanted._replace(processes=(), threads=())
    found = scheduled_threads(source.trace.records(SCHEDULING_KINDS))
    threads = []
    for each in found:
        process = objects.process_of(each.thread)
        name = objects.name_of(each.thread, kind=THREAD) or ""
        process_name = objects.name_of(process, kind=PROCESS) or "" if process else ""
        if processes.match(process_name, process) and names.match(name, each.thread):
            made = {"name": name, "process": process, "process_name": process_name}
            threads.append({**each._asdict(), **made})
    return threads


def _object(
    profile: Profile, by: str, value: int, threads: list[dict[str, Any]]
) -> dict[str, Any]:
    kind = profile.value_types[value]
    return {
        "by": by,
        "value": kind._asdict(),
        "total": sum(sample.values[value] for sample in profile.samples),
        "samples": len(profile.samples),
        "rows": [
            row._asdict() for row in top_rows(profile, by, value=value, parts=_BARS)
        ],
        "threads": threads,
    }


def _print_samples(profile: Profile, by: str, value: int, limit: int | None) -> None:
    if not profile.samples:
        print("no samples")
        return
    kind = profile.value_types[value]
    whole = sum(sample.values[value] for sample in profile.samples)
    rows = top_rows(profile, by, value=value, parts=_BARS)
    count = f"{len(profile.samples)} samples"
    is_count = kind.type == "samples" and whole == len(profile.samples)
    whole_text = f", {kind.type}: {amount(whole, kind.unit)} in all"
    print(count if is_count else count + whole_text)
    has_times = any(row.over_time for row in rows)
    heads = ["own", "", "total", "", *(["over time"] if has_times else []), by]
    bars = (_bars(row.over_time) for row in rows)
    cells = [
        [
            amount(row.own, kind.unit),
            share(row.own, whole),
            amount(row.total, kind.unit),
            share(row.total, whole),
            *([bar] if has_times else []),
            row.name,
        ]
        for row, bar in zip(rows, bars, strict=True)
    ]
    print_table(heads, cells, limit)


def _print_threads(threads: list[dict[str, Any]], limit: int | None) -> None:
    if not threads:
        return
    noun = "thread" if len(threads) == 1 else "threads"
    print(f"\n{len(threads)} {noun} on processors")
    times = ("running", "ready", "waiting", "longest")
    rows = [
        [
            *(amount(thread[time], "nanoseconds") for time in times),
            str(thread["switches"]),
            _thread_name(thread),
        ]
        for thread in threads
    ]
    heads = ["running", "ready", "waiting", "longest off", "switches", "thread"]
    print_table(heads, rows, limit)


def _thread_name(thread: dict[str, Any]) -> str:
    process = thread["process_name"] or thread["process"]
    own = f"{thread['name'] or 'thread'} ({thread['thread']})"
    return f"{process} / {own}" if process is not None else own


def _bars(numbers: tuple[int, ...]) -> str:
    """Bars, if the terminal has letters for them."""
    bars = sparkline(numbers)
    try:
        bars.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return bars
