"""`gsym trace info`, `stats`, `dump`, `blobs`: the records of traces."""

from __future__ import annotations

import os
import sys
from collections import Counter

from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, STRICT, show
from gsym.cli.terminal import print_json, print_lines, printable
from gsym.cli.verbs.trace_contents import dump_samples, profile_info, profile_stats
from gsym.cli.verbs.trace_input import TRACE, TraceInput
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, PROFILE
from gsym.cli.verbs.trace_tables import (
    LIMIT,
    labelled,
    print_table,
    process_lines,
    row_limit,
    share,
    time_text,
)
from gsym.fxt.blobs import BLOB_TYPES, Stream, blob_file_names, blob_streams
from gsym.fxt.record_formats import RecordText, put_text, record_object
from gsym.fxt.records import EVENT_KINDS, Event, kind_of
from gsym.fxt.summary import EventKey, Survey, Tally, describe_trace
from gsym.profiles.opening import RepeatableInput
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any


@Command("gsym trace info", (PROFILE, JSON, FILTERS, STRICT), FILTER_HELP)
def info(values: Values) -> int:
    """Describe one file."""
    source = RepeatableInput(values.operand("FILE"))
    if not source.is_trace():
        return profile_info(source, values)
    with TraceInput(source, values) as trace:
        info = _info_describe(trace)
        if values.flag("--json"):
            print_json(info)
            return trace.exit_code()
        print_lines(_info_lines(info))
    return trace.exit_code()


def _info_describe(trace: TraceInput) -> dict[str, Any]:
    whole = survey = trace.survey()
    counts = trace.counts()
    kinds = counts.records
    faults = {
        "unknown_arguments": counts.unknown_arguments,
        "appended_words": counts.appended_words,
        # Problems of the gzip stream are not counted there.
        "fault_count": max(counts.problems, len(trace.problems)),
        "faults": [problem._asdict() for problem in trace.problems],
    }
    if trace.has_filters:
        survey, kinds = Survey(), Counter()
        for record in trace.records():
            survey.add_any(record)
            kinds[kind_of(record)] += 1
    return {
        "path": trace.name,
        "file_size": trace.size,
        "byteorder": trace.reading().byteorder,
        **describe_trace(survey, kinds, whole.objects),
        **faults,
    }


def _info_lines(info: dict[str, Any]) -> Iterator[str]:
    size = "" if info["file_size"] is None else f"{info['file_size']} bytes, "
    yield f"{info['path']}"
    yield labelled("trace", f"{size}{info['byteorder']}-endian")
    yield labelled("time", time_text(info["begin_ns"], info["end_ns"]))
    kinds = {kind: n for kind, n in info["kinds"].items() if kind not in EVENT_KINDS}
    events = {"events": info["events"]} if info["events"] else {}
    parts = (f"{kind} {count}" for kind, count in {**events, **kinds}.items())
    yield labelled("records", f"{info['records']}: {', '.join(parts)}")
    for provider in info["providers"]:
        yield labelled("provider", _provider(provider))
    yield from process_lines(info["processes"], "events")
    if info["fault_count"]:
        yield labelled("errors", str(info["fault_count"]))


def _provider(provider: dict[str, Any]) -> str:
    who = "unnamed" if provider["id"] is None else f"{provider['id']}"
    rate = provider["ticks_per_second"]
    parts = [f"{who} {provider['name']}".rstrip(), f"{provider['events']} events"]
    if rate:
        parts.append(f"{rate} ticks per second")
    if provider["dropped"]:
        parts.append(f"buffer full {provider['dropped']} times")
    return ", ".join(parts)


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
    with TraceInput(source, values) as trace:
        if values.flag("--unmatched"):
            trace.keep()
        statistics = _measure(trace)
        if values.flag("--unmatched"):
            from gsym.fxt.matching import MATCHED_KINDS, unmatched_halves

            halves = trace.records(MATCHED_KINDS)
            statistics["unmatched"] = unmatched_halves(halves)
        if values.flag("--json"):
            print_json(statistics)
        else:
            _print(statistics, limit)
    return trace.exit_code()


def _measure(trace: TraceInput) -> dict[str, Any]:
    kinds: Counter[str] = Counter()
    sizes: Mapping[str, int] = {}
    tally = Tally()
    if trace.has_filters:
        for record in trace.records():
            kinds[kind_of(record)] += 1
            if isinstance(record, Event):
                texts = record.category, record.name
                key = EventKey(record.provider, *texts, record.kind)
                tally.count(key, 1, 0)
    else:
        for columns in trace.watched_columns():
            tally.add(columns)
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
                tally.sums().items(), key=lambda item: -item[1][0]
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
    cells = []
    for kind, row in rows:
        count, size = row["records"], row["bytes"]
        sizes = () if weight is None else (str(size), share(size, weight))
        cells.append([str(count), share(count, whole), *sizes, kind])
    heads = () if weight is None else ("bytes", "")
    _table(["records", "", *heads, "kind"], cells, None)
    events = statistics["events"]
    total = sum(row["events"] for row in events)
    for fields in (("provider",), ("category",), ("category", "name")):
        sums: Counter[str] = Counter()
        weights: Counter[str] = Counter()
        for row in events:
            name = ":".join(str(row[field]) for field in fields)
            sums[name] += row["events"]
            weights[name] += row["bytes"] or 0
        cells = []
        for name, count in sums.most_common():
            own = () if weight is None else (str(weights[name]),)
            cells.append([str(count), share(count, total), *own, name])
        _table(["events", "", *heads[:1], ":".join(fields)], cells, limit)
    for kind, count in statistics.get("unmatched", {}).items():
        print(f"{count} {kind} without the other half")


def _table(
    heads: Sequence[str], cells: Sequence[Sequence[str]], limit: int | None
) -> None:
    if cells:
        print()
        print_table(heads, cells, limit)


@Command(
    "gsym trace dump",
    (PROFILE, JSON, FILTERS, STRICT),
    f"""\
{FILTER_HELP}
A line has the offset of the record, the time in seconds, and names with koids. A
damaged trace is printed as far as it can be read; errors are reported at the end. Of a
profile, a line has the time of a sample in seconds, its process and thread, its values,
and its stack from the root.""",
)
def dump(values: Values) -> int:
    """Print the selected records or samples in file order."""
    source = RepeatableInput(values.operand("FILE"))
    if not source.is_trace():
        return dump_samples(source, values)
    with TraceInput(source, values) as trace:
        if values.flag("--json"):
            for record in trace.records():
                print_json(record_object(record))
            return trace.exit_code()
        # Records with names may not be selected.
        text = RecordText(trace.survey().objects if trace.has_filters else None)
        for record in trace.records():
            sys.stdout.write(f"{printable(text.line(record))}\n")
    return trace.exit_code()


_KINDS = ("trace_info", "blob", "large_blob", "large_blob_with_metadata")


@Command(
    "gsym trace blobs",
    (
        TRACE,
        "--extract DIR  write each stream to a file in DIR",
        JSON,
        FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Blobs of one name are pieces of one stream, joined in order for each provider; a large
blob is always complete. File names contain only letters, digits, dots, hyphens and
underscores; existing files are replaced.""",
)
def blobs(values: Values) -> int:
    """List or extract all streams of data."""
    folder = values.text("--extract")
    with TraceInput(RepeatableInput(values.operand("FILE")), values) as trace:
        streams = blob_streams(trace.records(_KINDS, keep_context=True))
        for stream, name in zip(streams, blob_file_names(streams), strict=True):
            path = None
            if folder is not None:
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, name)
                with AtomicFile(path) as file:
                    for piece in stream.pieces:
                        file.write(piece)
            described = _blobs_describe(stream, path)
            show(values, described, [_line(described)])
    return trace.exit_code()


def _blobs_describe(stream: Stream, path: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {"provider": stream.provider}
    put_text(made, "category", stream.category)
    put_text(made, "name", stream.name)
    kind = "large" if stream.type is None else BLOB_TYPES.get(stream.type)
    made["type"] = kind or stream.type
    made["pieces"] = len(stream.pieces)
    made["size"] = sum(map(len, stream.pieces))
    if path is not None:
        made["path"] = path
    return made


def _line(blob: dict[str, Any]) -> str:
    who = "-" if blob["provider"] is None else blob["provider"]
    name = ":".join(filter(None, (blob["category"], blob["name"])))
    line = f"{who:>4}  {blob['type']!s:<12} {blob['size']:>12} bytes  {name}"
    return f"{line} -> {blob['path']}" if "path" in blob else line
