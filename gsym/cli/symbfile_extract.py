"""`gsym symbfile extract`: ranges of a binary, for profilers."""

from __future__ import annotations

import sys

from gsym.cli.options import Command, Operand, Option, UsageError
from gsym.cli.search_options import SEARCH_OPTIONS, search_options
from gsym.cli.terminal import printable, progress_for
from gsym.symbfile.extraction import extract_ranges
from gsym.symbfile.name_styles import STYLES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gsym.cli.options import Values
    from gsym.symbfile.extraction import ExtractionReport

COMMAND = Command(
    "gsym symbfile extract",
    "Write the functions, inlined calls and lines of a binary as a symbfile",
    (Operand("INPUT", "what 'gsym convert' takes, or a GSYM file"),),
    (
        Option(
            "--output",
            "file to write (default: INPUT.ranges.symbfile)",
            short="-o",
            metavar="OUT",
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
At every address the ranges answer as a lookup in the GSYM file of INPUT does. OUT has
the same bytes for the same input; each part is a whole symbfile.""",
)

_SUFFIX = ".ranges.symbfile"


def run(arguments: list[str]) -> int:
    """Write the output; what it cannot say is told on standard error."""
    values = COMMAND.parse(arguments)
    path = values.operand("INPUT")
    names = values.text("--names") or "symblib"
    if names not in STYLES:
        raise UsageError(f"option '--names': choose {', '.join(STYLES)}")
    output = values.text("--output") or path.rstrip("/") + _SUFFIX
    progress = None if values.flag("--quiet") else progress_for(path)
    try:
        report = extract_ranges(
            path,
            output,
            names=names,
            part_size=values.number("--part-size", minimum=1),
            progress=progress,
            **_conversion_options(values),
        )
    except ValueError as error:
        raise UsageError(str(error)) from None
    finally:
        if progress is not None:
            progress.clear()
    if not values.flag("--quiet"):
        _tell(path, report)
    return 0


def _conversion_options(values: Values) -> dict[str, object]:
    search = search_options(values)
    return {
        "architecture": values.text("--arch"),
        "debug_directories": search.debug_directories,
        "debuginfod": search.debuginfod,
        "dwp": values.text("--dwp"),
        "threads": values.number("--threads", minimum=1),
    }


def _tell(path: str, report: ExtractionReport) -> None:
    for output in report.outputs:
        print(printable(f"{path} -> {output}"))
    print(
        f"  {report.functions} functions, {report.inlined_calls} ranges of inlined "
        f"calls, {report.line_rows} lines; {report.file_size} bytes in "
        f"{report.seconds:.2f} s"
    )
    head = printable(f"{path}: warning: ")
    for loss, count in report.losses.items():
        times = "once" if count == 1 else f"{count} times"
        print(f"{head}{loss} ({times})", file=sys.stderr)
