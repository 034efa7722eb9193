"""Extract symbfiles from any input of a conversion: ranges, return pads or both.

The ranges have the result of a lookup in the GSYM file for every address, except for
the style of names; docs/symbfile.md lists what is lost. A return pad is at a return
address minus 1, where a profiler looks up each frame of a stack except the innermost.
Its frames are those of the call itself: inlined code may end right after it.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from operator import attrgetter

import gsym.reading.reader
from gsym.containers.recognition import recognise_file
from gsym.conversion.identity import open_fitting
from gsym.engine.native import check, ffi, lib, new_error, new_object
from gsym.engine.workers import core_count, run_workers
from gsym.errors import GsymError, UnsupportedError
from gsym.lazy import tempfile
from gsym.records import NamedTuple
from gsym.symbfile.calls import (
    Calls,
    can_find_calls,
    find_calls,
    holds_code,
    recall_calls,
)
from gsym.symbfile.format import Encoder
from gsym.symbfile.names import ImageNames, NameTexts
from gsym.symbfile.parts import PartFiles, finished_blocks, is_part_of
from gsym.writing.atomic_file import is_same_file

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.conversion.report import ConversionReport
    from gsym.reading.reader import Reader

    Outputs = list[tuple[Encoder, PartFiles]]

# As in the paths of the upload protocol.
KINDS = ("ranges", "returnpads")

_ENTRIES_AT_ONCE = 1 << 10
_RANGE_COUNTS = ("functions", "ranges", "inlined_calls", "line_rows")
_RANGE_LOSSES = {
    "losses.damaged": "Function left out: its record is damaged",
    "losses.functions_cut": "Function cut: another one covers a part of it",
    "losses.functions_left_out": "Function left out: another one covers all of it",
    "endless_left_out": "Function left out: the last one, without a size",
    "losses.merged_left_out": "Function left out: merged into another one",
    "without_calls": "Inlined calls left out: too many",
}


class NoCallsError(GsymError):
    """There is no machine code and no call site to make return pads from."""


class SymbfileReport(NamedTuple):
    """The report on one kind of records."""

    outputs: tuple[str, ...]  # paths of the outputs: one, or one per part
    removed: tuple[str, ...]  # paths of removed parts of an earlier, longer output
    # of ranges: `functions`, `ranges`, ranges of `inlined_calls`, and `line_rows`. Of
    # return pads: `return_pads`, scanned ranges of `functions`, and `instructions` in
    # them; both 0 if the calls come from the GSYM file
    counts: dict[str, int]
    losses: dict[str, int]  # kind of lost data -> count
    file_size: int  # of all outputs, in bytes


class ExtractionReport(NamedTuple):
    """The report on an extraction."""

    kinds: dict[str, SymbfileReport]  # the report on each written kind of `KINDS`
    missing: str  # why requested return pads were not made, or ""
    # the report on the conversion of the input, with its warnings; None without a
    # conversion
    conversion: ConversionReport | None
    seconds: float  # wall time
    # why the binary with the machine code may be of another build than the source, in
    # words; "" if it is not
    unsure: str = ""


def extract(  # noqa: PLR0913 - keywords, each a choice of its own
    source: str | os.PathLike[str] | Reader,
    *,
    ranges: str | os.PathLike[str] | None = None,
    return_pads: str | os.PathLike[str] | None = None,
    binary: str | os.PathLike[str] | None = None,
    names: str = "symblib",
    part_size: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> ExtractionReport:
    """Write the ranges of a binary, its return pads, or both.

    Return pads that cannot be made are an error only if nothing else is requested.

    Args:
        source: Input of `gsym.convert`, a GSYM file, or an open reader.
        ranges: File for functions, inlined calls and lines, or None. Parts are named
            `OUT-0` and so on.
        return_pads: File for the chain of functions at each call, or None. Parts are
            named in the same way.
        binary: The binary with the machine code; default: *source*. Without code for a
            supported processor, pads are made from the call sites in the debug
            information.
        names: "symblib" (demangled, without template arguments), "full" (demangled) or
            "mangled".
        part_size: Write several files of about this size, each a complete symbfile.
        progress: Called with (work done, total work), by any thread.
        conversion: Other keywords of `gsym.convert`. With two or more `threads` each
            kind is written by a thread; the bytes are the same.

    Raises:
        GsymError: As for `gsym.convert` and `gsym.symbfile.calls.find_calls`.
        NoCallsError: There is no code and no call site.
        OSError: A file cannot be read or written.
        ValueError: The style of names is unknown, no output is given, or an output is
            *source*.
    """
    started = time.perf_counter()
    wanted = zip(KINDS, (ranges, return_pads), strict=True)
    targets = {kind: os.fspath(path) for kind, path in wanted if path is not None}
    if not targets:
        raise ValueError("ranges, return_pads: at least one must be a path")
    for target in targets.values():
        check_output(source, target, is_split=part_size is not None)
    texts = NameTexts(names)
    if return_pads is not None:
        if binary is None and isinstance(source, (str, os.PathLike)):
            binary = source if holds_code(source) else None
        if binary is None or not can_find_calls(binary):
            conversion["call_sites"] = True
    calls, missing, unsure = None, "", ""
    with _open_image(source, progress, **conversion) as (reader, converted):
        if binary is not None:
            path = os.fspath(binary)
            image, fit = open_fitting(path, reader.module_like)
            with image:
                unsure = fit.reason and f"{path} may be of another build: {fit.reason}"
        if return_pads is not None:
            try:
                calls = _calls_of(reader, binary)
            except (NoCallsError, UnsupportedError) as error:
                if ranges is None:
                    raise
                missing = error.reason
                del targets["returnpads"]
        functions = FunctionPass(reader, texts, part_size, progress)
        threads = conversion.get("threads") or core_count()
        apart = len(targets) > 1 and threads > 1
        other = FunctionPass(reader, texts, part_size) if apart else functions
        kinds = _write(functions, other, calls, targets, is_split=part_size is not None)
    seconds = time.perf_counter() - started
    return ExtractionReport(kinds, missing, converted, seconds, unsure)


def symbfile_blocks(
    reader: Reader, *, calls: Calls | None = None, names: str = "symblib"
) -> Iterator[bytes]:
    """The ranges of an open GSYM file as the bytes of a symbfile, in blocks.

    The reader stays open until the last block. With *calls*, they are the return pads
    of these instead.
    """
    functions = FunctionPass(reader, NameTexts(names))
    encoder = functions.output(calls)
    for _ in functions.steps():
        for block, _ in finished_blocks(encoder):
            yield block


def _write(
    range_pass: FunctionPass,
    pad_pass: FunctionPass,
    calls: Calls | None,
    targets: dict[str, str],
    *,
    is_split: bool,
) -> dict[str, SymbfileReport]:
    with ExitStack() as stack:
        outputs: dict[str, tuple[Encoder, PartFiles]] = {}
        for kind, target in targets.items():
            made = range_pass.output() if kind == "ranges" else pad_pass.output(calls)
            files = stack.enter_context(PartFiles(target, is_split=is_split))
            outputs[kind] = made, files
        if range_pass is pad_pass:
            _run_together([(range_pass, [*outputs.values()])])
        else:
            ranges, pads = outputs.values()
            _run_together([(range_pass, [ranges]), (pad_pass, [pads])])
    reports = {}
    for kind, (_, files) in outputs.items():
        if kind == "ranges":
            counts, losses = _range_counts(range_pass)
        else:
            counts, losses = _pad_counts(pad_pass, calls)
        reports[kind] = SymbfileReport(
            tuple(files.paths),
            tuple(files.removed),
            counts,
            {text: count for text, count in losses.items() if count},
            files.size,
        )
    return reports


def _range_counts(functions: FunctionPass) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of ranges of a pass, by what they have and what they lack."""
    counted = functions.counts(tuple(_RANGE_LOSSES))
    losses = {text: counted[name] for name, text in _RANGE_LOSSES.items()}
    return functions.counts(_RANGE_COUNTS), losses


def _pad_counts(
    functions: FunctionPass, calls: Any
) -> tuple[dict[str, int], dict[str, int]]:
    counted = functions.counts(("return_pads", "losses.damaged"))
    counts = {
        "return_pads": counted["return_pads"],
        "functions": calls.ranges,
        "instructions": calls.instructions,
    }
    losses = {
        "Code after an undefined instruction left out": calls.ended_early,
        "Function left out: no code in the binary": calls.without_code,
        "Function left out: its record is damaged": counted["losses.damaged"],
    }
    return counts, losses


def _calls_of(reader: Reader, binary: str | os.PathLike[str] | None) -> Calls:
    """The calls in the code of a binary, or else in the GSYM file.

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
            "return pads need machine code or call sites, and there are none",
            path=reader.path,
        )
    return calls


@contextmanager
def _open_image(
    source: str | os.PathLike[str] | Reader,
    progress: Callable[[int, int], None] | None = None,
    **conversion: Any,
) -> Iterator[tuple[Reader, ConversionReport | None]]:
    """A reader of a GSYM file, converting other inputs.

    The report on the conversion, if any, is without its outputs, which are temporary.
    """
    if isinstance(source, gsym.reading.reader.Reader):
        yield source, None
        return
    path = os.fspath(source)
    if not os.path.isdir(path) and recognise_file(path) == "gsym":
        with gsym.reading.reader.open(path) as reader:
            yield reader, None
        return
    from gsym.conversion.job import convert

    with tempfile.TemporaryDirectory(prefix="gsym-") as folder:
        converted = os.path.join(folder, "converted.gsym")
        # Version 2 has no limits that a large input could exceed.
        report = convert(
            path, converted, output_version=2, progress=progress, **conversion
        )
        with gsym.reading.reader.open(converted) as reader:
            yield reader, report._replace(outputs=())


def check_output(
    source: str | os.PathLike[str] | Reader, target: str, *, is_split: bool = False
) -> None:
    """Refuse an output, or a part if *is_split*, that would replace the input."""
    if isinstance(source, gsym.reading.reader.Reader):
        path = source.path
    else:
        path = os.fspath(source)
    if path is None:
        return
    if is_same_file(path, target) or (is_split and is_part_of(path, target)):
        raise ValueError(f"{target}: the output would replace the input")


class FunctionPass:
    """A pass over the functions of a GSYM file, which makes ranges and return pads."""

    def __init__(
        self,
        reader: Reader,
        texts: NameTexts,
        part_size: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self._reader = reader
        self._texts = texts
        self._part_size = part_size
        self._progress = progress
        self._error: Any = new_error()
        self._wanted: list[tuple[Encoder, ImageNames]] = []
        life = lib.gsym_symbfile_extraction_create, lib.gsym_symbfile_extraction_destroy
        image = reader.mapped.image
        self._handle = new_object("symbfile_extraction", *life, image, path=reader.path)

    def output(self, calls: Calls | None = None) -> Encoder:
        """Add an output for the ranges of all functions.

        With *calls*, which stay valid until the last step, it is for their return pads
        instead.
        """
        encoder = Encoder(self._part_size)
        names = ImageNames(self._reader, encoder, self._texts, self._progress)
        self._wanted.append((encoder, names))
        handles = self._handle, names.handle, encoder.handle
        if calls is None:
            lib.gsym_symbfile_extraction_want_ranges(*handles)
        else:
            lib.gsym_symbfile_extraction_want_return_pads(*handles, calls.handle)
        return encoder

    def steps(self) -> Iterator[None]:
        """Process some functions at a time; yields when outputs have grown."""
        is_done, visited, total = ffi.new("uint32_t *"), 0, len(self._reader)
        while not is_done[0]:
            _ = self._reader.mapped  # raises if closed
            status = lib.gsym_symbfile_extraction_next(
                self._handle, _ENTRIES_AT_ONCE, is_done, self._error
            )
            check(status, self._error, self._reader.path)
            if is_done[0]:
                for encoder, _ in self._wanted:
                    encoder.finish()
            visited = min(visited + _ENTRIES_AT_ONCE, total)
            if self._progress is not None:
                self._progress(visited, total)
            yield

    def counts(self, names: tuple[str, ...]) -> dict[str, int]:
        """Fields of the engine's `gsym_symbfile_extraction_counts`."""
        counts: Any = ffi.new("gsym_symbfile_extraction_counts *")
        lib.gsym_symbfile_extraction_count(self._handle, counts)
        return {name: attrgetter(name)(counts) for name in names}


class _StoppedError(Exception):
    """The other pass failed, or the process was interrupted."""


def _run_together(passes: list[tuple[FunctionPass, Outputs]]) -> None:
    """Run each pass in its own thread."""
    waiting = list(passes)
    is_stopped = False

    def work() -> None:
        functions, outputs = waiting.pop()
        for _ in functions.steps():
            if is_stopped:
                raise _StoppedError
            for encoder, files in outputs:
                files.take(encoder)

    def stop() -> None:
        nonlocal is_stopped
        is_stopped = True

    run_workers(work, len(passes), None, stop)
