"""`gsym trace flame` and `top`: reports on profiles."""

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
    chosen_value,
    open_profile_input,
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
from gsym.profiles.flame_graph import flame_graph
from gsym.profiles.symbolizing import resolution
from gsym.profiles.top import sparkline, top_rows, without_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.grammar import Values
    from gsym.profiles.model import Profile


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
in the stack. Bars show the total over time.""",
)
def top(values: Values) -> int:
    """Print the tables of one file."""
    by, limit = chosen_group(values), row_limit(values)
    with open_profile_input(values) as source:
        profile = source.read()
        source.require_samples(profile)
        symbolize_profile(profile, values)
        source.select(profile)
        value = chosen_value(profile, values)
        if values.flag("--json"):
            print_json(_object(profile, by, value))
        else:
            _print_samples(profile, by, value, limit)
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


def _object(profile: Profile, by: str, value: int) -> dict[str, Any]:
    kind = profile.value_types[value]
    return {
        "by": by,
        "value": kind._asdict(),
        "total": sum(sample.values[value] for sample in profile.samples),
        "samples": len(profile.samples),
        "rows": [
            row._asdict() for row in top_rows(profile, by, value=value, parts=_BARS)
        ],
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


def _bars(numbers: tuple[int, ...]) -> str:
    """Bars, if the encoding of the terminal has them."""
    bars = sparkline(numbers)
    try:
        bars.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return bars
