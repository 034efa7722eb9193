"""Symbols that no file has: lists of a JIT or of the kernel, images in memory."""

from __future__ import annotations

import os
from itertools import pairwise

from gsym.lazy import regex
from gsym.model import UINT64_END
from gsym.ranges import AddressRanges

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable

    from gsym.reading.reader import Reader

_MODULE = b"MODULE Linux unknown 0 list\n"  # a Breakpad file: the engine reads it fast
_PERF_LINE = regex(
    rb"(?:0x)?(?P<start>[0-9a-fA-F]{1,16})[ \t]+(?:0x)?(?P<size>[0-9a-fA-F]{1,16})"
    rb"[ \t]+(?P<name>\S.*?)\s*"
)
# Limit: `/tmp/perf-PID.map` of a process
_MOST_PERF_MAP = 256 << 20
MOST_IMAGE = 1 << 20  # bytes that are read of an image that the kernel made


def read_symbols(symbols: Iterable[tuple[int, int, bytes]]) -> Reader:
    """A reader of functions given as address, size and name.

    Of several at one address the last counts. One that reaches into the next ends
    there.

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
    from gsym.conversion.job import open_converted
    from gsym.conversion.options import ConvertOptions

    return open_converted(data, ConvertOptions())


def read_perf_map(path: str) -> tuple[list[tuple[int, int, bytes]], int]:
    """The symbols of `/tmp/perf-PID.map`, in the order in which a JIT made them.

    Returns:
        Address, size and name of each; and the number of lines that are none, as the
        last one may be, which is not complete yet.
    """
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with open(os.open(path, flags), "rb") as file:
        return perf_map_symbols(file.read(_MOST_PERF_MAP))


def perf_map_symbols(text: bytes) -> tuple[list[tuple[int, int, bytes]], int]:
    """The symbols of the text of a perf map, as `read_perf_map` returns them."""
    symbols, others = [], 0
    for line in text.split(b"\n"):
        found = _PERF_LINE.fullmatch(line)
        if found is not None:
            start, size, name = found.groups()
            symbols.append((int(start, 16), int(size, 16), name))
        elif line.strip():
            others += 1
    return symbols, others


def latest_symbols(
    symbols: Iterable[tuple[int, int, bytes]],
) -> Iterable[tuple[int, int, bytes]]:
    """The symbols that a JIT has not replaced by later ones at their addresses."""
    found: AddressRanges[bytes] = AddressRanges()
    for start, size, name in symbols:
        found.replace(start, min(start + size, UINT64_END), name)
    for start, end, name in found:
        yield start, end - start, name
