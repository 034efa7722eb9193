"""DWARF expressions in call frame information."""

from __future__ import annotations

import operator
from contextlib import ContextDecorator, suppress
from struct import error as StructError  # noqa: N812 - an exception

from gsym.leb128 import read_leb
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal


class DamagedError(Exception):
    """Call frame information is damaged, or not of a form that is read."""


class _Unless(ContextDecorator, suppress):
    """Lets a function return None in place of errors."""


# Where tables are damaged, or memory is not there.
unless_damaged: ContextDecorator = _Unless(
    *(DamagedError, StructError, ArithmeticError, LookupError, ValueError)
)


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
_ADDRESS, _CONSTANTS, _BREGX, _DEREF_SIZE, _FRAME = 0x03, (0x10, 0x11), 0x92, 0x94, 0x9C
_WITHOUT_EFFECT = frozenset({0x96, 0x9F})  # nop, stack_value
_LITERALS, _REGISTERS = range(0x30, 0x50), range(0x70, 0x90)
_SIZED = range(0x08, 0x10)  # DW_OP_const1u to const8s


def _run(code: int, data: ByteReader, stack: list[int], operands: Operands) -> None:
    """Run an operation."""
    if _push(code, data, stack, operands):
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
    if code in _REGISTERS:
        stack.append(values[code - _REGISTERS.start] + data.leb(signed=True))
    elif code == _BREGX:
        stack.append(values[data.leb()] + data.leb(signed=True))
    elif code in _LITERALS:
        stack.append(code - _LITERALS.start)
    elif code in _SIZED:
        size = 1 << (code - _SIZED.start) // 2
        stack.append(data.fixed(size, signed=bool(code & 1)))
    elif code in _CONSTANTS:
        stack.append(data.leb(signed=bool(code & 1)))
    elif code == _ADDRESS:
        stack.append(data.fixed(operands.word))
    elif code == _FRAME and operands.frame is not None:
        stack.append(operands.frame)
    else:
        return False
    return True


def _calculate(code: int, stack: list[int], bits: int) -> None:
    """Run an operation on the numbers on top of the stack."""
    count, is_signed, calculate = _CALCULATIONS.get(code, _UNKNOWN)
    if not count or len(stack) < count:
        raise DamagedError
    taken = stack[-count:]
    if is_signed:
        sign = 1 << bits - 1
        taken = [((each & (2 * sign - 1)) ^ sign) - sign for each in taken]
    found = calculate(*taken)
    stack[-count:] = found if isinstance(found, tuple) else (found,)


def _divided(left: int, right: int) -> int:
    """The quotient, rounded towards 0."""
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


_Calculation = tuple[int, bool, "Callable[..., int | tuple[int, ...]]"]
_UNKNOWN: _Calculation = 0, False, int
# How many numbers it takes, whether they have signs, and what becomes of them.
_CALCULATIONS: dict[int, _Calculation] = {
    0x12: (1, False, lambda last: (last, last)),  # DW_OP_dup
    0x13: (1, False, lambda _: ()),  # DW_OP_drop
    0x14: (2, False, lambda under, last: (under, last, under)),  # DW_OP_over
    0x16: (2, False, lambda under, last: (last, under)),  # DW_OP_swap
    0x17: (3, False, lambda third, under, last: (last, third, under)),  # DW_OP_rot
    0x19: (1, True, abs),  # DW_OP_abs
    0x1A: (2, False, operator.and_),  # DW_OP_and
    0x1B: (2, True, _divided),  # DW_OP_div
    0x1C: (2, False, operator.sub),  # DW_OP_minus
    0x1D: (2, False, operator.mod),  # DW_OP_mod
    0x1E: (2, False, operator.mul),  # DW_OP_mul
    0x1F: (1, True, operator.neg),  # DW_OP_neg
    0x20: (1, True, operator.invert),  # DW_OP_not
    0x21: (2, False, operator.or_),  # DW_OP_or
    0x22: (2, False, operator.add),  # DW_OP_plus
    0x24: (2, False, lambda left, right: left << min(right, 64)),  # DW_OP_shl
    0x25: (2, False, lambda left, right: left >> min(right, 64)),  # DW_OP_shr
    0x26: (2, True, lambda left, right: left >> min(max(right, 0), 64)),  # DW_OP_shra
    0x27: (2, False, operator.xor),  # DW_OP_xor
    0x29: (2, True, operator.eq),  # DW_OP_eq
    0x2A: (2, True, operator.ge),  # DW_OP_ge
    0x2B: (2, True, operator.gt),  # DW_OP_gt
    0x2C: (2, True, operator.le),  # DW_OP_le
    0x2D: (2, True, operator.lt),  # DW_OP_lt
    0x2E: (2, True, operator.ne),  # DW_OP_ne
}
