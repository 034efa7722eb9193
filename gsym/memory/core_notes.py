"""The notes of an ELF core file: threads, mapped files, the command line."""

from __future__ import annotations

import struct

from gsym.containers.headers import read_notes
from gsym.errors import FormatError
from gsym.memory.threads import SIGNALS, Thread
from gsym.memory.walking import (
    AARCH64,
    RISCV64,
    X86,
    X86_64,
    Machine,
    Registers,
)
from gsym.records import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from gsym.containers.headers import Note

_PRSTATUS, _PRPSINFO, _AUXV = 1, 3, 6
_SIGINFO, _FILES = 0x53494749, 0x46494C45
_SYSINFO_EHDR = 33  # in the auxiliary vector: where the vdso is
_NAME_SIZE, _ARGUMENTS_SIZE = 16, 80  # at the end of NT_PRPSINFO
_WITH_ADDRESS = {4, 5, 7, 8, 11}  # signals with an address in NT_SIGINFO
_ADDRESS_AT = {4: 12, 8: 16}  # in NT_SIGINFO, by the size of words
_SIGNAL_AT = 12  # in NT_PRSTATUS


class _Layout(NamedTuple):
    """The layout of NT_PRSTATUS.

    Attributes:
        machine: What its stacks are like.
        process: Offset of the number of the thread, in bytes.
        registers: Offset of the registers, in bytes.
        pc: Place of the program counter, in words.
        order: Places of the others in the order of their numbers in DWARF.
    """

    machine: Machine
    process: int
    registers: int
    pc: int
    order: tuple[int, ...]


_X86_64_ORDER = (10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0)
# By e_machine and bits.
_LAYOUTS = {
    (62, 64): _Layout(X86_64, 32, 112, 16, _X86_64_ORDER),
    (3, 32): _Layout(X86, 24, 72, 12, (6, 1, 2, 0, 15, 5, 3, 4)),
    (183, 64): _Layout(AARCH64, 32, 112, 32, tuple(range(32))),
    (243, 64): _Layout(RISCV64, 32, 112, 0, tuple(range(32))),
}


class MappedFile(NamedTuple):
    """A part of a file that was mapped; *offset* is in the file."""

    start: int
    end: int
    offset: int
    path: str


class CoreNotes:
    """The contents of the notes of a core file.

    Args:
        machine: The `e_machine` of the file.
        bits: 32 or 64.

    Attributes:
        machine: What the program ran on.
        program: The command line, or "".
        reason: The signal that ended it, or "".
        vdso: Where the vdso was; 0 if unknown.
        files: The mapped files.
        threads: The threads; that which crashed is the first.

    Raises:
        FormatError: Core files of this machine are not read.
    """

    def __init__(self, machine: int, bits: int) -> None:
        if (machine, bits) not in _LAYOUTS:
            reason = f"a core file of machine {machine} ({bits} bits) is not read"
            raise FormatError(reason)
        self._layout = _LAYOUTS[machine, bits]
        self.machine = self._layout.machine
        self._form = {4: "I", 8: "Q"}[self.machine.word]
        self.program = ""
        self.reason = ""
        self.vdso = 0
        self.files: list[MappedFile] = []
        self.threads: list[Thread] = []
        self._signal = 0

    def read(self, data: memoryview) -> None:
        """Read the notes of a segment."""
        for each in read_notes(data, "<"):
            self._read(each)

    def _words(self, data: bytes | memoryview, most: int) -> tuple[int, ...]:
        size = self.machine.word
        count = min(len(data) // size, most)
        return struct.unpack_from(f"<{count}{self._form}", data)

    def _read(self, note: Note) -> None:
        contents = note.contents
        if note.kind == _PRSTATUS and note.name == b"CORE":
            self._add_thread(contents)
        elif note.kind == _PRPSINFO and len(contents) > _NAME_SIZE + _ARGUMENTS_SIZE:
            program = bytes(contents[-_ARGUMENTS_SIZE:]).partition(b"\0")[0]
            self.program = program.decode("utf-8", "replace").strip()
        elif note.kind == _AUXV:
            words = self._words(contents, len(contents))
            self.vdso = dict(zip(words[::2], words[1::2], strict=False)).get(
                _SYSINFO_EHDR, 0
            )
        elif note.kind == _SIGINFO and len(self.threads) == 1:
            self._add_cause(contents)
        elif note.kind == _FILES:
            self.files += self._read_files(contents)

    def _add_thread(self, contents: memoryview) -> None:
        layout = self._layout
        words = self._words(contents[layout.registers :], len(contents))
        if len(words) <= max(layout.pc, *layout.order):
            return
        (number,) = struct.unpack_from("<i", contents, layout.process)
        if not self.threads:
            (self._signal,) = struct.unpack_from("<h", contents, _SIGNAL_AT)
            if self._signal:
                name = f"signal {self._signal}"
                self.reason = SIGNALS.get(self._signal, name)
        values = {number: words[at] for number, at in enumerate(layout.order)}
        registers = Registers(words[layout.pc], values)
        is_crashed = not self.threads and bool(self._signal)
        self.threads.append(Thread(number, "", registers, is_crashed))

    def _add_cause(self, contents: memoryview) -> None:
        """Add what a signal is about, if it is about an address."""
        found = self._words(contents[_ADDRESS_AT[self.machine.word] :], 1)
        if found and self._signal in _WITH_ADDRESS and " at " not in self.reason:
            self.reason += f" at {found[0]:#x}"

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
