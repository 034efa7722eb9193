"""Stacks in saved memory: from the registers of a thread to its callers.

The caller of a frame is found by the first of these that leads to code: the registers
that a signal handler's trampoline restores, call frame information, the return address
where the program counter is in no code or a function has just been called, frame
pointers, and, where that is asked for, the values on the stack.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache, partial
from struct import Struct

from gsym.model import UINT64_MAX
from gsym.records import NamedTuple

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gsym.unwinding.frame_info import Row, Step
    from gsym.unwinding.images import Memory
    from gsym.unwinding.machines import Machine, Trampoline

THUMB = 1 << 5
"""Bit of the status register of ARM while instructions of 16 bits run."""


class Registers(NamedTuple):
    """Registers of a thread; *values* by their numbers in DWARF.

    *is_thumb*: an ARM runs instructions of 16 bits.
    """

    pc: int
    values: dict[int, int]
    is_thumb: bool = False


class WalkedFrame(NamedTuple):
    """An address in a stack, and how it was found; see `ReportFrame.trust`."""

    address: int
    trust: str
    is_return: bool


class WalkedStack(NamedTuple):
    """A stack, innermost frame first."""

    frames: list[WalkedFrame]  # the frames, except those that are left out
    left_out: int = 0  # number of frames that are left out
    left_out_at: int = 0  # index of the frame before which they are
    # where all that are left out repeat those before: how many frames make a repeat;
    # else 0
    period: int = 0
    end: str = ""  # why it ends before the outermost frame; "" if it does not


# Limit: Frames of a thread that are shown from each end of its stack
MAX_SHOWN = 512
# Limit: Frames of a thread of a process or core that are walked
_MAX_FRAMES = 1 << 20
_MAX_STEP = 64 << 20  # bytes between frame records
# Words of a stack that are scanned for a caller, as many as Breakpad scans.
_MAX_SCANNED = {"context": 160}
_SCANNED = 40
_MAX_PROLOGUE = _PAGE = 4096  # bytes of code before an address
_MAX_PERIOD = 64
_MOST_KNOWN = 1 << 16  # addresses of which it is kept whether they are of code
_MAX_ENTRY = 256  # bytes of the first function of a program
_MAX_LAYOUTS = 16  # of stacks that begin at one address

_Found = tuple[WalkedFrame, Registers]


class Walker:
    """Walks stacks.

    Args:
        machine: What the program ran on.
        memory: Its memory.
        is_code: Whether an address is one of code.
        step: The registers in the caller of the function at an address, by call frame
            information; None if there is none.
        scans: Whether to scan the stack where nothing else finds the caller.

    Attributes:
        machine, memory: As given.
        budget: Frames that may still be walked, in all stacks.
        entry: Where the program starts; 0 if unknown. That code has no caller.
    """

    def __init__(
        self,
        machine: Machine,
        memory: Memory,
        is_code: Callable[[int], bool],
        step: Callable[[int, dict[int, int]], Step | None] = lambda _pc, _values: None,
        *,
        scans: bool = False,
    ) -> None:
        self.machine = machine
        self.memory = memory
        self._is_code = lru_cache(_MOST_KNOWN)(is_code)
        self._step = step
        self._scans = scans
        self.budget: int = _MAX_FRAMES
        self.entry = 0
        self._load = partial(machine.load, memory)
        order = {"little": "<", "big": ">"}[machine.order]
        form = {4: "I", 8: "Q"}[machine.word]
        self._word, self._record = Struct(order + form), Struct(f"{order}2{form}")
        self._end = ""
        self._trampolines: dict[int, Trampoline | None] = {}
        # The frames of return addresses, by address and trust.
        self._returns: dict[tuple[int, str], WalkedFrame | None] = {}
        self._steps: list[Step] = []  # of the stack that is walked
        # By the address at which they begin, and is_after of `walk`
        self._layouts: dict[tuple[int, bool], list[_StackLayout]] = {}

    def walk(self, registers: Registers, *, is_after: bool = False) -> WalkedStack:
        """The stack of a thread.

        Args:
            registers: Those of the thread.
            is_after: Whether the program counter is after the instruction at which it
                stopped, as for a breakpoint in the code of x86.
        """
        known = self._layouts.setdefault((registers.pc, is_after), [])
        for layout in known:
            size = len(layout.stack.frames)
            if size <= self.budget and layout.fits(registers, self.memory):
                self.budget -= size
                return layout.stack
        self._steps.clear()
        walked = self._walk(registers, is_after=is_after)
        is_stepped = len(self._steps) == len(walked.frames) and not walked.end
        if is_stepped and len(known) < _MAX_LAYOUTS:
            found = _stack_layout(self.machine, registers, self._steps, walked)
            if found is not None:
                known.append(found)
        return walked

    def _walk(self, registers: Registers, *, is_after: bool) -> WalkedStack:
        first: list[WalkedFrame] = []
        last: deque[WalkedFrame] = deque(maxlen=MAX_SHOWN)
        seen: set[tuple[int, int]] = set()
        found: _Found | None = (
            WalkedFrame(registers.pc, "context", is_return=is_after),
            registers,
        )
        count = period = left_out = 0
        self._end = ""
        while found is not None:
            frame, registers = found
            place = frame.address, registers.values.get(self.machine.stack, 0)
            if place in seen:
                self._end = f"the caller of {frame.address:#x} would be itself"
                break
            if not self.budget or count == _MAX_FRAMES:
                self._end = f"only {count} frames are walked"
                break
            seen.add(place)
            self.budget -= 1
            count += 1
            if len(first) < MAX_SHOWN:
                first.append(frame)
                if len(first) == MAX_SHOWN:
                    period = _period(first)
            else:
                if len(last) == MAX_SHOWN:
                    repeated = first[left_out % period - period] if period else None
                    if repeated is None or repeated.address != last[0].address:
                        period = 0
                    left_out += 1
                last.append(frame)
            found = self._caller(frame, registers)
        return WalkedStack(
            *([*first, *last], left_out, len(first)),
            *(period if left_out else 0, self._end),
        )

    def _caller(self, frame: WalkedFrame, registers: Registers) -> _Found | None:
        values, machine = registers.values, self.machine
        if machine.pc >= 0:
            values = {**values, machine.pc: frame.address}
        trampoline = self._trampoline(frame.address)
        found = None if trampoline is None else self._restored(trampoline, values)
        if found is not None:
            return found
        has_code = self._is_code(frame.address - frame.is_return)
        step = self._step(frame.address - frame.is_return, values) if has_code else None
        if step is not None and step.pc is not None and self._is_sure(step.pc, step):
            self._steps.append(step)
            return self._stepped(step.pc, step)
        found = (
            self._just_called(frame, values, has_code=has_code)
            or self._by_back_chain(values)
            or self._by_frame_pointer(values)
            or (self._scanned(frame, values) if self._scans else None)
        )
        is_outermost = 0 <= frame.address - self.entry < _MAX_ENTRY or (
            frame.is_return and self._is_outermost(values)
        )
        if found is None and not is_outermost:
            stack = values.get(machine.stack, 0)
            what = "call frame information" if has_code else "code"
            self._end = f"there is no {what} at {frame.address:#x}"
            if len(self.memory(stack, machine.word)) < machine.word:
                self._end = f"the stack at {stack:#x} is not known"
        return found

    def _is_sure(self, pc: int, step: Step) -> bool:
        """Whether a step, if it is not by call frame information, is to a caller."""
        if step.trust != "prologue":
            return True
        if self.machine.link is None:
            return self._is_after_call(pc)
        return self._is_code(self._address(pc) - 1)

    def _stepped(self, pc: int, step: Step) -> _Found | None:
        """The frame to which call frame information, or its like, leads."""
        trust = step.trust
        if step.is_signal:
            found = WalkedFrame(pc, trust, is_return=False)
            return found, Registers(pc, step.values)
        if not pc:
            return None  # it was the outermost one
        returned = self._returned(pc, trust, step.values)
        if returned is None:
            self._end = f"its caller would be at {pc:#x}, where no code is"
        return returned

    def _is_outermost(self, values: dict[int, int]) -> bool:
        """Whether the frame pointer, or its record, says that there is no caller."""
        machine = self.machine
        if machine.back_chain is not None:
            return self._load(values.get(machine.stack, 0)) == 0
        frame, stack = values.get(machine.frame, 0), values.get(machine.stack, 0)
        if not stack <= frame < stack + _MAX_STEP:
            return frame == 0  # another value is in the register
        return self._load(frame + (machine.record_at + 1) * machine.word) == 0

    def _address(self, pc: int) -> int:
        """The address in a return address, which may be signed or have a mode."""
        if self.machine.has_modes:
            return pc & ~1
        if not self._is_code(pc - 1):
            return pc & ~self.machine.signature
        return pc

    def _returned(
        self, pc: int | None, trust: str, values: dict[int, int]
    ) -> _Found | None:
        """The frame of a return address, if it is one of code."""
        if pc is None:
            return None
        known = pc, trust
        if known not in self._returns:
            pc = self._address(pc)
            is_return = self._trampoline(pc) is None
            is_frame = not is_return or self._is_code(pc - 1)
            found = WalkedFrame(pc, trust, is_return) if is_frame else None
            self._returns[known] = found
        frame = self._returns[known]
        return None if frame is None else (frame, Registers(frame.address, values))

    def _trampoline(self, pc: int) -> Trampoline | None:
        """The code at an address, if the handler of a signal returns to it.

        It may be where no other code is: on the stack.
        """
        if pc not in self._trampolines:
            trampolines = self.machine.trampolines
            size = max((len(each.code) for each in trampolines), default=0)
            code = self.memory(pc, size)
            found = (each for each in trampolines if code.startswith(each.code))
            self._trampolines[pc] = next(found, None)
        return self._trampolines[pc]

    def _restored(
        self, trampoline: Trampoline, values: dict[int, int]
    ) -> _Found | None:
        at: int | None = values.get(self.machine.stack, 0)
        for each in trampoline.pointers:
            at = self._load((at or 0) + each)
            if at is None:
                return None
        start = (at or 0) + trampoline.at
        link = trampoline.link
        last = max(trampoline.pc, *trampoline.registers, link or 0)
        held = self.memory(start & UINT64_MAX, last + self._word.size)
        if len(held) < last + self._word.size:
            return None
        (pc,) = self._word.unpack_from(held, trampoline.pc)
        restored = {
            number: self._word.unpack_from(held, place)[0]
            for number, place in enumerate(trampoline.registers)
        }
        if link is not None and self.machine.link is not None:
            (restored[self.machine.link],) = self._word.unpack_from(held, link)
        found = WalkedFrame(pc, "signal frame", is_return=False)
        return found, Registers(pc, restored)

    def _just_called(
        self, frame: WalkedFrame, values: dict[int, int], *, has_code: bool
    ) -> _Found | None:
        """The caller of a function that has done nothing yet, or of no function."""
        machine = self.machine
        if frame.is_return and has_code:
            return None
        if machine.link is not None:
            if has_code and self._has_saved_link(frame.address):
                return None
            return self._returned(values.get(machine.link), "link register", values)
        stack = values.get(machine.stack, 0)
        above = 0
        if has_code:
            found = self._pushed(frame.address)
            if found is None:
                return None
            above = found
        back = self._load(stack + above * machine.word)
        if back is None or (has_code and not self._is_after_call(back)):
            return None
        known = {**values, machine.stack: stack + (above + 1) * machine.word}
        if above:
            known[machine.frame] = self._load(stack) or 0
        return self._returned(back, "return address", known)

    def _before(self, pc: int) -> bytes:
        """The code before an address, as much as is known of some sizes."""
        for size in (_MAX_PROLOGUE, pc % _PAGE, 256, 64, 16):
            code = self.memory((pc - size) & UINT64_MAX, size)
            if size and len(code) == size:
                return code
        return b""

    def _pushed(self, pc: int) -> int | None:
        """Words that a function of x86 has pushed; None if it has a frame pointer.

        It is known by its first instructions alone.
        """
        code = self._before(pc)
        ahead = code + self.memory(pc, 4)
        starts = self.machine.prologues
        at = max((ahead.rfind(each) for each in starts), default=-1)
        if at < 0 or at < code.rfind(b"\xc3"):
            return 0
        inside = len(code) - at
        return {0: 0, 1: 1}.get(inside) if inside < len(starts[0]) else None

    def _is_after_call(self, address: int) -> bool:
        """Whether the instruction of x86 before an address is a call."""
        code = self.memory((address - 7) & UINT64_MAX, 7)
        if len(code) < 7 or not self._is_code(address - 1):  # noqa: PLR2004
            return False
        if code[-5] == 0xE8:  # noqa: PLR2004 - CALL rel32
            return True
        # CALL r/m: FF /2, of 2 to 7 bytes.
        return any(
            code[-size] == 0xFF and code[1 - size] & 0x38 == 0x10  # noqa: PLR2004
            for size in (2, 3, 4, 6, 7)
        )

    def _has_saved_link(self, pc: int) -> bool:
        """Whether the code before an address saves the link register."""
        unit, saves, returns = self.machine.link_saves
        code = self._before(pc)
        order = self.machine.order
        for at in range(len(code) - unit, -1, -unit):
            value = int.from_bytes(code[at : at + unit], order)
            if any(value & mask == each for mask, each in saves):
                return True
            if any(value & mask == each for mask, each in returns):
                return False
        return False

    def _by_back_chain(self, values: dict[int, int]) -> _Found | None:
        """The caller where the word at each stack pointer is that of the caller."""
        machine = self.machine
        if machine.back_chain is None:
            return None
        stack = values.get(machine.stack, 0)
        outer = self._load(stack)
        if outer is None or not stack < outer < stack + _MAX_STEP:
            return None
        pc = self._load(outer + machine.back_chain * machine.word)
        known = {machine.stack: outer}
        return self._returned(pc, "frame pointer", known)

    def _by_frame_pointer(self, values: dict[int, int]) -> _Found | None:
        machine = self.machine
        stack = values.get(machine.stack, 0)
        at = values.get(machine.frame, 0) + machine.record_at * machine.word
        if not stack <= at < stack + _MAX_STEP or at % machine.word:
            return None
        held = self.memory(at, self._record.size)
        if len(held) < self._record.size:
            return None
        following, pc = self._record.unpack(held)
        known = {machine.stack: at + self._record.size, machine.frame: following}
        return self._returned(pc, "frame pointer", known)

    def _scanned(self, frame: WalkedFrame, values: dict[int, int]) -> _Found | None:
        """The next value on the stack that is an address of code."""
        stack = values.get(self.machine.stack, 0)
        size = self._word.size
        held = self.memory(stack, _MAX_SCANNED.get(frame.trust, _SCANNED) * size)
        whole = held[: len(held) - len(held) % size]
        for number, (value,) in enumerate(self._word.iter_unpack(whole)):
            if self._is_code(value - 1):
                known = {**values, self.machine.stack: stack + (number + 1) * size}
                return self._returned(value, "scan", known)
        return None


def _period(frames: list[WalkedFrame]) -> int:
    """Number of frames at the end that repeat those before them; 0 for none."""
    addresses = [each.address for each in frames]
    for period in range(1, _MAX_PERIOD + 1):
        repeats = addresses[-period:]
        if addresses[-3 * period :] == 3 * repeats:
            return period
    return 0


# ---- equal stacks --------------------------------------------------------------------

# Most threads of a program wait in the same place. If the saved registers of a frame
# are at fixed distances from the stack pointer, a stack has the frames of another one
# when its return addresses are equal and its frame pointers are as far from the stack
# pointer.
_MAX_LAYOUT = 1 << 14  # bytes of a stack

_Value = tuple[bool, int]  # whether it counts from the stack pointer; the value


class _StackLayout(NamedTuple):
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


def _stack_layout(
    machine: Machine, registers: Registers, steps: Iterable[Step], stack: WalkedStack
) -> _StackLayout | None:
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
        if not 0 <= place - end <= _MAX_LAYOUT:
            return None
        form += f"{place - end}x" + {4: "I", 8: "Q"}[machine.word]
        end = place + machine.word
    return _StackLayout(
        *(stack, machine.stack, mask, tuple(found.registers.items())),
        *(start, Struct(form), tuple([found.words[each] for each in places])),
    )
