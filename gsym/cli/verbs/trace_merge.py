"""`gsym trace merge`: several traces -> one."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_input import TraceInput, warn
from gsym.cli.verbs.trace_options import (
    FILTER_HELP,
    FILTERS,
    JSON,
    STRICT,
    read_selection,
)
from gsym.cli.verbs.trace_output import OUTPUT, write_output
from gsym.trace.merging import TraceMerger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = Command(
    "gsym trace merge",
    "Make one trace of several",
    (
        Operand(
            "FILE",
            "Fuchsia trace, compressed by gzip or not; - is standard input",
            many=True,
        ),
    ),
    (
        OUTPUT,
        Option(
            "--nanoseconds",
            "write all times in nanoseconds, for readers that know one unit for a "
            "whole trace",
        ),
        Option(
            "--byte-order",
            "byte order of the output, little or big (default: little)",
            metavar="ORDER",
        ),
        JSON,
        *FILTERS,
        STRICT,
    ),
    f"""\
{FILTER_HELP}
Each provider gets a section, and another id where its own is taken. Metadata that says
nothing in the whole is dropped; how much, is told. Clocks are not compared.""",
)


def run(arguments: list[str]) -> int:
    """Merge the traces."""
    values = COMMAND.parse(arguments)
    output = values.text("--output") or "-"
    if values.flag("--json") and output == "-":
        raise UsageError("option '--json' goes with '-o FILE'")
    selection, strict = read_selection(values), values.flag("--strict")
    names = values.operands("FILE")
    traces = [TraceInput(name, selection, strict=strict) for name in names]
    order = values.choice("--byte-order", ("little", "big"))
    merger = TraceMerger(
        "big" if order == "big" else "little", nanoseconds=values.flag("--nanoseconds")
    )
    write_output(output, _pieces(merger, traces), is_text=False)
    for kind, times in merger.dropped.items():
        warn(f"dropped: {kind} ({times})")
    if values.flag("--json"):
        providers = [provider._asdict() for provider in merger.providers]
        report = {
            "output": output,
            "records": merger.records,
            "providers": providers,
            "dropped": merger.dropped,
        }
        print(json.dumps(report))
    elif output != "-":
        for line in _lines(merger, output):
            print(printable(line))
    return 0


def _pieces(merger: TraceMerger, traces: list[TraceInput]) -> Iterator[bytes]:
    for trace in traces:
        with trace:
            yield from merger.pieces(trace.records(keep_context=True), trace.name)


def _lines(merger: TraceMerger, output: str) -> Iterator[str]:
    yield f"{output}: {merger.records} records, {len(merger.providers)} providers"
    for provider in merger.providers:
        was = (
            "" if provider.old_id in {None, provider.id} else f", was {provider.old_id}"
        )
        yield f"  {provider.id} {provider.name} (of {provider.trace}{was})"
