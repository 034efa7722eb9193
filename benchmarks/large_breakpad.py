"""A Breakpad file of any size, with repeated records of a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_DISTANCE = 1 << 26  # bytes from a copy of the code to the next


def grow(source: Path, target: Path, size: int) -> None:
    """Write *source* to *target*, all functions repeated until it has *size* bytes.

    Files and names of inlined functions are not repeated: functions are what large
    modules have more of.
    """
    lines = source.read_bytes().split(b"\n")
    first = next(at for at, line in enumerate(lines) if line.startswith(b"FUNC "))
    distance = _DISTANCE
    while distance < _end(lines):
        distance *= 2
    with target.open("wb") as stream:
        stream.write(b"\n".join(lines[:first]) + b"\n")
        copies = 0
        while stream.tell() < size:
            stream.writelines(_moved(lines[first:], copies * distance))
            copies += 1


def _end(lines: Iterable[bytes]) -> int:
    starts = (line.split() for line in lines if line.startswith(b"FUNC "))
    return max(int(words[_address_at(words)], 16) for words in starts)


def _address_at(words: list[bytes]) -> int:
    return 2 if words[1] == b"m" else 1


def _moved(lines: Iterable[bytes], distance: int) -> Iterator[bytes]:
    def moved(word: bytes) -> bytes:
        return b"%x" % (int(word, 16) + distance)

    for line in lines:
        words = line.split(b" ")
        kind = words[0]
        if kind in {b"FUNC", b"PUBLIC"}:
            at = _address_at(words)
            words[at] = moved(words[at])
        elif kind == b"INLINE":
            words[5::2] = map(moved, words[5::2])
        elif kind in {b"STACK", b""}:
            continue
        else:
            words[0] = moved(kind)
        yield b" ".join(words) + b"\n"
