"""Tables of 32-bit ARM (`.ARM.exidx`): from a frame to that of its caller."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial

from gsym.unwinding.expressions import ByteReader, DamagedError, unless_damaged
from gsym.unwinding.frame_info import Step
from gsym.unwinding.machines import ARM

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from gsym.unwinding.images import Memory

SECTION = ".ARM.exidx"
_ENTRY_SIZE = 8
_CANNOT_UNWIND = 1
_SP, _LR, _PC = 13, 14, 15
_MASK = (1 << 32) - 1
_COMPACT = 1 << 31  # the instructions are here, for a personality of the standard
_FINISH = 0xB0


@unless_damaged
def step_by_tables(
    table: tuple[int, int],
    pc: int,
    values: dict[int, int],
    read: Memory,
    memory: Memory,
) -> Step | None:
    """The registers in the caller of the function at *pc*; None if unknown."""
    entry = _search(table, pc, read)
    if entry is None:
        return None
    if _word(read, entry + 4) == _CANNOT_UNWIND:
        return Step(0, values, is_signal=False)
    found = _run(_instructions(entry + 4, read), values, memory)
    back = found.pop(_PC, found.get(_LR))
    return None if back is None else Step(back, found, is_signal=False)


def _word(read: Memory, address: int) -> int:
    return ByteReader(read(address & _MASK, 4), 4).fixed(4)


def _place(read: Memory, address: int) -> int:
    """The address to which a word of 31 bits is relative."""
    value = _word(read, address) & ~_COMPACT
    return (address + value - (value << 1 & _COMPACT)) & _MASK


def _search(table: tuple[int, int], pc: int, read: Memory) -> int | None:
    """The address of the entry of the function that has *pc*."""
    start, size = table
    entries = range(start, start + size - size % _ENTRY_SIZE, _ENTRY_SIZE)
    after = bisect_right(entries, pc, key=partial(_place, read))
    return entries[after - 1] if after else None


def _instructions(at: int, read: Memory) -> bytes:
    """The instructions of an entry, whose second word is at *at*."""
    word = _word(read, at)
    if word & _COMPACT:
        return word.to_bytes(4, "big")[1:]
    at = _place(read, at)
    word = _word(read, at)
    if not word & _COMPACT:  # a personality routine of its own comes first
        at += 4
        word = _word(read, at)
        count, skipped = word >> 24, 1
    elif word >> 24 & 0x0F:
        count, skipped = word >> 16 & 0xFF, 2
    else:
        count, skipped = 0, 1
    words = [word, *(_word(read, at + 4 * each) for each in range(1, count + 1))]
    return b"".join(each.to_bytes(4, "big") for each in words)[skipped:]


def _run(code: bytes, values: dict[int, int], memory: Memory) -> dict[int, int]:
    """The registers after all instructions."""
    data = ByteReader(code, ARM.word)
    found = {number: each for number, each in values.items() if number != _PC}
    while data.at < len(code):
        byte = data.byte()
        if byte == _FINISH:
            break
        stack = found[_SP]
        popped = _popped(byte, data)
        if byte < 0x80:  # noqa: PLR2004 - add to the stack pointer, or subtract
            by = ((byte & 0x3F) << 2) + 4
            found[_SP] = stack + (by if byte < 0x40 else -by) & _MASK  # noqa: PLR2004
        elif byte >> 4 == 9 and byte & 0x0F not in {_SP, _PC}:  # noqa: PLR2004
            found[_SP] = found[byte & 0x0F]
        elif popped is not None:
            for each in popped:
                found[each] = _word(memory, stack)
                stack += 4
            if _SP not in popped:
                found[_SP] = stack & _MASK
        else:
            found[_SP] = (stack + _skipped(byte, data)) & _MASK
    return found


def _popped(byte: int, data: ByteReader) -> list[int] | None:
    """The registers that an instruction pops; None if it is another one."""
    if byte >> 4 == 8:  # noqa: PLR2004 - r4 to r15 by a mask
        mask = (byte & 0x0F) << 8 | data.byte()
        if not mask:
            raise DamagedError
        return [4 + bit for bit in range(12) if mask >> bit & 1]
    if byte >> 4 == 0xA:  # noqa: PLR2004 - r4 to r4 + n, and r14
        return [*range(4, 5 + (byte & 7)), *([_LR] if byte & 8 else [])]
    if byte == 0xB1:  # noqa: PLR2004 - r0 to r3 by a mask
        mask = data.byte()
        return [bit for bit in range(4) if mask >> bit & 1]
    return None


def _skipped(byte: int, data: ByteReader) -> int:
    """The size of what an instruction takes from the stack and nobody needs."""
    if byte == 0xB2:  # noqa: PLR2004 - much is added to the stack pointer
        return 0x204 + (data.leb() << 2)
    if byte == 0xB4:  # noqa: PLR2004 - a code that authenticates the return address
        return 4
    if byte == 0xB3 or 0xB8 <= byte <= 0xBF:  # noqa: PLR2004 - FSTMFDX
        count = data.byte() & 0x0F if byte == 0xB3 else byte & 7  # noqa: PLR2004
        return 8 * (count + 1) + 4
    if byte in {0xC6, 0xC8, 0xC9}:
        return 8 * ((data.byte() & 0x0F) + 1)
    if byte == 0xC7:  # noqa: PLR2004 - control registers of WMMX
        return 4 * (data.byte() & 0x0F).bit_count()
    if 0xC0 <= byte <= 0xC5 or 0xD0 <= byte <= 0xD7:  # noqa: PLR2004
        return 8 * ((byte & 7) + 1)
    raise DamagedError
