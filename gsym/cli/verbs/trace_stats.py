"""`gsym trace stats`: counts and sizes of records, and sums of samples."""

from __future__ import annotations

from collections import Counter

from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, STRICT
from gsym.cli.terminal import print_json, printable
from gsym.cli.verbs.trace_contents import profile_stats
from gsym.cli.verbs.trace_input import TraceInput, open_trace_input
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, PROFILE
from gsym.cli.verbs.trace_tables import LIMIT, print_table, row_limit, share
from gsym.fxt.matching import MATCHED_KINDS, unmatched_halves
from gsym.fxt.record_formats import put_text
from gsym.fxt.records import Event, kind_of
from gsym.fxt.summary import EventKey, EventSums, Tally
from gsym.profiles.opening import RepeatableInput

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@Command(
    "gsym trace stats",
    (
        PROFILE,
        LIMIT,
        """\
--unmatched  also count begins without an end and ends without a begin; takes longer,
  and memory for all events""",
        JSON,
        FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
With filters, only selected records are counted, without bytes. Of a profile, the values
of its samples are summed by process, thread and module.""",
)
def stats(values: Values) -> int:
    """Measure one file and print the result."""
    limit = row_limit(values)
    source = RepeatableInput(values.operand("FILE"))
    if not source.is_trace():
        return profile_stats(source, values)
    passes = 1 + values.flag("--unmatched")
    with open_trace_input(values, source, passes=passes) as trace:
        statistics = _measure(trace)
        if values.flag("--unmatched"):
            halves = trace.records(MATCHED_KINDS)
            statistics["unmatched"] = unmatched_halves(halves)
        if values.flag("--json"):
            print_json(statistics)
        else:
            _print(statistics, limit)
    return trace.exit_code(values)


def _measure(trace: TraceInput) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    sizes: Mapping[str, int] = {}
    if trace.has_filters:
        found = EventSums()
        for record in trace.records():
            kinds[kind_of(record)] += 1
            if isinstance(record, Event):
                texts = record.category, record.name
                key = EventKey(record.provider, *texts, record.kind)
                found.add(key, 1, 0)
        sums = found.sums
    else:
        tally = Tally()
        for columns in trace.watched_columns():
            tally.add(columns)
        sums = tally.sums()
        kinds.update(trace.counts().records)
        sizes = trace.counts().bytes
    counts = trace.counts()
    return {
        "path": trace.name,
        "file_size": trace.size,
        "records": sum(kinds.values()),
        "bytes": sum(sizes.values()) if sizes else None,
        "kinds": {
            kind: {"records": count, "bytes": sizes.get(kind)}
            for kind, count in kinds.items()
            if count
        },
        "arguments": counts.arguments,
        "unknown_arguments": counts.unknown_arguments,
        "appended_words": counts.appended_words,
        "events": [
            _row(key, events, size if sizes else None)
            for key, (events, size) in sorted(
                sums.items(), key=lambda item: -item[1][0]
            )
        ],
        "fault_count": counts.problems,
    }


def _row(key: EventKey, count: int, size: int | None) -> dict[str, Any]:
    made: dict[str, Any] = {"provider": key.provider}
    put_text(made, "category", key.category)
    put_text(made, "name", key.name)
    return {**made, "kind": key.kind, "events": count, "bytes": size}


def _print(statistics: dict[str, Any], limit: int | None) -> None:
    size = statistics["file_size"]
    print(printable(statistics["path"]) + ("" if size is None else f": {size} bytes"))
    whole, weight = statistics["records"], statistics["bytes"]
    rows = sorted(statistics["kinds"].items(), key=lambda row: -row[1]["records"])
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
    events = statistics["events"]
    total = sum(row["events"] for row in events)
    for head, fields in (
        ("provider", ("provider",)),
        ("category", ("category",)),
        ("category:name", ("category", "name")),
    ):
        sums: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for row in events:
            name = ":".join(str(row[field]) for field in fields)
            sums[name] += row["events"]
            sizes[name] += row["bytes"] or 0
        cells = [
            [
                str(count),
                share(count, total),
                *([] if weight is None else [str(sizes[name])]),
                name,
            ]
            for name, count in sums.most_common()
        ]
        size_heads = [] if weight is None else ["bytes"]
        _table(["events", "", *size_heads, head], cells, limit)
    for kind, count in statistics.get("unmatched", {}).items():
        print(f"{count} {kind} without the other half")


def _table(heads: list[str], cells: list[list[str]], limit: int | None) -> None:
    if not cells:
        return
    print()
    print_table(heads, cells, limit)
