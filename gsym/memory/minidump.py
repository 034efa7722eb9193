"""Minidumps of Windows, Breakpad and Crashpad: threads, modules, the exception."""

from __future__ import annotations

from struct import Struct, error as StructError  # noqa: N812 - an exception

from gsym.engine.native import zero_ended
from gsym.errors import FormatError
from gsym.memory.loaded import Loaded
from gsym.memory.microdump import Microdump
from gsym.memory.module_files import ModuleFiles, SavedMemory
from gsym.memory.regions import Region
from gsym.memory.signals import LINUX, Cause, describe
from gsym.memory.stack_parts import (
    ParsedReport,
    StackModule,
    file_name,
    module_of_build_id,
    module_of_uuid,
)
from gsym.memory.threads import Dump, Thread, dump_report
from gsym.memory.walking import THUMB, Registers, Walker
from gsym.modules.key import (
    ModuleKey,
    codeview_debug_id,
    is_absent,
    pe_code_id,
    print_guid,
)
from gsym.modules.maps import Mapping, read_maps
from gsym.records import NamedTuple
from gsym.unwinding.machines import AARCH64, ARM, X86, X86_64, Machine

TYPE_CHECKING = bool()
if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

    from gsym.memory.module_files import FindFiles

MAGIC = b"MDMP"

_HEADER = Struct("<4sIII")  # version, number of streams, offset of their directory
_DIRECTORY = Struct("<III")  # kind, size, offset
_THREADS, _MODULES, _MEMORY, _EXCEPTION, _SYSTEM = 3, 4, 5, 6, 7
_MEMORY_64, _THREAD_NAMES = 9, 24
_COMMAND, _MAPS = 0x47670006, 0x47670009  # files of /proc/PID
_CRASHPAD_INFO = 0x43500001
_COUNT, _COUNT_64 = Struct("<I"), Struct("<QQ")
_THREAD = Struct("<I20xQIIII")  # id; stack: start, size, offset; context: size, offset
_MODULE = Struct("<QI4xII52xII24x")  # base, size, time stamp, name, CodeView record
_MEMORY_PART, _MEMORY_PART_64 = Struct("<QII"), Struct("<QQ")
# Thread; code, flags, address, number of parameters, the first two of them; context.
_EXCEPTION_RECORD = Struct("<I4xII8xQI4xQQ104xII")
_INFORMATION_AT, _INFORMATION_END = 40, 160  # the parameters
_PID_MASK = 0xFFFFFFFF  # of si_pid; si_uid is in the bits above
_NEGATIVE = 1 << 31  # a signal that a program sent
_LLDB_MARK = 0x4C4C4442  # in the flags: a text is in the place of the parameters
_THREAD_NAME = Struct("<IQ")
_SYSTEM_INFO = Struct("<H18xI")  # processor, platform
_CODEVIEW, _CODEVIEW_ELF = b"RSDS", b"LEpB"
_CODEVIEW_AGE = Struct("<16sI")
_GUID_SIZE = 16
_MOST_TEXT = 1 << 12  # bytes of a name

_LINUX = {0x8201, 0x8203}  # and Android
_APPLE = {0x8101, 0x8102}
_ACCESS_VIOLATION, _IN_PAGE_ERROR = 0xC0000005, 0xC0000006
_FAST_FAIL = 0xC0000409
_ABOUT_ADDRESS = {_ACCESS_VIOLATION, _IN_PAGE_ERROR}
_ACCESSES = {0: " (read)", 1: " (write)", 8: " (execution)"}
_EXCEPTIONS = {
    0x80000001: "EXCEPTION_GUARD_PAGE",
    0x80000002: "EXCEPTION_DATATYPE_MISALIGNMENT",
    0x80000003: "EXCEPTION_BREAKPOINT",
    0x80000004: "EXCEPTION_SINGLE_STEP",
    _ACCESS_VIOLATION: "EXCEPTION_ACCESS_VIOLATION",
    _IN_PAGE_ERROR: "EXCEPTION_IN_PAGE_ERROR",
    0xC0000008: "EXCEPTION_INVALID_HANDLE",
    0xC000001D: "EXCEPTION_ILLEGAL_INSTRUCTION",
    0xC0000025: "EXCEPTION_NONCONTINUABLE_EXCEPTION",
    0xC0000026: "EXCEPTION_INVALID_DISPOSITION",
    0xC000008C: "EXCEPTION_ARRAY_BOUNDS_EXCEEDED",
    0xC000008D: "EXCEPTION_FLT_DENORMAL_OPERAND",
    0xC000008E: "EXCEPTION_FLT_DIVIDE_BY_ZERO",
    0xC000008F: "EXCEPTION_FLT_INEXACT_RESULT",
    0xC0000090: "EXCEPTION_FLT_INVALID_OPERATION",
    0xC0000091: "EXCEPTION_FLT_OVERFLOW",
    0xC0000092: "EXCEPTION_FLT_STACK_CHECK",
    0xC0000093: "EXCEPTION_FLT_UNDERFLOW",
    0xC0000094: "EXCEPTION_INT_DIVIDE_BY_ZERO",
    0xC0000095: "EXCEPTION_INT_OVERFLOW",
    0xC0000096: "EXCEPTION_PRIV_INSTRUCTION",
    0xC00000FD: "EXCEPTION_STACK_OVERFLOW",
    0xC0000194: "EXCEPTION_POSSIBLE_DEADLOCK",
    0xC0000374: "STATUS_HEAP_CORRUPTION",
    _FAST_FAIL: "STATUS_STACK_BUFFER_OVERRUN",
    0xC0000420: "STATUS_ASSERTION_FAILURE",
    0xC0000602: "STATUS_FAIL_FAST_EXCEPTION",
    0xE0434352: "unhandled .NET exception",
    0xE06D7363: "unhandled C++ exception",
}
# By the first parameter of __fastfail, which abort() uses: FAST_FAIL_... of winnt.h.
_FAST_FAILS = (
    *("stack cookie of old code", "virtual table guard", "stack cookie"),
    *("corrupt list entry", "incorrect stack", "invalid argument"),
    *("initialization of the stack cookie", "fatal application exit", "range check"),
    *("unsafe registry access", "guard of an indirect call"),
)
_BAD_ACCESS = 1
_APPLE_EXCEPTIONS = {
    _BAD_ACCESS: "EXC_BAD_ACCESS",
    2: "EXC_BAD_INSTRUCTION",
    3: "EXC_ARITHMETIC",
    5: "EXC_SOFTWARE",
    6: "EXC_BREAKPOINT",
    10: "EXC_CRASH",
    11: "EXC_RESOURCE",
    12: "EXC_GUARD",
}
# By exception and its first code, which writers put into the flags.
_APPLE_CODES = {
    (1, 1): "KERN_INVALID_ADDRESS",
    (1, 2): "KERN_PROTECTION_FAILURE",
    (1, 10): "KERN_MEMORY_ERROR",
    (1, 13): "EXC_I386_GPFLT",
    (1, 50): "KERN_CODESIGN_ERROR",
    (5, 0x10003): "EXC_SOFT_SIGNAL",
}


class _Layout(NamedTuple):
    """The layout of a thread's context, in bytes; registers as DWARF numbers them."""

    machine: Machine
    pc: int
    order: tuple[int, ...]

    def registers(self, context: Buffer) -> Registers | None:
        """The registers in a context; None if it is cut."""
        machine, pc, order = self
        data, word = bytes(context), machine.word
        if len(data) < max(pc, *order) + word:
            return None
        at_pc, *values = (
            int.from_bytes(data[at : at + word], "little") for at in (pc, *order)
        )
        status = int.from_bytes(data[pc + word :][:1], "little")
        is_thumb = machine == ARM and bool(status & THUMB)
        return Registers(at_pc, dict(enumerate(values)), is_thumb)


_X86_64_ORDER = (120, 136, 128, 144, 168, 176, 160, 152, *range(184, 248, 8))
_LAYOUTS = {
    0: _Layout(X86, 184, (176, 172, 168, 164, 196, 180, 160, 156)),
    5: _Layout(ARM, 64, tuple(range(4, 64, 4))),
    9: _Layout(X86_64, 248, _X86_64_ORDER),
    12: _Layout(AARCH64, 264, tuple(range(8, 264, 8))),
    0x8003: _Layout(AARCH64, 264, tuple(range(8, 264, 8))),
}
"""By the number of the processor."""


class _Exception(NamedTuple):
    thread: int
    reason: str
    context: memoryview


def read_minidump(
    data: memoryview, path: str, find: FindFiles = lambda _module: ()
) -> ParsedReport:
    """The stacks in a minidump, or in the microdump in a text."""
    if data[: len(MAGIC)] != MAGIC:
        return _of_microdump(Microdump(bytes(data), path), find)
    try:
        return _Minidump(data, path).stacks(find)
    except (StructError, OverflowError, IndexError):
        raise FormatError("a stream reaches past the file", path=path) from None


def _of_microdump(read: Microdump, find: FindFiles) -> ParsedReport:
    layout, loaded = _LAYOUTS[read.processor], Loaded()
    loaded.set_regions(
        Region(start, start + size, loaded.add_module(module), 0, 0, "image")
        for start, size, module in read.modules
    )
    reason = ""
    if read.cause is not None:
        signal, address = read.cause
        reason = f"{LINUX.name(signal)} at {address:#x}"
    registers = layout.registers(read.context)
    threads = [Thread(1, "", registers, bool(reason))] if registers else []
    parts = [(read.first, len(read.stack), 0)]
    saved = SavedMemory(memoryview(read.stack), parts)
    dump = Dump("minidump", "", reason, threads)
    made = _walked(dump, loaded, layout.machine, saved, find)
    return made._replace(notes=(read.note, *made.notes))


def _walked(
    dump: Dump, loaded: Loaded, machine: Machine, saved: SavedMemory, find: FindFiles
) -> ParsedReport:
    """The report of a dump that has little memory, so that stacks are scanned."""
    files = ModuleFiles(loaded, machine, saved, find)
    loaded.compare_code_by(files.compare_code)
    walker = Walker(machine, files.memory, loaded.is_code, files.step, scans=True)
    made = dump_report(dump, loaded, walker)
    frames = [each for each in made.parts if not isinstance(each, str)]
    if all(each.trust != "scan" for each in frames):
        return made
    note = (
        "Frames marked [scan] may be wrong: their callees' modules have no call "
        "frame information here. Binaries and .sym files have it."
    )
    return made._replace(notes=(*made.notes, note))


class _Minidump:
    def __init__(self, data: memoryview, path: str) -> None:
        self._data = data
        _, _, count, directory = _HEADER.unpack_from(data, 0)
        self._streams: dict[int, memoryview] = {}
        for number in range(min(count, len(data) // _DIRECTORY.size)):
            at = directory + number * _DIRECTORY.size
            kind, size, offset = _DIRECTORY.unpack_from(data, at)
            self._streams.setdefault(kind, data[offset : offset + size])
        processor, self._platform = _SYSTEM_INFO.unpack_from(self._stream(_SYSTEM), 0)
        if processor not in _LAYOUTS:
            reason = f"a minidump of processor {processor} is not read"
            raise FormatError(reason, path=path)
        self._layout = _LAYOUTS[processor]
        self._saved = SavedMemory(data, self._memory_parts())
        self._loaded = Loaded()
        self._loaded.set_regions(self._modules())

    def stacks(self, find: FindFiles) -> ParsedReport:
        """The threads of the minidump as a report."""
        exception = self._exception()
        threads = list(self._threads(exception))
        threads.sort(key=lambda each: not each.is_crashed)
        reason = "" if exception is None else exception.reason
        words = bytes(self._stream(_COMMAND)).rstrip(b"\0").replace(b"\0", b" ")
        program = words.decode("utf-8", "replace")
        dump = Dump("minidump", program, reason, threads)
        machine = self._layout.machine
        return _walked(dump, self._loaded, machine, self._saved, find)

    def _stream(self, kind: int) -> memoryview:
        return self._streams.get(kind, memoryview(b""))

    def _entries(self, stream: memoryview, entry: Struct) -> Iterator[tuple[int, ...]]:
        """The entries of a list, as many as its stream has."""
        if len(stream) < _COUNT.size:
            return
        (count,) = _COUNT.unpack_from(stream, 0)
        # Some writers align the entries to 8 bytes.
        start = 8 if len(stream) >= 8 + count * entry.size else _COUNT.size
        for number in range(min(count, (len(stream) - start) // entry.size)):
            yield entry.unpack_from(stream, start + number * entry.size)

    def _text(self, offset: int) -> str:
        if not 0 < offset <= len(self._data) - _COUNT.size:
            return ""
        (size,) = _COUNT.unpack_from(self._data, offset)
        data = self._data[offset + _COUNT.size :][: min(size, _MOST_TEXT)]
        return bytes(data).decode("utf-16-le", "replace").partition("\0")[0]

    def _memory_parts(self) -> Iterator[tuple[int, int, int]]:
        """Address, size, and offset in the dump of each."""
        for start, size, offset in self._entries(self._stream(_MEMORY), _MEMORY_PART):
            yield start, size, offset
        for _, start, size, offset, _, _ in self._entries(
            self._stream(_THREADS), _THREAD
        ):
            yield start, size, offset
        stream = self._stream(_MEMORY_64)
        if len(stream) < _COUNT_64.size:
            return
        count, offset = _COUNT_64.unpack_from(stream, 0)
        most = (len(stream) - _COUNT_64.size) // _MEMORY_PART_64.size
        for number in range(min(count, most)):
            at = _COUNT_64.size + number * _MEMORY_PART_64.size
            start, size = _MEMORY_PART_64.unpack_from(stream, at)
            yield start, size, offset
            offset += size

    def _modules(self) -> Iterator[Region]:
        maps = bytes(self._stream(_MAPS)).decode("utf-8", "replace")
        mapped: dict[str, list[Mapping]] = {}
        first: dict[int, str] = {}
        for each in read_maps(maps):
            mapped.setdefault(each.path, []).append(each)
            first[each.start] = each.path
        for entry in self._entries(self._stream(_MODULES), _MODULE):
            base, size, stamp, name, record_size, record = entry
            codeview = self._data[record : record + min(record_size, _MOST_TEXT)]
            module = self._module(self._text(name), bytes(codeview), stamp, size)
            number = self._loaded.add_module(module)
            # Some writers know only the size of the first segment.
            parts = mapped.pop(first.get(base, ""), ())
            for start, end, is_executable, *_ in parts:
                if start >= base:
                    yield Region(
                        *(start, end, number, 0, start - base, "image", is_executable)
                    )
            if not parts:
                yield Region(base, base + size, number, 0, 0, "image")

    def _module(self, path: str, codeview: bytes, stamp: int, size: int) -> StackModule:
        magic, contents = codeview[:4], codeview[4:]
        if magic == _CODEVIEW_ELF:
            return module_of_build_id(path, contents.hex())
        guid, age, pdb = bytes(_GUID_SIZE), 0, b""
        if magic == _CODEVIEW and len(contents) >= _CODEVIEW_AGE.size:
            guid, age = _CODEVIEW_AGE.unpack_from(contents)
            pdb = zero_ended(contents[_CODEVIEW_AGE.size :])
        if self._platform in _APPLE:
            return module_of_uuid(path, print_guid(guid, is_little=True))
        name = file_name(path)
        debug_id = "" if is_absent(guid.hex()) else codeview_debug_id(guid, age).upper()
        debug_file = file_name(pdb.decode("utf-8", "replace")) or name
        key = ModuleKey(debug_file, debug_id, name)
        if self._platform not in _LINUX:
            key = key._replace(code_id=pe_code_id(stamp, size), os="windows")
        return StackModule(name, key, path=path)

    def _exception(self) -> _Exception | None:
        stream = self._stream(_EXCEPTION)
        if len(stream) < _EXCEPTION_RECORD.size:
            return None
        record = _EXCEPTION_RECORD.unpack_from(stream, 0)
        thread, code, flags, address, count, information, accessed, size, offset = (
            record
        )
        mask = (1 << 8 * self._layout.machine.word) - 1
        address &= mask  # of 32 bits, the others are undefined
        is_access = self._platform in _APPLE and code == _BAD_ACCESS
        has_where = address or is_access or self._platform in _LINUX
        where = f" at {address:#x}" if has_where else ""
        if self._platform in _LINUX:
            # Writers put si_code into the flags; LLDB has a mark and a text.
            reason = LINUX.name(code)
            if flags == _LLDB_MARK:
                text = zero_ended(stream[_INFORMATION_AT:_INFORMATION_END])
                said = text.decode("utf-8", "replace")
                reason = said.removeprefix("signal ") or reason
            elif 0 < flags < _NEGATIVE:
                reason = describe(Cause(code, flags, address))
            elif not flags and address and self._stream(_CRASHPAD_INFO):
                # Crashpad copies si_addr, which shares its bytes with si_pid and
                # si_uid. Other writers that leave the flags 0 do not know si_code.
                reason = describe(Cause(code, flags, 0, address & _PID_MASK))
            elif not flags:
                reason += where
        elif self._platform in _APPLE:
            known = _APPLE_CODES.get((code, flags))
            reason = _APPLE_EXCEPTIONS.get(code, f"exception {code}") + where
            reason += f" ({known})" if known else ""
        elif code in _ABOUT_ADDRESS and count > 1:
            access = _ACCESSES.get(information, "")
            reason = f"{_EXCEPTIONS[code]} at {accessed & mask:#x}{access}"
        else:
            reason = _EXCEPTIONS.get(code, f"exception {code:#x}") + where
            if code == _FAST_FAIL and count and information < len(_FAST_FAILS):
                reason += f" (fast fail: {_FAST_FAILS[information]})"
        return _Exception(thread, reason, self._data[offset : offset + size])

    def _threads(self, exception: _Exception | None) -> Iterator[Thread]:
        names = {
            number: self._text(place)
            for number, place in self._entries(
                self._stream(_THREAD_NAMES), _THREAD_NAME
            )
        }
        for entry in self._entries(self._stream(_THREADS), _THREAD):
            number, _, _, _, size, offset = entry
            context = self._data[offset : offset + size]
            is_crashed = exception is not None and exception.thread == number
            if is_crashed and exception is not None and exception.context:
                context = exception.context
            registers = self._layout.registers(context)
            if registers is not None:
                yield Thread(number, names.get(number, ""), registers, is_crashed)
