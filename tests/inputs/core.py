"""Core files of Linux and FreeBSD: small ones of x86-64, and of any machine."""

from __future__ import annotations

import struct
from typing import NamedTuple


def note(kind: int, contents: bytes, name: bytes = b"CORE\0") -> bytes:
    padded = contents + bytes(-len(contents) % 4)
    name_padded = name + bytes(-len(name) % 4)
    return struct.pack("<III", len(name), len(contents), kind) + name_padded + padded


def prstatus(pid: int, pc: int, sp: int, fp: int, signal: int = 11) -> bytes:
    registers = [0] * 27
    registers[16], registers[19], registers[4] = pc, sp, fp
    head = bytes(12) + struct.pack("<hxxQQi", signal, 0, 0, pid).ljust(100, b"\0")
    return head + struct.pack("<27Q", *registers) + bytes(8)


def file_note(*files: tuple[int, int, int, str]) -> bytes:
    table = b"".join(struct.pack("<QQQ", *each[:3]) for each in files)
    names = b"".join(each[3].encode() + b"\0" for each in files)
    return struct.pack("<QQ", len(files), 4096) + table + names


def small_core(**fields: bytes) -> bytes:
    """A core of one thread, whose stack of frame records is at 0x7000."""
    records = struct.pack("<6Q", 0x7010, 0x401010, 0x7020, 0x402020, 0, 0)
    parts = [
        (0x7000, 4 | 2, fields.get("stack", records)),
        (0x401000, 4 | 1, b""),
    ]
    notes = fields.get("notes") or b"".join(
        (
            note(1, prstatus(77, 0x401005, 0x7000, 0x7000)),
            note(
                0x53494749, struct.pack("<iiiiQ", 11, 0, 1, 0, 0xDEAD).ljust(128, b"\0")
            ),
            note(3, bytes(40) + b"app".ljust(16, b"\0") + b"app -x".ljust(80, b"\0")),
            note(6, struct.pack("<4Q", 33, 0x9000, 0, 0)),
            note(0x46494C45, file_note((0x401000, 0x403000, 1, "/nowhere/app"))),
        )
    )
    count = len(parts) + 1
    at = 64 + 56 * count
    headers = [struct.pack("<II6Q", 4, 0, at, 0, 0, len(notes), 0, 4)]
    data = notes
    for address, flags, contents in parts:
        size = 0x2000
        place = at + len(data)
        fields_of = (1, flags, place, address, 0, len(contents), size, 1)
        headers.append(struct.pack("<II6Q", *fields_of))
        data += contents
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    rest = (4, 62, 1, 0, 64, 0, 0, 64, 56, count, 0, 0, 0)
    return ident + struct.pack("<HHIQQQIHHHHHH", *rest) + b"".join(headers) + data


class Part(NamedTuple):
    """A part of the memory of a program."""

    address: int
    data: bytes
    is_executable: bool = False


def core_of(  # noqa: PLR0913 - fields of the header
    parts: list[Part],
    notes: bytes,
    *,
    machine: int = 62,
    word: int = 8,
    order: str = "<",
    osabi: int = 0,
) -> bytes:
    """A core of any machine."""
    head, entry = (64, 56) if word == 8 else (52, 32)
    at = head + entry * (len(parts) + 1)
    rows = [(4, 0, at, 0, len(notes))]
    data = notes
    for each in parts:
        flags = 4 | each.is_executable
        rows.append((1, flags, at + len(data), each.address, len(each.data)))
        data += each.data
    headers = [
        struct.pack(f"{order}II6Q", kind, flags, place, address, 0, size, size, 1)
        if word == 8
        else struct.pack(f"{order}8I", kind, place, address, 0, size, size, flags, 1)
        for kind, flags, place, address, size in rows
    ]
    ident = b"\x7fELF" + bytes([word // 4, 1 if order == "<" else 2, 1, osabi])
    form = f"{order}HHI{'QQQ' if word == 8 else 'III'}I6H"
    rest = (4, machine, 1, 0, head, 0, 0, head, entry, len(rows), 0, 0, 0)
    return ident.ljust(16, b"\0") + struct.pack(form, *rest) + b"".join(headers) + data


def status_of(
    registers: list[int], *, word: int = 8, order: str = "<", signal: int = 11
) -> bytes:
    """NT_PRSTATUS of any machine."""
    number_at, at = (32, 112) if word == 8 else (24, 72)
    head = struct.pack(f"{order}12xh", signal).ljust(number_at, b"\0")
    head = (head + struct.pack(f"{order}i", 77)).ljust(at, b"\0")
    form = "Q" if word == 8 else "I"
    data = head + struct.pack(f"{order}{len(registers)}{form}", *registers)
    data += bytes(word)  # pr_fpvalid
    name = b"CORE\0\0\0\0"
    return struct.pack(f"{order}III", 5, len(data), 1) + name + data


# NT_PRSTATUS of FreeBSD by machine: places of the registers that are wanted, in words.
FREEBSD_PLACES = {
    62: {"rip": 17, "rsp": 20, "rbp": 10, "rbx": 11, "rax": 14, "rdx": 12, "rdi": 8}
    | {"rcx": 13, "rsi": 9, "r8": 7, "r15": 0},
    183: {"pc": 32, "sp": 31, "x30": 30, "x29": 29, "x0": 0, "x28": 28},
}


class FreeBsdThread(NamedTuple):
    """A thread of a FreeBSD core."""

    number: int
    registers: dict[str, int]
    name: str = "app"
    cause: tuple[int, int, int, int] = (11, 1, 0, 0x10)  # signal, code, sender, address


class FreeBsdMapping(NamedTuple):
    """A mapping of a FreeBSD core; *protection* as of mmap."""

    start: int
    end: int
    offset: int
    protection: int
    path: str


def freebsd_notes(
    threads: list[FreeBsdThread],
    mappings: list[FreeBsdMapping],
    *,
    machine: int = 62,
    auxiliary: dict[int, int] | None = None,
    flags: int = 0x20,
) -> list[bytes]:
    """The notes of a kernel of FreeBSD on a machine of 64 bits, in its order."""
    information = struct.pack("<i4xQ17s81s", 1, 120, b"app", b"./app -x")
    made = [(3, information.ljust(116, b"\0") + struct.pack("<i", 4321))]
    places = FREEBSD_PLACES[machine]
    for number, values, name, (signal, code, sender, address) in threads:
        registers = [0xAA00 + each for each in range(34 if machine == 183 else 22)]
        for each, value in values.items():
            registers[places[each]] = value
        size = 8 * len(registers)
        status = struct.pack(
            "<i4x3Qiii4x", 1, 48 + size, size, 512, 1400097, threads[0].cause[0], number
        )
        made.append((1, status + struct.pack(f"<{len(registers)}Q", *registers)))
        made.append((2, bytes(512)))
        made.append((7, name.encode().ljust(24, b"\0")))
        stopped = struct.pack("<3i32x4x", number, 1, flags)
        stopped += struct.pack("<5iiQ", signal, 0, code, sender, 1001, 0, address)
        stopped = stopped.ljust(160, b"\0")
        made.append((17, struct.pack("<i", len(stopped)) + stopped))
    process = struct.pack("<i", 1088) + bytes(72) + struct.pack("<i", 4321)
    made.append((8, process.ljust(4 + 1088, b"\0")))
    maps = struct.pack("<i", 1160)
    for start, end, offset, protection, path in mappings:
        text = path.encode() + b"\0"
        text += bytes(-len(text) % 8)
        maps += struct.pack("<iiQQQ", 136 + len(text), 2, start, end, offset)
        maps += bytes(24) + struct.pack("<i", protection) + bytes(76) + text
    made.append((10, maps))
    vector = (auxiliary or {}) | {0: 0}
    words = [word for pair in vector.items() for word in pair]
    made.append((16, struct.pack("<i", 16) + struct.pack(f"<{len(words)}Q", *words)))
    return [note(kind, contents, b"FreeBSD\0") for kind, contents in made]
