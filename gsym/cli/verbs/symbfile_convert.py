"""`gsym symbfile convert`: symbfiles as a GSYM file."""

from __future__ import annotations

import json

from gsym.cli.options import Command, Operand, Option, UsageError, version_and_byteorder
from gsym.cli.terminal import printable
from gsym.symbfile.to_gsym import convert_symbfiles

COMMAND = Command(
    "gsym symbfile convert",
    "Convert symbfiles to a GSYM file",
    (Operand("FILE", "symbfile with ranges; of several parts all", many=True),),
    (
        Option(
            "--output",
            "file to write (default: the first FILE with .gsym added)",
            short="-o",
            metavar="OUT",
        ),
        Option("--output-version", "version of the format, 1 or 2", metavar="V"),
        Option(
            "--byte-order", "byte order of the output, little or big", metavar="ORDER"
        ),
        Option(
            "--uuid",
            "build id of the executable, which symbfiles do not have",
            metavar="HEX",
        ),
        Option("--json", "print one JSON object that tells what was written"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
A lookup in OUT answers as the ranges do. Names stay what they are in FILE; return pads
are passed over.""",
)


def run(arguments: list[str]) -> int:
    """Write the output and tell what is in it."""
    values = COMMAND.parse(arguments)
    paths = values.operands("FILE")
    output = values.text("--output") or paths[0] + ".gsym"
    version, byteorder = version_and_byteorder(values)
    try:
        uuid = bytes.fromhex(values.text("--uuid") or "")
        report = convert_symbfiles(
            paths,
            output,
            version=version or 1,
            byteorder=byteorder or "little",
            uuid=uuid,
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    if values.flag("--json"):
        told = {"inputs": paths, "output": output, **report._asdict()}
        print(json.dumps(told))
    elif not values.flag("--quiet"):
        print(printable(f"{paths[0]} -> {output}"))
        print(
            f"  {report.functions} functions, {report.functions_with_lines} with "
            f"lines, {report.functions_with_inlines} with inlined calls; "
            f"{report.file_size} bytes"
        )
    return 0
