"""`gsym trace top`: a profile as a table."""

from __future__ import annotations

import sys

from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, STRICT
from gsym.cli.terminal import print_json, warn
from gsym.cli.verbs import trace_options, trace_profile
from gsym.cli.verbs.module_options import SYMBOL_OPTIONS
from gsym.cli.verbs.trace_tables import (
    BY,
    LIMIT,
    amount,
    print_table,
    row_limit,
    share,
)
from gsym.profiles.top import sparkline, top_rows, without_line

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from typing import Any

    from gsym.profiles.model import Profile

_BARS = 16


@Command(
    "gsym trace top",
    (
        trace_options.PROFILE,
        BY,
        LIMIT,
        JSON,
        trace_options.VALUE,
        SYMBOL_OPTIONS,
        trace_options.PROFILE_OPTIONS,
        trace_options.FILTERS,
        STRICT,
    ),
    f"""\
{trace_options.FILTER_HELP}
The column own counts samples with the function innermost, total those with it anywhere
in the stack. Bars show the total over time. A recording of several events has a table
of each, or of the one that --value names; with --json, an object of each on a line.""",
)
def top(values: Values) -> int:
    """Print the tables of one file."""
    by, limit = values.chosen("--by"), row_limit(values)
    with trace_profile.open_profile_input(values) as source:
        profile = source.samples(symbolizes=True)
        for value in trace_profile.chosen_values(profile, values):
            if values.flag("--json"):
                print_json(_object(profile, by, value))
            else:
                _print_samples(profile, by, value, limit)
            if by == "line":
                _warn_of_missing_lines(profile, value, source.name)
        trace_profile.report_losses(profile, source.name)
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
    rows = top_rows(profile, by, value=value, parts=_BARS)
    return {
        "by": by,
        "value": {"type": kind.type, "unit": kind.unit},
        "total": kind.plain(sum(sample.values[value] for sample in profile.samples)),
        "samples": len(profile.samples),
        "rows": [
            {
                **row._asdict(),
                "own": kind.plain(row.own),
                "total": kind.plain(row.total),
                "over_time": tuple(map(kind.plain, row.over_time)),
            }
            for row in rows
        ],
        "unsure": trace_profile.unsure_rows(profile),
    }


def _print_samples(profile: Profile, by: str, value: int, limit: int | None) -> None:
    if not profile.samples:
        print("no samples")
        return
    kind = profile.value_types[value]
    whole = sum(sample.values[value] for sample in profile.samples)
    rows = top_rows(profile, by, value=value, parts=_BARS, timed=limit)
    count = f"{len(profile.samples)} samples"
    is_count = kind.type == "samples" and whole == len(profile.samples)
    whole_text = f", {kind.type}: {amount(kind.plain(whole), kind.unit)} in all"
    print(count if is_count else count + whole_text)
    has_times = any(row.over_time for row in rows)
    heads = ["own", "", "total", "", *(["over time"] if has_times else []), by]
    cells = [
        [
            amount(kind.plain(row.own), kind.unit),
            share(row.own, whole),
            amount(kind.plain(row.total), kind.unit),
            share(row.total, whole),
            *([_bars(row.over_time)] if has_times else []),
            row.name,
        ]
        for row in rows[:limit]
    ]
    print_table(heads, cells, limit, len(rows))


def _bars(numbers: tuple[int, ...]) -> str:
    """Bars, if the encoding of the terminal has them."""
    bars = sparkline(numbers)
    try:
        bars.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return ""
    return bars
