"""`gsym symbfile extract`: ranges and return pads of a binary, for profilers."""

from __future__ import annotations

import sys

from gsym.cli import options
from gsym.cli.grammar import Command, UsageError, Values, usage_errors
from gsym.cli.terminal import print_lines, progress_for, times, warn
from gsym.conversion.report_text import input_warning_lines
from gsym.errors import GsymError
from gsym.symbfile.extraction import (
    KINDS,
    ExtractionReport,
    NoCallsError,
    check_output,
    extract as extract_symbfiles,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAMES = """\
--names STYLE {symblib|full|mangled}  symblib: demangled, without template arguments
  (default); full: demangled; mangled: linkage names"""
_KEYWORDS = ("arch", "debug_file_directories", "debuginfod", "dwp", "threads")
CONVERSION_OPTIONS = options.convert_options(*_KEYWORDS)
RECORD_KINDS: dict[str, tuple[str, ...]]
RECORD_KINDS = {**{kind: (kind,) for kind in KINDS}, "both": KINDS}


def extraction_options(values: Values) -> dict[str, Any]:
    """The keywords of a command line with `NAMES` and `CONVERSION_OPTIONS`."""
    names = values.choice("--names") or "symblib"
    return {"names": names, **options.convert_keywords(values, *_KEYWORDS)}


def extraction_lines(path: str, report: ExtractionReport) -> Iterator[str]:
    """A report on the outputs for *path*."""
    for kind, written in report.kinds.items():
        for output in written.outputs:
            yield f"{path} -> {output}"
        for part in written.removed:
            yield f"  removed {part}, a part of an earlier extraction"
        counts = written.counts
        functions = f"{counts['functions']} functions"
        if kind == "ranges":
            found = (
                f"{functions}, {counts['inlined_calls']} ranges of inlined calls, "
                f"{counts['line_rows']} lines"
            )
        else:
            origin = f"in {functions}" if counts["functions"] else "of call sites"
            found = f"{counts['return_pads']} return pads {origin}"
        yield f"  {found}; {written.file_size} bytes in {report.seconds:.2f} s"


def loss_lines(path: str, losses: dict[str, int]) -> Iterator[str]:
    """A warning for each kind of lost data."""
    for loss, count in losses.items():
        yield f"{path}: warning: {loss} ({times(count)})"


@Command(
    "gsym symbfile extract",
    (
        """\
INPUT  input of 'gsym convert', or a GSYM file
--kind KIND {ranges|returnpads|both}  ranges: functions, inlined calls and lines
  (default); returnpads: the functions at each call; both
-o, --output OUT  output file; of both OUT.ranges.symbfile and OUT.returnpads.symbfile
  (default: INPUT with these endings)
--binary FILE  binary with the machine code, for return pads (default: INPUT)""",
        NAMES,
        """\
--part-size SIZE  write several files of about SIZE bytes, OUT-0, OUT-1, ...; further
  parts of an earlier extraction are removed""",
        CONVERSION_OPTIONS,
        options.JSON,
        options.QUIET,
    ),
    """\
The ranges return the same at every address as a lookup in the GSYM file of INPUT.
Return pads are made from machine code, or else from the call sites of INPUT. The same
input gives the same bytes; each part is a complete symbfile.""",
)
def extract(values: Values) -> int:
    """Write the outputs; lost data is reported on standard error."""
    path = values.operand("INPUT")
    outputs = _outputs(path, values)
    part_size = values.size("--part-size")
    with progress_for(path, quiet=values.flag("--quiet")) as progress:
        try:
            report = extract_symbfiles(
                path,
                ranges=outputs.get("ranges"),
                return_pads=outputs.get("returnpads"),
                binary=values.text("--binary"),
                part_size=part_size,
                progress=progress.callback,
                **extraction_options(values),
            )
        except NoCallsError as error:
            raise GsymError(f"{error.reason}: use --binary", path=path) from None
        except ValueError as error:
            raise UsageError(str(error)) from None
    _print_report(path, report, values)
    return 0


def _print_report(path: str, report: ExtractionReport, values: Values) -> None:
    options.show(values, _record(path, report), extraction_lines(path, report))
    if not values.flag("--quiet"):
        if report.conversion is not None:
            print_lines(input_warning_lines(report.conversion), sys.stderr)
        for written in report.kinds.values():
            print_lines(loss_lines(path, written.losses), sys.stderr)
        if report.unsure:
            warn(report.unsure, path)
    if report.missing:
        way_out = "" if values.text("--binary") else ": use --binary"
        warn(f"return pads left out: {report.missing}{way_out}", path)


def _outputs(path: str, values: Values) -> dict[str, str]:
    """The file for each kind of records."""
    kinds = RECORD_KINDS[values.choice("--kind") or "ranges"]
    given = values.text("--output")
    if given is not None and len(kinds) == 1:
        outputs = dict.fromkeys(kinds, given)
    else:
        opening = given or path.rstrip("/")
        outputs = {kind: f"{opening}.{kind}.symbfile" for kind in kinds}
    with usage_errors():
        for output in outputs.values():
            for name in filter(None, (path, values.text("--binary"))):
                check_output(name, output, is_split=bool(values.texts("--part-size")))
    return outputs


_FIELDS = "input", *KINDS, "missing", "unsure", "conversion"


def _record(path: str, report: ExtractionReport) -> dict[str, Any]:
    """One object with the report of each kind, null for others."""
    record: dict[str, Any] = dict.fromkeys(_FIELDS)
    record["input"], record["missing"] = path, report.missing or None
    record["unsure"] = report.unsure or None
    if report.conversion is not None:
        record["conversion"] = report.conversion.to_dict()
    for kind, written in report.kinds.items():
        record[kind] = {
            "outputs": written.outputs,
            "removed": written.removed,
            **written.counts,
            "losses": written.losses,
            "file_size": written.file_size,
            "seconds": report.seconds,
        }
    return record
