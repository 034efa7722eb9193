"""State of the stack while the instructions of a function are followed."""

from __future__ import annotations

from gsym.records import NamedTuple
from gsym.unwinding.machines import AARCH64, RISCV64, X86, X86_64, Machine

# Registers that a function leaves as they were, by their numbers in DWARF.
_KEPT = {
    X86_64: frozenset({3, 6, *range(12, 16)}),
    X86: frozenset({3, 5, 6, 7}),
    RISCV64: frozenset({1, 8, 9, *range(18, 28)}),
    AARCH64: frozenset(range(19, 31)),
}


class StackState:
    """State before an instruction; places are from the canonical frame address."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine  # what the code is for
        # the stack pointer; None if unknown
        self.stack: int | None = 0 if machine.link is not None else -machine.word
        # the frame pointer; None if it was not set from the stack pointer
        self.frame: int | None = None
        self.saved: dict[int, int] = {}  # where registers of the caller are
        # registers with numbers
        self.constants: dict[int, int] = {0: 0} if machine == RISCV64 else {}

    def copy(self) -> StackState:
        """Copy of the state, which changes by itself."""
        copied = StackState(self.machine)
        copied.stack, copied.frame = self.stack, self.frame
        copied.saved, copied.constants = dict(self.saved), dict(self.constants)
        return copied

    def has_record(self) -> bool:
        """Whether the frame pointer is where convention has it, and no other value."""
        machine, frame = self.machine, self.frame
        record = None if frame is None else frame + machine.record_at * machine.word
        return record is not None and self.saved.get(machine.frame) == record

    def base(self, register: int) -> int | None:
        """The place in the stack or frame pointer; None for others."""
        if register == self.machine.stack:
            return self.stack
        return self.frame if register == self.machine.frame else None

    def set(self, register: int, place: int | None) -> None:
        """Set a register to a place, if it is the stack or frame pointer."""
        self.constants.pop(register, None)
        if register == self.machine.stack:
            self.stack = place
        elif register == self.machine.frame:
            self.frame = place

    def set_number(self, register: int, number: int) -> None:
        """Set a register to a number."""
        self.set(register, None)
        self.constants[register] = number

    def add(self, register: int, base: int, size: int) -> None:
        """Set a register to another one and a number."""
        if base in self.constants:
            self.set_number(register, self.constants[base] + size)
            return
        place = self.base(base)
        self.set(register, None if place is None else place + size)

    def add_register(self, register: int, base: int, factor: int, by: int) -> None:
        """Set a register to another one and a multiple of one more."""
        if by in self.constants:
            self.add(register, base, factor * self.constants[by])
        else:
            self.set(register, None)

    def move_stack(self, size: int) -> None:
        """Add to the stack pointer."""
        self.add(self.machine.stack, self.machine.stack, size)

    def save(self, register: int, base: int, offset: int = 0) -> None:
        """Note where a register is stored first: its value is that of the caller."""
        place = self.base(base)
        if place is not None and register in _KEPT[self.machine]:
            self.saved.setdefault(register, place + offset)

    def load(self, register: int, base: int, offset: int = 0) -> None:
        """Note that a register is loaded, from where it was saved or elsewhere."""
        place = self.base(base)
        if place is not None and self.saved.get(register) == place + offset:
            del self.saved[register]
        self.set(register, None)


class Flow(NamedTuple):
    """Way from an instruction to the next ones."""

    size: int  # its size in bytes; 0 if that is unknown
    jump: int = 0  # bytes from its start to where it jumps; 0 for nowhere
    ends: bool = False  # whether that which follows is not run next
    returns: bool = False  # whether the function is left


def bits(value: int, *parts: tuple[int, int, int], sign: int = 0) -> int:
    """A number whose bits are scattered in a word.

    Args:
        value: The word.
        parts: The lowest bit of each part, its size, and its lowest bit in the number.
        sign: The bit of the number that makes it negative, as a number; or 0.
    """
    found = sum((value >> low & (1 << size) - 1) << at for low, size, at in parts)
    return (found ^ sign) - sign
