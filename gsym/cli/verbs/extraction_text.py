"""What was extracted as symbfiles, told to people."""

from __future__ import annotations

from gsym.cli.terminal import printable
from gsym.symbfile.return_pads import ReturnPadReport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.extraction import ExtractionReport


def extraction_lines(
    path: str, report: ExtractionReport | ReturnPadReport
) -> Iterator[str]:
    """What was written of *path*."""
    for output in report.outputs:
        yield printable(f"{path} -> {output}")
    for part in report.removed:
        yield printable(f"  removed {part}, a part of an earlier extraction")
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
    yield f"  {found}; {report.file_size} bytes in {report.seconds:.2f} s"


def loss_lines(path: str, losses: dict[str, int]) -> Iterator[str]:
    """A warning for each thing that was left out."""
    head = printable(f"{path}: warning: ")
    for loss, count in losses.items():
        times = "once" if count == 1 else f"{count} times"
        yield f"{head}{loss} ({times})"
