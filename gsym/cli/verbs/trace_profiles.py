"""`gsym trace flame`, `top`, `diff`: reports on profiles."""

from __future__ import annotations

import os
import sys

from gsym.cli.grammar import Command, Option
from gsym.cli.options import JSON, STRICT, output_option
from gsym.cli.terminal import print_json, printable, warn
from gsym.cli.verbs.modules import SYMBOL_OPTIONS, symbolize_profile
from gsym.cli.verbs.trace_convert import ROOTS, chosen_roots
from gsym.cli.verbs.trace_input import FILTER_HELP, FILTERS, write_output
from gsym.cli.verbs.trace_profile import (
    PROFILE,
    PROFILE_OPTIONS,
    VALUE,
    ProfileInput,
    chosen_value,
    open_profile_input,
    profile_operand,
    report_losses,
    unsure_rows,
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
from gsym.trace.profiles.flame_graph import flame_graph
from gsym.trace.profiles.symbolizing import resolution
from gsym.trace.profiles.top import compare_profiles, sparkline, top_rows, without_line
from gsym.trace.scheduling import SCHEDULING_KINDS, scheduled_threads
from gsym.trace.selection import Patterns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.grammar import Values
    from gsym.trace.profiles.model import Profile


@Command(
    "gsym trace flame",
    (PROFILE,),
    (
        output_option("output file (default: FILE with .html added)"),
        Option(
            "--diff",
            "earlier profile; colours show functions that take more or less than in it",
            metavar="FILE",
        ),
        Option("--title", "title of the page", metavar="TEXT"),
        JSON,
        VALUE,
        ROOTS,
        *SYMBOL_OPTIONS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
The page is self-contained: open it in a browser. It can search, zoom, invert stacks,
and colour by module.""",
)
def flame(values: Values) -> int:
    """Draw one page."""
    roots = chosen_roots(values)
    shown = values.operand("FILE")
    operands = ["--diff"] if values.text("--diff") else []
    read = [read_symbolized(values, each) for each in (*operands, "FILE")]
    profiles, code = [profile for profile, _ in read], max(code for _, code in read)
    name = "standard input" if shown == "-" else os.path.basename(shown)
    page = flame_graph(
        profiles,
        values.text("--title") or name,
        value=chosen_value(profiles[-1], values),
        roots=roots,
    )
    by_default = "-" if shown == "-" else f"{name}.html"
    path = values.text("--output") or by_default
    write_output(path, (page.encode("utf-8", "replace"),), is_text=True)
    if path == "-":
        return code
    known, _ = resolution(profiles[-1])
    samples, locations = len(profiles[-1].samples), len(profiles[-1].locations)
    if values.flag("--json"):
        made = {"file": shown, "output": path, "samples": samples}
        unsure = unsure_rows(profiles[-1])
        print_json({**made, "locations": locations, "known": known, "unsure": unsure})
    else:
        text = f"{path}: {samples} samples, {known} of {locations} addresses known"
        print(printable(text))
    return code


def read_symbolized(values: Values, operand: str) -> tuple[Profile, int]:
    """The symbolized profile that an operand or option names, and the exit code.

    Raises:
        GsymError: It cannot be read, or has no samples.
        OSError: It cannot be opened.
        UsageError: An option is invalid.
    """
    with open_profile_input(values, operand) as source:
        profile = source.read()
        source.require_samples(profile)
        symbolize_profile(profile, values)
        source.select(profile)
        report_losses(profile, {}, source.name, "a profile")
    return profile, source.exit_code(profile)


_BARS = 16


@Command(
    "gsym trace top",
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
The column own counts samples with the function innermost, total those with it anywhere
in the stack. Bars show the total over time. For a trace with context switches, a second
table has the time that threads ran, were ready to run, and waited.""",
)
def top(values: Values) -> int:
    """Print the tables of one file."""
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
            print_json(_object(profile, by, value, threads))
        else:
            _print_samples(profile, by, value, limit)
            _print_threads(threads, limit)
        if by == "line":
            _warn_of_missing_lines(profile, value, source.name)
        report_losses(profile, {}, source.name, "a profile")
    return source.exit_code(profile)


def _warn_of_missing_lines(profile: Profile, value: int, name: str) -> None:
    """Report the share of samples whose rows are functions, not lines."""
    missing = without_line(profile, value)
    if missing:
        total = sum(sample.values[value] for sample in profile.samples)
        part = f"{share(missing, total)} of the samples"
        warn(f"{name}: {part} have no known line: their rows are functions")


def _threads(source: ProfileInput) -> list[dict[str, Any]]:
    """The scheduling times of the threads of a trace, with their names."""
    if source.trace is None:
        return []
    counts = source.trace.counts().records
    if not any(counts[kind] for kind in SCHEDULING_KINDS):
        return []
    objects = source.trace.survey().objects
    wanted = source.selection
    processes, names = Patterns(wanted.processes), Patterns(wanted.threads)
    # Records of other threads affect the times of a thread.
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
        "unsure": unsure_rows(profile),
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
    """Bars, if the encoding of the terminal has them."""
    bars = sparkline(numbers)
    try:
        bars.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return bars


@Command(
    "gsym trace diff",
    (profile_operand("BEFORE"), profile_operand("AFTER")),
    (
        output_option("also write a flame graph of both"),
        BY,
        LIMIT,
        JSON,
        VALUE,
        ROOTS,
        *SYMBOL_OPTIONS,
        *PROFILE_OPTIONS,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Shares of all samples are compared, not sums: profiles may differ in length. Rows are
sorted by the change of own.""",
)
def diff(values: Values) -> int:
    """Compare two profiles."""
    by, limit = chosen_group(values), row_limit(values)
    roots = chosen_roots(values)
    (before, first), (after, second) = (
        read_symbolized(values, each) for each in ("BEFORE", "AFTER")
    )
    code = max(first, second)
    numbers = chosen_value(before, values), chosen_value(after, values)
    rows = compare_profiles(before, after, by, values=numbers)
    wholes = [
        sum(sample.values[number] for sample in profile.samples)
        for profile, number in zip((before, after), numbers, strict=True)
    ]
    path = values.text("--output")
    if path is not None:
        names = map(os.path.basename, map(values.operand, ("BEFORE", "AFTER")))
        page = flame_graph(
            (before, after), " -> ".join(names), value=numbers[1], roots=roots
        )
        write_output(path, (page.encode("utf-8", "replace"),), is_text=True)
    kind = after.value_types[numbers[1]]
    if values.flag("--json"):
        made = {"by": by, "value": kind._asdict(), "totals": wholes}
        unsure = {"unsure": [*map(unsure_rows, (before, after))]}
        print_json({**made, "rows": [row._asdict() for row in rows], **unsure})
        return code
    totals = " -> ".join(amount(whole, kind.unit) for whole in wholes)
    print(f"{kind.type}: {totals} in all")
    cells = [
        [
            _change(row.own_change),
            *(share(*each) for each in zip(row.own, wholes, strict=True)),
            _change(row.total_change),
            row.name,
        ]
        for row in rows
        if row.own_change or row.total_change
    ]
    if not cells:
        print("no changes")
        return code
    print_table(["own", "before", "after", "total", by], cells, limit)
    return code


def _change(part: float) -> str:
    return f"{100 * part:+.1f} %"
