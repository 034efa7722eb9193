"""Small minidumps: streams of threads, modules, memory, an exception.

minidump(SYSTEM, stream(3, threads), ...) has each stream once, in this order.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

X86, ARM, X86_64, ARM64 = 0, 5, 9, 12
WINDOWS, MAC, LINUX = 2, 0x8101, 0x8201

# Sizes of contexts, and where they have the program counter, stack and frame pointer.
_CONTEXTS = {
    X86: (716, "<I", (184, 196, 180)),
    ARM: (368, "<I", (64, 56, 48)),
    X86_64: (1232, "<Q", (248, 152, 160)),
    ARM64: (912, "<Q", (264, 256, 240)),
}


@dataclass(frozen=True)
class Thread:
    """A thread; its stack is at *sp*."""

    number: int
    pc: int
    sp: int = 0
    fp: int = 0
    stack: bytes = b""
    name: str = ""


@dataclass(frozen=True)
class Module:
    """A module; *codeview* is its record."""

    path: str
    base: int
    size: int
    codeview: bytes = b""
    stamp: int = 0


@dataclass(frozen=True)
class Minidump:
    """A minidump; *crash* has thread, code, address and parameters."""

    threads: tuple[Thread, ...] = ()
    modules: tuple[Module, ...] = ()
    processor: int = X86_64
    platform: int = LINUX
    crash: tuple[int, int, int, tuple[int, ...]] | None = None
    flags: int = 0
    files: dict[int, bytes] = field(default_factory=dict)
    has_long_memory: bool = False
    is_aligned: bool = False


def elf_codeview(build_id: bytes) -> bytes:
    return b"LEpB" + build_id


def codeview(guid: bytes, age: int, pdb: str) -> bytes:
    return b"RSDS" + guid + struct.pack("<I", age) + pdb.encode() + b"\0"


def context(processor: int, thread: Thread) -> bytes:
    """The registers of a thread."""
    size, word, places = _CONTEXTS[processor]
    data = bytearray(size)
    for place, value in zip(places, (thread.pc, thread.sp, thread.fp), strict=True):
        struct.pack_into(word, data, place, value)
    return bytes(data)


class _Writer:
    def __init__(self, streams: int) -> None:
        self.data = bytearray(32 + 12 * streams)
        self.directory: list[tuple[int, int, int]] = []

    def put(self, data: bytes) -> tuple[int, int]:
        """Size and offset of *data* in the file."""
        self.data += data
        return len(data), len(self.data) - len(data)

    def text(self, text: str) -> int:
        data = text.encode("utf-16-le")
        return self.put(struct.pack("<I", len(data)) + data + b"\0\0")[1]

    def stream(self, kind: int, data: bytes) -> None:
        self.directory.append((kind, *self.put(data)))

    def finish(self) -> bytes:
        header = struct.pack("<4sIII16x", b"MDMP", 0xA793, len(self.directory), 32)
        table = b"".join(struct.pack("<III", *each) for each in self.directory)
        self.data[: len(header) + len(table)] = header + table
        return bytes(self.data)


def write_minidump(dump: Minidump) -> bytes:
    """The bytes of a minidump."""
    out = _Writer(5 + len(dump.files) + (dump.crash is not None))
    out.stream(7, struct.pack("<H18xI32x", dump.processor, dump.platform))
    padding = bytes(4) if dump.is_aligned else b""
    entries: list[bytes] = []
    for each in dump.threads:
        stack = (0, 0) if dump.has_long_memory else out.put(each.stack)
        registers = out.put(context(dump.processor, each))
        fields: tuple[int, ...] = (each.number, each.sp, *stack, *registers)
        entries.append(struct.pack("<I20xQIIII", *fields))
    count = struct.pack("<I", len(entries))
    out.stream(3, count + padding + b"".join(entries))
    entries = []
    for module in dump.modules:
        name, record = out.text(module.path), out.put(module.codeview)
        fields = (module.base, module.size, module.stamp, name, *record)
        entries.append(struct.pack("<QI4xII52xII24x", *fields))
    out.stream(4, struct.pack("<I", len(entries)) + padding + b"".join(entries))
    names = [
        struct.pack("<IQ", each.number, out.text(each.name))
        for each in dump.threads
        if each.name
    ]
    out.stream(24, struct.pack("<I", len(names)) + b"".join(names))
    if dump.has_long_memory:
        parts = [struct.pack("<QQ", each.sp, len(each.stack)) for each in dump.threads]
        _, place = out.put(b"".join(each.stack for each in dump.threads))
        out.stream(9, struct.pack("<QQ", len(parts), place) + b"".join(parts))
    if dump.crash is not None:
        number, code, address, parameters = dump.crash
        thread = next(each for each in dump.threads if each.number == number)
        registers = out.put(context(dump.processor, thread))
        head = struct.pack(
            "<I4xII8xQI4x15Q",
            *(number, code, dump.flags, address, len(parameters), *parameters),
            *([0] * (15 - len(parameters))),
        )
        out.stream(6, head + struct.pack("<II", *registers))
    for kind, contents in dump.files.items():
        out.stream(kind, contents)
    return out.finish()
