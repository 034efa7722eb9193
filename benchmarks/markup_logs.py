"""Logs with symbolizer markup, generated from text and random addresses."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from gsym.markup.parser import Backtrace, Mmap, Module, Pc, Reset, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from gsym.markup.parser import Element

TEXT = "[01040.461][1885][2639][app] INFO: request {} was answered in 12 ms, 200 OK"
BUILD_ID = b"\xab\xcd"
SIZE = 1 << 32
BASES = (0x7F00_0000_0000, 0x7E00_0000_0000)
CALL_SITES = 20_000
_DEPTH = 30  # frames of a backtrace


def write_log(path: Path, lines: Iterable[str]) -> None:
    """Write lines behind what says where the modules are, which are one twice."""
    context: list[Element] = [Reset()]
    for number, base in enumerate(BASES):
        name = f"lib{number}.so"
        context += [
            Module(number, name, BUILD_ID),
            Mmap(base, SIZE, number, "rx", 0),
        ]
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{encode(element)}\n" for element in context)
        file.writelines(f"{line}\n" for line in lines)


def mixed(count: int, addresses: Sequence[int], share: int) -> Iterator[str]:
    """So many lines, of which *share* in a hundred are frames."""
    source = random.Random(1)  # noqa: S311
    for number in range(count):
        if source.randrange(100) < share:
            yield _frame(number, addresses, BASES[0])
        else:
            yield TEXT.format(number)


def stacks(count: int, addresses: Sequence[int]) -> Iterator[str]:
    """Frames that repeat: the n-th of 20,000 addresses is 1/n as frequent."""
    source = random.Random(2)  # noqa: S311
    sites = addresses[:CALL_SITES]
    weights = [1 / place for place in range(1, len(sites) + 1)]
    return frames(count, source.choices(sites, weights, k=count))


def frames(count: int, addresses: Sequence[int]) -> Iterator[str]:
    """Frames of one module."""
    return (_frame(number, addresses, BASES[0]) for number in range(count))


def frames_of_two_modules(count: int, addresses: Sequence[int]) -> Iterator[str]:
    """Frames of two modules in turn."""
    return (_frame(number, addresses, BASES[number % 2]) for number in range(count))


def locations(count: int, addresses: Sequence[int]) -> Iterator[str]:
    """Lines with three code locations each."""
    for number in range(count):
        places = (
            encode(Pc(BASES[0] + addresses[at % len(addresses)], "pc"))
            for at in range(3 * number, 3 * number + 3)
        )
        yield f"{number} was called by {' by '.join(places)}"


def _frame(number: int, addresses: Sequence[int], base: int) -> str:
    address = base + addresses[number % len(addresses)]
    return encode(Backtrace(number % _DEPTH, address, "pc"))
