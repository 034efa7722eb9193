"""`gsym symbfile stats`: what a symbfile holds."""

from __future__ import annotations

import json
import os

from gsym.cli.options import Command, Operand, Option
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.inspection import MOST_DEPTH, measure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.inspection import Statistics

COMMAND = Command(
    "gsym symbfile stats",
    "Show what a symbfile holds",
    (Operand("FILE", "symbfile, plain or compressed by zstd"),),
    (Option("--json", "print one JSON object"),),
)

_LABEL_WIDTH = 18


def run(arguments: list[str]) -> int:
    """Measure one file and print the result."""
    values = COMMAND.parse(arguments)
    path = values.operand("FILE")
    statistics = measure(open_symbfile(path))
    size = os.stat(path).st_size
    if values.flag("--json"):
        figures = statistics._asdict()
        counts = figures.pop("counts")._asdict()
        print(json.dumps({"file": path, "file_size": size, **counts, **figures}))
        return 0
    for label, text in _lines(statistics, size):
        print(f"{label:<{_LABEL_WIDTH}} {text}")
    return 0


def _lines(statistics: Statistics, size: int) -> Iterator[tuple[str, str]]:
    counts = statistics.counts
    yield "file size", f"{size} bytes"
    yield "ranges", f"{counts.ranges}, {counts.range_bytes} bytes"
    yield "  functions", f"{statistics.functions} of {statistics.bytes_covered} bytes"
    for depth, count in statistics.depths.items():
        if depth:
            more = " and more" if depth == MOST_DEPTH else ""
            yield f"  depth {depth}{more}", str(count)
    yield "  line rows", str(counts.line_rows)
    pads = f"{counts.return_pads}, {counts.return_pad_bytes} bytes"
    yield "return pads", pads
    yield "  entries", str(counts.entries)
    tables = f"{counts.string_tables}, {counts.string_table_bytes} bytes"
    yield "string tables", tables
    yield "  strings", f"{counts.table_strings}, named {counts.references} times"
    yield "strings in ranges", str(counts.inline_strings)
    if counts.unknown_messages:
        unknown = f"{counts.unknown_messages}, {counts.unknown_bytes} bytes"
        yield "unknown messages", unknown
    if statistics.first_address is not None:
        addresses = f"{statistics.first_address:#x}..{statistics.end_address:#x}"
        yield "addresses", addresses
