"""Return pads of a symbfile: the chain of functions at each call of a program.

A return pad stands in front of what a call returns to: there a profiler looks up each
frame of a stack but the innermost. Frames are those at the call itself; what is inlined
there may end right behind it.
"""

from __future__ import annotations

import os
import time

from gsym._native import check, ffi, lib, new_error
from gsym.calls import find_calls, holds_code, recall_calls
from gsym.errors import GsymError
from gsym.formats.symbfile import Encoder
from gsym.symbfile.image_names import ImageNames, NameTexts
from gsym.symbfile.input_image import check_output, open_image
from gsym.symbfile.parts import finished_blocks, write_parts

__all__ = [
    "NoCallsError",
    "ReturnPadReport",
    "extract_return_pads",
    "return_pad_blocks",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NamedTuple

    from gsym.calls import Calls
    from gsym.reader import Reader

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
        """

        outputs: tuple[str, ...]
        removed: tuple[str, ...]
        return_pads: int
        functions: int
        instructions: int
        losses: dict[str, int]
        file_size: int
        seconds: float

else:
    from gsym.records import record_type

    ReturnPadReport = record_type(
        "ReturnPadReport",
        "outputs removed return_pads functions instructions losses file_size seconds",
    )
    ReturnPadReport.__doc__ = "What an extraction of return pads wrote."

_CALLS_AT_ONCE = 1 << 16
_ADDRESS_SIZE = 8
_LOSSES = {
    "ended_early": "Code behind an undefined instruction left out",
    "without_code": "Function left out: the binary has no code of it",
    "damaged": "Function left out: its record is damaged",
}


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
            has none, pads are made of the call sites that its debug information has.
        names: As for `extract_ranges`.
        part_size: Likewise.
        progress: Called now and then with (work done, work in all).
        conversion: Other keywords of `gsym.convert`.

    Raises:
        GsymError: As for `gsym.convert` and `gsym.calls.find_calls`; its kinds, too.
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
    if binary is None:
        conversion = {**conversion, "call_sites": True}
    with open_image(source, progress, **conversion) as reader:
        calls = _calls(reader, binary)
        pads = _ReturnPads(reader, calls, texts, part_size, progress)
        written = write_parts(pads.blocks(), target, is_split=is_split)
    return ReturnPadReport(
        outputs=written.paths,
        removed=written.removed,
        return_pads=pads.count,
        functions=calls.ranges,
        instructions=calls.instructions,
        losses={
            text: n for name, text in _LOSSES.items() if (n := getattr(calls, name))
        },
        file_size=written.size,
        seconds=time.perf_counter() - started,
    )


def return_pad_blocks(
    reader: Reader, calls: Calls, *, names: str = "symblib"
) -> Iterator[bytes]:
    """The return pads of calls as the bytes of one symbfile, in blocks.

    Args:
        reader: The GSYM file; it stays open until the last of them.
        calls: Of its functions, in the order of which pads come.
        names: As for `extract_ranges`.

    Raises:
        ClosedError: The reader was closed.
    """
    for block, _ in _ReturnPads(reader, calls, NameTexts(names), None, None).blocks():
        yield block


def _calls(reader: Reader, binary: str | os.PathLike[str] | None) -> Calls:
    if binary is not None:
        return find_calls(reader, binary)
    calls = recall_calls(reader)
    if not len(calls):
        raise NoCallsError(
            "return pads are made of machine code or call sites, and there are none",
            path=reader.path,
        )
    return calls


class _ReturnPads:
    """Writes the return pads of calls.

    Attributes:
        count: Of those that have been written.
    """

    def __init__(
        self,
        reader: Reader,
        calls: Calls,
        texts: NameTexts,
        part_size: int | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.count = 0
        self._reader = reader
        self._calls = calls
        self._progress = progress
        self._encoder = Encoder(part_size)
        self._names = ImageNames(reader, self._encoder, texts, progress)

    def blocks(self) -> Iterator[tuple[bytes, bool]]:
        """Blocks of bytes, and whether a part ends behind each."""
        total = len(self._calls)
        for first in range(0, total, _CALLS_AT_ONCE):
            self._add(first, min(_CALLS_AT_ONCE, total - first))
            if self._progress is not None:
                self._progress(first, total)
            yield from finished_blocks(self._encoder)
        self._encoder.finish()
        yield from finished_blocks(self._encoder)

    def _add(self, first: int, size: int) -> None:
        """Add the pads of some calls, which are looked up together."""
        asked = self._calls.columns.address + first
        addresses = memoryview(ffi.buffer(asked, size * _ADDRESS_SIZE)).cast("Q")
        frames = self._reader.lookup_many(addresses)
        count, error = ffi.new("uint64_t *"), new_error()
        status = lib.gsym_symbfile_writer_add_calls(
            self._encoder.handle,
            *(self._names.handle, self._calls.handle, first, frames.batch),
            *(count, error),
        )
        check(status, error, self._reader.path)
        self.count += count[0]
