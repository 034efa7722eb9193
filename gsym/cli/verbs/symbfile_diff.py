"""`gsym symbfile diff`: what two symbfiles say differently."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option
from gsym.cli.terminal import printable
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.inspection import (
    compare,
    differing_fields,
    record_object,
    record_title,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.inspection import Difference

COMMAND = Command(
    "gsym symbfile diff",
    "Show what two symbfiles say differently",
    (
        Operand("OLD", "symbfile, plain or compressed by zstd"),
        Operand("NEW", "symbfile to compare it with"),
    ),
    (
        Option("--json", "print one JSON object for each difference"),
        Option("--quiet", "print nothing, only tell by the exit code", short="-q"),
    ),
    """\
- stands before a record that only OLD has, + before one that only NEW has, ! before one
that both have with different fields. The order of records and how strings are stored
make no difference. The exit code is 1 if the files differ.""",
)

EXIT_DIFFERENT = 1


def run(arguments: list[str]) -> int:
    """Print the differences; the exit code is 1 if there is one."""
    values = COMMAND.parse(arguments)
    old, new = (open_symbfile(values.operand(name)) for name in ("OLD", "NEW"))
    code = 0
    for difference in compare(old.records(), new.records()):
        code = EXIT_DIFFERENT
        if values.flag("--quiet"):
            break
        if values.flag("--json"):
            print(json.dumps(_object(difference)))
        else:
            for line in _lines(difference):
                print(printable(line))
    return code


def _object(difference: Difference) -> dict[str, object]:
    old, new = difference
    return {
        "old": None if old is None else record_object(old),
        "new": None if new is None else record_object(new),
        "fields": differing_fields(difference),
    }


def _lines(difference: Difference) -> Iterator[str]:
    old, new = difference
    if old is None or new is None:
        mark, record = ("-", old) if new is None else ("+", new)
        if record is not None:
            yield f"{mark} {record_title(record)}"
        return
    yield f"! {record_title(new)}"
    for name in differing_fields(difference):
        one, other = record_object(old)[name], record_object(new)[name]
        yield f"  {name}: {json.dumps(one)} -> {json.dumps(other)}"
