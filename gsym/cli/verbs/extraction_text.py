"""What was extracted as symbfiles, told to people."""

from __future__ import annotations

from gsym.cli.terminal import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.symbfile.extraction import ExtractionReport


def extraction_lines(path: str, report: ExtractionReport) -> Iterator[str]:
    """What was written of *path*."""
    for kind, written in report.kinds.items():
        for output in written.outputs:
            yield printable(f"{path} -> {output}")
        for part in written.removed:
            yield printable(f"  removed {part}, a part of an earlier extraction")
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
    """A warning for each thing that was left out."""
    head = printable(f"{path}: warning: ")
    for loss, count in losses.items():
        times = "once" if count == 1 else f"{count} times"
        yield f"{head}{loss} ({times})"
