"""Symbols that no file has: lists of a JIT or of the kernel, images in memory."""

from __future__ import annotations

import os
from itertools import pairwise

from gsym.model import UINT64_END

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.reading.reader import Reader

_MODULE = b"MODULE Linux unknown 0 list\n"  # a Breakpad file: the engine reads it fast
_FIELDS = 3  # of a line of a perf map


def read_symbols(symbols: Iterable[tuple[int, int, bytes]]) -> Reader:
    """A reader of functions given as address, size and name.

    Of several at one address the last counts, as a JIT lists its functions in the order
    in which it made them. One that reaches into the next ends there.

    Raises:
        GsymError: There is none.
    """
    latest = {address: (size, name) for address, size, name in symbols}
    ascending = [*sorted(latest), UINT64_END]
    lines = [
        b"FUNC %x %x 0 %s\n" % (start, min(latest[start][0], end - start), name)
        for start, end in pairwise(ascending)
        for name in (latest[start][1],)
    ]
    return read_converted(_MODULE + b"".join(lines))


def read_converted(data: bytes) -> Reader:
    """A reader of the contents of a binary or of a Breakpad file.

    Raises:
        GsymError: It is damaged, or has no function.
    """
    from tempfile import TemporaryDirectory

    from gsym.containers.mapped_file import map_file
    from gsym.conversion.job import convert
    from gsym.reading.reader import Reader

    with TemporaryDirectory(prefix="gsym-") as folder:
        path = os.path.join(folder, "in")
        with open(path, "wb") as file:
            file.write(data)
        made = os.path.join(folder, "out.gsym")
        convert(path, made)
        return Reader(map_file(made))  # the map outlives the file


def perf_map_symbols(text: bytes) -> Iterable[tuple[int, int, bytes]]:
    """The symbols of a perf map: lines of address, size and name."""
    for line in text.split(b"\n"):
        words = line.split(None, _FIELDS - 1)
        try:
            start, size, name = words
            found = int(start, 16), int(size, 16), name.rstrip()
        except ValueError:
            continue  # the last line may not be complete yet
        if min(found[:2]) >= 0:
            yield found
