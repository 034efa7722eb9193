"""Frames of Go by its table of functions (`.gopclntab`), which stripping leaves there.

For each function it has the bytes that are on the stack at each address (pcsp).
"""

from __future__ import annotations

from bisect import bisect_right
from functools import partial

from gsym.engine.native import zero_ended
from gsym.records import NamedTuple
from gsym.unwinding.expressions import ByteReader, DamagedError, unless_damaged
from gsym.unwinding.frame_info import Step
from gsym.unwinding.machines import AARCH64, POWER64, POWER64_LITTLE, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Mapping

    from gsym.containers.object_file import ObjectFile
    from gsym.unwinding.images import Memory

_SECTIONS = (".gopclntab", ".data.rel.ro.gopclntab")
_MODULE_SECTIONS = (b".go.module", b".noptrdata", b".data.rel.ro", b".data")
_TEXT_WORD = 22  # of the data of a module, which begin with the table and its names
_GO_1_16, _GO_1_18, _GO_1_20 = 0xFFFFFFFA, 0xFFFFFFF0, 0xFFFFFFF1
_MAX_FUNCTIONS = 1 << 26
_MAX_STEPS = 1 << 13  # of the table of a function
_OUTERMOST, _MOVES_STACK = 1, 2  # flags of a function

_PANIC = b"runtime.sigpanic"  # its caller did not call it, but was interrupted
_PANIC_SIZES = {AARCH64: 16, POWER64: 32, POWER64_LITTLE: 32}
_HANDLER = b"runtime.sigtramp"  # returns to the trampoline of the system


class _Function(NamedTuple):
    """A function: its start, the place of its table, its name and its flags."""

    start: int
    table: int
    name: int
    flags: int


class GoTable(NamedTuple):
    """A table of functions; *text* is where code starts, if the table does not say."""

    data: bytes | memoryview
    text: int


def go_table(file: ObjectFile, loaded: Mapping[str, int]) -> GoTable | None:
    """The table of functions of a file; None if it has none."""
    name = next((each for each in _SECTIONS if each in loaded), "")
    data = file.section(name.encode()) if name else None
    if data is None:
        return None
    order, word = file.byteorder, 8 if file.is_64 else 4
    head = ByteReader(bytes(data[:80]), word, order)
    try:
        is_old = head.fixed(4) == _GO_1_16
        head.take(4 + (2 if is_old else 3) * word)
        names = head.fixed(word)
    except DamagedError:
        return None
    start = loaded[name].to_bytes(word, order)
    start += (loaded[name] + names).to_bytes(word, order)
    for each in _MODULE_SECTIONS:
        held = bytes(file.section(each) or b"")
        at = held.find(start)
        if at >= 0:
            text = held[at + _TEXT_WORD * word :][:word]
            return GoTable(data, int.from_bytes(text, order))
    return GoTable(data, loaded.get(".text", 0))


class GoFrames:
    """The frames of a program of Go, by link-time addresses.

    Raises:
        DamagedError: It has no header of a version that is known (Go 1.16 and later).
    """

    def __init__(self, machine: Machine, table: GoTable) -> None:
        self._machine = machine
        self._data = table.data
        word = machine.word
        head = self._at(0, 8 + 8 * word)
        self._magic = head.fixed(4)
        if self._magic not in {_GO_1_16, _GO_1_18, _GO_1_20}:
            raise DamagedError
        head.take(2)
        self._quantum = head.byte()
        if head.byte() != word:
            raise DamagedError
        self._count = head.fixed(word)
        head.fixed(word)
        self._base = 0
        if self._magic != _GO_1_16:
            # A position-independent program has it where it is relocated.
            self._base = head.fixed(word) or table.text
        self._names = head.fixed(word)
        head.take(2 * word)
        self._values = head.fixed(word)
        self._functions = head.fixed(word)
        # Of a number in the table of functions.
        self._size = word if self._magic == _GO_1_16 else 4
        if self._count > _MAX_FUNCTIONS:
            raise DamagedError

    @unless_damaged
    def step(self, pc: int, values: dict[int, int], memory: Memory) -> Step | None:
        """The registers in the caller of the function at *pc*; None if unknown."""
        machine = self._machine
        function = self._function(pc)
        size = None if function is None else self._on_stack(function, pc)
        if function is None or size is None or function.flags & _MOVES_STACK:
            return None
        name = zero_ended(self._data[self._names + function.name :][:32])
        if function.flags & _OUTERMOST and name != _HANDLER:
            return Step(0, values, is_signal=False)
        word, stack = machine.word, values.get(machine.stack, 0)
        load = partial(machine.load, memory)
        if machine.link is None:
            back, frame = load(stack + size), stack + size - word
            outer = stack + size + word
        else:
            back = load(stack) if size else values.get(machine.link)
            frame, outer = stack - word, stack + size
        if back is None:
            return None
        known = {**values, machine.stack: outer}
        if size and (pushed := load(frame)) is not None:
            known[machine.frame] = pushed
        if name == _PANIC and machine.link is not None:
            # The interrupted function may have its link register nowhere else.
            known[machine.link] = load(outer) or 0
            known[machine.stack] = outer + _PANIC_SIZES.get(machine, word)
        return Step(back, known, is_signal=name == _PANIC)

    def _at(self, place: int, size: int) -> ByteReader:
        held = bytes(self._data[place : place + size])
        return ByteReader(held, self._machine.word, self._machine.order)

    def _entry(self, number: int) -> tuple[int, int]:
        """The start and the place of a function, by its number."""
        size = self._size
        read = self._at(self._functions + 2 * size * number, 2 * size)
        return self._base + read.fixed(size), self._functions + read.fixed(size)

    def _function(self, pc: int) -> _Function | None:
        numbers = range(self._count)
        after = bisect_right(numbers, pc, key=lambda each: self._entry(each)[0])
        if not after:
            return None
        start, place = self._entry(after - 1)
        # Words of 4 bytes: name, arguments, deferreturn, pcsp, pcfile, pcln, their
        # number, unit, and, since Go 1.20, the line of the function.
        read = self._at(place + self._size, 48)
        name = read.fixed(4)
        read.take(8)
        table = read.fixed(4)
        read.take(16 + 4 * (self._magic == _GO_1_20) + 1)
        return _Function(start, table, name, read.byte()) if table else None

    def _on_stack(self, function: _Function, pc: int) -> int | None:
        """Bytes that the function has on the stack at *pc*."""
        read = self._at(self._values + function.table, 3 * _MAX_STEPS)
        at, value = function.start, -1
        for number in range(_MAX_STEPS):
            step = read.leb()
            if not step and number:
                return None
            value += -(step >> 1) - 1 if step & 1 else step >> 1
            at += read.leb() * self._quantum
            if pc < at:
                return max(value, 0)
        return None
