"""`gsym merge`: several GSYM files of one binary, such as its segments -> one."""

from __future__ import annotations

from gsym.cli import options
from gsym.cli.program import EXIT_INCOMPLETE
from gsym.cli.terminal import print_lines, warn
from gsym.conversion.merging import MergeReport, merge_files
from gsym.errors import GsymError

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.cli.grammar import Values

_CHOSEN = ("if_changed", "output_version", "byteorder", "segment_size", "index")


@options.OutputCommand(
    "gsym merge",
    (
        """\
FILE...  GSYM file
-o, --output OUT  file to write, - for standard output
--force  merge files even if their UUIDs or base addresses differ; the output has the
  first UUID and the lowest base address""",
        options.convert_options(*_CHOSEN),
        options.STRICT,
        options.QUIET,
    ),
    """\
Of functions with the same range, the most detailed is kept. The segments that
`gsym convert --segment-size` wrote become one file again:

  gsym merge app.gsym-0x* -o app.gsym""",
)
def merge(values: Values) -> int:
    """Merge the files; the exit code is 3 as `--strict` says."""
    output = values.required("--output")
    try:
        report = merge_files(
            values.operands("FILE"),
            output,
            force=values.flag("--force"),
            **options.convert_keywords(values, *_CHOSEN),
        )
    except ValueError as error:
        raise GsymError(str(error)) from None
    if not values.flag("--quiet"):
        print_lines(_summary_lines(report))
    for category, count in report.warnings.items():
        times = f"{count} time{'s' if count != 1 else ''}"
        warn(f"{category} ({times})", "gsym merge")
    return EXIT_INCOMPLETE if values.flag("--strict") and report.warnings else 0


def _summary_lines(report: MergeReport) -> Iterator[str]:
    uuid = f"build id {report.uuid.hex()}" if report.uuid else "no build id"
    count = len(report.inputs)
    same = "" if report.is_written else " (unchanged)"
    files = f"{count} file{'s' if count != 1 else ''}"
    yield f"{files} -> {', '.join(report.outputs)}{same}"
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
