"""Convert the samples of sampled.cc to a Fuchsia trace with profiler records.

python samples_to_trace.py samples.txt samples.fxt
"""

from __future__ import annotations

import sys
from pathlib import Path
from struct import unpack_from
from typing import TYPE_CHECKING

import gsym
from gsym import GsymError
from gsym.fxt import (
    Backtrace,
    Initialization,
    KernelObject,
    Mmap,
    Module,
    encode,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.fxt import Record

PROCESS = 1  # a type of kernel objects
LOADED, EXECUTABLE = 1, 1  # a type and a flag of segments
PATH_AT = 5  # in a line of maps


def records(lines: list[str]) -> Iterator[Record]:
    """The output of the sampler, as records."""
    yield Initialization(1_000_000_000)
    process = start = 0
    mapped = []
    for line in lines:
        kind, _, rest = line.partition(" ")
        words = rest.split()
        if kind == "process":
            process = int(words[0])
            yield KernelObject(process, PROCESS, words[1])
        elif kind == "sample":
            time = int(words[0])
            start = start or time
            frames = tuple(int(word, 16) for word in words[1:])
            yield Backtrace(time, process, process, frames)
        elif kind == "map" and "x" in words[1] and words[-1].startswith("/"):
            mapped.append((words[0], int(words[2], 16), " ".join(words[PATH_AT:])))
    yield from modules(start, process, mapped)


def modules(
    time: int, process: int, mapped: list[tuple[str, int, str]]
) -> Iterator[Record]:
    """The mappings since a time: range, file offset, path."""
    paths = list(dict.fromkeys(path for _, _, path in mapped))
    for number, path in enumerate(paths):
        try:
            build_id = bytes.fromhex(gsym.identify(path).code_id)
            segments = [*code_segments(Path(path).read_bytes())]
        except (GsymError, OSError) as problem:
            print(f"left out: {problem}", file=sys.stderr)
            continue
        yield Module(time, process, 0, number, path, build_id)
        for span, offset, mapped_path in mapped:
            if mapped_path != path:
                continue
            start, end = (int(bound, 16) for bound in span.split("-"))
            for first, size, linked in segments:
                # A segment begins anywhere in its first page, and may end in it.
                if first & -4096 <= offset < first + size:
                    address = linked + offset - first
                    yield Mmap(time, process, 0, number, 5, start, end - start, address)
                    break


def code_segments(elf: bytes) -> Iterator[tuple[int, int, int]]:
    """Offset, size and link-time address of each segment with code, of 64 bits."""
    start, size, count = (*unpack_from("<Q", elf, 32), *unpack_from("<2H", elf, 54))
    for at in range(start, start + size * count, size):
        kind, flags, offset, address, _, held = unpack_from("<2I4Q", elf, at)
        if kind == LOADED and flags & EXECUTABLE:
            yield offset, held, address


def main() -> None:
    """Convert one file."""
    source, target = map(Path, sys.argv[1:])
    text = source.read_text(encoding="utf-8", errors="surrogateescape")
    with target.open("wb") as out:
        out.writelines(encode(records(text.splitlines())))


if __name__ == "__main__":
    main()
