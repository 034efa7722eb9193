"""`gsym trace stats`: how much of what a trace has."""

from __future__ import annotations

import json
from collections import Counter

from gsym.cli.options import Command, Option
from gsym.cli.trace_input import TraceInput, open_trace_input
from gsym.cli.trace_options import FILTER_HELP, FILTERS, JSON, STRICT, TRACE
from gsym.cli.trace_tables import share, table_lines, terminal_width
from gsym.trace.description import kind_of
from gsym.trace.record_object import put_text
from gsym.trace.statistics import MATCHED_KINDS, EventCounts, unmatched_halves

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND = Command(
    "gsym trace stats",
    "Count records, bytes and events of a trace",
    (TRACE,),
    (
        Option(
            "--limit", "number of rows of a table; 0: all (default: 20)", metavar="N"
        ),
        Option(
            "--unmatched",
            "also count beginnings and ends without the other half; takes longer, and "
            "memory for all events",
        ),
        JSON,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
With a filter, what fits it is counted, and its bytes are not told.""",
)

_DEFAULT_LIMIT = 20


def run(arguments: list[str]) -> int:
    """Measure one trace and print the result."""
    values = COMMAND.parse(arguments)
    given = values.number("--limit")
    limit = _DEFAULT_LIMIT if given is None else given or None
    with open_trace_input(values, passes=1 + values.flag("--unmatched")) as trace:
        figures = _measure(trace)
        if values.flag("--unmatched"):
            halves = trace.records(MATCHED_KINDS)
            figures["unmatched"] = unmatched_halves(halves)
        if values.flag("--json"):
            print(json.dumps(figures))
        else:
            _print(figures, limit)
    return 0


def _measure(trace: TraceInput) -> dict[str, Any]:
    events = EventCounts()
    size: dict[str, int] | None = None
    if trace.has_filters:
        kinds: Counter[str] = Counter()
        for record in trace.records():
            kinds[kind_of(record)] += 1
            events.add(record)
        counts = trace.counts()
    else:
        events.add_columns(trace.watched_columns())
        counts = trace.counts()
        kinds, size = Counter(counts.records), dict(counts.bytes)
    return {
        "file": trace.name,
        "file_size": trace.size,
        "records": sum(kinds.values()),
        "bytes": sum(size.values()) if size is not None else None,
        "kinds": {
            kind: {"records": n, "bytes": size[kind] if size is not None else None}
            for kind, n in kinds.items()
            if n
        },
        "arguments": counts.arguments,
        "unknown_arguments": counts.unknown_arguments,
        "events": [_row(key, count) for key, count in events.counts.most_common()],
        "fault_count": counts.problems,
    }


def _row(key: tuple[int | None, str, str, str], count: int) -> dict[str, Any]:
    provider, category, name, kind = key
    made: dict[str, Any] = {"provider": provider}
    put_text(made, "category", category)
    put_text(made, "name", name)
    return {**made, "kind": kind, "events": count}


def _print(figures: dict[str, Any], limit: int | None) -> None:
    size = figures["file_size"]
    print(figures["file"] + ("" if size is None else f": {size} bytes"))
    whole, weight = figures["records"], figures["bytes"]
    rows = sorted(figures["kinds"].items(), key=lambda row: -row[1]["records"])
    cells = [
        [
            str(row["records"]),
            share(row["records"], whole),
            *(
                []
                if weight is None
                else [str(row["bytes"]), share(row["bytes"], weight)]
            ),
            kind,
        ]
        for kind, row in rows
    ]
    heads = ["records", "", *([] if weight is None else ["bytes", ""]), "kind"]
    _table(heads, cells, None)
    events = figures["events"]
    total = sum(row["events"] for row in events)
    for head, fields in (
        ("provider", ("provider",)),
        ("category", ("category",)),
        ("category:name", ("category", "name")),
    ):
        sums: Counter[str] = Counter()
        for row in events:
            sums[":".join(str(row[field]) for field in fields)] += row["events"]
        cells = [
            [str(count), share(count, total), name]
            for name, count in sums.most_common()
        ]
        _table(["events", "", head], cells, limit)
    for kind, count in figures.get("unmatched", {}).items():
        print(f"{count} {kind} without the other half")


def _table(heads: list[str], cells: list[list[str]], limit: int | None) -> None:
    if not cells:
        return
    print()
    for line in table_lines(heads, cells[:limit], terminal_width()):
        print(line)
    if limit is not None and len(cells) > limit:
        print(f"and {len(cells) - limit} more: --limit 0 shows all")
