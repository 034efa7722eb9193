"""`gsym symbfile verify`: is what a symbfile says sound?"""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option
from gsym.cli.terminal import printable
from gsym.symbfile.format import open_symbfile
from gsym.symbfile.inspection import verify

COMMAND = Command(
    "gsym symbfile verify",
    "Check what a symbfile says",
    (Operand("FILE", "symbfile, plain or compressed by zstd"),),
    (
        Option("--json", "print one JSON object for each finding"),
        Option("--quiet", "print errors only, no notes", short="-q"),
    ),
    """\
Checked are the order and the nesting of inlined calls, overlaps, line tables and
missing fields. A note tells of something that is not known, such as bytes without a
line. The exit code is 1 if there is an error.""",
)

EXIT_WRONG = 1


def run(arguments: list[str]) -> int:
    """Print what is wrong; the exit code is 1 if anything is."""
    values = COMMAND.parse(arguments)
    path = values.operand("FILE")
    is_json, is_quiet = values.flag("--json"), values.flag("--quiet")
    errors = 0
    for finding in verify(open_symbfile(path)):
        errors += finding.is_error
        if is_quiet and not finding.is_error:
            continue
        if is_json:
            print(json.dumps(finding._asdict()))
            continue
        kind = "error" if finding.is_error else "note"
        where = f"{path}: offset {finding.offset:#x}, address {finding.elf_va:#x}"
        print(printable(f"{where}: {kind}: {finding.rule}: {finding.reason}"))
    if not errors and not is_json and not is_quiet:
        print(f"{printable(path)}: the records are sound")
    return EXIT_WRONG if errors else 0
