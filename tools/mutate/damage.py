"""Kinds of damage that are done to files, the same for the same seed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
import zlib
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

# Values at which counts, sizes and offsets go wrong.
EDGES = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
_HEAD = 512  # bytes at the start of a file, which often say where the others are
INFLATED = 32 << 20  # bytes of a decompression bomb, more than small files may hold
_BIG = 1 / 3  # of the words that are written
_RECORDS = (40, 64)  # sizes of the section headers of ELF and PE files

Part = tuple[int, int]  # (start, end) of a section, or of another unit of damage


class Place(NamedTuple):
    """Where damage is done.

    Attributes:
        start: The offset of the first byte.
        end: Of the end of the part of the file that it is in.
        part: That part.
        donor: A file of the same kind.
    """

    start: int
    end: int
    part: Part
    donor: bytes

    @property
    def room(self) -> int:
        """Bytes up to the end of the part."""
        return self.end - self.start


def parts_of(data: bytes) -> list[Part]:
    """The parts of an ELF file whose bytes are read; of another file head and all."""
    whole = [(0, min(_HEAD, len(data))), (0, len(data))]
    if not data.startswith(b"\x7fELF"):
        return whole
    try:
        return _sections(data) or whole
    except ELFError:  # a real file that is damaged already
        return whole


def _sections(data: bytes) -> list[Part]:
    """The headers and sections of an ELF file; nothing if it has no sections."""
    elf = ELFFile(io.BytesIO(data))
    if elf["e_shnum"] == 0:
        return []
    table = elf["e_shoff"]
    parts = [(0, elf["e_ehsize"])]
    parts.append((table, table + elf["e_shnum"] * elf["e_shentsize"]))
    for section in elf.iter_sections():
        kind, size = section["sh_type"], section["sh_size"]
        start = section["sh_offset"]
        if kind != "SHT_NOBITS" and size and start + size <= len(data):
            parts.append((start, start + size))
    return parts


def mutate(
    data: bytes, parts: list[Part], choice: random.Random, donor: bytes
) -> bytes:
    """*data* with one to four kinds of damage done to it."""
    mutant = bytearray(data)
    for _ in range(choice.choice((1, 1, 2, 4))):
        part = choice.choice(parts)
        end = min(part[1], len(mutant))
        if part[0] < end:
            start = choice.randrange(part[0], end)
            choice.choice(DAMAGES)(mutant, Place(start, end, part, donor), choice)
    return bytes(mutant)


def flip_bit(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Turn one bit over."""
    mutant[place.start] ^= 1 << choice.randrange(8)


def set_edge(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Write an edge value of 1, 2, 4 or 8 bytes."""
    width = choice.choice([width for width in (1, 2, 4, 8) if width <= place.room])
    value = choice.choice(EDGES) & ((1 << 8 * width) - 1)
    mutant[place.start : place.start + width] = value.to_bytes(width, "little")


def add_to_word(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Move a 4-byte offset a little, so that it points beside its target."""
    if place.room >= struct.calcsize("<I"):
        (value,) = struct.unpack_from("<I", mutant, place.start)
        moved = (value + choice.randint(-9, 9)) & EDGES[-1]
        struct.pack_into("<I", mutant, place.start, moved)


def rewire(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Let an offset lead elsewhere in its part or file: to itself, into a circle."""
    width = choice.choice((2, 4, 4, 8))
    if place.room < width:
        return
    first, end = choice.choice((place.part, (0, len(mutant))))
    target = choice.choice((place.start - first, choice.randrange(end - first)))
    target &= (1 << 8 * width) - 1
    is_big = choice.random() < _BIG
    word = target.to_bytes(width, "big" if is_big else "little")
    mutant[place.start : place.start + width] = word


def copy_block(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Copy bytes from elsewhere, so that references and forms no longer fit."""
    size = min(place.room, choice.choice((1, 4, 8, 16, 64)))
    source = choice.randrange(len(mutant))
    block = bytes(mutant[source : source + size])
    mutant[place.start : place.start + len(block)] = block


def fill_block(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Fill bytes with one value: endless LEBs, nulls, special opcodes."""
    size = min(place.room, choice.choice((2, 8, 32, 128)))
    value = bytes([choice.choice((0, 1, 0x80, 0xFF))])
    mutant[place.start : place.start + size] = value * size


def cut_end(mutant: bytearray, _place: Place, choice: random.Random) -> None:
    """Truncate the file at a multiple of 1/64."""
    del mutant[max(1, len(mutant) * choice.randrange(64) // 64) :]


def swap_records(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Exchange two neighbouring records, as section headers are."""
    size = choice.choice(_RECORDS)
    start = place.start - choice.choice((0, (place.start - place.part[0]) % size))
    if place.end - start > 2 * size:
        first, second = mutant[start : start + size], mutant[start + size :][:size]
        mutant[start : start + 2 * size] = second + first


def swap_halves(mutant: bytearray, place: Place, _choice: random.Random) -> None:
    """Exchange what is in front of a place of a part with what is behind it."""
    first = place.part[0]
    mutant[first : place.end] = (
        mutant[place.start : place.end] + mutant[first : place.start]
    )


def splice(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Continue with bytes of another file: in place, or all that follows."""
    source = choice.randrange(len(place.donor))
    if choice.random() < 0.5:  # noqa: PLR2004 - one of two
        block = place.donor[source : source + place.room]
        mutant[place.start : place.start + len(block)] = block
    else:
        mutant[place.start :] = place.donor[source:]


def insert_bomb(mutant: bytearray, place: Place, choice: random.Random) -> None:
    """Put a stream that inflates a thousandfold in the place of what follows."""
    bomb = choice.choice(bombs())
    mutant[place.start : place.start + len(bomb)] = bomb


@cache
def bombs() -> tuple[bytes, ...]:
    """Streams of each compression."""
    zeros = bytes(INFLATED)
    pack: tuple[Callable[[bytes], bytes], ...] = (
        *(zlib.compress, gzip.compress, bz2.compress),
        *(lzma.compress, zstd.compress),
    )
    return tuple(each(zeros) for each in pack)


DAMAGES = (
    *(flip_bit, set_edge, set_edge, add_to_word, rewire, rewire, copy_block),
    *(fill_block, cut_end, swap_records, swap_halves, splice, insert_bomb),
)
