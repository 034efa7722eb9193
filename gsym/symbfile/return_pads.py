"""Return pads of a symbfile: the chain of functions at each call of a program.

A return pad stands in front of what a call returns to: there a profiler looks up each
frame of a stack but the innermost. Frames are those at the call itself; what is inlined
there may end right behind it.
"""

from __future__ import annotations

import os
import time

from gsym.errors import GsymError, UnsupportedError
from gsym.records import NamedTuple
from gsym.symbfile.calls import can_find_calls, find_calls, holds_code, recall_calls
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
    from gsym.symbfile.calls import Calls


class ReturnPadReport(NamedTuple):
    """What an extraction of return pads wrote.

    Attributes:
        outputs: Paths that were written: one, or one per part.
        removed: Paths of parts of an earlier, longer output, which are gone.
        return_pads: How many there are.
        functions: Ranges of functions whose code was gone through; 0 where there
            is no code and calls are those that the GSYM file holds.
        instructions: In that code.
        losses: What was left out -> how often.
        file_size: Of all outputs, in bytes.
        seconds: Wall time.
        conversion: The report on the conversion of the input that was made for this
            extraction alone, with its warnings; None where there was none.
    """

    outputs: tuple[str, ...]
    removed: tuple[str, ...]
    return_pads: int
    functions: int
    instructions: int
    losses: dict[str, int]
    file_size: int
    seconds: float
    conversion: ConversionReport | None = None


class NoCallsError(GsymError):
    """There is neither machine code nor a call site to make return pads of."""


def extract_return_pads(  # noqa: PLR0913 - keywords, each a choice of its own
    source: str | os.PathLike[str] | Reader,
    output: str | os.PathLike[str],
    *,
    binary: str | os.PathLike[str] | None = None,
    names: str | NameTexts = "symblib",
    part_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> ReturnPadReport:
    """Write a return pad for each call in a binary.

    Args:
        source: What `gsym.convert` takes, a GSYM file, or a reader that has one open.
        output: File to write. Of several parts each adds its number: `OUT-0`.
        binary: Has the machine code of *source*; by default *source* itself. Where that
            has none, or it is for another processor, pads are made of the call sites
            that its debug information has.
        names: As for `extract_ranges`.
        part_size: Likewise.
        progress: Called now and then with (work done, work in all).
        conversion: Other keywords of `gsym.convert`.

    Raises:
        GsymError: As for `gsym.convert` and `gsym.symbfile.calls.find_calls`.
        NoCallsError: There is no code and no call site.
        OSError: A file cannot be read or written.
        ValueError: There is no such style of names, or *output* is *source*.
    """
    started = time.perf_counter()
    target = os.fspath(output)
    is_split = part_size is not None
    check_output(source, target, is_split=is_split)
    texts = names if isinstance(names, NameTexts) else NameTexts(names)
    if binary is None and isinstance(source, (str, os.PathLike)) and holds_code(source):
        binary = source
    if binary is None or not can_find_calls(binary):
        conversion = {**conversion, "call_sites": True}
    with open_image(source, progress, **conversion) as (reader, converted):
        calls = calls_of(reader, binary)
        extraction = FunctionPass(reader, texts, part_size, progress)
        encoder = extraction.want_return_pads(calls)
        with PartFiles(target, is_split=is_split) as files:
            for _ in extraction.steps():
                files.take(encoder)
    report = pad_report(extraction, calls, files, time.perf_counter() - started)
    return report._replace(conversion=converted)


def pad_report(
    extraction: FunctionPass, calls: Calls, files: PartFiles, seconds: float
) -> ReturnPadReport:
    """What a pass that is done wrote."""
    counts = extraction.counts(("return_pads", "losses.damaged"))
    losses = {
        "Code behind an undefined instruction left out": calls.ended_early,
        "Function left out: the binary has no code of it": calls.without_code,
        "Function left out: its record is damaged": counts["losses.damaged"],
    }
    return ReturnPadReport(
        outputs=tuple(files.paths),
        removed=tuple(files.removed),
        return_pads=counts["return_pads"],
        functions=calls.ranges,
        instructions=calls.instructions,
        losses={text: count for text, count in losses.items() if count},
        file_size=files.size,
        seconds=seconds,
    )


def return_pad_blocks(
    reader: Reader, calls: Calls, *, names: str = "symblib"
) -> Iterator[bytes]:
    """The return pads of calls as the bytes of one symbfile, in blocks.

    Args:
        reader: The GSYM file; it stays open until the last of them.
        calls: Of its functions.
        names: As for `extract_ranges`.

    Raises:
        ClosedError: The reader was closed.
    """
    extraction = FunctionPass(reader, NameTexts(names))
    encoder = extraction.want_return_pads(calls)
    for _ in extraction.steps():
        for block, _ in finished_blocks(encoder):
            yield block


def calls_of(reader: Reader, binary: str | os.PathLike[str] | None) -> Calls:
    """The calls in the code of a binary, or those that the GSYM file holds.

    Raises:
        GsymError: As for `gsym.symbfile.calls.find_calls`; its kinds, too.
        NoCallsError: There is no binary and no call site.
        UnsupportedError: The binary is for another processor, and there is none.
    """
    if binary is not None:
        try:
            return find_calls(reader, binary)
        except UnsupportedError:
            if not len(calls := recall_calls(reader)):
                raise
            return calls
    calls = recall_calls(reader)
    if not len(calls):
        raise NoCallsError(
            "return pads are made of machine code or call sites, and there are none",
            path=reader.path,
        )
    return calls
