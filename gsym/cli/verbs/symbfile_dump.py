"""`gsym symbfile dump`: every record, for people or as JSON lines."""

from __future__ import annotations

import json
import sys

from gsym.cli.options import Command, Operand, Option
from gsym.cli.terminal import printable
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.inspection import record_lines, record_object

COMMAND = Command(
    "gsym symbfile dump",
    "Print the records of a symbfile",
    (Operand("FILE", "symbfile, plain or compressed by zstd"),),
    (Option("--json", "print one JSON object a line for each record"),),
    "A damaged file is printed up to the damage; the error names its byte offset.",
)


def run(arguments: list[str]) -> int:
    """Print all records in file order."""
    values = COMMAND.parse(arguments)
    records = open_symbfile(values.operand("FILE")).records()
    if values.flag("--json"):
        for record in records:
            sys.stdout.write(json.dumps(record_object(record)) + "\n")
        return 0
    for record in records:
        sys.stdout.writelines(f"{printable(line)}\n" for line in record_lines(record))
    return 0
