"""`gsym merge`: several GSYM files of one binary, such as its segments -> one."""

from __future__ import annotations

import sys

from gsym.cli.options import (
    Command,
    Operand,
    Option,
    UsageError,
    version_and_byteorder,
)
from gsym.cli.terminal import printable
from gsym.conversion.merging import merge_files
from gsym.errors import GsymError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.conversion.merging import MergeReport

COMMAND = Command(
    "gsym merge",
    "Make one GSYM file of several",
    (Operand("FILE", "GSYM file", many=True),),
    (
        Option("--output", "file to write", short="-o", metavar="OUT"),
        Option(
            "--force",
            "also merge files whose UUIDs or base addresses differ: the first UUID and "
            "the lowest base address are taken",
        ),
        Option("--if-changed", "leave an output alone that would stay the same"),
        Option(
            "--output-version",
            "version of the format, 1 or 2 (default: the highest of the files)",
            metavar="V",
        ),
        Option(
            "--byte-order",
            "byte order of the output, little or big (default: that of the first FILE)",
            metavar="ORDER",
        ),
        Option(
            "--segment-size",
            "split into files of about N bytes, named OUT-0xADDRESS",
            metavar="N",
        ),
        Option(
            "--index",
            "add an index of large functions (without it: if one of the files has one)",
        ),
        Option(
            "--strict",
            "exit with 3 when part of a FILE was left out; OUT is still written",
        ),
        Option("--quiet", "print only errors and reports of missing data", short="-q"),
    ),
    """\
Of functions with the same range the one that says most is taken. The segments that
`gsym convert --segment-size` wrote become the whole again:
gsym merge app.gsym-0x* -o app.gsym""",
)


EXIT_INCOMPLETE = 3


def run(arguments: list[str]) -> int:
    """Merge the files; the exit code is 3 as `--strict` says."""
    values = COMMAND.parse(arguments)
    output = values.text("--output")
    if output is None:
        raise UsageError("option '--output' is missing")
    version, byteorder = version_and_byteorder(values)
    segment_size = values.number("--segment-size", minimum=1)
    try:
        report = merge_files(
            values.operands("FILE"),
            output,
            force=values.flag("--force"),
            version=version,
            byteorder=byteorder,
            segment_size=segment_size,
            index=values.flag("--index"),
            keep_same=values.flag("--if-changed"),
        )
    except ValueError as error:
        raise GsymError(str(error)) from None
    if not values.flag("--quiet"):
        for line in _summary_lines(report):
            print(line)
    for category, count in report.warnings.items():
        times = f"{count} time{'s' if count != 1 else ''}"
        print(f"gsym merge: warning: {category} ({times})", file=sys.stderr)
    return EXIT_INCOMPLETE if values.flag("--strict") and report.warnings else 0


def _summary_lines(report: MergeReport) -> Iterator[str]:
    uuid = f"build id {report.uuid.hex()}" if report.uuid else "no build id"
    count = len(report.inputs)
    yield printable(
        f"{count} file{'s' if count != 1 else ''} -> {', '.join(report.outputs)}"
    )
    yield (
        f"  {report.functions} functions, {report.functions_with_lines} with lines, "
        f"{report.functions_with_inlines} with inlined calls; "
        f"{report.file_size} bytes in {report.seconds:.2f} s"
    )
    yield (
        f"  read {report.functions_read}, pruned {report.functions_pruned}; "
        f"different but of one range {report.duplicates_different}, "
        f"overlapping {report.overlapping}"
    )
    yield f"  {uuid}"
