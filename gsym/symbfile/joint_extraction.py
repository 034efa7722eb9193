"""Ranges and return pads of one GSYM file, made together.

One thread goes over the functions once for both; with more threads each kind has a pass
of its own. The bytes are the same.
"""

from __future__ import annotations

import time

from gsym.engine.workers import core_count, run_workers
from gsym.symbfile.extraction import range_report
from gsym.symbfile.function_pass import FunctionPass
from gsym.symbfile.parts import PartFiles
from gsym.symbfile.return_pads import pad_report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gsym.reading.reader import Reader
    from gsym.symbfile.calls import Calls
    from gsym.symbfile.extraction import ExtractionReport
    from gsym.symbfile.format import Encoder
    from gsym.symbfile.names import NameTexts
    from gsym.symbfile.return_pads import ReturnPadReport


def extract_together(  # noqa: PLR0913 - keywords, each a choice of its own
    reader: Reader,
    calls: Calls,
    ranges: str,
    return_pads: str,
    *,
    names: NameTexts,
    part_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    threads: int | None = None,
) -> tuple[ExtractionReport, ReturnPadReport]:
    """Write the ranges and the return pads of a GSYM file.

    Args:
        reader: The file.
        calls: What the return pads are of.
        ranges: File to write the ranges to. Of several parts each adds its number.
        return_pads: Likewise for the return pads.
        names: Texts of the names.
        part_size: As for `extract_ranges`.
        progress: Called now and then with (work done, work in all), by any thread.
        threads: Up to two; by default one for each core.

    Raises:
        FormatError: The records of the file lie over each other.
        OSError: A file cannot be written.
    """
    started = time.perf_counter()
    is_shared = (core_count() if threads is None else threads) < 2  # noqa: PLR2004
    first = FunctionPass(reader, names, part_size, progress)
    range_encoder = first.want_ranges()
    second = first if is_shared else FunctionPass(reader, names, part_size)
    pad_encoder = second.want_return_pads(calls)
    is_split = part_size is not None
    with (
        PartFiles(ranges, is_split=is_split) as range_files,
        PartFiles(return_pads, is_split=is_split) as pad_files,
    ):
        if is_shared:
            for _ in first.steps():
                range_files.take(range_encoder)
                pad_files.take(pad_encoder)
        else:
            _run_together(
                (first, range_encoder, range_files), (second, pad_encoder, pad_files)
            )
    seconds = time.perf_counter() - started
    return (
        range_report(first, range_files, seconds),
        pad_report(second, calls, pad_files, seconds),
    )


class _StoppedError(Exception):
    """The other pass failed, or the process was interrupted."""


def _run_together(*passes: tuple[FunctionPass, Encoder, PartFiles]) -> None:
    """Run each pass in a thread of its own."""
    waiting = list(passes)
    is_stopped = False

    def work() -> None:
        extraction, encoder, files = waiting.pop()
        for _ in extraction.steps():
            if is_stopped:
                raise _StoppedError
            files.take(encoder)

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True

    run_workers(work, len(passes), None, stop)
