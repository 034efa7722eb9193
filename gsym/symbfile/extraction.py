"""Ranges of a symbfile, made of anything that can be converted to GSYM.

What a lookup in the GSYM file answers, the ranges answer, too, but for the names, which
are written in another style. docs/symbfile.md tells what is lost.
"""

from __future__ import annotations

import os
import time

from gsym.records import NamedTuple
from gsym.symbfile.function_pass import FunctionPass
from gsym.symbfile.input_image import check_output, open_image
from gsym.symbfile.names import NameTexts
from gsym.symbfile.parts import PartFiles, finished_blocks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.reading.reader import Reader


class ExtractionReport(NamedTuple):
    """What an extraction wrote.

    Attributes:
        outputs: Paths that were written: one, or one per part.
        removed: Paths of parts of an earlier, longer output, which are gone.
        functions: Functions in them.
        ranges: Ranges of functions and of calls inlined into them.
        inlined_calls: Of these, those of inlined calls.
        line_rows: Rows of all line tables.
        losses: What was left out -> how often.
        file_size: Of all outputs, in bytes.
        seconds: Wall time.
        conversion: The report on the conversion of the input that was made for this
            extraction alone, with its warnings; None where there was none.
    """

    outputs: tuple[str, ...]
    removed: tuple[str, ...]
    functions: int
    ranges: int
    inlined_calls: int
    line_rows: int
    losses: dict[str, int]
    file_size: int
    seconds: float
    conversion: ConversionReport | None = None


_COUNTS = ("functions", "ranges", "inlined_calls", "line_rows")
_LOSSES = {
    "losses.damaged": "Function left out: its record is damaged",
    "losses.functions_cut": "Function cut: another one answers for a part of it",
    "losses.functions_left_out": "Function left out: another one answers for all of it",
    "endless_left_out": "Function left out: it has no size and is the last one",
    "losses.merged_left_out": "Function left out: merged into another one",
    "without_calls": "Inlined calls left out: they would be too many",
}


def extract_ranges(
    source: str | os.PathLike[str] | Reader,
    output: str | os.PathLike[str],
    *,
    names: str | NameTexts = "symblib",
    part_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> ExtractionReport:
    """Write the functions, inlined calls and lines of a binary as ranges.

    Args:
        source: What `gsym.convert` takes, a GSYM file, or a reader that has one open.
        output: File to write. Of several parts each adds its number: `OUT-0`.
        names: "symblib" (demangled, without template arguments), "full" (demangled) or
            "mangled"; or texts that several outputs of one input share.
        part_size: Write several files of about so many bytes, each whole in itself.
        progress: Called now and then with (work done, work in all).
        conversion: Other keywords of `gsym.convert`.

    Raises:
        GsymError: As for `gsym.convert`; its kinds, too.
        OSError: A file cannot be read or written.
        ValueError: There is no such style of names, or *output* is *source*.
    """
    started = time.perf_counter()
    target = os.fspath(output)
    is_split = part_size is not None
    check_output(source, target, is_split=is_split)
    texts = names if isinstance(names, NameTexts) else NameTexts(names)
    with open_image(source, progress, **conversion) as (reader, converted):
        extraction = FunctionPass(reader, texts, part_size, progress)
        encoder = extraction.want_ranges()
        with PartFiles(target, is_split=is_split) as files:
            for _ in extraction.steps():
                files.take(encoder)
    report = range_report(extraction, files, time.perf_counter() - started)
    return report._replace(conversion=converted)


def range_report(
    extraction: FunctionPass, files: PartFiles, seconds: float
) -> ExtractionReport:
    """What a pass that is done wrote."""
    counts: dict[str, Any] = extraction.counts(_COUNTS)
    losses = extraction.counts(tuple(_LOSSES))
    return ExtractionReport(
        outputs=tuple(files.paths),
        removed=tuple(files.removed),
        **counts,
        losses={text: losses[name] for name, text in _LOSSES.items() if losses[name]},
        file_size=files.size,
        seconds=seconds,
    )


def range_blocks(reader: Reader, *, names: str = "symblib") -> Iterator[bytes]:
    """The ranges of an open GSYM file as the bytes of one symbfile, in blocks.

    Args:
        reader: Stays open until the last of them.
        names: As for `extract_ranges`.
    """
    extraction = FunctionPass(reader, NameTexts(names))
    encoder = extraction.want_ranges()
    for _ in extraction.steps():
        for block, _ in finished_blocks(encoder):
            yield block
