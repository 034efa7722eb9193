"""The notes of an ELF core file: threads, mapped files, the command line."""

from __future__ import annotations

import struct

from gsym.containers.headers import Note, read_notes
from gsym.engine.native import zero_ended
from gsym.errors import FormatError
from gsym.memory.signals import (
    FREEBSD,
    LINUX,
    Cause,
    Signals,
    describe,
    read_cause,
    read_freebsd_cause,
)
from gsym.memory.threads import Thread
from gsym.memory.walking import THUMB, Registers
from gsym.modules.maps import Mapping
from gsym.records import NamedTuple
from gsym.unwinding import machines

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator


_PRSTATUS, _PRPSINFO, _AUXV = 1, 3, 6
_SIGINFO, _FILES = 0x53494749, 0x46494C45
_SVE, _PAC_MASK, _RISCV_VECTOR = 0x405, 0x406, 0x901
_VECTOR_GRANULES, _VECTOR_BYTES = 46, 7202  # in DWARF: VG, vlenb
# In the auxiliary vector: where the vdso is, and the path of the program; on FreeBSD
# the numbers of the first two mean something else.
_AT_SYSINFO_EHDR, _AT_EXECFN, _AT_KPRELOAD, _AT_EXECPATH = 33, 31, 34, 15
# Of FreeBSD:
_THRMISC, _PROCSTAT_PROC, _PROCSTAT_VMMAP = 7, 8, 10
_PROCSTAT_AUXV, _PTLWPINFO = 16, 17
_OSABI_FREEBSD = 9
_PL_FLAG_SI = 0x20  # siginfo is valid
_PL_FLAGS_AT, _PL_SIGINFO_AT = 12, 52  # in NT_PTLWPINFO
_PROCESS_AT = 76  # in NT_PROCSTAT_PROC
# struct kinfo_vmentry: its size, start, end, offset, protection; and its path.
_MAPPING, _PATH_AT = struct.Struct("<I4x3Q24xI"), 136
_PROT_EXEC = 4
_MIN_PRPSINFO, _THREAD_NAME_SIZE = 96, 20  # bytes
_SIZE_FIRST = 4  # bytes in notes of FreeBSD before an array: the size of an element
_ARM_STATUS = 16  # CPSR among the registers


class _Layout(NamedTuple):
    """The layout of NT_PRSTATUS."""

    machine: machines.Machine  # what its stacks are like
    pc: int  # place of the program counter, in words
    # places of the others in the order of their numbers in DWARF
    order: tuple[int, ...]
    link: int | None = None  # place of the link register, if its number does not follow


_X86_64_ORDER = (10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0)
_FIRST_32 = tuple(range(32))
# By e_machine, bits, and order of bytes.
_LAYOUTS = {
    (62, 64, "<"): _Layout(machines.X86_64, 16, _X86_64_ORDER),
    (3, 32, "<"): _Layout(machines.X86, 12, (6, 1, 2, 0, 15, 5, 3, 4)),
    (183, 64, "<"): _Layout(machines.AARCH64, 32, _FIRST_32),
    (40, 32, "<"): _Layout(machines.ARM, 15, tuple(range(15))),
    (243, 64, "<"): _Layout(machines.RISCV64, 0, _FIRST_32),
    (243, 32, "<"): _Layout(machines.RISCV32, 0, _FIRST_32),
    (258, 64, "<"): _Layout(machines.LOONGARCH64, 33, _FIRST_32),
    (21, 64, ">"): _Layout(machines.POWER64, 32, _FIRST_32, 36),
    (21, 64, "<"): _Layout(machines.POWER64_LITTLE, 32, _FIRST_32, 36),
    (20, 32, ">"): _Layout(machines.POWER32, 32, _FIRST_32, 36),
    (22, 64, ">"): _Layout(machines.S390X, 1, tuple(range(2, 18))),
}
_FREEBSD_LAYOUTS = {
    (62, 64, "<"): _Layout(
        machines.X86_64, 17, (14, 12, 13, 11, 9, 8, 10, 20, 7, 6, 5, 4, 3, 2, 1, 0)
    ),
    (183, 64, "<"): _LAYOUTS[183, 64, "<"],
}


class _System(NamedTuple):
    """The notes of an operating system."""

    name: bytes  # of the notes of threads
    # by `e_machine`, bits, and order of bytes
    layouts: dict[tuple[int, int, str], _Layout]
    # in NT_PRSTATUS by the size of words: places of the signal, of the number of the
    # thread, and of the registers
    status: dict[int, tuple[int, int, int]]
    command: slice  # the name of the program in NT_PRPSINFO
    arguments: slice  # the command line there
    signals: Signals


_LINUX = _System(
    *(b"CORE", _LAYOUTS, {8: (12, 32, 112), 4: (12, 24, 72)}),
    *(slice(-96, -80), slice(-80, None), LINUX),
)
_FREEBSD = _System(
    *(b"FreeBSD", _FREEBSD_LAYOUTS, {8: (36, 40, 48)}),
    *(slice(16, 33), slice(33, 114), FREEBSD),
)


class CoreNotes:
    """The contents of the notes of a core file."""

    def __init__(
        self, machine: int, bits: int, byteorder: str = "<", osabi: int = 0
    ) -> None:
        self._system = _FREEBSD if osabi == _OSABI_FREEBSD else _LINUX
        if (machine, bits, byteorder) not in self._system.layouts:
            order = "little" if byteorder == "<" else "big"
            system = " of FreeBSD" if osabi == _OSABI_FREEBSD else ""
            reason = (
                f"a core file{system} of machine {machine} ({bits} bits, "
                f"{order}-endian) is not read"
            )
            raise FormatError(reason)
        self._layout = self._system.layouts[machine, bits, byteorder]
        self._order = byteorder
        self.machine: machines.Machine = self._layout.machine  # what the program ran on
        self._form = {4: "I", 8: "Q"}[self.machine.word]
        self.program: str = ""  # the command line, or ""
        self.auxiliary: dict[int, int] = {}
        self.signature: int = 0  # bits of an address of code that may be a signature
        # parts of files that were mapped; their inodes are not known
        self.files: list[Mapping] = []
        self.threads: list[Thread] = []  # the threads; that which crashed is the first
        # number of the signal that ended the program; 0 if unknown
        self.signal: int = 0
        self._cause: Cause | None = None
        self._command = ""
        self._process = 0

    @property
    def vdso(self) -> int:
        """Address of the vdso; 0 if unknown."""
        return self.auxiliary.get(_AT_SYSINFO_EHDR, 0)

    @property
    def reason(self) -> str:
        """Reason why the program ended, or ""."""
        if self.signal and self._cause is not None:
            pids = {each.number for each in self.threads}
            if self._process:
                pids.add(self._process)
            return describe(
                *(self._cause._replace(signal=self.signal), pids, self._system.signals)
            )
        return self._system.signals.name(self.signal) if self.signal else ""

    def read(self, data: memoryview) -> None:
        """Read the notes of a segment."""
        for each in read_notes(data, self._order):
            self._read(each)

    def _words(self, data: bytes | memoryview, most: int) -> tuple[int, ...]:
        size = self.machine.word
        count = min(len(data) // size, most)
        return struct.unpack_from(f"{self._order}{count}{self._form}", data)

    def _read(self, note: Note) -> None:
        contents, system = note.contents, self._system
        if note.kind == _PRSTATUS and note.name == system.name:
            self._add_thread(contents)
        elif note.kind == _PRPSINFO and len(contents) > _MIN_PRPSINFO:
            self._command = _text(contents[system.command])
            self.program = _text(contents[system.arguments]).strip()
        elif system is _FREEBSD:
            self._read_of_freebsd(note)
        elif note.kind == _AUXV:
            self.auxiliary = self._read_auxiliary(contents)
        elif note.kind == _SIGINFO and len(self.threads) == 1:
            self._cause = read_cause(contents, self.machine.word, self._order)
        elif note.kind == _FILES:
            self.files += self._read_files(contents)
        elif note.name == b"LINUX" and self.threads:
            self._add_registers(note)

    def _read_of_freebsd(self, note: Note) -> None:
        kind, contents = note.kind, note.contents
        if kind == _PROCSTAT_VMMAP:
            self.files += _read_mappings(contents)
        elif kind == _PROCSTAT_AUXV:
            vector = self._read_auxiliary(contents[_SIZE_FIRST:])
            self.auxiliary = vector | {
                _AT_SYSINFO_EHDR: vector.get(_AT_KPRELOAD, 0),
                _AT_EXECFN: vector.get(_AT_EXECPATH, 0),
            }
        elif kind == _PROCSTAT_PROC and len(contents) >= _PROCESS_AT + 4:
            (self._process,) = struct.unpack_from("<i", contents, _PROCESS_AT)
        elif kind == _THRMISC and self.threads:
            name = _text(contents[:_THREAD_NAME_SIZE])
            if name != self._command:  # which is that of threads without one
                self.threads[-1] = self.threads[-1]._replace(name=name)
        elif kind == _PTLWPINFO and len(self.threads) == 1:
            flags = bytes(contents[_PL_FLAGS_AT:])[:1]
            if flags and flags[0] & _PL_FLAG_SI:
                self._cause = read_freebsd_cause(contents[_PL_SIGINFO_AT:], self._order)

    def _read_auxiliary(self, contents: memoryview) -> dict[int, int]:
        words = self._words(contents, len(contents))
        return dict(zip(words[::2], words[1::2], strict=False))

    def _add_thread(self, contents: memoryview) -> None:
        layout = self._layout
        signal_at, number_at, registers_at = self._system.status[self.machine.word]
        words = self._words(contents[registers_at:], len(contents))
        if len(words) <= max(layout.pc, *layout.order, layout.link or 0):
            return
        (number,) = struct.unpack_from(f"{self._order}i", contents, number_at)
        if not self.threads:
            (self.signal,) = struct.unpack_from(f"{self._order}h", contents, signal_at)
        values = {number: words[at] for number, at in enumerate(layout.order)}
        if layout.link is not None and self.machine.link is not None:
            values[self.machine.link] = words[layout.link]
        has_status = layout.machine == machines.ARM and len(words) > _ARM_STATUS
        is_thumb = has_status and bool(words[_ARM_STATUS] & THUMB)
        registers = Registers(words[layout.pc], values, is_thumb)
        is_crashed = not self.threads and bool(self.signal)
        self.threads.append(Thread(number, "", registers, is_crashed))

    def _add_registers(self, note: Note) -> None:
        """Add what a note says of the last thread that was read."""
        values, contents = self.threads[-1].registers.values, note.contents
        is_aarch64 = self.machine == machines.AARCH64
        if is_aarch64 and note.kind == _PAC_MASK:
            for each in self._words(contents, 2)[1:]:
                self.signature |= each
        elif is_aarch64 and note.kind == _SVE and len(contents) > 10:  # noqa: PLR2004
            (size,) = struct.unpack_from(f"{self._order}H", contents, 8)
            values[_VECTOR_GRANULES] = size // 8
        elif self.machine == machines.RISCV64 and note.kind == _RISCV_VECTOR:
            for each in self._words(contents, 5)[4:]:
                values[_VECTOR_BYTES] = each

    def _read_files(self, contents: memoryview) -> Iterator[Mapping]:
        words = self._words(contents, 2)
        if len(words) < 2:  # noqa: PLR2004 - their number, and the unit of offsets
            return
        count, unit = words
        size = self.machine.word
        table = self._words(contents[2 * size :], 3 * min(count, len(contents)))
        names = bytes(contents[(2 + 3 * count) * size :]).split(b"\0")
        for number, name in zip(range(len(table) // 3), names, strict=False):
            start, end, offset = table[3 * number : 3 * number + 3]
            # The part of the core, if there is one, says whether it has code.
            yield _mapped(start, end, offset * unit, name, is_executable=True)


def _mapped(
    start: int, end: int, offset: int, path: bytes, *, is_executable: bool
) -> Mapping:
    name = path.decode("utf-8", "surrogateescape")
    return Mapping(start, end, is_executable, offset, 0, name, "")


def _read_mappings(contents: memoryview) -> Iterator[Mapping]:
    """The mapped files in NT_PROCSTAT_VMMAP."""
    at = _SIZE_FIRST
    while at + _PATH_AT <= len(contents):
        size, start, end, offset, protection = _MAPPING.unpack_from(contents, at)
        if size < _PATH_AT:
            return
        path = zero_ended(contents[at + _PATH_AT : at + size])
        if path:
            is_executable = bool(protection & _PROT_EXEC)
            yield _mapped(start, end, offset, path, is_executable=is_executable)
        at += size


def _text(contents: memoryview) -> str:
    return zero_ended(contents).decode("utf-8", "replace")
