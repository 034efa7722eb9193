"""Frames of Windows on x86-64 by `.pdata` and `.xdata`: from a frame to its caller.

Source: Microsoft, x64 exception handling.
"""

from __future__ import annotations

from bisect import bisect_right
from struct import Struct

from gsym.containers.headers import read_pe_headers
from gsym.errors import FormatError
from gsym.model import UINT64_MAX
from gsym.records import NamedTuple
from gsym.unwinding.expressions import unless_damaged
from gsym.unwinding.frame_info import Step
from gsym.unwinding.images import Image

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.unwinding.images import Memory

_MACHINES = frozenset({0x8664, 0xAA64})  # x86-64, AArch64
_EXCEPTIONS = 3  # of the data directories
_ENTRY = Struct("<III")  # start, end, unwind information
_WORD = 8
_CHAINED = 4
_MAX_CHAIN = 32
# By their numbers in the processor: those of DWARF.
REGISTERS = (0, 2, 1, 3, 7, 6, 4, 5, *range(8, 16))
_STACK = 7
PUSH, _ALLOCATE_LARGE, ALLOCATE, SET_FRAME, SAVE, _SAVE_FAR = range(6)
INTERRUPTED = 10
# Words of 2 bytes that follow the code of an operation; a large allocation may have 2.
_FOLLOWING = {_ALLOCATE_LARGE: 1, SAVE: 1, _SAVE_FAR: 2, 6: 1, 7: 2, 8: 1, 9: 2}
_MAX_EPILOGUE = 64
_PAGE = 4096  # of addresses at which programs are loaded


class PeTable(NamedTuple):
    """The functions of a program: where it is linked, the table, and its size."""

    base: int
    start: int
    size: int


class Operation(NamedTuple):
    """A step of a prologue, by an instruction."""

    offset: int  # the offset of the next instruction in the function
    # `PUSH`, `ALLOCATE`, `SET_FRAME`, `SAVE`, or `INTERRUPTED`, which the processor did
    # instead
    kind: int
    register: int  # the register, by its number in the processor
    # bytes that it allocated, or where it saved the register; in an interrupted
    # function, where what the processor saved begins
    number: int


class UnwindPart(NamedTuple):
    """Unwind information of a function."""

    size: int  # bytes of the prologue
    frame: int  # the frame pointer, by its number in the processor; 0 for none
    frame_offset: int  # what it is above the stack pointer when it is set
    operations: tuple[Operation, ...]  # what the prologue does, the last one first


def pe_image(data: memoryview) -> tuple[Image, PeTable | None]:
    """The image of a PE file of x86-64 or AArch64, and its functions, or none."""
    try:
        headers = read_pe_headers(data, "")
    except FormatError:
        return Image(), None
    if headers.machine not in _MACHINES:
        return Image(), None
    table = None
    if len(headers.directories) > _EXCEPTIONS:
        table = PeTable(headers.base, *headers.directories[_EXCEPTIONS])
    return Image(headers.segments), table


@unless_damaged
def step_by_pe(
    table: PeTable, pc: int, values: dict[int, int], read: Memory, memory: Memory
) -> Step | None:
    """The registers in the caller of the function at *pc*; None if unknown."""
    return _Unwinding(table, values, read, memory).step(pc)


class _Unwinding:
    def __init__(
        self, table: PeTable, values: dict[int, int], read: Memory, memory: Memory
    ) -> None:
        self._table = table
        self._base = table.base
        self._values = dict(values)
        self._read = read
        self._memory = memory
        self._is_interrupted = False

    def step(self, pc: int) -> Step:
        """The registers in the caller.

        Raises:
            StructError: The tables or the stack are cut.
            KeyError: A register is not known, or the function.
        """
        place = pc - self._base
        found = last_entry(self._table, _ENTRY, place, self._read)
        start, end, information = found or (0, 0, 0)
        if place >= end and (self._values[16] - pc) % _PAGE:
            raise KeyError(pc)  # a caller has an entry
        if place < end:
            inside = place - start
            size = self._read(self._base + information + 1, 1)
            if not size or inside < size[0] or not self._run_epilogue(information):
                self._undo(information, inside)
        back = self._values.pop(16) if self._is_interrupted else self._pop()
        return Step(back, self._values, is_signal=self._is_interrupted)

    def _load(self, address: int) -> int:
        held = self._memory(address & UINT64_MAX, _WORD)
        if len(held) < _WORD:
            raise KeyError(address)
        return int.from_bytes(held, "little")

    def _pop(self) -> int:
        stack = self._values[_STACK]
        self._values[_STACK] = stack + _WORD & UINT64_MAX
        return self._load(stack)

    def _undo(self, information: int, inside: int) -> None:
        """Undo what the code has done before an offset in its function."""
        for part in unwind_parts(self._read, self._base, information):
            is_set = any(
                each.kind == SET_FRAME and each.offset <= inside
                for each in part.operations
            )
            base = self._values[_STACK]
            if part.frame and (is_set or inside >= part.size):
                base = self._values[REGISTERS[part.frame]] - part.frame_offset
            for each in part.operations:
                if each.offset <= inside:
                    self._undo_code(each, base)
            inside = UINT64_MAX  # the code before is that of another part

    def _undo_code(self, operation: Operation, base: int) -> None:
        values = self._values
        _, kind, register, number = operation
        if kind == PUSH:
            values[REGISTERS[register]] = self._pop()
        elif kind == ALLOCATE:
            values[_STACK] += number
        elif kind == SET_FRAME:
            values[_STACK] = base
        elif kind == SAVE:
            values[REGISTERS[register]] = self._load(base + number)
        elif kind == INTERRUPTED:
            stack = values[_STACK] + number
            values[16], values[_STACK] = self._load(stack), self._load(stack + 24)
            self._is_interrupted = True

    def _run_epilogue(self, information: int) -> bool:
        """Run the rest of an epilogue; False where the code is none."""
        code = self._memory(self._values[16], _MAX_EPILOGUE)
        (frame,) = self._read(self._base + information + 3, 1) or b"\0"
        values, at = dict(self._values), 0
        stack = values[_STACK]
        if code[:3] == b"\x48\x83\xc4":
            stack, at = stack + int.from_bytes(code[3:4], "little", signed=True), 4
        elif code[:3] == b"\x48\x81\xc4":
            stack, at = stack + int.from_bytes(code[3:7], "little", signed=True), 7
        elif frame & 0xF and code[:1] in {b"\x48", b"\x49"} and code[1:2] == b"\x8d":
            # LEA RSP, [frame pointer + constant]
            modes = int.from_bytes(code[2:3], "little")
            base = values[REGISTERS[frame & 0xF]]
            size = {0x60: 1, 0xA0: 4}.get(modes & 0xF8)
            if size is None or modes & 7 != frame & 7:
                return False
            stack = base + int.from_bytes(code[3 : 3 + size], "little", signed=True)
            at = 3 + size
        while True:
            high = code[at : at + 1] == b"\x41"
            opcode = code[at + high : at + high + 1]
            if not b"\x58" <= opcode <= b"\x5f":
                break
            register = opcode[0] - 0x58 + 8 * high
            values[REGISTERS[register]] = self._load(stack)
            stack, at = stack + 8, at + 1 + high
        rest = code[at : at + 3]
        # RET; JMP to another function.
        if rest[:1] not in {b"\xc3", b"\xc2"} and rest[:2] != b"\xf3\xc3":
            is_jump = rest[:1] in {b"\xe9", b"\xeb"} or rest[:2] == b"\xff\x25"
            if not (at and is_jump) and rest[:2] != b"\x48\xff":
                return False
        values[_STACK] = stack
        self._values = values
        return True


def last_entry(
    table: PeTable, entry: Struct, place: int, read: Memory
) -> tuple[int, ...] | None:
    """The last entry of a function that does not start after a place in the image."""

    def at(number: int) -> tuple[int, ...]:
        address = table.base + table.start + number * entry.size
        return entry.unpack(read(address, entry.size))

    numbers = range(table.size // entry.size)
    after = bisect_right(numbers, place, key=lambda number: at(number)[0])
    return at(after - 1) if after else None


def functions_of(table: PeTable, read: Memory) -> Iterator[tuple[int, int, int]]:
    """Start, end and unwind information of each function, in the image."""
    data = read(table.base + table.start, table.size)
    return _ENTRY.iter_unpack(data[: len(data) - len(data) % _ENTRY.size])


def unwind_parts(read: Memory, base: int, information: int) -> Iterator[UnwindPart]:
    """The unwind information of a function, then that of what it continues.

    Raises:
        StructError: It is cut.
    """
    for _ in range(_MAX_CHAIN):
        head = read(base + information, 4)
        flags, size, count, frame = Struct("<4B").unpack(head)
        codes = read(base + information + 4, 2 * count)
        words = Struct(f"<{count}H").unpack(codes)
        offset = 16 * (frame >> 4)
        yield UnwindPart(size, frame & 0xF, offset, tuple(_operations(words)))
        if not flags >> 3 & _CHAINED:
            return
        place = base + information + 4 + 2 * (count + count % 2)
        _, _, information = _ENTRY.unpack(read(place, _ENTRY.size))


def _operations(words: tuple[int, ...]) -> Iterator[Operation]:
    """The steps of codes that change registers of a caller."""
    at = 0
    while at < len(words):
        offset, kind, operand = words[at] & 0xFF, words[at] >> 8 & 0xF, words[at] >> 12
        is_long = kind == _ALLOCATE_LARGE and operand
        following = words[at + 1 : at + 1 + (2 if is_long else _FOLLOWING.get(kind, 0))]
        at += 1 + (2 if is_long else _FOLLOWING.get(kind, 0))
        number = sum(each << 16 * place for place, each in enumerate(following))
        if kind == _ALLOCATE_LARGE:
            yield Operation(offset, ALLOCATE, 0, number if is_long else 8 * number)
        elif kind in {SAVE, _SAVE_FAR}:
            number *= 8 if kind == SAVE else 1
            yield Operation(offset, SAVE, operand, number)
        elif kind in {PUSH, SET_FRAME, ALLOCATE, INTERRUPTED}:
            yield Operation(offset, kind, operand, 8 * operand + 8 * (kind == ALLOCATE))
