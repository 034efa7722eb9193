"""`gsym symbfile extract`: ranges and return pads of a binary, for profilers."""

from __future__ import annotations

import sys

from gsym.atomic_file import is_same_file
from gsym.calls import holds_code
from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.search_options import SEARCH_OPTIONS, search_options
from gsym.cli.terminal import printable, progress_for
from gsym.errors import GsymError
from gsym.symbfile.extraction import extract_ranges
from gsym.symbfile.image_names import NameTexts
from gsym.symbfile.input_image import open_image
from gsym.symbfile.name_styles import STYLES
from gsym.symbfile.return_pads import (
    NoCallsError,
    ReturnPadReport,
    extract_return_pads,
)

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
        Option(
            "--names",
            "symblib: demangled, without template arguments (default); full: "
            "demangled; mangled: as the linker knows them",
            metavar="STYLE",
        ),
        Option(
            "--part-size",
            "write several files of about N bytes, OUT-0, OUT-1, ...",
            metavar="N",
        ),
        Option("--arch", "slice of a fat file, such as arm64", metavar="NAME"),
        *SEARCH_OPTIONS,
        Option("--dwp", "package with the split units", metavar="FILE"),
        Option("--threads", "worker threads (default: one per core)", metavar="N"),
        Option("--quiet", "print errors only", short="-q"),
    ),
    """\
At every address the ranges answer as a lookup in the GSYM file of INPUT does. Return
pads are made of machine code; without any, of the call sites that INPUT has. OUT has
the same bytes for the same input; each part is a whole symbfile.""",
)

_SUFFIXES = {"ranges": ".ranges.symbfile", "returnpads": ".returnpads.symbfile"}
_KINDS = {**{kind: (kind,) for kind in _SUFFIXES}, "both": tuple(_SUFFIXES)}


def run(arguments: list[str]) -> int:
    """Write the outputs; what they cannot say is told on standard error."""
    values = COMMAND.parse(arguments)
    path = values.operand("INPUT")
    outputs = _outputs(path, values)
    names = values.choice("--names", tuple(STYLES)) or "symblib"
    part_size = values.number("--part-size", minimum=1)
    binary = _binary(path, values) if "returnpads" in outputs else None
    conversion = _conversion_options(values)
    conversion["call_sites"] = "returnpads" in outputs and binary is None
    progress = None if values.flag("--quiet") else progress_for(path)
    reports: list[ExtractionReport | ReturnPadReport] = []
    lost = ""
    options: dict[str, Any] = {"names": NameTexts(names), "part_size": part_size}
    options["progress"] = progress
    try:
        with open_image(path, progress, **conversion) as reader:
            if "ranges" in outputs:
                reports.append(extract_ranges(reader, outputs["ranges"], **options))
            if "returnpads" in outputs:
                pads = outputs["returnpads"]
                reports.append(
                    extract_return_pads(reader, pads, binary=binary, **options)
                )
    except NoCallsError as error:
        lost = f"{error.reason}: use --binary"
        if not reports:
            raise GsymError(lost, path=path) from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        if progress is not None:
            progress.clear()
    if not values.flag("--quiet"):
        for report in reports:
            _tell(path, report)
    if lost:
        warning = f"{path}: warning: return pads left out: {lost}"
        print(printable(warning), file=sys.stderr)
    return 0


def _outputs(path: str, values: Values) -> dict[str, str]:
    """The file for each kind of records that is wanted."""
    kinds = _KINDS[values.choice("--kind", tuple(_KINDS)) or "ranges"]
    given = values.text("--output")
    if given is not None and len(kinds) == 1:
        outputs = dict.fromkeys(kinds, given)
    else:
        opening = given or path.rstrip("/")
        outputs = {kind: opening + _SUFFIXES[kind] for kind in kinds}
    for output in outputs.values():
        for name in (path, values.text("--binary")):
            if name is not None and is_same_file(name, output):
                raise UsageError(f"{output}: the output would replace the input")
    return outputs


def _binary(path: str, values: Values) -> str | None:
    """The file that has the machine code; None where none is named nor INPUT one."""
    return values.text("--binary") or (path if holds_code(path) else None)


def _conversion_options(values: Values) -> dict[str, Any]:
    search = search_options(values)
    return {
        "architecture": values.text("--arch"),
        "debug_directories": search.debug_directories,
        "debuginfod": search.debuginfod,
        "dwp": values.text("--dwp"),
        "threads": values.number("--threads", minimum=1),
    }


def _tell(path: str, report: ExtractionReport | ReturnPadReport) -> None:
    for output in report.outputs:
        print(printable(f"{path} -> {output}"))
    if isinstance(report, ReturnPadReport):
        origin = (
            f"in {report.functions} functions" if report.functions else "of call sites"
        )
        found = f"{report.return_pads} return pads {origin}"
    else:
        found = (
            f"{report.functions} functions, {report.inlined_calls} ranges of inlined "
            f"calls, {report.line_rows} lines"
        )
    print(f"  {found}; {report.file_size} bytes in {report.seconds:.2f} s")
    head = printable(f"{path}: warning: ")
    for loss, count in report.losses.items():
        times = "once" if count == 1 else f"{count} times"
        print(f"{head}{loss} ({times})", file=sys.stderr)
