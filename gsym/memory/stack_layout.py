"""Layouts of stacks: what makes the stack of a thread equal to one that was walked.

Most threads of a program wait in the same place. If the saved registers of a frame are
at fixed distances from the stack pointer, a stack has the frames of another one when
its return addresses are equal and its frame pointers are as far from the stack pointer.
"""

from __future__ import annotations

from struct import Struct

from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gsym.memory.walking import Registers, WalkedStack
    from gsym.unwinding.frame_info import Row, Step
    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine

_MAX_SIZE = 1 << 14  # bytes of a stack

_Value = tuple[bool, int]  # whether it counts from the stack pointer; the value


class StackLayout(NamedTuple):
    """The values that equal stacks have."""

    stack: WalkedStack  # their frames
    pointer: int  # number of the stack pointer
    mask: int  # the largest value of a register
    registers: Sequence[tuple[int, _Value]]  # registers, and their values
    start: int  # distance of the words from the stack pointer
    words: Struct  # their form in memory
    values: Sequence[_Value]  # the values of the words

    def fits(self, registers: Registers, memory: Memory) -> bool:
        """Whether the stack of a thread is laid out so."""
        known, mask = registers.values, self.mask
        base = known.get(self.pointer, 0)
        for number, (is_relative, value) in self.registers:
            if known.get(number) != (value + base * is_relative) & mask:
                return False
        held = memory((base + self.start) & mask, self.words.size)
        if len(held) < self.words.size:
            return False
        return all(
            word == (value + base * is_relative) & mask
            for word, (is_relative, value) in zip(
                self.words.unpack(held), self.values, strict=True
            )
        )


class _Values:
    """The values by which a walk finds the frames of a stack."""

    def __init__(self, machine: Machine, base: int, mask: int) -> None:
        self._pointer, self._base, self._mask = machine.stack, base, mask
        self._saved: dict[int, int] = {}  # where registers of the frame are
        self.registers: dict[int, _Value] = {}  # those in registers
        # those in memory, by their distances from the stack pointer
        self.words: dict[int, _Value] = {}
        self.is_fixed = True  # whether there are no others

    def add(self, row: Row, values: Mapping[int, int], pc: int) -> None:
        """Add those by which the caller at *pc* is found."""
        self.is_fixed = not isinstance(row.frame, bytes)
        if isinstance(row.frame, bytes):
            return
        register, offset = row.frame
        distance = (values[register] - self._base) & self._mask
        if register != self._pointer or self._pointer in self._saved:
            self._add(register, (True, distance))
        if row.rules.get(row.return_register) == ("undefined", 0):
            return
        if len(row.saved) != len(row.rules):
            self.is_fixed = False
        self._saved.pop(self._pointer, None)
        for number, place in row.saved:
            self._saved[number] = (distance + offset + place) & self._mask
        self._add(row.return_register, (False, pc))

    def _add(self, number: int, value: _Value) -> None:
        at = self._saved.get(number)
        known = self.registers if at is None else self.words
        found = known.setdefault(number if at is None else at, value)
        self.is_fixed = self.is_fixed and found == value


def stack_layout(
    machine: Machine, registers: Registers, steps: Iterable[Step], stack: WalkedStack
) -> StackLayout | None:
    """The layout of a stack that was walked by *steps*; None if it has no fixed one."""
    mask = (1 << 8 * machine.word) - 1
    known = registers.values
    found = _Values(machine, known.get(machine.stack, 0), mask)
    for pc, values, _, _, row in steps:
        if row is not None and pc is not None:
            found.add(row, known, pc)
        if row is None or not found.is_fixed:
            return None
        known = values
    # Distances are positive: what is saved is above the stack pointer.
    places = sorted(found.words)
    start = end = places[0] if places else 0
    form = {"little": "<", "big": ">"}[machine.order]
    for place in places:
        if not 0 <= place - end <= _MAX_SIZE:
            return None
        form += f"{place - end}x" + {4: "I", 8: "Q"}[machine.word]
        end = place + machine.word
    return StackLayout(
        *(stack, machine.stack, mask, tuple(found.registers.items())),
        *(start, Struct(form), tuple([found.words[each] for each in places])),
    )
