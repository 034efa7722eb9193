"""`gsym trace dump`: every record, for people or as JSON lines."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command
from gsym.cli.terminal import printable
from gsym.cli.verbs.trace_input import open_trace_input
from gsym.cli.verbs.trace_options import (
    FILTER_HELP,
    FILTERS,
    JSON_LINES,
    STRICT,
    TRACE,
)
from gsym.trace.record_formats import RecordText, record_object

COMMAND = Command(
    "gsym trace dump",
    "Print the records of a trace",
    (TRACE,),
    (JSON_LINES, *FILTERS, STRICT),
    f"""\
{FILTER_HELP}
Lines have the offset of the record, the time in seconds, and names with koids. A
damaged trace is printed as far as it makes sense; what is wrong is told at the end.""",
)


def run(arguments: list[str]) -> int:
    """Print all records that are wanted, in file order."""
    values = COMMAND.parse(arguments)
    write = sys.stdout.write
    with open_trace_input(values) as trace:
        if values.flag("--json"):
            for record in trace.records():
                write(json.dumps(record_object(record)) + "\n")
            return 0
        # Records that give names may be among those that are left out.
        text = RecordText(trace.survey().objects if trace.has_filters else None)
        for record in trace.records():
            write(f"{printable(text.line(record))}\n")
    return 0
