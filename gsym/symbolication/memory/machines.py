"""Machines, as far as walking their stacks goes."""

from __future__ import annotations

from gsym.records import NamedTuple


class Machine(NamedTuple):
    """What a walk needs to know of a machine.

    Attributes:
        word: Bytes of an address.
        stack: Number of the stack pointer in DWARF.
        frame: Number of the frame pointer in DWARF.
        record_at: Where the frame record of a function is from its frame pointer, in
            words: the frame pointer of its caller, then the return address.
        address_bits: Bits of an address; those above may be a signature.
    """

    word: int
    stack: int
    frame: int
    record_at: int = 0
    address_bits: int = 64


class Registers(NamedTuple):
    """Registers of a thread; *values* by their numbers in DWARF."""

    pc: int
    values: dict[int, int]


X86_64 = Machine(8, 7, 6)
X86 = Machine(4, 4, 5)
AARCH64 = Machine(8, 31, 29, address_bits=48)
RISCV64 = Machine(8, 2, 8, record_at=-2)
