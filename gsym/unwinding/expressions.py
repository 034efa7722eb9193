"""DWARF expressions in call frame information."""

from __future__ import annotations

from gsym.leb128 import read_leb
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal


class DamagedError(Exception):
    """Call frame information is damaged, or not of a form that is read."""


class ByteReader:
    """Reads numbers from its start on."""

    __slots__ = "at", "data", "order", "word"

    def __init__(
        self, data: bytes, word: int, order: Literal["little", "big"] = "little"
    ) -> None:
        self.data: bytes = data
        self.word: int = word
        self.order = order
        self.at: int = 0

    def byte(self) -> int:
        """The next byte."""
        self.at += 1
        if self.at > len(self.data):
            raise DamagedError
        return self.data[self.at - 1]

    def leb(self, *, signed: bool = False) -> int:
        """A number in LEB128."""
        value, end = read_leb(self.data, self.at, _MAX_LEB, signed=signed)
        if not end:
            raise DamagedError
        self.at = end
        return value

    def take(self, size: int) -> bytes:
        """So many bytes."""
        start, self.at = self.at, self.at + size
        if self.at > len(self.data):
            raise DamagedError
        return self.data[start : self.at]

    def fixed(self, size: int, *, signed: bool = False) -> int:
        """A number of so many bytes."""
        return int.from_bytes(self.take(size), self.order, signed=signed)


_MAX_LEB = 21  # bytes; padding is allowed
_MAX_STACK = 256


class Operands(NamedTuple):
    """The registers and the memory of an expression."""

    values: dict[int, int]  # the registers, by their numbers in DWARF
    load: Callable[[int, int], int]  # reads a number of so many bytes at an address
    word: int  # bytes of an address
    order: Literal["little", "big"] = "little"  # the order of bytes
    frame: int | None = None  # the canonical frame address, if it is known


def evaluate(expression: bytes, operands: Operands, *pushed: int) -> int:
    """The value of an expression.

    Raises:
        DamagedError: It ends early, fills or empties the stack, jumps back, or has an
            operation that makes no sense without debug information.
        KeyError: A register is not known.
    """
    stack = list(pushed)
    data = ByteReader(expression, operands.word, operands.order)
    mask = (1 << 8 * operands.word) - 1
    try:
        while data.at < len(expression):
            _run(data.byte(), data, stack, operands)
            if len(stack) > _MAX_STACK or data.at > len(expression):
                raise DamagedError
            if stack:
                stack[-1] &= mask
        return stack[-1] & mask
    except (IndexError, ZeroDivisionError, OverflowError):
        raise DamagedError from None


_DEREF, _SKIP, _BRA, _PLUS_CONSTANT, _PICK = 0x06, 0x2F, 0x28, 0x23, 0x15
_BREGX, _DEREF_SIZE, _FRAME = 0x92, 0x94, 0x9C
_WITHOUT_EFFECT = frozenset({0x96, 0x9F})  # nop, stack_value
# DW_OP_const1u to const8s: sizes
_CONSTANTS = {0x08 + each: 1 << each // 2 for each in range(8)}


def _run(code: int, data: ByteReader, stack: list[int], operands: Operands) -> None:
    """Run an operation."""
    if _push(code, data, stack, operands) or _arrange(code, stack):
        return
    if code == _PLUS_CONSTANT:
        stack.append(stack.pop() + data.leb())
    elif code in {_DEREF, _DEREF_SIZE}:
        size = operands.word if code == _DEREF else data.byte()
        stack.append(operands.load(stack.pop(), size))
    elif code in {_SKIP, _BRA}:
        by = data.fixed(2, signed=True)
        if by < 0:  # no compiler writes loops here
            raise DamagedError
        data.at += by if code == _SKIP or stack.pop() else 0
    elif code == _PICK:
        stack.append(stack[-1 - data.byte()])
    elif code not in _WITHOUT_EFFECT:
        _calculate(code, stack, 8 * operands.word)


def _push(code: int, data: ByteReader, stack: list[int], operands: Operands) -> bool:
    """Whether an operation pushes a constant, or a register with an offset."""
    values = operands.values
    if 0x70 <= code <= 0x8F:  # noqa: PLR2004 - DW_OP_breg0 to 31
        stack.append(values[code - 0x70] + data.leb(signed=True))
    elif 0x30 <= code <= 0x4F:  # noqa: PLR2004 - DW_OP_lit0 to 31
        stack.append(code - 0x30)
    elif code in _CONSTANTS:
        stack.append(data.fixed(_CONSTANTS[code], signed=bool(code & 1)))
    elif code in {0x10, 0x11}:  # DW_OP_constu, consts
        stack.append(data.leb(signed=bool(code & 1)))
    elif code == 0x03:  # noqa: PLR2004 - DW_OP_addr
        stack.append(data.fixed(operands.word))
    elif code == _BREGX:
        register = data.leb()
        stack.append(values[register] + data.leb(signed=True))
    elif code == _FRAME and operands.frame is not None:
        stack.append(operands.frame)
    else:
        return False
    return True


def _arrange(code: int, stack: list[int]) -> bool:
    """Whether an operation moves what is on the stack."""
    if code == 0x12:  # noqa: PLR2004 - DW_OP_dup
        stack.append(stack[-1])
    elif code == 0x13:  # noqa: PLR2004 - DW_OP_drop
        stack.pop()
    elif code == 0x14:  # noqa: PLR2004 - DW_OP_over
        stack.append(stack[-2])
    elif code == 0x16:  # noqa: PLR2004 - DW_OP_swap
        stack[-2:] = stack[-1], stack[-2]
    elif code == 0x17:  # noqa: PLR2004 - DW_OP_rot
        stack[-3:] = stack[-1], stack[-3], stack[-2]
    else:
        return False
    return True


def _calculate(code: int, stack: list[int], bits: int) -> None:
    """Run an operation on the one or two numbers on top of the stack."""
    right = stack.pop()
    if code in _UNARY:
        stack.append(_UNARY[code](_signed(right, bits)))
        return
    left = stack.pop()
    if code in _UNSIGNED:
        stack.append(_UNSIGNED[code](left, right))
    elif code in _SIGNED:
        stack.append(_SIGNED[code](_signed(left, bits), _signed(right, bits)))
    else:
        raise DamagedError


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_UNARY: dict[int, Callable[[int], int]] = {
    0x19: abs,
    0x1F: lambda value: -value,
    0x20: lambda value: ~value,
}
_UNSIGNED: dict[int, Callable[[int, int], int]] = {
    0x1A: lambda left, right: left & right,
    0x1C: lambda left, right: left - right,
    0x1D: lambda left, right: left % right,
    0x1E: lambda left, right: left * right,
    0x21: lambda left, right: left | right,
    0x22: lambda left, right: left + right,
    0x24: lambda left, right: left << min(right, 64),
    0x25: lambda left, right: left >> min(right, 64),
    0x27: lambda left, right: left ^ right,
}
_SIGNED: dict[int, Callable[[int, int], int]] = {
    # Rounded towards 0.
    0x1B: lambda left, right: (
        (abs(left) // abs(right)) * (1 if (left < 0) == (right < 0) else -1)
    ),
    0x26: lambda left, right: left >> min(max(right, 0), 64),
    0x29: lambda left, right: int(left == right),
    0x2A: lambda left, right: int(left >= right),
    0x2B: lambda left, right: int(left > right),
    0x2C: lambda left, right: int(left <= right),
    0x2D: lambda left, right: int(left < right),
    0x2E: lambda left, right: int(left != right),
}
