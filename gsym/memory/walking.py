"""Stacks in saved memory, by call frame information, frame pointers or scanning."""

from __future__ import annotations

from struct import Struct

from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gsym.memory.frame_info import Step
    from gsym.memory.images import Memory


class Machine(NamedTuple):
    """The facts of a machine that a walk needs.

    Attributes:
        word: Bytes of an address.
        stack: Number of the stack pointer in DWARF.
        frame: Number of the frame pointer in DWARF.
        record_at: Where the frame record of a function is from its frame pointer, in
            words: the frame pointer of its caller, then the return address.
        address_bits: Bits of an address; those above may be a signature.
    """

    word: int
    stack: int
    frame: int
    record_at: int = 0
    address_bits: int = 64


class Registers(NamedTuple):
    """Registers of a thread; *values* by their numbers in DWARF."""

    pc: int
    values: dict[int, int]


X86_64 = Machine(8, 7, 6)
X86 = Machine(4, 4, 5)
AARCH64 = Machine(8, 31, 29, address_bits=48)
RISCV64 = Machine(8, 2, 8, record_at=-2)


class WalkedFrame(NamedTuple):
    """An address in a stack, and how it was found; see `ReportFrame.trust`."""

    address: int
    trust: str
    is_return: bool


# Limit: Frames of a thread of a process or core
MOST_FRAMES = 1024
_MOST_STEP = 64 << 20  # bytes between frame records
# Words of a stack that are scanned for a caller, as many as Breakpad scans.
_MOST_SCANNED = {"context": 160}
_SCANNED = 40


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
        machine: As given.
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
        self._memory = memory
        self._is_code = is_code
        self._step = step
        self._scans = scans
        form = {4: "I", 8: "Q"}[machine.word]
        self._word, self._record = Struct(f"<{form}"), Struct(f"<2{form}")

    def walk(self, registers: Registers) -> Iterator[WalkedFrame]:
        """The frames of a thread, innermost first: `MOST_FRAMES`, and one if more."""
        frame = WalkedFrame(registers.pc, "context", is_return=False)
        for _ in range(MOST_FRAMES + 1):
            yield frame
            found = self._caller(frame, registers)
            if found is None:
                return
            frame, registers = found

    def _caller(
        self, frame: WalkedFrame, registers: Registers
    ) -> tuple[WalkedFrame, Registers] | None:
        values, machine = registers.values, self.machine
        step = self._step(frame.address - frame.is_return, values)
        if step is not None and self._goes_on(frame, values, step):
            pc = self._address(step.pc)
            is_return = not step.is_signal
            if not self._is_code(pc - is_return):
                return None
            found = WalkedFrame(pc, "call frame info", is_return)
            return found, Registers(pc, step.values)
        stack = values.get(machine.stack, 0)
        at = values.get(machine.frame, 0) + machine.record_at * machine.word
        if stack <= at < stack + _MOST_STEP and not at % machine.word:
            held = self._memory(at, self._record.size)
            if len(held) == self._record.size:
                following, pc = self._record.unpack(held)
                pc = self._address(pc)
                if self._is_code(pc - 1):
                    end = at + self._record.size
                    found = WalkedFrame(pc, "frame pointer", is_return=True)
                    known = {machine.stack: end, machine.frame: following}
                    return found, Registers(pc, known)
        most = _MOST_SCANNED.get(frame.trust, _SCANNED)
        return self._scanned(stack, values, most) if self._scans else None

    def _goes_on(self, frame: WalkedFrame, values: dict[int, int], step: Step) -> bool:
        """Whether a step leads outwards, or says that it is the last one."""
        before = values.get(self.machine.stack, 0)
        after = step.values.get(self.machine.stack, 0)
        is_first = frame.trust == "context"  # it may not have used the stack yet
        return step.pc == 0 or step.is_signal or after > before - is_first

    def _address(self, pc: int) -> int:
        return pc if self._is_code(pc) else pc & ((1 << self.machine.address_bits) - 1)

    def _scanned(
        self, stack: int, values: dict[int, int], most: int
    ) -> tuple[WalkedFrame, Registers] | None:
        """The next value on the stack that is an address of code."""
        size = self._word.size
        held = self._memory(stack, most * size)
        whole = held[: len(held) - len(held) % size]
        for number, (value,) in enumerate(self._word.iter_unpack(whole)):
            if self._is_code(value - 1):
                end = stack + (number + 1) * size
                known = {**values, self.machine.stack: end}
                found = WalkedFrame(value, "scan", is_return=True)
                return found, Registers(value, known)
        return None
