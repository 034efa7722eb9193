"""`gsym trace diff`: what changed between two profiles."""

from __future__ import annotations

import json
import os

from gsym.cli.options import Command, Option
from gsym.cli.verbs.trace_convert import ROOTS, chosen_roots
from gsym.cli.verbs.trace_flame import read_symbolized
from gsym.cli.verbs.trace_modules import SYMBOL_OPTIONS
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, JSON, STRICT
from gsym.cli.verbs.trace_output import write_output
from gsym.cli.verbs.trace_profile import (
    PROFILE_OPTIONS,
    VALUE,
    chosen_value,
    profile_operand,
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
from gsym.trace.profiles.flame_graph import flame_graph
from gsym.trace.profiles.top import compare_profiles

COMMAND = Command(
    "gsym trace diff",
    "Show what changed between two profiles",
    (profile_operand("BEFORE"), profile_operand("AFTER")),
    (
        Option(
            "--output", "also draw both as a flame graph", short="-o", metavar="FILE"
        ),
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
Shares of all samples are compared, not sums: profiles may be of different lengths. Rows
stand in the order of the change of what functions took themselves.""",
)


def run(arguments: list[str]) -> int:
    """Compare two profiles."""
    values = COMMAND.parse(arguments)
    by, limit = chosen_group(values), row_limit(values)
    roots = chosen_roots(values)
    before, after = (read_symbolized(values, each) for each in ("BEFORE", "AFTER"))
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
        print(json.dumps({**made, "rows": [row._asdict() for row in rows]}))
        return 0
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
        print("no share of them changed")
        return 0
    print_table(["own", "before", "after", "total", by], cells, limit)
    return 0


def _change(part: float) -> str:
    return f"{100 * part:+.1f} %"
