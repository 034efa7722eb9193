"""`gsym trace info`, `dump`, `blobs`: the records of traces."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter

from gsym.cli.grammar import Command, Values
from gsym.cli.options import JSON, STRICT
from gsym.cli.terminal import print_json, print_lines, printable
from gsym.cli.verbs.trace_contents import dump_samples, profile_info
from gsym.cli.verbs.trace_input import TRACE, TraceInput, open_trace_input
from gsym.cli.verbs.trace_options import FILTER_HELP, FILTERS, PROFILE
from gsym.cli.verbs.trace_tables import labelled, process_lines, time_text
from gsym.fxt.blobs import BLOB_TYPES, Blobs, Stream, blob_file_names
from gsym.fxt.record_formats import RecordText, put_text, record_object
from gsym.fxt.records import EVENT_KINDS, kind_of
from gsym.fxt.summary import Survey, describe_trace
from gsym.profiles.opening import RepeatableInput
from gsym.writing.atomic_file import AtomicFile

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@Command("gsym trace info", (PROFILE, JSON, FILTERS, STRICT), FILTER_HELP)
def info(values: Values) -> int:
    """Describe one file."""
    source = RepeatableInput(values.operand("FILE"))
    if not source.is_trace():
        return profile_info(source, values)
    with open_trace_input(values, source) as trace:
        info = _info_describe(trace)
        if values.flag("--json"):
            print_json(info)
            return trace.exit_code(values)
        print_lines(_info_lines(info))
    return trace.exit_code(values)


def _info_describe(trace: TraceInput) -> dict[str, Any]:
    whole = survey = trace.survey()
    kinds = trace.counts().records
    counts = trace.counts()
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
        "byteorder": trace.byteorder,
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
    write = sys.stdout.write
    source = RepeatableInput(values.operand("FILE"))
    if not source.is_trace():
        return dump_samples(source, values)
    with open_trace_input(values, source) as trace:
        if values.flag("--json"):
            for record in trace.records():
                write(json.dumps(record_object(record)) + "\n")
            return trace.exit_code(values)
        # Records with names may not be selected.
        text = RecordText(trace.survey().objects if trace.has_filters else None)
        for record in trace.records():
            write(f"{printable(text.line(record))}\n")
    return trace.exit_code(values)


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
    with open_trace_input(values, RepeatableInput(values.operand("FILE"))) as trace:
        blobs = Blobs()
        for record in trace.records(_KINDS, keep_context=True):
            blobs.add(record)
        streams = list(blobs.streams())
        for stream, name in zip(streams, blob_file_names(streams), strict=True):
            path = None
            if folder is not None:
                os.makedirs(folder, exist_ok=True)
                path = os.path.join(folder, name)
                with AtomicFile(path) as file:
                    for piece in stream.pieces:
                        file.write(piece)
            described = _blobs_describe(stream, path)
            if values.flag("--json"):
                print_json(described)
            else:
                print(printable(_line(described)))
    return trace.exit_code(values)


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
