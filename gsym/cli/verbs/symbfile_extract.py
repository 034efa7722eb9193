"""`gsym symbfile extract`: ranges and return pads of a binary, for profilers."""

from __future__ import annotations

import sys

from gsym.cli.conversion_report import input_warning_lines, json_report
from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.terminal import printable, progress_for
from gsym.cli.verbs.extraction_text import extraction_lines, loss_lines
from gsym.cli.verbs.symbfile_options import (
    CONVERSION_OPTIONS,
    NAMES,
    extraction_options,
    read_kinds,
)
from gsym.errors import GsymError
from gsym.symbfile.input_image import check_output
from gsym.symbfile.kinds import KINDS, extract_kinds
from gsym.symbfile.return_pads import NoCallsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.options import Values
    from gsym.symbfile.kinds import KindReports

COMMAND = Command(
    "gsym symbfile extract",
    "Write what is at the addresses of a binary as symbfiles",
    (Operand("INPUT", "what 'gsym convert' takes, or a GSYM file"),),
    (
        Option(
            "--kind",
            "ranges: functions, inlined calls and lines (default); returnpads: the "
            "functions at each call; both",
            metavar="KIND",
        ),
        Option(
            "--output",
            "file to write, of both OUT.ranges.symbfile and OUT.returnpads.symbfile "
            "(default: INPUT with the same endings)",
            short="-o",
            metavar="OUT",
        ),
        Option(
            "--binary",
            "binary with the machine code, for return pads (default: INPUT)",
            metavar="FILE",
        ),
        NAMES,
        Option(
            "--part-size",
            "write several files of about N bytes, OUT-0, OUT-1, ...; more such parts "
            "of an earlier extraction are removed",
            metavar="N",
        ),
        *CONVERSION_OPTIONS,
        Option("--json", "print one JSON object that tells what was written"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
At every address the ranges answer as a lookup in the GSYM file of INPUT does. Return
pads are made of machine code; without any, of the call sites that INPUT has. OUT has
the same bytes for the same input; each part is a whole symbfile.""",
)


def run(arguments: list[str]) -> int:
    """Write the outputs; what they cannot say is told on standard error."""
    values = COMMAND.parse(arguments)
    path = values.operand("INPUT")
    outputs = _outputs(path, values)
    part_size = values.number("--part-size", minimum=1)
    progress = None if values.flag("--quiet") else progress_for(path)
    try:
        reports = extract_kinds(
            path,
            outputs,
            binary=values.text("--binary"),
            part_size=part_size,
            progress=progress,
            **extraction_options(values),
        )
    except NoCallsError as error:
        raise GsymError(f"{error.reason}: use --binary", path=path) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        if progress is not None:
            progress.clear()
    _print_reports(path, reports, values)
    return 0


def _print_reports(path: str, reports: KindReports, values: Values) -> None:
    if values.flag("--json"):
        _print_json(path, reports)
    if reports.conversion is not None and not values.flag("--quiet"):
        for line in input_warning_lines(reports.conversion):
            print(line, file=sys.stderr)
    for report in reports.written.values():
        if not values.flag("--json") and not values.flag("--quiet"):
            print(*extraction_lines(path, report), sep="\n")
        if not values.flag("--quiet"):
            for line in loss_lines(path, report.losses):
                print(line, file=sys.stderr)
    if reports.missing:
        way_out = "" if values.text("--binary") else ": use --binary"
        warning = f"return pads left out: {reports.missing}{way_out}"
        print(printable(f"{path}: warning: {warning}"), file=sys.stderr)


def _outputs(path: str, values: Values) -> dict[str, str]:
    """The file for each kind of records that is wanted."""
    kinds = read_kinds(values, "ranges")
    given = values.text("--output")
    if given is not None and len(kinds) == 1:
        outputs = dict.fromkeys(kinds, given)
    else:
        opening = given or path.rstrip("/")
        outputs = {kind: f"{opening}.{kind}.symbfile" for kind in kinds}
    try:
        for output in outputs.values():
            for name in filter(None, (path, values.text("--binary"))):
                check_output(name, output, is_split=bool(values.texts("--part-size")))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return outputs


def _print_json(path: str, reports: KindReports) -> None:
    """One object with the report of each kind, null for what was not written."""
    import json

    record: dict[str, Any] = dict.fromkeys(("input", *KINDS, "missing", "conversion"))
    record["input"], record["missing"] = path, reports.missing or None
    if reports.conversion is not None:
        record["conversion"] = json_report(reports.conversion)
    for kind, report in reports.written.items():
        record[kind] = report._asdict()
        del record[kind]["conversion"]  # the same for all kinds
    print(json.dumps(record))
