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
from gsym.symbfile.extraction import KINDS, NoCallsError, check_output, extract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gsym.cli.options import Values
    from gsym.symbfile.extraction import ExtractionReport

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
        report = extract(
            path,
            ranges=outputs.get("ranges"),
            return_pads=outputs.get("returnpads"),
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
    _print_report(path, report, values)
    return 0


def _print_report(path: str, report: ExtractionReport, values: Values) -> None:
    is_quiet = values.flag("--quiet")
    if values.flag("--json"):
        _print_json(path, report)
    elif not is_quiet:
        print(*extraction_lines(path, report), sep="\n")
    if not is_quiet:
        if report.conversion is not None:
            for line in input_warning_lines(report.conversion):
                print(line, file=sys.stderr)
        for written in report.kinds.values():
            for line in loss_lines(path, written.losses):
                print(line, file=sys.stderr)
    if report.missing:
        way_out = "" if values.text("--binary") else ": use --binary"
        warning = f"return pads left out: {report.missing}{way_out}"
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


def _print_json(path: str, report: ExtractionReport) -> None:
    """One object with the report of each kind, null for what was not written."""
    import json

    record: dict[str, Any] = dict.fromkeys(("input", *KINDS, "missing", "conversion"))
    record["input"], record["missing"] = path, report.missing or None
    if report.conversion is not None:
        record["conversion"] = json_report(report.conversion)
    for kind, written in report.kinds.items():
        record[kind] = {
            "outputs": written.outputs,
            "removed": written.removed,
            **written.counts,
            "losses": written.losses,
            "file_size": written.file_size,
            "seconds": report.seconds,
        }
    print(json.dumps(record))
