"""`gsym trace info`: what a trace is."""

from __future__ import annotations

import json
from collections import Counter

from gsym.cli.options import Command
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_input import TraceInput, open_trace_input
from gsym.cli.verbs.trace_options import (
    FILTER_HELP,
    FILTERS,
    JSON,
    STRICT,
    TRACE,
)
from gsym.trace.fxt.records import EVENT_KINDS, kind_of
from gsym.trace.fxt.summary import Survey, describe_trace
from gsym.trace.record_formats import seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

COMMAND = Command(
    "gsym trace info",
    "Show what a trace is: who wrote it, when, processes and threads",
    (TRACE,),
    (JSON, *FILTERS, STRICT),
    FILTER_HELP,
)

_LABEL_WIDTH = 11
_MOST_THREADS = 24  # of a process; --json has all
_MOST_PROCESSES = 64


def run(arguments: list[str]) -> int:
    """Describe one trace."""
    values = COMMAND.parse(arguments)
    with open_trace_input(values) as trace:
        info = _describe(trace)
        if values.flag("--json"):
            print(json.dumps(info))
            return 0
        for line in _lines(info):
            print(printable(line))
    return 0


def _describe(trace: TraceInput) -> dict[str, Any]:
    whole = survey = trace.survey()
    kinds = trace.counts().records
    counts = trace.counts()
    faults = {
        "unknown_arguments": counts.unknown_arguments,
        "appended_words": counts.appended_words,
        # Those of the gzip stream are no problems of records.
        "fault_count": max(counts.problems, len(trace.problems)),
        "faults": [problem._asdict() for problem in trace.problems],
    }
    if trace.has_filters:
        survey, kinds = Survey(), Counter()
        for record in trace.records():
            survey.add_any(record)
            kinds[kind_of(record)] += 1
    return {
        "file": trace.name,
        "file_size": trace.size,
        "byteorder": trace.byteorder,
        **describe_trace(survey, kinds, whole.objects),
        **faults,
    }


def _lines(info: dict[str, Any]) -> Iterator[str]:
    size = "" if info["file_size"] is None else f"{info['file_size']} bytes, "
    yield f"{info['file']}"
    yield _row("trace", f"{size}{info['byteorder']}-endian")
    yield _row("time", _time(info["begin_ns"], info["end_ns"]))
    kinds = {kind: n for kind, n in info["kinds"].items() if kind not in EVENT_KINDS}
    events = {"events": info["events"]} if info["events"] else {}
    parts = (f"{kind} {count}" for kind, count in {**events, **kinds}.items())
    yield _row("records", f"{info['records']}: {', '.join(parts)}")
    for provider in info["providers"]:
        yield _row("provider", _provider(provider))
    processes = info["processes"]
    for process in processes[:_MOST_PROCESSES]:
        yield _row("process", f"{process['koid']} {process['name']}")
        threads = sorted(process["threads"], key=lambda each: -each["events"])
        for thread in threads[:_MOST_THREADS]:
            count = f"{thread['events']} events" if thread["events"] else ""
            text = f"{thread['koid']} {thread['name']}"
            yield _row("  thread", f"  {text:<36} {count}")
        if len(threads) > _MOST_THREADS:
            yield _row("", f"  and {len(threads) - _MOST_THREADS} more threads")
    if len(processes) > _MOST_PROCESSES:
        yield _row("", f"and {len(processes) - _MOST_PROCESSES} more processes")
    if info["fault_count"]:
        yield _row("faults", str(info["fault_count"]))


def _row(label: str, text: str) -> str:
    return f"  {label:<{_LABEL_WIDTH}}{text}".rstrip()


def _time(begin: int | None, end: int | None) -> str:
    if begin is None or end is None:
        return "none"
    return f"{seconds(begin)} s to {seconds(end)} s, {seconds(end - begin)} s long"


def _provider(provider: dict[str, Any]) -> str:
    who = "not named" if provider["id"] is None else f"{provider['id']}"
    rate = provider["ticks_per_second"]
    parts = [f"{who} {provider['name']}".rstrip(), f"{provider['events']} events"]
    if rate:
        parts.append(f"{rate} ticks per second")
    if provider["dropped"]:
        parts.append(f"buffer filled up {provider['dropped']} times")
    return ", ".join(parts)
