"""Write the symbol table that a kernel of Linux has of itself, in layouts since 4.0.

Source: scripts/kallsyms.c of Linux.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from tests.inputs.elf import ALLOC, PROGBITS, Elf, Section, code_section

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.inputs.encoding import ByteOrder

SIZE = 16  # of each function
COMMON = "function_of_the_kernel_"  # has a token of its own
_MARKED = 256
_LONG = 0x80
_AT_END, _WIDE = 2, 8


@dataclass(frozen=True)
class Layout:
    """A layout of the table.

    *addresses* are "words", "offsets" or "per_cpu" (offsets with a sign). *is_after* is
    whether they follow the index of tokens, as since Linux 6.4. *marker_size* 0 is that
    of a word, as is *count_size*. *sequence_at* is where numbers by name stand, which
    nothing of ours reads: 1 before the tokens, 2 at the end.
    """

    name: str
    addresses: str = "per_cpu"
    is_after: bool = False
    marker_size: int = 4
    count_size: int = 4
    sequence_at: int = 0
    alignment: int = 8


LAYOUTS = (
    Layout("4.0", "words", marker_size=0, count_size=0),
    Layout("4.6", "per_cpu", marker_size=0, count_size=0),
    Layout("4.6, ARM64", "offsets", marker_size=0, count_size=0, alignment=256),
    Layout("5.0", "offsets"),
    Layout("5.10 without relative addresses", "words"),
    Layout("6.2", "per_cpu", sequence_at=1),
    Layout("6.4", "offsets", sequence_at=2, is_after=True),
    Layout("6.12", "per_cpu", sequence_at=2, is_after=True),
)


@dataclass(frozen=True)
class Kernel:
    """A kernel: *names* have the type of the symbol before them.

    Functions of SIZE bytes each start at `code`.
    """

    names: Sequence[str]
    layout: Layout
    bits: int = 64
    byteorder: ByteOrder = "little"
    before: bytes = b""
    has_base: bool = True  # else a relocation has it, and its place is 0

    @property
    def code(self) -> int:
        """The address of the first function."""
        return 0xFFFFFFFF81000000 if self.bits == 64 else 0xC1000000

    def table(self) -> bytes:
        """The bytes of `.rodata`."""
        layout, word = self.layout, self.bits // 8
        parts = [_encode(name) for name in self.names]
        ends = [0, *accumulate(map(len, parts))]
        tokens = [_token(value) + b"\0" for value in range(256)]
        starts = [0, *accumulate(map(len, tokens))][:-1]
        sequence = [b"".join(each.to_bytes(3, "big") for each in range(len(parts)))]
        placed = [
            *(() if layout.is_after else self._addresses()),
            self._numbers([len(parts)], layout.count_size or word),
            b"".join(parts),
            self._numbers(ends[:-1][::_MARKED], layout.marker_size or word),
            *(sequence if layout.sequence_at == 1 else ()),
            b"".join(tokens),
            self._numbers(starts, 2),
            *(self._addresses() if layout.is_after else ()),
            *(sequence if layout.sequence_at == _AT_END else ()),
        ]
        table = bytearray(self.before)
        for each in placed:
            table += bytes(-len(table) % (layout.alignment if word == _WIDE else 4))
            table += each
        return bytes(table)

    def _addresses(self) -> list[bytes]:
        """The parts of the table that have addresses."""
        word, kind = self.bits // 8, self.layout.addresses
        offsets = range(0, SIZE * len(self.names), SIZE)
        if kind == "words":
            return [self._numbers([self.code + each for each in offsets], word)]
        shown = [-1 - each if kind == "per_cpu" else each for each in offsets]
        base = self.code if self.has_base else 0
        return [self._numbers(shown, 4), self._numbers([base], word)]

    def _numbers(self, values: Iterable[int], size: int) -> bytes:
        return b"".join(
            (each % (1 << 8 * size)).to_bytes(size, self.byteorder) for each in values
        )

    def to_bytes(self) -> bytes:
        """The ELF file."""
        table = self.table()
        rodata = Section(
            ".rodata", table, PROGBITS, ALLOC, self.code + 0x1000000, alignment=4096
        )
        code = code_section(self.code, SIZE * len(self.names))
        return Elf(
            sections=[code, rodata],
            build_id=bytes(range(20)),
            bits=self.bits,
            byteorder=self.byteorder,
        ).to_bytes()


def _token(value: int) -> bytes:
    if value == 0:
        return COMMON.encode()
    return bytes([value]) if ord(" ") < value < 0x7F else b""


def _encode(name: str) -> bytes:
    tokens = name.encode().replace(COMMON.encode(), b"\0")
    size = len(tokens)
    length = bytes([size]) if size < _LONG else bytes([size & 0x7F | _LONG, size >> 7])
    return length + tokens
