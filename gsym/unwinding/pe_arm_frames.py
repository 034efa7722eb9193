"""Frames of Windows on AArch64 by `.pdata` and `.xdata`: from a frame to its caller.

Source: Microsoft, ARM64 exception handling.
"""

from __future__ import annotations

from struct import Struct

from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.unwinding.expressions import unless_damaged
from gsym.unwinding.frame_info import Step
from gsym.unwinding.pe_frames import PeTable, last_entry

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.unwinding.images import Memory

_ENTRY = Struct("<II")  # start; unwind information, or where it is
_WORD, _DOUBLE = Struct("<I"), Struct("<Q")
_FRAME, _LINK, _STACK = 29, 30, 31
_FIRST = 19  # of the registers that a function leaves as they were
_INSTRUCTION = 4
_MAX_ALLOCATED = 4080  # bytes, by one instruction
_MAX_PAIR = 512  # bytes that STP allocates
_CHAINED, _LINK_IN_PAIR, _SIGNED = 3, 1, 2  # kinds of frames


class _Undo(NamedTuple):
    """Operation that undoes an instruction of a prologue, or is one of an epilogue."""

    # registers that are loaded, except those of floating-point numbers
    registers: tuple[int, ...] = ()
    at: int = 0  # where they are from the stack pointer
    frees: int = 0  # bytes that are freed then
    # the stack pointer is the frame pointer less so many bytes; -1 if it is not
    from_frame: int = -1
    # it goes on with the registers after those of the operation that is next here
    follows: bool = False


class _Function(NamedTuple):
    """A function."""

    size: int  # in bytes
    prologue: list[_Undo]  # what undoes its prologue, backwards
    epilogues: list[tuple[int, list[_Undo]]]  # where each starts, and what it does
    has_prologue: bool = True  # whether it is not a part of a function, without one


@unless_damaged
def step_by_pe_arm(
    table: PeTable, pc: int, values: dict[int, int], read: Memory, memory: Memory
) -> Step | None:
    """The registers in the caller of the function at *pc*; None if unknown.

    Args:
        table: The functions.
        pc: A link-time address.
        values: The registers.
        read: Reads what is loaded, by link-time addresses.
        memory: The memory of the process.
    """
    start, function = _function(table, pc - table.base, read)
    values = dict(values)
    for each in _joined(_remaining(function, pc - table.base - start)):
        _undo(each, values, memory)
    return Step(values[_LINK], values, is_signal=False)


def _remaining(function: _Function, inside: int) -> list[_Undo]:
    """Operations that undo what the function has done before an offset."""
    if inside >= function.size:
        raise KeyError(inside)
    if not function.has_prologue:
        return function.prologue
    for start, epilogue in function.epilogues:
        done = (inside - start) // _INSTRUCTION
        if 0 <= done <= len(epilogue):
            return epilogue[done:]
    done = inside // _INSTRUCTION
    return function.prologue[max(len(function.prologue) - done, 0) :]


def _joined(operations: list[_Undo]) -> Iterator[_Undo]:
    """The operations, with registers for those that follow others."""
    waiting = 0
    for each in operations:
        if each.follows:
            waiting += 1
            continue
        more = range(2, 2 + 2 * waiting if each.registers else 0)
        further = tuple(each.registers[0] + number for number in more)
        yield each._replace(registers=each.registers + further)
        waiting = 0


def _undo(each: _Undo, values: dict[int, int], memory: Memory) -> None:
    if each.from_frame >= 0:
        values[_STACK] = values[_FRAME] - each.from_frame
    stack = values[_STACK]
    for number, register in enumerate(each.registers):
        place = stack + each.at + 8 * number & UINT64_MAX
        (values[register],) = _DOUBLE.unpack(memory(place, _DOUBLE.size))
    values[_STACK] = stack + each.frees & UINT64_MAX


def _function(table: PeTable, place: int, read: Memory) -> tuple[int, _Function]:
    """The start of the function at a place in the image, and the function."""
    found = last_entry(table, _ENTRY, place, read)
    if found is None:
        raise KeyError(place)
    start, information = found
    if information & 3:
        return start, _packed(information)
    return start, _full(table.base + information, read)


# ---- full information ----------------------------------------------------------------


def _full(at: int, read: Memory) -> _Function:
    (head,) = _WORD.unpack(read(at, _WORD.size))
    count, words = head >> 22 & 31, head >> 27
    at += _WORD.size
    if not count and not words:
        (more,) = _WORD.unpack(read(at, _WORD.size))
        count, words = more & 0xFFFF, more >> 16 & 0xFF
        at += _WORD.size
    size = (head & 0x3FFFF) * _INSTRUCTION
    is_one = bool(head >> 21 & 1)  # epilogue, at the end
    scopes = [] if is_one else list(_WORD.iter_unpack(read(at, count * _WORD.size)))
    codes = read(at + len(scopes) * _WORD.size, words * _WORD.size)
    if is_one:
        last = list(_operations(codes, count))
        epilogues = [(size - (len(last) + 1) * _INSTRUCTION, last)]
    else:
        epilogues = [
            ((scope & 0x3FFFF) * _INSTRUCTION, list(_operations(codes, scope >> 22)))
            for (scope,) in scopes
        ]
    return _Function(size, list(_operations(codes, 0)), epilogues)


_END = frozenset({0xE4, 0xE5})
_TWO_BYTES = range(0xC0, 0xE0)
_SIZES = {0xE0: 4, 0xE2: 2}  # of other codes that have more than a byte


def _operations(codes: bytes, at: int) -> Iterator[_Undo]:
    """The operations from a code to the end."""
    while at < len(codes) and codes[at] not in _END:
        first = codes[at]
        size = _SIZES.get(first, 2 if first in _TWO_BYTES else 1)
        yield _operation(first, int.from_bytes(codes[at : at + size], "big"))
        at += size


def _operation(first: int, code: int) -> _Undo:
    """An operation by its first byte, and all bytes, the highest first.

    Raises:
        KeyError: It is one of the system alone, or of vectors without fixed size.
    """
    if first in _SPECIAL:
        return _SPECIAL[first](code)
    if first > _SAVE_NUMBER_DOWN:
        raise KeyError(first)
    find = next(find for low, find in _FORMS if first >= low)
    return find(code)


def _pair(register: int, at: int) -> _Undo:
    return _Undo((register, register + 1), at)


_SPECIAL: dict[int, Callable[[int], _Undo]] = {
    0xE0: lambda code: _Undo(frees=16 * (code & 0xFFFFFF)),
    0xE1: lambda _: _Undo(from_frame=0),
    0xE2: lambda code: _Undo(from_frame=8 * (code & 0xFF)),
    0xE3: lambda _: _Undo(),
    0xE6: lambda _: _Undo(follows=True),
    0xFC: lambda _: _Undo(),  # signs the link register
}
_SAVE_NUMBER_DOWN = 0xDE
# By the lowest first byte. Those that end with DOWN move the stack pointer as well.
_FORMS: tuple[tuple[int, Callable[[int], _Undo]], ...] = (
    (_SAVE_NUMBER_DOWN, lambda code: _Undo(frees=8 * (code & 31) + 8)),
    (0xDC, lambda _: _Undo()),
    (0xDA, lambda code: _Undo(frees=8 * (code & 63) + 8)),
    (0xD8, lambda _: _Undo()),
    (
        0xD6,  # with the link register
        lambda code: _Undo((_FIRST + 2 * (code >> 6 & 7), _LINK), 8 * (code & 63)),
    ),
    (0xD4, lambda code: _Undo((_FIRST + (code >> 5 & 15),), frees=8 * (code & 31) + 8)),
    (0xD0, lambda code: _Undo((_FIRST + (code >> 6 & 15),), 8 * (code & 63))),
    (
        0xCC,
        lambda code: _pair(_FIRST + (code >> 6 & 15), 0)._replace(
            frees=8 * (code & 63) + 8
        ),
    ),
    (0xC8, lambda code: _pair(_FIRST + (code >> 6 & 15), 8 * (code & 63))),
    (0xC0, lambda code: _Undo(frees=16 * (code & 0x7FF))),
    (0x80, lambda code: _pair(_FRAME, 0)._replace(frees=8 * (code & 63) + 8)),
    (0x40, lambda code: _pair(_FRAME, 8 * (code & 63))),
    (0x20, lambda code: _pair(_FIRST, 0)._replace(frees=8 * (code & 31))),
    (0x00, lambda code: _Undo(frees=16 * (code & 31))),
)

# ---- packed information --------------------------------------------------------------

# Of what an entry has: the lowest bit and the number of bits.
_SIZE, _NUMBERS, _INTEGERS, _HOMES, _KIND, _FRAME_SIZE = (
    *((2, 11), (13, 3), (16, 4), (20, 1)),
    *((21, 2), (23, 9)),
)
_WITH_PROLOGUE = 1


def _packed(entry: int) -> _Function:
    """The function of an entry without further information."""
    size, numbers, integers, homes, kind, frame = (
        entry >> low & (1 << count) - 1
        for low, count in (_SIZE, _NUMBERS, _INTEGERS, _HOMES, _KIND, _FRAME_SIZE)
    )
    saved = list(range(_FIRST, _FIRST + integers))
    if kind == _LINK_IN_PAIR:
        saved.append(_LINK)
    numbers = numbers + 1 if numbers else 0
    places = 8 * (len(saved) + numbers + 8 * homes)
    area = (places + 15) & -16
    # The first instruction that saves also allocates. Those that save the arguments
    # are in no epilogue.
    stores = [_Undo(tuple(saved[at : at + 2]), 8 * at) for at in _steps(len(saved))]
    if kind == _LINK_IN_PAIR and integers and not integers % 2:
        stores[-1] = _Undo((_LINK,), 8 * integers)
    stores += [_Undo() for _ in _steps(numbers)]
    count = len(stores)
    stores += [_Undo()] * 4 * homes
    if stores:
        stores[0] = stores[0]._replace(frees=area)
    is_chained = kind in {_CHAINED, _SIGNED}
    frames = _locals(16 * frame - area, is_chained=is_chained)
    signs = [_Undo()] if kind == _SIGNED else []
    prologue = [*signs, *stores, *frames][::-1]
    whole = 4 * size
    if entry & 3 != _WITH_PROLOGUE:
        return _Function(whole, prologue, [], has_prologue=False)
    stores = stores[: count or homes]
    epilogue = [*signs, *stores, *frames[: len(frames) - is_chained]][::-1]
    start = whole - (len(epilogue) + 1) * _INSTRUCTION
    return _Function(whole, prologue, [(start, epilogue)])


def _steps(count: int) -> range:
    return range(0, count, 2)


def _locals(size: int, *, is_chained: bool) -> list[_Undo]:
    """Operations for the instructions that allocate, in the order of these."""
    pair = _Undo((_FRAME, _LINK))
    if is_chained and size <= _MAX_PAIR:
        return [pair._replace(frees=size), _Undo(from_frame=0)]
    sizes = (
        [size] if size <= _MAX_ALLOCATED else [_MAX_ALLOCATED, size - _MAX_ALLOCATED]
    )
    allocated = [_Undo(frees=each) for each in sizes if each]
    return [*allocated, pair, _Undo(from_frame=0)] if is_chained else allocated
