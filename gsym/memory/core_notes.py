"""The notes of an ELF core file: threads, mapped files, the command line."""

from __future__ import annotations

import struct

from gsym.containers.headers import read_notes
from gsym.errors import FormatError
from gsym.memory.signals import SIGNALS, describe, read_cause
from gsym.memory.threads import Thread
from gsym.memory.walking import THUMB, Registers
from gsym.records import NamedTuple
from gsym.unwinding.machines import (
    AARCH64,
    ARM,
    LOONGARCH64,
    POWER32,
    POWER64,
    POWER64_LITTLE,
    RISCV32,
    RISCV64,
    S390X,
    X86,
    X86_64,
    Machine,
)

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.containers.headers import Note
    from gsym.memory.signals import Cause

_PRSTATUS, _PRPSINFO, _AUXV = 1, 3, 6
_SIGINFO, _FILES = 0x53494749, 0x46494C45
_SVE, _PAC_MASK, _RISCV_VECTOR = 0x405, 0x406, 0x901
_VECTOR_GRANULES, _VECTOR_BYTES = 46, 7202  # in DWARF: VG, vlenb
_SYSINFO_EHDR = 33  # in the auxiliary vector: where the vdso is
_NAME_SIZE, _ARGUMENTS_SIZE = 16, 80  # at the end of NT_PRPSINFO
_SIGNAL_AT = 12  # in NT_PRSTATUS
_ARM_STATUS = 16  # CPSR among the registers


class _Layout(NamedTuple):
    """The layout of NT_PRSTATUS.

    Attributes:
        machine: What its stacks are like.
        pc: Place of the program counter, in words.
        order: Places of the others in the order of their numbers in DWARF.
        link: Place of the link register, if its number does not follow.
    """

    machine: Machine
    pc: int
    order: tuple[int, ...]
    link: int | None = None


_X86_64_ORDER = (10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0)
_FIRST_32 = tuple(range(32))
# By e_machine, bits, and order of bytes.
_LAYOUTS = {
    (62, 64, "<"): _Layout(X86_64, 16, _X86_64_ORDER),
    (3, 32, "<"): _Layout(X86, 12, (6, 1, 2, 0, 15, 5, 3, 4)),
    (183, 64, "<"): _Layout(AARCH64, 32, _FIRST_32),
    (40, 32, "<"): _Layout(ARM, 15, tuple(range(15))),
    (243, 64, "<"): _Layout(RISCV64, 0, _FIRST_32),
    (243, 32, "<"): _Layout(RISCV32, 0, _FIRST_32),
    (258, 64, "<"): _Layout(LOONGARCH64, 33, _FIRST_32),
    (21, 64, ">"): _Layout(POWER64, 32, _FIRST_32, 36),
    (21, 64, "<"): _Layout(POWER64_LITTLE, 32, _FIRST_32, 36),
    (20, 32, ">"): _Layout(POWER32, 32, _FIRST_32, 36),
    (22, 64, ">"): _Layout(S390X, 1, tuple(range(2, 18))),
}
# In NT_PRSTATUS by the size of words: the number of the thread, the registers.
_PLACES = {8: (32, 112), 4: (24, 72)}


class MappedFile(NamedTuple):
    """A part of a file that was mapped; *offset* is in the file."""

    start: int
    end: int
    offset: int
    path: str


class CoreNotes:
    """The contents of the notes of a core file.

    Attributes:
        machine: What the program ran on.
        program: The command line, or "".
        auxiliary: The auxiliary vector.
        signature: Bits of an address of code that may be a signature.
        files: The mapped files.
        threads: The threads; that which crashed is the first.
        signal: Number of the signal that ended the program; 0 if unknown.
    """

    def __init__(self, machine: int, bits: int, byteorder: str = "<") -> None:
        if (machine, bits, byteorder) not in _LAYOUTS:
            order = "little" if byteorder == "<" else "big"
            reason = (
                f"a core file of machine {machine} ({bits} bits, {order}-endian) "
                "is not read"
            )
            raise FormatError(reason)
        self._layout = _LAYOUTS[machine, bits, byteorder]
        self._order = byteorder
        self.machine: Machine = self._layout.machine
        self._form = {4: "I", 8: "Q"}[self.machine.word]
        self.program: str = ""
        self.auxiliary: dict[int, int] = {}
        self.signature: int = 0
        self.files: list[MappedFile] = []
        self.threads: list[Thread] = []
        self.signal: int = 0
        self._cause: Cause | None = None

    @property
    def vdso(self) -> int:
        """Address of the vdso; 0 if unknown."""
        return self.auxiliary.get(_SYSINFO_EHDR, 0)

    @property
    def reason(self) -> str:
        """Reason why the program ended, or ""."""
        if self.signal and self._cause is not None:
            return describe(
                self._cause._replace(signal=self.signal),
                {each.number for each in self.threads},
            )
        name = SIGNALS.get(self.signal, f"signal {self.signal}")
        return name if self.signal else ""

    def read(self, data: memoryview) -> None:
        """Read the notes of a segment."""
        for each in read_notes(data, self._order):
            self._read(each)

    def _words(self, data: bytes | memoryview, most: int) -> tuple[int, ...]:
        size = self.machine.word
        count = min(len(data) // size, most)
        return struct.unpack_from(f"{self._order}{count}{self._form}", data)

    def _read(self, note: Note) -> None:
        contents = note.contents
        if note.kind == _PRSTATUS and note.name == b"CORE":
            self._add_thread(contents)
        elif note.kind == _PRPSINFO and len(contents) > _NAME_SIZE + _ARGUMENTS_SIZE:
            program = bytes(contents[-_ARGUMENTS_SIZE:]).partition(b"\0")[0]
            self.program = program.decode("utf-8", "replace").strip()
        elif note.kind == _AUXV:
            words = self._words(contents, len(contents))
            self.auxiliary = dict(zip(words[::2], words[1::2], strict=False))
        elif note.kind == _SIGINFO and len(self.threads) == 1:
            self._cause = read_cause(contents, self.machine.word, self._order)
        elif note.kind == _FILES:
            self.files += self._read_files(contents)
        elif note.name == b"LINUX" and self.threads:
            self._add_registers(note)

    def _add_thread(self, contents: memoryview) -> None:
        layout = self._layout
        number_at, registers_at = _PLACES[self.machine.word]
        words = self._words(contents[registers_at:], len(contents))
        if len(words) <= max(layout.pc, *layout.order, layout.link or 0):
            return
        (number,) = struct.unpack_from(f"{self._order}i", contents, number_at)
        if not self.threads:
            (self.signal,) = struct.unpack_from(f"{self._order}h", contents, _SIGNAL_AT)
        values = {number: words[at] for number, at in enumerate(layout.order)}
        if layout.link is not None and self.machine.link is not None:
            values[self.machine.link] = words[layout.link]
        has_status = layout.machine == ARM and len(words) > _ARM_STATUS
        is_thumb = has_status and bool(words[_ARM_STATUS] & THUMB)
        registers = Registers(words[layout.pc], values, is_thumb)
        is_crashed = not self.threads and bool(self.signal)
        self.threads.append(Thread(number, "", registers, is_crashed))

    def _add_registers(self, note: Note) -> None:
        """Add what a note says of the last thread that was read."""
        values, contents = self.threads[-1].registers.values, note.contents
        if self.machine == AARCH64 and note.kind == _PAC_MASK:
            for each in self._words(contents, 2)[1:]:
                self.signature |= each
        elif self.machine == AARCH64 and note.kind == _SVE and len(contents) > 10:  # noqa: PLR2004
            (size,) = struct.unpack_from(f"{self._order}H", contents, 8)
            values[_VECTOR_GRANULES] = size // 8
        elif self.machine == RISCV64 and note.kind == _RISCV_VECTOR:
            for each in self._words(contents, 5)[4:]:
                values[_VECTOR_BYTES] = each

    def _read_files(self, contents: memoryview) -> Iterator[MappedFile]:
        words = self._words(contents, 2)
        if len(words) < 2:  # noqa: PLR2004 - their number, and the unit of offsets
            return
        count, unit = words
        size = self.machine.word
        table = self._words(contents[2 * size :], 3 * min(count, len(contents)))
        names = bytes(contents[(2 + 3 * count) * size :]).split(b"\0")
        for number, name in zip(range(len(table) // 3), names, strict=False):
            start, end, offset = table[3 * number : 3 * number + 3]
            path = name.decode("utf-8", "surrogateescape")
            yield MappedFile(start, end, offset * unit, path)
