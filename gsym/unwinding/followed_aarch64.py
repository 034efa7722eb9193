"""Effects of instructions of AArch64 on the stack."""

from __future__ import annotations

from gsym.unwinding.followed_code import Flow, StackState, bits

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable


_SIZE = 4
_BEFORE, _AFTER = 3, 1  # when an access changes the register with its address


def follow_aarch64(code: bytes, at: int, state: StackState) -> Flow:
    """Change the state as an instruction does."""
    if at + _SIZE > len(code):
        return Flow(0)
    word = int.from_bytes(code[at : at + _SIZE], "little")
    change = _CHANGES.get(word >> 24)
    if change is not None:
        change(state, word)
    jump = _JUMPS.get(word >> 24)
    return (jump(word) if jump is not None else None) or Flow(_SIZE)


def _access(
    state: StackState, word: int, registers: tuple[int, ...], offset: int, mode: int
) -> None:
    """Load or store registers."""
    base = word >> 5 & 31
    if mode == _BEFORE:
        state.add(base, base, offset)
    move = state.load if word >> 22 & 1 else state.save
    for number, each in enumerate(registers):
        move(each, base, 8 * number + (0 if mode & 1 else offset))
    if mode == _AFTER:
        state.add(base, base, offset)


def _access_pair(state: StackState, word: int) -> None:
    pair = (word & 31, word >> 10 & 31) if word >> 31 else ()  # else for numbers
    offset = bits(word, (15, 7, 3), sign=1 << 9)
    _access(state, word, pair, offset, word >> 23 & 3)


def _access_one(state: StackState, word: int) -> None:
    if not word >> 21 & 1:
        offset = bits(word, (12, 9, 0), sign=1 << 8)
        _access(state, word, (word & 31,), offset, word >> 10 & 3)


def _add_number(state: StackState, word: int) -> None:
    number = (word >> 10 & 0xFFF) << 12 * (word >> 22 & 1)
    sign = -1 if word >> 30 & 1 else 1
    state.add(word & 31, word >> 5 & 31, sign * number)


def _add_register(state: StackState, word: int) -> None:
    """ADD, SUB of an extended register, which may be shifted."""
    if word >> 21 & 1:
        factor = (-1 if word >> 30 & 1 else 1) << (word >> 10 & 7)
        state.add_register(word & 31, word >> 5 & 31, factor, word >> 16 & 31)
    else:
        state.set(word & 31, None)


def _half(word: int) -> int:
    return (word >> 5 & 0xFFFF) << 16 * (word >> 21 & 3)


def _move_half(state: StackState, word: int) -> None:
    """MOVZ; EOR and the like change no register that matters."""
    if word >> 23 & 1:
        state.set_number(word & 31, _half(word))


def _keep_half(state: StackState, word: int) -> None:
    """MOVK."""
    if word & 31 in state.constants:
        state.constants[word & 31] |= _half(word)


def _jump_to_register(word: int) -> Flow | None:
    """BR, RET; None for BLR."""
    if word >> 21 & 1:
        return None
    return Flow(_SIZE, 0, ends=True, returns=bool(word >> 22 & 1))


# By the highest byte.
_CHANGES: dict[int, Callable[[StackState, int], None]] = {
    **dict.fromkeys((0x91, 0xD1), _add_number),
    **dict.fromkeys((0x8B, 0xCB), _add_register),
    **dict.fromkeys((0xA8, 0xA9, 0x6C, 0x6D), _access_pair),
    0xD2: _move_half,
    0xF2: _keep_half,
    0xF8: _access_one,
    0xF9: lambda state, word: _access(
        *(state, word, (word & 31,), 8 * (word >> 10 & 0xFFF), 0)
    ),
}
_JUMPS: dict[int, Callable[[int], Flow | None]] = {
    # B.cond, CBZ, CBNZ; TBZ, TBNZ; B
    **dict.fromkeys(
        (0x54, 0x34, 0x35, 0xB4, 0xB5),
        lambda word: Flow(_SIZE, bits(word, (5, 19, 2), sign=1 << 20)),
    ),
    **dict.fromkeys(
        (0x36, 0x37, 0xB6, 0xB7),
        lambda word: Flow(_SIZE, bits(word, (5, 14, 2), sign=1 << 15)),
    ),
    **dict.fromkeys(
        range(0x14, 0x18),
        lambda word: Flow(_SIZE, bits(word, (0, 26, 2), sign=1 << 27), ends=True),
    ),
    **dict.fromkeys((0xD6, 0xD7), _jump_to_register),
}
