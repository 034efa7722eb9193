"""Effects of instructions of x86-64 and x86 on the stack."""

from __future__ import annotations

from gsym.containers.machine_code import x86_instruction_size
from gsym.unwinding.followed_code import Flow, StackState
from gsym.unwinding.machines import X86, X86_64

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


_MAX_SIZE = 15
_PREFIXES = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3")
_REX = frozenset(range(0x40, 0x50))
_BY_NUMBER = {X86_64: (0, 2, 1, 3, 7, 6, 4, 5, *range(8, 16)), X86: tuple(range(16))}
_TWO_BYTES = 0x0F
# ModRM: an operand in a register; one in memory with an index, or without a base.
_IN_REGISTER, _INDEXED, _NO_BASE, _NO_INDEX = 3, 4, 5, 0x24
_NUMBERED = {0x81: 4, 0x83: 1}  # bytes of the number
_ADDS = {0: 1, 5: -1}  # of the group of ADD, OR, ADC, SBB, AND, SUB, XOR, CMP
_COMPARE = 7
# Opcodes: the bytes of the distance of a jump, and whether it is taken always.
_JUMPS = {
    **dict.fromkeys((*range(0x70, 0x80), *range(0xE0, 0xE4)), (1, False)),
    **dict.fromkeys(range(0x0F80, 0x0F90), (4, False)),
    0xE9: (4, True),
    0xEB: (1, True),
}
_LEAVES = frozenset({0xC2, 0xC3, 0xCA, 0xCB, 0xF4, 0x0F0B})  # RET, HLT, UD2
_GROUP_5 = 0xFF
_JUMP, _PUSH = 4, 6


def follow_x86(code: bytes, at: int, state: StackState) -> Flow:
    """Change the state as an instruction does."""
    is_64 = state.machine == X86_64
    size = x86_instruction_size(code[at : at + _MAX_SIZE], is_64=is_64)
    return _Instruction(code[at : at + size], state).follow(size)


class _Instruction:
    def __init__(self, code: bytes, state: StackState) -> None:
        self.state, self.word = state, state.machine.word
        self.stack, self.frame = state.machine.stack, state.machine.frame
        numbers = _BY_NUMBER[state.machine]
        at = rex = 0
        while at < len(code) and code[at] in _PREFIXES:
            at += 1
        if state.machine == X86_64 and at < len(code) and code[at] in _REX:
            rex, at = code[at], at + 1
        self._held = held = code[at:].ljust(8, b"\0")
        self._mode, self.extension = held[1] >> 6, held[1] >> 3 & 7
        self.is_register = self._mode == _IN_REGISTER
        self.low = numbers[held[0] & 7 | (rex & 1) << 3]
        self.register = numbers[self.extension | (rex & 4) << 1]
        self.operand = numbers[held[1] & 7 | (rex & 1) << 3]

    def follow(self, size: int) -> Flow:
        """Change the state; where the instruction leads."""
        opcode = self._held[0]
        is_long = opcode == _TWO_BYTES
        if is_long:
            opcode = opcode << 8 | self._held[1]
        if opcode in _JUMPS:
            count, ends = _JUMPS[opcode]
            return Flow(size, size + self.number(1 + is_long, count), ends)
        change = _CHANGES.get(opcode)
        if change is not None:
            change(self)
        is_jump = opcode == _GROUP_5 and self.extension == _JUMP
        is_left = opcode in _LEAVES
        return Flow(size, 0, is_jump or is_left, is_left)

    def number(self, at: int, size: int) -> int:
        """A number in the instruction."""
        return int.from_bytes(self._held[at : at + size], "little", signed=True)

    @property
    def place(self) -> tuple[int, int]:
        """The base of the operand in memory, and the distance; -1 for other forms."""
        low = self._held[1] & 7
        is_indexed = low == _INDEXED
        has_base = self._mode or low != _NO_BASE
        if not has_base or (is_indexed and self._held[2] != _NO_INDEX):
            return -1, 0
        return self.operand, self.number(2 + is_indexed, (0, 1, 4, 0)[self._mode])

    def push(self) -> None:
        self.state.save(self.low, self.stack, -self.word)
        self.state.move_stack(-self.word)

    def pop(self) -> None:
        self.state.load(self.low, self.stack)
        self.state.move_stack(self.word)

    def push_other(self) -> None:
        if self._held[0] != _GROUP_5 or self.extension == _PUSH:
            self.state.move_stack(-self.word)

    def compute(self) -> None:
        """ADD, OR, ADC, SBB, AND, SUB, XOR, CMP of a register and a number."""
        size = self.number(2, _NUMBERED[self._held[0]])
        sign = _ADDS.get(self.extension)
        if sign is not None and self.is_register:
            self.state.add(self.operand, self.operand, sign * size)
        elif self.is_register and self.extension != _COMPARE:
            self.state.set(self.operand, None)

    def change_operand(self) -> None:
        if self.is_register:
            self.state.set(self.operand, None)

    def store(self) -> None:
        if self.is_register:
            self.state.add(self.operand, self.register, 0)
        else:
            self.state.save(self.register, *self.place)

    def load(self) -> None:
        if self.is_register:
            self.state.add(self.register, self.operand, 0)
        else:
            self.state.load(self.register, *self.place)

    def leave(self) -> None:
        self.state.add(self.stack, self.frame, self.word)
        self.state.load(self.frame, self.stack, -self.word)

    def call(self) -> None:
        if not self.number(1, 4):  # pushes the address of the next instruction
            self.state.move_stack(-self.word)


_CHANGES: dict[int, Callable[[_Instruction], None]] = {
    **dict.fromkeys(range(0x50, 0x58), _Instruction.push),
    **dict.fromkeys(range(0x58, 0x60), _Instruction.pop),
    **dict.fromkeys((0x68, 0x6A, _GROUP_5), _Instruction.push_other),
    **dict.fromkeys(_NUMBERED, _Instruction.compute),
    **dict.fromkeys((0x01, 0x29), _Instruction.change_operand),  # ADD, SUB
    **dict.fromkeys((0x03, 0x2B), lambda it: it.state.set(it.register, None)),
    0x89: _Instruction.store,
    0x8B: _Instruction.load,
    0x8D: lambda it: it.state.add(it.register, *it.place),
    0x8F: lambda it: it.state.move_stack(it.word),
    0xC9: _Instruction.leave,
    0xE8: _Instruction.call,
}
