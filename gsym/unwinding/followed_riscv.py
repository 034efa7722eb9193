"""Effects of instructions of RISC-V of 64 bits on the stack."""

from __future__ import annotations

from gsym.unwinding.followed_code import Flow, StackState, bits

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


_LONG = 3  # the lowest bits of an instruction of 4 bytes
_LINK, _STACK = 1, 2
# Parts of the numbers in instructions: see `bits`.
_BRANCH = (8, 4, 1), (25, 6, 5), (7, 1, 11), (31, 1, 12)
_JUMP = (21, 10, 1), (20, 1, 11), (12, 8, 12), (31, 1, 20)
_STORE = (7, 5, 0), (25, 7, 5)
_SHORT = (2, 5, 0), (12, 1, 5)
_SHORT_BRANCH = (3, 2, 1), (10, 2, 3), (2, 1, 5), (5, 2, 6), (12, 1, 8)
_SHORT_JUMP = (
    *((3, 3, 1), (11, 1, 4), (2, 1, 5), (7, 1, 6), (6, 1, 7)),
    *((9, 2, 8), (8, 1, 10), (12, 1, 11)),
)
_TO_STACK = (6, 1, 4), (2, 1, 5), (5, 1, 6), (3, 2, 7), (12, 1, 9)
_FROM_STACK = (11, 2, 4), (7, 4, 6), (6, 1, 2), (5, 1, 3)


def follow_riscv(code: bytes, at: int, state: StackState) -> Flow:
    """Change the state as an instruction does."""
    word = int.from_bytes(code[at : at + 4], "little")
    if not word & 0xFFFF:
        return Flow(0)
    if word & _LONG == _LONG:
        jump = _JUMPS.get(word & 0x7F)
        change = _CHANGES.get((word & 0x7F, word >> 12 & 7))
    else:
        word &= 0xFFFF
        kind = word & 3, word >> 13
        jump, change = _SHORT_JUMPS.get(kind), _SHORT_CHANGES.get(kind)
    if change is not None:
        change(state, word)
    found = None if jump is None else jump(word)
    return found or Flow(4 if word & _LONG == _LONG else 2)


def _to(word: int) -> int:
    return word >> 7 & 31


def _base(word: int) -> int:
    return word >> 15 & 31


def _number(word: int) -> int:
    return bits(word, (20, 12, 0), sign=1 << 11)


def _add_registers(state: StackState, word: int) -> None:
    sign = -1 if word >> 30 & 1 else 1
    state.add_register(_to(word), _base(word), sign, word >> 20 & 31)


def _jump_to_register(word: int) -> Flow | None:
    if _to(word):
        return None  # a call
    return Flow(4, 0, ends=True, returns=_base(word) == _LINK)


def _jump(word: int) -> Flow | None:
    return None if _to(word) else Flow(4, bits(word, *_JUMP, sign=1 << 20), ends=True)


_CHANGES: dict[tuple[int, int], Callable[[StackState, int], None]] = {
    # LUI, whose function is a part of the number
    **dict.fromkeys(
        [(0x37, each) for each in range(8)],
        lambda state, word: state.set_number(
            _to(word), bits(word, (12, 20, 12), sign=1 << 31)
        ),
    ),
    (0x13, 0): lambda state, word: state.add(_to(word), _base(word), _number(word)),
    (0x33, 0): _add_registers,  # ADD, SUB
    (0x23, 3): lambda state, word: state.save(
        word >> 20 & 31, _base(word), bits(word, *_STORE, sign=1 << 11)
    ),
    (0x03, 3): lambda state, word: state.load(_to(word), _base(word), _number(word)),
}
_JUMPS: dict[int, Callable[[int], Flow | None]] = {
    0x63: lambda word: Flow(4, bits(word, *_BRANCH, sign=1 << 12)),
    0x67: _jump_to_register,
    0x6F: _jump,
}


def _add_to_stack(state: StackState, word: int) -> None:
    """C.ADDI16SP, or C.LUI of another register."""
    if _to(word) == _STACK:
        state.move_stack(bits(word, *_TO_STACK, sign=1 << 9))
    else:
        state.set_number(_to(word), bits(word, *_SHORT, sign=1 << 5) << 12)


def _move(state: StackState, word: int) -> None:
    """C.MV, C.ADD."""
    to, by = _to(word), word >> 2 & 31
    if by and word >> 12 & 1:
        state.add_register(to, to, 1, by)
    elif by:
        state.add(to, by, 0)


def _jump_short(word: int) -> Flow | None:
    """C.JR; with another register, or another bit, it is C.MV, C.ADD or C.JALR."""
    if word >> 2 & 31 or word >> 12 & 1:
        return None
    return Flow(2, 0, ends=True, returns=_to(word) == _LINK)


# By the two lowest and the three highest bits.
_SHORT_CHANGES: dict[tuple[int, int], Callable[[StackState, int], None]] = {
    (0, 0): lambda state, word: state.add(
        8 + (word >> 2 & 7), _STACK, bits(word, *_FROM_STACK)
    ),
    (1, 0): lambda state, word: state.add(
        _to(word), _to(word), bits(word, *_SHORT, sign=1 << 5)
    ),
    (1, 2): lambda state, word: state.set_number(
        _to(word), bits(word, *_SHORT, sign=1 << 5)
    ),
    (1, 3): _add_to_stack,
    (2, 3): lambda state, word: state.load(
        _to(word), _STACK, bits(word, (5, 2, 3), (12, 1, 5), (2, 3, 6))
    ),
    (2, 4): _move,
    (2, 7): lambda state, word: state.save(
        word >> 2 & 31, _STACK, bits(word, (10, 3, 3), (7, 3, 6))
    ),
}
_SHORT_JUMPS: dict[tuple[int, int], Callable[[int], Flow | None]] = {
    (1, 5): lambda word: Flow(2, bits(word, *_SHORT_JUMP, sign=1 << 11), ends=True),
    (1, 6): lambda word: Flow(2, bits(word, *_SHORT_BRANCH, sign=1 << 8)),
    (1, 7): lambda word: Flow(2, bits(word, *_SHORT_BRANCH, sign=1 << 8)),
    (2, 4): _jump_short,
}
