"""Calls, and the frames at each, as return pads of a symbfile.

A return pad tells the whole chain of functions at one address, the one in front of what
a call returns to: there a profiler looks up each frame but the innermost. Frames are
those at the call itself; what is inlined may end right behind it.
"""

from __future__ import annotations

from itertools import groupby

from gsym._native import check, ffi, lib, new_error
from gsym.formats.symbfile_records import ReturnPad, ReturnPadEntry
from gsym.mapped_image import Paths

__all__ = ["add_return_pads", "iter_return_pads"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from gsym.calls import Calls
    from gsym.formats.symbfile import Encoder
    from gsym.frames import Frames
    from gsym.reader import Reader

    CData = Any  # a cffi object

_BLOCK = 1 << 16  # calls that are looked up together


def iter_return_pads(
    reader: Reader, calls: Calls, name_text: Callable[[str], str] = str
) -> Iterator[ReturnPad]:
    """The return pads of a program, in the order of their addresses.

    Args:
        reader: The GSYM file of the program.
        calls: Its calls.
        name_text: What a function is called whose name the file has.

    Raises:
        ClosedError: The reader was closed.
    """
    columns = calls.columns
    for first, frames in _blocks(reader, calls):
        rows = zip(
            frames.address_index, frames.names, frames.files, frames.line, strict=True
        )
        for index, chain in groupby(rows, key=lambda row: row[0]):
            call = first + index
            entries = [ReturnPadEntry(name_text(n), f, line) for _, n, f, line in chain]
            if not columns.has_line[call]:
                entries[0] = entries[0]._replace(line=0)
            behind = columns.address[call] + columns.size[call]
            yield ReturnPad(behind - 1, tuple(reversed(entries)))


def add_return_pads(
    encoder: Encoder,
    reader: Reader,
    calls: Calls,
    name_text: Callable[[str], str] = str,
) -> Iterator[int]:
    """Write the return pads of a program, some ten thousand at a time.

    Args:
        encoder: Gets them; bytes that are finished may be taken after each step.
        reader: As for `iter_return_pads`.
        calls: Likewise.
        name_text: Likewise.

    Returns:
        How many were added by each step.

    Raises:
        ClosedError: The reader was closed.
        LimitError: A return pad takes more than 16 MiB.
        ValueError: A name has no UTF-8 form.
    """
    count, error = ffi.new("uint64_t *"), new_error()
    mapped = reader._open_image()  # noqa: SLF001 - a sibling; its strings stay decoded
    strings, paths = mapped.strings, Paths(mapped.files)
    names = _Numbers(lambda strp: encoder.number(name_text(strings[strp])))
    files = _Numbers(lambda file: encoder.number(paths[file]))
    for first, frames in _blocks(reader, calls):
        columns, alive = _column_strings(frames, {"name": names, "file": files})
        status = lib.gsym_symbfile_writer_add_calls(
            encoder.handle,
            *(calls.handle, first, frames.batch, columns, columns + 1, count, error),
        )
        check(status, error, reader.path)
        del alive
        yield int(count[0])


class _Numbers(dict[int, int]):
    """The numbers that an encoder gives to names or to files of a GSYM file."""

    def __init__(self, number: Callable[[int], int]) -> None:
        self._number = number

    def __missing__(self, key: int) -> int:
        self[key] = found = self._number(key)
        return found


def _column_strings(
    frames: Frames, numbers: dict[str, _Numbers]
) -> tuple[CData, list[CData]]:
    """A `gsym_column_strings` for each column, and what they point to."""
    columns, alive = ffi.new("gsym_column_strings[]", len(numbers)), []
    for at, (name, number) in enumerate(numbers.items()):
        codes, values = frames.distinct(name)
        held = ffi.from_buffer("uint32_t[]", codes)
        strings = ffi.new("uint32_t[]", [number[value] for value in values])
        columns[at].codes, columns[at].strings = held, strings
        alive += [held, strings]
    return columns, alive


def _blocks(reader: Reader, calls: Calls) -> Iterator[tuple[int, Frames]]:
    """The number of a call, and the frames at it and at those behind it."""
    for first in range(0, len(calls), _BLOCK):
        size = 8 * min(_BLOCK, len(calls) - first)
        addresses = ffi.buffer(calls.columns.address + first, size)
        yield first, reader.lookup_many(memoryview(addresses).cast("Q"))
